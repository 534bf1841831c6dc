// A panel of a chart: axes, zoom and pointer by uPlot; the data are drawn by `paint`.

import uPlot from "uplot";
import type { AxisData, Item, PanelData } from "./data.ts";
import { type Frame, corners, paint } from "./paint.ts";
import { theme } from "./colours.ts";
import { text } from "./numbers.ts";
import { type Point, describe, pointsOf } from "./points.ts";

/** Greatest distance of the pointer from a point that it shows, in pixels. */
const REACH = 24;
const FONT = "12px system-ui, sans-serif";
/** Mean width of a letter of `FONT`, in pixels. */
const LETTER = 6.6;

type Span = [number, number];

/** A panel in its own element. */
export class Panel {
  readonly element = document.createElement("div");
  private readonly tip = document.createElement("div");
  private plot: uPlot | undefined;
  private readonly view: { x: Span; y: Span };
  private readonly points: Point[];
  private hidden: ReadonlySet<string> = new Set();
  private chosen: Point | undefined;

  /** `zoomed` is told of new limits, so that panels that share an axis follow. */
  constructor(
    readonly data: PanelData,
    name: string,
    private readonly zoomed: (axis: "x" | "y", limits: Span) => void,
  ) {
    this.view = { x: sorted(data.x.range), y: sorted(data.y.range) };
    this.points = data.items.flatMap(pointsOf);
    this.element.className = "panel";
    this.element.tabIndex = 0;
    this.element.role = "group";
    this.element.ariaLabel = `${[name, data.title].filter(Boolean).join(", ")}: arrow keys go through the points, + and - zoom, 0 shows all`;
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("blur", () => this.choose(undefined));
    for (const [name, text] of [["panel-title", data.title], ["panel-note", data.note]] as const) {
      if (!text) continue;
      const line = document.createElement("div");
      line.className = name;
      line.textContent = text;
      this.element.append(line);
    }
    this.tip.className = "tip";
    this.tip.role = "status";
    this.tip.hidden = true;
  }

  /** Draws the panel with these outer lengths in pixels. */
  resize(width: number, height: number): void {
    if (this.plot) {
      this.plot.setSize({ width, height });
      return;
    }
    const ends = this.view.x;
    this.plot = new uPlot(this.options(width, height), [[ends[0], ends[1]], [null, null]], this.element);
    this.plot.over.append(this.tip);
    this.plot.over.addEventListener("pointermove", (event) => this.choose(this.nearest(event.offsetX, event.offsetY)));
    this.plot.over.addEventListener("pointerleave", () => this.choose(undefined));
  }

  /** Draws again, without the items of these names. */
  redraw(hidden: ReadonlySet<string>): void {
    this.hidden = hidden;
    this.plot?.redraw(false);
  }

  /** Sets the limits of an axis; `undefined`: the first ones. */
  show(axis: "x" | "y", limits: Span | undefined): void {
    this.view[axis] = limits ?? sorted(this.data[axis].range);
    this.plot?.setScale(axis, { min: this.view[axis][0], max: this.view[axis][1] });
  }

  private get items(): Item[] {
    return this.data.items.filter((item) => !item.label || !this.hidden.has(item.label));
  }

  private options(width: number, height: number): uPlot.Options {
    const scale = (axis: "x" | "y"): uPlot.Scale => {
      const { scale: kind, threshold, range } = this.data[axis];
      return {
        time: false,
        auto: false,
        distr: kind === "log" ? 3 : kind === "symlog" ? 4 : 1,
        ...(kind === "symlog" ? { asinh: threshold ?? 1 } : {}),
        dir: range[0] > range[1] ? -1 : 1,
        range: () => [...this.view[axis]],
      };
    };
    return {
      width,
      height,
      scales: { x: scale("x"), y: scale("y") },
      series: [{}, { show: false }],
      legend: { show: false },
      padding: [null, this.besides(width), null, null],
      cursor: {
        points: { show: false },
        drag: { x: true, y: true, uni: 20, setScale: false },
        bind: { dblclick: () => () => (this.reset(), null) },
      },
      axes: [this.axis("x", width), this.axis("y", width)],
      hooks: {
        draw: [(plot) => paint(this.frame(plot), this.items)],
        setSelect: [(plot) => this.select(plot)],
      },
    };
  }

