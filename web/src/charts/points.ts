// Points of a chart one by one: for the pointer, for the keyboard, and for the table.

import type { ChartData, Item, PanelData } from "./data.ts";
import { text } from "./numbers.ts";

/** A point of a curve, or a bar. */
export interface Point {
  item: Item;
  index: number;
  x: number;
  y: number;
  /** The interval of the value, and the number of replications, where they are known. */
  lo?: number | null | undefined;
  hi?: number | null | undefined;
  n?: number | undefined;
  /** Whether `lo` and `hi` are values of x. */
  sideways: boolean;
}

/** Returns the points of an item in their order. */
export function pointsOf(item: Item): Point[] {
  const found: Point[] = [];
  if (item.kind === "line") {
    item.x.forEach((x, index) => {
      const y = item.y[index];
      if (x == null || y == null) return;
      const sideways = !item.y_lo && Boolean(item.x_lo);
      const [lo, hi] = sideways ? [item.x_lo, item.x_hi] : [item.y_lo, item.y_hi];
      found.push({ item, index, x, y, lo: lo?.[index], hi: hi?.[index], n: item.n?.[index], sideways });
    });
  } else if (item.kind === "bars") {
    item.boxes.forEach(([x0, y0, x1, y1], index) => {
      const sideways = Boolean(item.sideways);
      const [x, y] = sideways ? [x1, (y0 + y1) / 2] : [(x0 + x1) / 2, y1];
      found.push({ item, index, x, y, lo: item.lo?.[index], hi: item.hi?.[index], n: item.n?.[index], sideways });
    });
  }
  return found;
}

/** Returns a value of an axis as text: the nearest tick's word on an axis of words. */
export function valueText(panel: PanelData, axis: "x" | "y", value: number): string {
  const ticks = panel[axis].ticks;
  if (ticks?.some(([, word]) => word !== "" && !/^[-−\d.,e+ ×%]+$/.test(word))) {
    const near = ticks.reduce((a, b) => (Math.abs(b[0] - value) < Math.abs(a[0] - value) ? b : a));
    if (Math.abs(near[0] - value) < 0.5) return near[1];
  }
  return text(value);
}

/** Returns a description of a point: the curve, x, y, the interval and the number of replications. */
export function describe(panel: PanelData, point: Point): string {
  const name = point.item.label ? `${point.item.label}: ` : "";
  const at = `${panel.x.label ?? "x"} ${valueText(panel, "x", point.x)}`;
  const value = `${panel.y.label ?? "y"} ${valueText(panel, "y", point.y)}`;
  const known = point.lo != null && point.hi != null;
  const interval = known ? ` [${text(point.lo as number)}, ${text(point.hi as number)}]` : "";
  const replications = point.n ? `, ${point.n} replications` : "";
  return point.sideways ? `${name}${value}, ${at}${interval}${replications}` : `${name}${at}, ${value}${interval}${replications}`;
}

/** Rows of the table behind a chart; the first has the headings. Columns without any value are left out. */
export function table(chart: ChartData): string[][] {
  const rows: string[][] = [];
  for (const panel of chart.panels) {
    for (const item of panel.items) {
      const series = item.label ?? "";
      for (const point of pointsOf(item)) {
        const ends = [point.lo, point.hi].map((end) => (end == null ? "" : String(end)));
        const [x, y] = [valueText(panel, "x", point.x), valueText(panel, "y", point.y)];
        const plain = [/[^-\d.,\u202fe]/.test(x) ? x : String(point.x), /[^-\d.,\u202fe]/.test(y) ? y : String(point.y)];
        rows.push([panel.title ?? "", series, ...plain, ...ends, point.n ? String(point.n) : ""]);
      }
    }
  }
  const x = [...new Set(chart.panels.map((panel) => panel.x.label).filter(Boolean))].join(" / ") || "x";
  const y = [...new Set(chart.panels.map((panel) => panel.y.label).filter(Boolean))].join(" / ") || "y";
  const head = ["panel", "curve", x, y, "lower end", "upper end", "replications"];
  const used = head.map((_, column) => rows.some((row) => row[column] !== ""));
  return [head, ...rows].map((row) => row.filter((_, column) => used[column]));
}

/** Returns rows as CSV (RFC 4180). */
export function csv(rows: readonly (readonly string[])[]): string {
  const cell = (value: string) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
