// Data of a chart, as `tailback.plotting.chart` writes it. A missing key means 0, "", false, or an empty list.

/** A coordinate; null is a gap in a curve, or an end of an interval that is unbounded. */
export type Value = number | null;

export interface AxisData {
  label?: string;
  /** Linear if missing; symlog is linear near zero and logarithmic above. */
  scale?: "log" | "symlog";
  /** End of the linear part of a symlog axis. */
  threshold?: number;
  /** Limits at first; the first is the greater one on an axis that is turned round. */
  range: [number, number];
  /** Ticks with their words; without them ticks are chosen. */
  ticks?: [number, string][];
}

interface Common {
  colour?: string;
  /** Name in the legend. */
  label?: string;
  opacity?: number;
}

/** Points, connected unless `bare`, with intervals along x or y. */
export interface LineItem extends Common {
  kind: "line";
  x: Value[];
  y: Value[];
  x_lo?: Value[];
  x_hi?: Value[];
  y_lo?: Value[];
  y_hi?: Value[];
  /** Replications behind each point. */
  n?: number[];
  dash?: boolean;
  width?: number;
  /** A value holds until the next x. */
  step?: boolean;
  marker?: string;
  bare?: boolean;
  colours?: string[];
}

/** Bars from a corner (x0, y0) to the other (x1, y1), with intervals of their lengths. */
export interface BarsItem extends Common {
  kind: "bars";
  boxes: [number, number, number, number][];
  colours?: string[];
  lo?: Value[];
  hi?: Value[];
  n?: number[];
  sideways?: boolean;
}

export interface AreaItem extends Common {
  kind: "area";
  x: Value[][];
  y: Value[][];
}

/** A line across the panel at a value of an axis. */
export interface RuleItem extends Common {
  kind: "rule";
  axis: "x" | "y";
  at: number;
  dash?: boolean;
}

/** A shaded range of an axis. */
export interface SpanItem extends Common {
  kind: "span";
  axis: "x" | "y";
  ends: [number, number];
}

export interface TextItem extends Common {
  kind: "text";
  at: [number, number];
  /** For x and for y: d (data; both if missing), or a (share of the panel, from the lower left). */
  frame?: string;
  /** Points to the right and up. */
  offset?: [number, number];
  text: string;
  align?: string;
  baseline?: string;
  size?: number;
  turned?: boolean;
}

export type Item = LineItem | BarsItem | AreaItem | RuleItem | SpanItem | TextItem;

export interface LegendData {
  title?: string;
  /** Names and colours. */
  entries: [string, string][];
}

export interface PanelData {
  /** Row, column, number of rows and of columns in the grid of the chart. */
  at: [number, number, number, number];
  title?: string;
  /** Remark, such as which curves coincide. */
  note?: string;
  x: AxisData;
  y: AxisData;
  /** Number of the first panel with the same axis; the panel's own if it shares none. */
  share_x?: number;
  share_y?: number;
  /** Back to front. */
  items: Item[];
  legend?: LegendData;
}

export interface ChartData {
  rows: number;
  columns: number;
  /** Height over width. */
  aspect: number;
  panels: PanelData[];
  texts?: string[];
  legends?: LegendData[];
}