  /** Room for words to the right of the frame, pixels; `null`: there are none. */
  private besides(width: number): number | null {
    const edge = Math.max(...this.data.x.range);
    const longest = this.data.items.map((item) => {
      if (item.kind !== "text" || item.align === "right" || item.align === "center") return 0;
      const outside = (item.frame ?? "dd")[0] === "a" ? item.at[0] >= 1 : item.at[0] >= edge;
      return outside ? LETTER * Math.max(...item.text.split("\n").map((line) => line.length)) : 0;
    });
    const most = Math.max(0, ...longest);
    return most > 0 ? Math.min(most + 6, 0.3 * width) : null;
  }

  private axis(name: "x" | "y", width: number): uPlot.Axis {
    const data: AxisData = this.data[name];
    const { ticks } = data;
    const words = ticks?.map(([, word]) => word) ?? [];
    const longest = Math.max(0, ...words.map((word) => word.length)) * LETTER;
    const crowded = name === "x" && words.length * (longest + 10) > width - 60;
    const turned = crowded && longest > 40;
    // Ticks of numbers are left out rather than turned.
    const every = crowded && !turned ? Math.ceil((words.length * (longest + 10)) / Math.max(80, width - 60)) : 1;
    const size = (_: uPlot, values: string[]) => {
      if (name === "x") return turned ? 16 + 0.6 * Math.min(longest, 150) : 32;
      const wide = Math.max(0, ...(values ?? []).map((value) => (value ?? "").length)) * LETTER;
      return 18 + Math.min(wide, 0.42 * width);
    };
    return {
      scale: name,
      stroke: () => theme(this.element).text,
      font: FONT,
      labelFont: FONT,
      labelSize: 18,
      ...(data.label ? { label: data.label } : {}),
      size,
      gap: 4,
      ...(turned ? { rotate: -35 } : {}),
      grid: { stroke: () => theme(this.element).grid, width: 1 },
      ticks: { stroke: () => theme(this.element).grid, width: 1, size: 5 },
      ...(ticks
        ? {
            splits: () => ticks.filter((_, index) => index % every === 0).map(([at]) => at),
            values: (_, splits) => splits.map((at) => cut(ticks.find(([tick]) => tick === at)?.[1] ?? "", name, width)),
            filter: (_, splits) => splits,
          }
        : {
            // On a symlog axis uPlot proposes ticks outside the limits.
            filter: (plot, splits) => splits.map((at) => (at != null && inside(plot.scales[name], at) ? at : null)),
            values: (_, splits) => splits.map((at) => (at == null ? "" : text(at))),
          }),
    };
  }

  private frame(plot: uPlot): Frame {
    const { left, top, width, height } = plot.bbox;
    return {
      context: plot.ctx,
      left,
      top,
      width,
      height,
      ratio: uPlot.pxRatio,
      theme: theme(this.element),
      x: (value) => (this.data.x.scale === "log" && value <= 0 ? Number.NaN : plot.valToPos(value, "x", true)),
      y: (value) => (this.data.y.scale === "log" && value <= 0 ? Number.NaN : plot.valToPos(value, "y", true)),
    };
  }

