// Plots of one port and one flow over time, with a crosshair in common.

import uPlot from "uplot";
import { colourOf } from "./colours.ts";
import type { Series } from "./protocol.ts";

/** A plot: its title, and the series that it shows (a name, or a beginning of names that ends with `: `). */
interface Panel {
  id: string;
  title: string;
  show: string;
}

const PANELS: Panel[] = [
  { id: "queue", title: "Queue (kB)", show: "queue" },
  { id: "delay", title: "Time to empty the queue at the link's rate (ms)", show: "delay" },
  { id: "throughput", title: "Throughput of the port (Mbit/s)", show: "throughput" },
  { id: "goodput", title: "Data of the flow that arrives (Mbit/s)", show: "goodput" },
  { id: "drops", title: "Drops by cause and marks, all ports", show: "drops: " },
  { id: "state", title: "State of the queue discipline", show: "state: " },
  { id: "flow", title: "State of the sender", show: "flow: " },
];

/** Milliseconds between two drawings of a plot. */
const PERIOD = 150;

/** Samples of all variants, by the name of the series. */
interface Data {
  time: number[];
  values: Record<string, (number | null)[]>;
}

export class Plots {
  readonly #place: HTMLElement;
  readonly #made = new Map<string, { plot: uPlot; names: string[]; figure: HTMLElement }>();
  #data: Data[] = [];
  #chosen: Record<string, string> = { state: "", flow: "" };
  /** Panels that are to be drawn again, and the times at which panels were drawn. */
  #waiting = new Set<Panel>(PANELS);
  #drawn = new Map<Panel, number>();

  constructor(place: HTMLElement) {
    this.#place = place;
  }

