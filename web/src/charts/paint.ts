// Draws the items of a panel on a canvas. Lengths are in pixels of the canvas.

import type { AreaItem, BarsItem, Item, LineItem, RuleItem, SpanItem, TextItem, Value } from "./data.ts";
import { type Theme, visible } from "./colours.ts";

/** Where the data are drawn. */
export interface Frame {
  context: CanvasRenderingContext2D;
  left: number;
  top: number;
  width: number;
  height: number;
  /** Pixels of the canvas for a pixel of the style sheet. */
  ratio: number;
  theme: Theme;
  /** Place of a value; not finite if the axis cannot show it, such as 0 on a logarithmic one. */
  x(value: number): number;
  y(value: number): number;
}

/** Draws items, the last in front. */
export function paint(frame: Frame, items: readonly Item[]): void {
  const { context } = frame;
  context.save();
  context.beginPath();
  // Markers at the edge are not cut.
  const margin = 5 * frame.ratio;
  context.rect(frame.left - margin, frame.top - margin, frame.width + 2 * margin, frame.height + 2 * margin);
  context.clip();
  for (const item of items) {
    if (item.kind === "text") continue;
    context.save();
    context.globalAlpha = item.opacity ?? 1;
    context.lineWidth = frame.ratio;
    if (item.kind === "line") line(frame, item);
    else if (item.kind === "bars") bars(frame, item);
    else if (item.kind === "area") area(frame, item);
    else if (item.kind === "rule") rule(frame, item);
    else span(frame, item);
    context.restore();
  }
  context.restore();
  // Words may reach beyond the frame, but not beyond the drawing.
  for (const item of items) {
    if (item.kind !== "text") continue;
    context.save();
    context.globalAlpha = item.opacity ?? 1;
    words(frame, item);
    context.restore();
  }
}

const colourOf = (frame: Frame, colour: string | undefined) => visible(colour || "#000000", frame.theme.background);

function line(frame: Frame, item: LineItem): void {
  const { context, ratio } = frame;
  const colour = colourOf(frame, item.colour);
  context.strokeStyle = context.fillStyle = colour;
  if (!item.bare) {
    context.lineWidth = (item.width ?? 1.5) * 1.2 * ratio;
    context.lineJoin = "round";
    if (item.dash) context.setLineDash([5 * ratio, 3 * ratio]);
    context.beginPath();
    trace(frame, item);
    context.stroke();
    context.setLineDash([]);
  }
  context.lineWidth = 1.2 * ratio;
  item.x.forEach((value, index) => {
    const at = point(frame, value, item.y[index]);
    if (!at) return;
    const own = item.colours?.[index];
    if (own) context.strokeStyle = context.fillStyle = colourOf(frame, own);
    whisker(frame, at, "y", item.y_lo?.[index], item.y_hi?.[index]);
    whisker(frame, at, "x", item.x_lo?.[index], item.x_hi?.[index]);
    if (item.marker) marker(context, item.marker, at.x, at.y, 3.2 * ratio);
  });
}

/** Adds the connected points to the path; a null interrupts it. */
function trace(frame: Frame, item: LineItem): void {
  const { context } = frame;
  let before: { x: number; y: number } | null = null;
  for (let index = 0; index < item.x.length; index++) {
    const at = point(frame, item.x[index], item.y[index]);
    if (at && before) {
      if (item.step) context.lineTo(at.x, before.y);
      context.lineTo(at.x, at.y);
    } else if (at) context.moveTo(at.x, at.y);
    before = at;
  }
}

function point(frame: Frame, x: Value | undefined, y: Value | undefined): { x: number; y: number } | null {
  if (x == null || y == null) return null;
  const at = { x: frame.x(x), y: frame.y(y) };
  return Number.isFinite(at.x) && Number.isFinite(at.y) ? at : null;
}

/** Draws an interval through a point; an end that is unbounded is not drawn. */
function whisker(frame: Frame, at: { x: number; y: number }, axis: "x" | "y", lo?: Value, hi?: Value): void {
  if (lo == null || hi == null) return;
  const { context, ratio } = frame;
  const cap = 3 * ratio;
  context.beginPath();
  if (axis === "y") {
    const [low, high] = [within(frame.y(lo), frame.top + frame.height), within(frame.y(hi), frame.top)];
    context.moveTo(at.x, low);
    context.lineTo(at.x, high);
    for (const end of [low, high]) context.rect(at.x - cap, end, 2 * cap, 0);
  } else {
    const [low, high] = [within(frame.x(lo), frame.left), within(frame.x(hi), frame.left + frame.width)];
    context.moveTo(low, at.y);
    context.lineTo(high, at.y);
    for (const end of [low, high]) context.rect(end, at.y - cap, 0, 2 * cap);
  }
  context.stroke();
}

/** Returns a place, or the edge if the axis cannot show it. */
function within(place: number, edge: number): number {
  return Number.isFinite(place) ? place : edge;
}