  /** Shows the selected part; a narrow selection is one of the other axis only. */
  private select(plot: uPlot): void {
    const { left, top, width, height } = plot.select;
    if (width < 4 && height < 4) return;
    const across = plot.over.clientWidth;
    const down = plot.over.clientHeight;
    if (width >= 4 && width < across - 1) this.zoom("x", [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
    if (height >= 4 && height < down - 1) this.zoom("y", [plot.posToVal(top + height, "y"), plot.posToVal(top, "y")]);
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  private zoom(axis: "x" | "y", limits: Span): void {
    const [lo, hi] = sorted(limits);
    if (hi > lo) this.zoomed(axis, [lo, hi]);
  }

  /** Shows everything, in this panel and in those that share its axes. */
  reset(): void {
    this.zoomed("x", sorted(this.data.x.range));
    this.zoomed("y", sorted(this.data.y.range));
  }

  /** Returns the point next to a place of the panel, pixels; `undefined`: none is near. */
  private nearest(left: number, top: number): Point | undefined {
    const { plot } = this;
    if (!plot) return undefined;
    const shown = new Set(this.items);
    const frame = { ...this.frame(plot), left: 0, top: 0, width: plot.over.clientWidth, height: plot.over.clientHeight };
    frame.x = (value) => plot.valToPos(value, "x");
    frame.y = (value) => plot.valToPos(value, "y");
    let [best, least]: [Point | undefined, number] = [undefined, REACH];
    for (const point of this.points) {
      if (!shown.has(point.item)) continue;
      let away = Math.hypot(plot.valToPos(point.x, "x") - left, plot.valToPos(point.y, "y") - top);
      if (point.item.kind === "bars") {
        const box = corners(frame, point.item.boxes[point.index] ?? [0, 0, 0, 0]);
        if (left >= box.left && left <= box.right && top >= box.top && top <= box.bottom) away = 0;
      }
      if (away < least) [best, least] = [point, away];
    }
    return best;
  }

  private choose(point: Point | undefined): void {
    this.chosen = point;
    const { plot, tip } = this;
    if (!plot || !point) {
      tip.hidden = true;
      return;
    }
    const [left, top] = [plot.valToPos(point.x, "x"), plot.valToPos(point.y, "y")];
    tip.textContent = describe(this.data, point);
    tip.hidden = false;
    tip.classList.toggle("to-left", left > plot.over.clientWidth / 2);
    tip.style.left = `${Math.max(0, Math.min(left, plot.over.clientWidth))}px`;
    tip.style.top = `${Math.max(0, Math.min(top, plot.over.clientHeight))}px`;
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const shown = new Set(this.items);
    const points = this.points.filter((point) => shown.has(point.item));
    const now = this.chosen ? points.indexOf(this.chosen) : -1;
    const items = [...new Set(points.map((point) => point.item))];
    const go = (by: number) => points[Math.max(0, Math.min(points.length - 1, now + by))];
    const other = (by: number) => {
      const item = items[(items.indexOf(this.chosen?.item ?? (items[0] as Item)) + by + items.length) % items.length];
      return points.find((point) => point.item === item && point.index === this.chosen?.index) ?? points.find((p) => p.item === item);
    };
    const moves: Record<string, () => Point | undefined> = {
      ArrowRight: () => go(1),
      ArrowLeft: () => go(-1),
      ArrowDown: () => other(1),
      ArrowUp: () => other(-1),
      Home: () => points[0],
      End: () => points.at(-1),
    };
    const move = moves[event.key];
    if (move) this.choose(move());
    else if (event.key === "+" || event.key === "-") this.magnify(event.key === "+" ? 0.5 : 2);
    else if (event.key === "0") this.reset();
    else if (event.key === "Escape") this.choose(undefined);
    else return;
    event.preventDefault();
  }

  /** Shows a part of the x axis whose length is `share` of the present one, about the chosen point; at most everything. */
  private magnify(share: number): void {
    const { plot } = this;
    if (!plot) return;
    const across = plot.over.clientWidth;
    const middle = this.chosen ? plot.valToPos(this.chosen.x, "x") : across / 2;
    const all = sorted(this.data.x.range);
    const half = (share * across) / 2;
    const ends = sorted([plot.posToVal(middle - half, "x"), plot.posToVal(middle + half, "x")]);
    this.zoom("x", [Math.max(all[0], ends[0]), Math.min(all[1], ends[1])]);
  }
}

function sorted([a, b]: readonly [number, number]): Span {
  return a <= b ? [a, b] : [b, a];
}

function inside(scale: uPlot.Scale | undefined, at: number): boolean {
  const [lo, hi] = [scale?.min ?? Number.NEGATIVE_INFINITY, scale?.max ?? Number.POSITIVE_INFINITY];
  const slack = 1e-9 * (hi - lo);
  return at >= lo - slack && at <= hi + slack;
}

/** Returns a word that fits beside a y axis, or below an x axis. */
function cut(word: string, axis: "x" | "y", width: number): string {
  const most = Math.floor(axis === "y" ? (0.42 * width) / LETTER : 24);
  return word.length > most ? `${word.slice(0, most - 1)}…` : word;
}
