// A chart: panels in a grid, a legend whose entries hide and show curves, and the table of all values.

import type { ChartData, LegendData, PanelData } from "./data.ts";
import { visible, theme } from "./colours.ts";
import { Panel } from "./panel.ts";
import { csv, table } from "./points.ts";

/** Least height of a panel in pixels. */
const LEAST_HEIGHT = 230;
/** Added to the height of a panel for its ticks and labels, in pixels: on a screen they are larger than in the drawing. */
const EXTRA = 30;
/** Width of the chart in pixels below which panels stand one below the other. */
const NARROW = 560;
/** Greatest height over width of a panel that is placed by itself. */
const TALLEST = 0.8;
/** Smallest width of a panel, pixels. */
const LEAST_WIDTH = 220;
/** Most rows of the table that are shown; the file has all. */
const MOST_ROWS = 2000;

/** Returns a panel whose axes have the ticks of the panels that share them, where only the outer ones had words. */
function withTicks(panel: PanelData, panels: readonly PanelData[]): PanelData {
  const of = (axis: "x" | "y") => {
    const key = axis === "x" ? "share_x" : "share_y";
    const group = (one: PanelData) => one[key] ?? 0;
    const ticks = panel[axis].ticks ?? panels.find((other) => group(other) === group(panel) && other[axis].ticks)?.[axis].ticks;
    return ticks ? { ...panel[axis], ticks } : panel[axis];
  };
  return panels.length > 1 ? { ...panel, x: of("x"), y: of("y") } : panel;
}

/** Draws a chart into an element. */
export class Chart {
  private readonly panels: Panel[];
  private readonly grid = document.createElement("div");
  private readonly hidden = new Set<string>();
  private readonly swatches: [HTMLElement, string][] = [];
  private width = 0;

  /** `name` is the name of the figure, for readers of a screen and for files. */
  constructor(
    private readonly host: HTMLElement,
    private readonly data: ChartData,
    private readonly name: string,
  ) {
    this.panels = data.panels.map(
      (panel, index) => new Panel(withTicks(panel, data.panels), name, (axis, limits) => this.zoom(index, axis, limits)),
    );
    this.grid.className = "panels";
    this.grid.append(...this.panels.map((panel) => panel.element));
    for (const text of data.texts ?? []) host.append(element("p", "chart-note", text));
    host.append(...this.legends(), this.grid, this.tools());
    new ResizeObserver(() => this.layout()).observe(host);
    this.layout();
  }

  /** Draws again, after a change of colours. */
  redraw(): void {
    for (const panel of this.panels) panel.redraw(this.hidden);
    const background = theme(this.host).background;
    for (const [swatch, colour] of this.swatches) swatch.style.background = visible(colour, background);
  }

  private layout(): void {
    const width = this.host.clientWidth;
    if (width === 0 || width === this.width) return;
    this.width = width;
    const gap = 8;
    // Panels that would be too narrow are placed one after the other in fewer columns.
    const alone = width < NARROW && this.data.columns < 3;
    const fit = Math.max(1, alone ? 1 : Math.floor((width + gap) / (LEAST_WIDTH + gap)));
    const single = this.data.columns > fit;
    const columns = Math.min(fit, this.data.columns);
    const cell = (width - gap * (columns - 1)) / columns;
    this.grid.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    // Height over width of a cell of the grid.
    const aspect = (this.data.aspect * this.data.columns) / this.data.rows;
    for (const panel of this.panels) {
      const [row, column, rows, across] = panel.data.at;
      const wide = single ? cell : cell * across + gap * (across - 1);
      const high = Math.max(LEAST_HEIGHT, cell * aspect * rows + EXTRA);
      panel.element.style.gridArea = single ? "auto" : `${row + 1} / ${column + 1} / span ${rows} / span ${across}`;
      panel.resize(Math.floor(wide), Math.floor(single ? Math.max(LEAST_HEIGHT, Math.min((aspect * rows) / across, TALLEST) * wide + EXTRA) : high));
    }
  }

  private zoom(index: number, axis: "x" | "y", limits: [number, number]): void {
    const key = axis === "x" ? "share_x" : "share_y";
    const group = this.data.panels[index]?.[key] ?? 0;
    for (const panel of this.panels) if ((panel.data[key] ?? 0) === group) panel.show(axis, limits);
  }

  private legends(): HTMLElement[] {
    const found = new Map<string, LegendData>();
    for (const legend of [...(this.data.legends ?? []), ...this.data.panels.map((panel) => panel.legend)]) {
      if (legend) found.set(JSON.stringify(legend), legend);
    }
    return [...found.values()].map((legend) => {
      const row = element("div", "legend");
      if (legend.title) row.append(element("span", "legend-title", legend.title));
      for (const [label, colour] of legend.entries) row.append(this.entry(label, colour));
      return row;
    });
  }

  /** Returns a button that hides and shows the curves of a name. */
  private entry(label: string, colour: string): HTMLElement {
    const button = element("button", "legend-entry") as HTMLButtonElement;
    const swatch = element("span", "swatch");
    this.swatches.push([swatch, colour]);
    swatch.style.background = visible(colour, theme(document.documentElement).background);
    button.append(swatch, label);
    button.type = "button";
    button.ariaPressed = "true";
    button.addEventListener("click", () => {
      if (!this.hidden.delete(label)) this.hidden.add(label);
      button.ariaPressed = String(!this.hidden.has(label));
      for (const panel of this.panels) panel.redraw(this.hidden);
    });
    return button;
  }

  private tools(): HTMLElement {
    const row = element("div", "chart-tools");
    const reset = element("button", "", "Show all") as HTMLButtonElement;
    reset.type = "button";
    reset.title = "Undo the zoom. Drag over a part of the chart to zoom in.";
    reset.addEventListener("click", () => this.panels.forEach((panel) => panel.reset()));
    const save = element("button", "", "Save CSV") as HTMLButtonElement;
    save.type = "button";
    save.addEventListener("click", () => download(`${this.name}.csv`, "text/csv", csv(table(this.data))));
    const details = element("details", "chart-table");
    details.append(element("summary", "", "Table"));
    details.addEventListener("toggle", () => details.children.length < 2 && details.append(values(this.data)), { once: true });
    row.append(reset, save, details);
    return row;
  }
}

/** Returns the table of all values of a chart. */
function values(data: ChartData): HTMLElement {
  const [head = [], ...rows] = table(data);
  const found = element("table", "");
  const row = (cells: readonly string[], kind: "th" | "td") => {
    const line = document.createElement("tr");
    line.append(...cells.map((cell) => element(kind, /^-?[\d.]/.test(cell) ? "n" : "", cell)));
    return line;
  };
  const heading = document.createElement("thead");
  heading.append(row(head, "th"));
  const body = document.createElement("tbody");
  body.append(...rows.slice(0, MOST_ROWS).map((cells) => row(cells, "td")));
  found.append(heading, body);
  const wide = element("div", "wide");
  wide.tabIndex = 0;
  wide.role = "region";
  wide.ariaLabel = "Table of the values";
  wide.append(found);
  if (rows.length > MOST_ROWS) wide.append(element("p", "", `The first ${MOST_ROWS} of ${rows.length} rows; the CSV file has all.`));
  return wide;
}

function element(tag: string, name: string, text = ""): HTMLElement {
  const found = document.createElement(tag);
  if (name) found.className = name;
  if (text) found.textContent = text;
  return found;
}

/** Lets the reader save a text as a file. */
export function download(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