/** Draws a marker of matplotlib with the half width `r`. */
function marker(context: CanvasRenderingContext2D, name: string, x: number, y: number, r: number): void {
  context.beginPath();
  const polygon = (corners: readonly (readonly [number, number])[]) => {
    corners.forEach(([a, b], index) => (index ? context.lineTo(x + a * r, y + b * r) : context.moveTo(x + a * r, y + b * r)));
    context.closePath();
  };
  if (name === "s") polygon([[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]);
  else if (name === "^") polygon([[0, -1.1], [1.1, 0.9], [-1.1, 0.9]]);
  else if (name === "v") polygon([[0, 1.1], [1.1, -0.9], [-1.1, -0.9]]);
  else if (name === "D" || name === "d") polygon([[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]]);
  else if (name === "P" || name === "+") polygon(cross(0));
  else if (name === "X" || name === "x") polygon(cross(Math.PI / 4));
  else if (name === "*") polygon(star());
  else context.arc(x, y, name === "." || name === "," ? r / 2 : r, 0, 2 * Math.PI);
  context.fill();
}

function cross(turn: number): [number, number][] {
  const [a, b] = [0.4, 1.15];
  const corners = [[-a, -b], [a, -b], [a, -a], [b, -a], [b, a], [a, a], [a, b], [-a, b], [-a, a], [-b, a], [-b, -a], [-a, -a]];
  const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
  return corners.map(([x = 0, y = 0]) => [x * cos - y * sin, x * sin + y * cos]);
}

function star(): [number, number][] {
  return Array.from({ length: 10 }, (_, index) => {
    const radius = index % 2 ? 0.55 : 1.4;
    const angle = (index * Math.PI) / 5 - Math.PI / 2;
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  });
}

function bars(frame: Frame, item: BarsItem): void {
  const { context } = frame;
  item.boxes.forEach((box, index) => {
    const { left, right, top, bottom } = corners(frame, box);
    context.fillStyle = colourOf(frame, item.colours?.[index] ?? item.colour);
    context.fillRect(left, top, right - left, bottom - top);
    context.strokeStyle = frame.theme.text;
    const end = item.sideways ? { x: right, y: (top + bottom) / 2 } : { x: (left + right) / 2, y: top };
    whisker(frame, end, item.sideways ? "x" : "y", item.lo?.[index], item.hi?.[index]);
  });
}

/** Returns the sides of a bar on the canvas; what the axis cannot show, such as 0 on a logarithmic one, is at its edge. */
export function corners(frame: Frame, [x0, y0, x1, y1]: readonly [number, number, number, number]) {
  const xs = [within(frame.x(x0), frame.left), within(frame.x(x1), frame.left)];
  const ys = [within(frame.y(y0), frame.top + frame.height), within(frame.y(y1), frame.top + frame.height)];
  return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
}

function area(frame: Frame, item: AreaItem): void {
  const { context } = frame;
  context.fillStyle = colourOf(frame, item.colour);
  item.x.forEach((xs, index) => {
    const ys = item.y[index] ?? [];
    context.beginPath();
    xs.forEach((x, i) => {
      const at = point(frame, x, ys[i]);
      if (at) context.lineTo(at.x, at.y);
    });
    context.fill();
  });
}

function rule(frame: Frame, item: RuleItem): void {
  const { context, ratio } = frame;
  context.strokeStyle = colourOf(frame, item.colour);
  context.lineWidth = 1.2 * ratio;
  if (item.dash) context.setLineDash([5 * ratio, 3 * ratio]);
  context.beginPath();
  if (item.axis === "y") {
    context.moveTo(frame.left, frame.y(item.at));
    context.lineTo(frame.left + frame.width, frame.y(item.at));
  } else {
    context.moveTo(frame.x(item.at), frame.top);
    context.lineTo(frame.x(item.at), frame.top + frame.height);
  }
  context.stroke();
}

function span(frame: Frame, item: SpanItem): void {
  const { context } = frame;
  context.fillStyle = colourOf(frame, item.colour);
  const [a, b] = item.ends.map((end) => (item.axis === "y" ? frame.y(end) : frame.x(end))) as [number, number];
  if (item.axis === "y") context.fillRect(frame.left, Math.min(a, b), frame.width, Math.abs(b - a));
  else context.fillRect(Math.min(a, b), frame.top, Math.abs(b - a), frame.height);
}

function words(frame: Frame, item: TextItem): void {
  const { context, ratio } = frame;
  const [x, y] = item.at;
  const of = item.frame ?? "dd";
  const left = of[0] === "a" ? frame.left + x * frame.width : frame.x(x);
  const top = of[1] === "a" ? frame.top + (1 - y) * frame.height : frame.y(y);
  if (!Number.isFinite(left) || !Number.isFinite(top)) return;
  // Outside the visible part, after a zoom.
  const beyond = (at: number, from: number, length: number) => at < from - 1 || at > from + length + 1;
  if ((of[0] !== "a" && beyond(left, frame.left, frame.width)) || (of[1] !== "a" && beyond(top, frame.top, frame.height))) return;
  const size = (item.size ?? 9) * 1.25 * ratio;
  context.font = `${size}px system-ui, sans-serif`;
  context.fillStyle = colourOf(frame, item.colour);
  context.textAlign = item.align === "center" || item.align === "right" ? item.align : "left";
  let start = left + (item.offset?.[0] ?? 0) * 1.33 * ratio;
  if (!item.turned) {
    const wide = Math.max(...item.text.split("\n").map((line) => context.measureText(line).width));
    const before = { left: 0, center: wide / 2, right: wide }[context.textAlign as "left" | "center" | "right"];
    start = Math.max(Math.min(start, context.canvas.width - wide + before), before);
  }
  context.translate(start, top - (item.offset?.[1] ?? 0) * 1.33 * ratio);
  if (item.turned) context.rotate(-Math.PI / 2);
  context.textBaseline = "middle";
  const lines = item.text.split("\n");
  const height = 1.2 * size;
  const above = item.baseline === "top" ? 0 : item.baseline?.startsWith("center") ? lines.length / 2 : lines.length;
  lines.forEach((text, index) => context.fillText(text, 0, (index + 0.5 - above) * height));
}