  /** Forgets all samples. */
  clear(): void {
    this.#data = [];
    this.#made.forEach(({ plot, figure }) => {
      plot.destroy();
      figure.remove();
    });
    this.#made.clear();
    this.#changed();
  }

  /** Adds the samples of a variant. */
  add(variant: number, series: Series): void {
    const known = this.#data[variant];
    if (series.from === 0 || known === undefined) {
      this.#data[variant] = { time: [...series.time], values: { ...series.values } };
      this.#changed();
    } else if (series.time.length > 0) {
      known.time.push(...series.time);
      for (const [name, values] of Object.entries(series.values)) {
        const column = (known.values[name] ??= new Array<null>(known.time.length - series.time.length).fill(null));
        column.push(...values);
      }
      this.#changed();
    }
  }

  /** Number of samples of the first variant. */
  get samples(): number {
    return this.#data[0]?.time.length ?? 0;
  }

  /** Draws the plot that has waited longest; called for each picture, so that no task is long. */
  draw(): void {
    const time = (panel: Panel) => this.#drawn.get(panel) ?? 0;
    const [next] = [...this.#waiting].sort((a, b) => time(a) - time(b));
    if (next === undefined || performance.now() - time(next) < PERIOD) return;
    this.#waiting.delete(next);
    this.#drawn.set(next, performance.now());
    this.#draw(next);
  }

  /** `true` if a plot has changed since it was drawn. */
  get waiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Draws all plots that have changed. */
  drawAll(): void {
    for (const panel of this.#waiting) this.#draw(panel);
    this.#waiting.clear();
  }

  #changed(): void {
    this.#waiting = new Set(PANELS);
  }

  #names(panel: Panel): string[] {
    const first = this.#data[0]?.values ?? {};
    if (!panel.show.endsWith(": ")) return panel.show in first ? [panel.show] : [];
    const all = Object.keys(first).filter((name) => name.startsWith(panel.show));
    if (panel.id === "drops") {
      const some = (name: string) => this.#data.some((data) => data.values[name]?.some((value) => (value ?? 0) > 0));
      return [...all, "marks"].filter(some);
    }
    // The bytes that a law needs for its state are constant in most disciplines.
    return all.filter((name) => !name.endsWith("state_bytes")).filter((name) => this.#data.some((data) => data.values[name]?.some((value) => value !== null)));
  }

  #draw(panel: Panel): void {
    let names = this.#names(panel);
    const choices = panel.id in this.#chosen ? names : [];
    if (choices.length > 0) {
      const chosen = choices.includes(this.#chosen[panel.id]!) ? this.#chosen[panel.id]! : this.#preferred(choices);
      names = [chosen];
    }
    const known = this.#made.get(panel.id);
    if (names.length === 0 || this.#data[0] === undefined) {
      known?.plot.destroy();
      known?.figure.remove();
      this.#made.delete(panel.id);
      return;
    }
    const keys = this.#data.flatMap((_, variant) => names.map((name) => `${variant}${name}`));
    const time = this.#data.reduce((longest, data) => (data.time.length > longest.length ? data.time : longest), [] as number[]);
    const columns = this.#data.flatMap((data) => names.map((name) => padded(data.values[name] ?? [], time.length)));
    const data = [time, ...columns] as uPlot.AlignedData;
    if (known !== undefined && known.names.join() === keys.join()) {
      known.plot.setData(data);
      return;
    }
    const figure = known?.figure ?? this.#figure(panel);
    if (known === undefined) this.#insert(panel, figure);
    known?.plot.destroy();
    this.#choices(panel, figure, choices, names[0]!);
    const style = getComputedStyle(this.#place);
    const axis = { stroke: style.getPropertyValue("--text"), grid: { stroke: style.getPropertyValue("--line"), width: 1 } };
    const series = this.#data.flatMap((_, variant) =>
      names.map((name, i): uPlot.Series => {
        const letter = this.#data.length > 1 ? `${"AB"[variant]} ` : "";
        // With two variants the colour is that of the variant, as in all plots, and the dashes are those of the cause.
        const two = this.#data.length > 1;
        const dash = two && i > 0 ? { dash: [2 + 5 * i, 4] } : {};
        const colour = colourOf(two ? variant : i);
        return { label: `${letter}${label(name)}`, stroke: colour, width: 1.5, points: { show: false }, ...dash };
      }),
    );
    const options: uPlot.Options = {
      width: figure.clientWidth,
      height: 150,
      legend: { show: true, live: true },
      cursor: { sync: { key: "lab" }, y: false, drag: { x: false, y: false } },
      scales: { x: { time: false }, y: { range: { min: { pad: 0.05, soft: 0, mode: 1 }, max: { pad: 0.1, soft: 0, mode: 2 } } } },
      axes: [{ ...axis, size: 30 }, { ...axis, size: 52, values: (_, ticks) => ticks.map(short) }],
      series: [{ label: "time (s)", value: (_, v) => (v === null ? "–" : v.toFixed(4)) }, ...series],
    };
    const plot = new uPlot(options, data, figure);
    this.#made.set(panel.id, { plot, names: keys, figure });
  }

  /** The state variable that is shown first. */
  #preferred(choices: string[]): string {
    const wanted = ["average", "window", "probability", "target", "delay"];
    const found = wanted.flatMap((word) => choices.filter((name) => name.includes(word)));
    return found[0] ?? choices[0]!;
  }

  #figure(panel: Panel): HTMLElement {
    const figure = document.createElement("figure");
    figure.className = "plot";
    figure.dataset["panel"] = panel.id;
    const caption = document.createElement("figcaption");
    caption.textContent = panel.title;
    figure.append(caption);
    return figure;
  }

  #insert(panel: Panel, figure: HTMLElement): void {
    const later = PANELS.slice(PANELS.indexOf(panel) + 1).map(({ id }) => this.#made.get(id)?.figure);
    this.#place.insertBefore(figure, later.find((other) => other !== undefined) ?? null);
  }

  #choices(panel: Panel, figure: HTMLElement, choices: string[], chosen: string): void {
    figure.querySelector("select")?.remove();
    if (choices.length < 2) return;
    const select = document.createElement("select");
    select.setAttribute("aria-label", `${panel.title}: variable`);
    select.append(...choices.map((name) => new Option(label(name), name, false, name === chosen)));
    select.onchange = () => {
      this.#chosen[panel.id] = select.value;
      this.#draw(panel);
    };
    figure.querySelector("figcaption")!.append(" ", select);
  }

  /** Fits all plots to the page's width and theme. */
  resize(): void {
    this.#made.forEach(({ plot }) => plot.destroy());
    const figures = [...this.#made.values()].map(({ figure }) => figure);
    this.#made.clear();
    figures.forEach((figure) => figure.remove());
    this.#changed();
    this.drawAll();
  }

  /** The plots with their titles, for exports. */
  get shown(): { id: string; title: string; plot: uPlot }[] {
    return [...this.#made].map(([id, { plot }]) => ({ id, title: PANELS.find((panel) => panel.id === id)!.title, plot }));
  }
}

/** A number of an axis in at most six letters. */
function short(value: number): string {
  const [unit, letter] = Math.abs(value) >= 1e7 ? [1e6, "M"] : Math.abs(value) >= 1e4 ? [1e3, "k"] : [1, ""];
  return `${Number((value / unit).toPrecision(4))}${letter}`;
}

/** Name of a series without the family, in words. */
const label = (name: string) => name.replace(/^\w+: /, "").replaceAll("_", " ");

function padded(values: (number | null)[], length: number): (number | null)[] {
  return values.length >= length ? values : [...values, ...new Array<null>(length - values.length).fill(null)];
}
