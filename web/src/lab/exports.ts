// Files that the lab writes: the scenario, the samples as CSV and Parquet, the plots as SVG and PNG.

import { parquetWriteBuffer } from "hyparquet-writer";
import type uPlot from "uplot";

export interface Table {
  names: string[];
  columns: (number | null)[][];
}

export function csv({ names, columns }: Table): Blob {
  const quoted = names.map((name) => (/[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name));
  const rows = (columns[0] ?? []).map((_, i) => columns.map((column) => column[i] ?? "").join(","));
  return new Blob([[quoted.join(","), ...rows, ""].join("\n")], { type: "text/csv" });
}

export function parquet({ names, columns }: Table): Blob {
  const columnData = names.map((name, i) => ({ name, data: columns[i]!, type: "DOUBLE" as const, nullable: true }));
  return new Blob([parquetWriteBuffer({ columnData })], { type: "application/vnd.apache.parquet" });
}

type Shown = { title: string; plot: uPlot }[];

/** The plots, one below the other, as an image of their pixels. */
export async function png(shown: Shown, background: string, text: string): Promise<Blob> {
  const heights = shown.map(({ plot }) => plot.ctx.canvas.height + 40);
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(...shown.map(({ plot }) => plot.ctx.canvas.width));
  canvas.height = heights.reduce((sum, height) => sum + height, 0);
  const context = canvas.getContext("2d")!;
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.font = "24px system-ui, sans-serif";
  let top = 0;
  shown.forEach(({ title, plot }, i) => {
    context.fillStyle = text;
    context.fillText(title, 12, top + 28);
    context.drawImage(plot.ctx.canvas, 0, top + 40);
    top += heights[i]!;
  });
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob === null ? reject(new Error("the image is too large")) : resolve(blob)), "image/png");
  });
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** The plots as vector graphics: axes with their ends, and the lines of the samples. */
export function svg(shown: Shown): Blob {
  const [width, height, left, right, top, bottom] = [720, 220, 64, 16, 30, 34];
  const parts = shown.map(({ title, plot }, index) => {
    const [xs, ...ys] = plot.data as (number | null)[][];
    const range = (key: string) => [plot.scales[key]?.min ?? 0, plot.scales[key]?.max ?? 1] as const;
    const [[x0, x1], [y0, y1]] = [range("x"), range("y")];
    const x = (v: number) => left + ((v - x0) / (x1 - x0 || 1)) * (width - left - right);
    const y = (v: number) => height - bottom - ((v - y0) / (y1 - y0 || 1)) * (height - top - bottom);
    const lines = ys.map((values, i) => {
      const points = values.map((v, k) => (v === null || v === undefined ? null : `${x(xs![k]!).toFixed(2)},${y(v).toFixed(2)}`));
      const { stroke, dash, label } = plot.series[i + 1]!;
      const colour = typeof stroke === "function" ? (stroke as (u: uPlot, i: number) => string)(plot, i + 1) : String(stroke);
      const dashed = dash === undefined ? "" : ` stroke-dasharray="${dash.join(" ")}"`;
      const path = `<polyline fill="none" stroke="${colour}" stroke-width="1.3"${dashed} points="${points.filter((p) => p !== null).join(" ")}"/>`;
      const name = `<text x="${width - right}" y="${top + 12 * (i + 1)}" text-anchor="end" fill="${colour}">${escaped(String(label))}</text>`;
      return path + name;
    });
    const number = (v: number) => String(Number(v.toPrecision(4)));
    const texts = [
      `<text x="${left}" y="18" font-weight="600">${escaped(title)}</text>`,
      `<text x="${left - 6}" y="${y(y0)}" text-anchor="end">${number(y0)}</text>`,
      `<text x="${left - 6}" y="${y(y1) + 8}" text-anchor="end">${number(y1)}</text>`,
      `<text x="${left}" y="${height - 14}">${number(x0)} s</text>`,
      `<text x="${width - right}" y="${height - 14}" text-anchor="end">${number(x1)} s</text>`,
    ];
    const frame = `<path d="M${left} ${top}V${height - bottom}H${width - right}" fill="none" stroke="#555"/>`;
    return `<g transform="translate(0 ${index * height})">${frame}${texts.join("")}${lines.join("")}</g>`;
  });
  const size = `width="${width}" height="${height * shown.length}" viewBox="0 0 ${width} ${height * shown.length}"`;
  const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="11">`;
  return new Blob([`${head}<rect width="100%" height="100%" fill="#fff"/>${parts.join("")}</svg>\n`], { type: "image/svg+xml" });
}

/** Offers a file for download. */
export function download(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
