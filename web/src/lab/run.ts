// A simulation of one variant: advances in steps, keeps samples for the plots and the frames that are under way.

import { RECORD, type Check, type Engine, type Names, type View } from "./engine.ts";
import { layOut } from "./layout.ts";
import type { DrawnPort, Excerpt, Moving, Opened, Picture, Series, Variant } from "./protocol.ts";

/** Kinds of events in the trace of a run: transmissions, drops and marks (indices of EventKind::ALL). */
const EVENTS = (1 << 1) | (1 << 4) | (1 << 5);
/** All kinds of frames. */
const FRAMES = 0x1ff;
const DEQUEUE = 1;
const DROP = 4;
const MARK = 5;
const NO_FLOW = 0xffffffff;

/** Frames on all links above which only their number for each port is passed on. */
const MOST_LISTED = 4000;
/** Events between two looks at the clock. */
const BUDGET = 4000;

/** Intervals between samples over which a rate is the mean. */
const RATE_OVER = 5;

/** State variables that are not plotted: the memory that a discipline takes in an implementation. */
const NOT_PLOTTED = ["state_bytes"];

/** Names of the reasons of drops, in the order of the engine. */
export const REASONS = [
  "buffer full",
  "shared memory full",
  "input buffer full",
  "link loss",
  "link down",
  "early drop",
  "unresponsive flow",
  "policed",
];

/** Largest number of samples of a run, and of ports and flows in all samples together. */
const MOST_SAMPLES = 1000;
const FEWEST_SAMPLES = 200;
const MOST_PARTS = 200000;

/** A sample of all ports and flows. */
interface Sample {
  time: number;
  /** Numbers in the order of `Columns`; NaN: absent at this time. */
  numbers: Float64Array;
  causes: Record<string, number>;
  /** Dropped packets by group of flows. */
  lost: Record<string, number>;
}

/** Where the numbers of ports and flows are in a sample. */
interface Columns {
  /** By name of a port: the first of queue, rate and sent bytes, which its state variables follow. */
  ports: Map<string, { at: number; states: string[] }>;
  /** By name of a flow: the number of delivered bytes, which the state variables of its sender follow. */
  flows: Map<string, { at: number; states: string[] }>;
  length: number;
}

/** Numbers of a port before its state variables. */
const [QUEUE, RATE, SENT, PORT_STATES] = [0, 1, 2, 3];

function columnsOf(view: View): Columns {
  const columns: Columns = { ports: new Map(), flows: new Map(), length: 0 };
  for (const [name, port] of Object.entries(view.ports)) {
    const states = Object.keys(port.state).filter((key) => !NOT_PLOTTED.includes(key));
    columns.ports.set(name, { at: columns.length, states });
    columns.length += PORT_STATES + states.length;
  }
  for (const [name, flow] of Object.entries(view.flows)) {
    const states = Object.keys(flow.sender?.state ?? {});
    columns.flows.set(name, { at: columns.length, states });
    columns.length += 1 + states.length;
  }
  return columns;
}

function numbersOf(view: View, columns: Columns): Float64Array {
  const numbers = new Float64Array(columns.length);
  for (const [name, { at, states }] of columns.ports) {
    const port = view.ports[name]!;
    numbers.set([port.queue_bytes, port.rate_bps, port.sent_bytes, ...states.map((key) => port.state[key] ?? NaN)], at);
  }
  for (const [name, { at, states }] of columns.flows) {
    const flow = view.flows[name]!;
    numbers.set([flow.delivered.bytes, ...states.map((key) => flow.sender?.state[key] ?? NaN)], at);
  }
  return numbers;
}

/** Frames under way. */
interface Flight {
  start: number;
  end: number;
  port: number;
  flow: number;
  frame: number;
  class: number;
}

/** Returns the value of `run.tunable` that makes these keys tunable, in addition to the entries that the scenario has. */
export function tunableLine(check: Check, keys: string[]): string {
  const stated = (check.declared ?? []).map((entry) => {
    if (typeof entry === "string") return JSON.stringify(entry);
    const parts = Object.entries(entry as Record<string, unknown>).filter(([, value]) => value !== null);
    return `{ ${parts.map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(", ")} }`;
  });
  const added = keys.map((key) => {
    // A delay needs a lower bound, which bounds the lookahead of parallel runs.
    const value = key.endsWith(".delay") ? check.tunable?.find(({ path }) => path === key)?.value : undefined;
    return value === undefined ? JSON.stringify(key) : `{ key = ${JSON.stringify(key)}, min = ${JSON.stringify(tenth(String(value)))} }`;
  });
  return `run.tunable=[${[...stated, ...added].join(", ")}]`;
}

/** Returns a tenth of a quantity such as "10ms". */
function tenth(text: string): string {
  const [, number, unit] = /^([\d.]+)\s*(.*)$/.exec(text) ?? [];
  return number === undefined ? text : `${Number(number) / 10}${unit ?? ""}`;
}

export class Run {
  readonly #engine: Engine;
  readonly #toml: string;
  readonly #seed: bigint;
  #handle = 0;
  #samples: Sample[] = [];
  readonly #columns: Columns;
  /** View of the last sample. */
  #latest: View;
  #flights: Flight[] = [];
  #causes: Record<string, number> = {};
  #lost: Record<string, number> = {};
  #marks = 0;
  #dropsAt: number[] = [];
  #sent = 0;
  #digest: string | null = null;
  /** Scenario with its changes, kept when the report has closed the simulation. */
  #final: { view: View; scenario: string } | null = null;
  readonly check: Check;
  readonly names: Names;
  readonly end: number;
  readonly interval: number;
  readonly variant: Variant;
  readonly #flowIndex: Map<string, number>;
  /** Colour of the queues: by flow, or by class. */
  byClass = false;

  constructor(engine: Engine, variant: Variant, seed: bigint) {
    this.#engine = engine;
    this.#seed = seed;
    this.variant = variant;
    const plain = engine.set(variant.text, variant.sets);
    const before = engine.check(plain);
    const lines = variant.tunable.length > 0 ? [tunableLine(before, variant.tunable)] : [];
    this.#toml = engine.set(plain, lines);
    this.check = engine.check(this.#toml);
    this.#handle = engine.open(this.#toml, seed, EVENTS, FRAMES);
    this.names = engine.names(this.#handle);
    this.end = engine.end(this.#handle);
    this.#flowIndex = new Map(this.names.flows.map((name, index) => [name, index]));
    const parts = this.names.ports.length + this.names.flows.length;
    const samples = Math.min(MOST_SAMPLES, Math.max(FEWEST_SAMPLES, Math.floor(MOST_PARTS / parts)));
    this.interval = Math.max(1, Math.floor(this.end / samples));
    this.#latest = this.#engine.view(this.#handle);
    this.#columns = columnsOf(this.#latest);
    this.#schedule();
    this.#sample();
  }

  get opened(): Opened {
    return { check: this.check, names: this.names, layout: layOut(this.check.network!), end: this.end, toml: this.#toml };
  }
  get now(): number {
    return this.#final === null ? this.#engine.now(this.#handle) : this.end;
  }
  get nextEvent(): number {
    return this.#final === null ? this.#engine.nextEvent(this.#handle) : Infinity;
  }
  get done(): boolean {
    return this.now >= this.end;
  }

  #schedule(): void {
    for (const change of this.variant.timeline) this.#engine.change(this.#handle, change.lines, change.at);
  }

  close(): void {
    if (this.#final === null) this.#engine.close(this.#handle);
  }

  /** Advances to `at`, or until the wall clock is at `until`; returns `true` when `at` is reached. */
  advance(at: number, until: number): boolean {
    // Times of the engine are whole picoseconds.
    const goal = Math.min(Math.round(at), this.end);
    while (this.now < goal) {
      const sampleAt = (Math.floor(this.now / this.interval) + 1) * this.interval;
      const next = Math.min(goal, sampleAt);
      while (this.#engine.runUntil(this.#handle, next, BUDGET)) {
        this.#takeRows();
        if (performance.now() > until) return false;
      }
      this.#takeRows();
      if (next === sampleAt || next === this.end) this.#sample();
      if (performance.now() > until && next < goal) return false;
    }
    return true;
  }

  /** Starts again, with the changes up to `at`. */
  restart(at: number): void {
    this.close();
    this.variant.timeline = this.variant.timeline.filter((change) => change.at <= at);
    this.#handle = this.#engine.open(this.#toml, this.#seed, EVENTS, FRAMES);
    this.#final = null;
    this.#digest = null;
    this.#samples = [];
    this.#flights = [];
    this.#causes = {};
    this.#lost = {};
    this.#marks = 0;
    this.#dropsAt = [];
    this.#sent = 0;
    this.#schedule();
    this.#sample();
  }

  /** Changes values now; returns the time of the change. */
  change(lines: string[]): number {
    if (this.#final !== null) throw new Error("the run is at its end; jump back to change values");
    const at = this.#engine.change(this.#handle, lines, 0);
    this.variant.timeline.push({ at, lines });
    return at;
  }

  /** The scenario with all changes in its timeline. */
  scenario(): string {
    return this.#final?.scenario ?? this.#engine.scenario(this.#handle);
  }

  #takeRows(): void {
    const rows = this.#engine.rows(this.#handle);
    for (let at = 0; at < rows.byteLength; at += RECORD) {
      const event = rows.getUint8(at + 36);
      const port = rows.getUint32(at + 16, true);
      if (event === DEQUEUE) {
        const link = this.check.network!.links[port >> 1]!;
        const state = this.#latest.ports[this.names.ports[port]!];
        const rate = state?.rate_bps ?? link.rate_bps[port & 1]!;
        const start = Number(rows.getBigUint64(at, true));
        const wire = rows.getUint16(at + 34, true);
        const duration = (wire * 8e12) / rate + 1e12 * (state?.delay_s ?? link.delay_s);
        const flow = rows.getUint32(at + 20, true);
        this.#flights.push({
          start,
          end: start + duration,
          port,
          flow: flow === NO_FLOW ? -1 : flow,
          frame: rows.getUint8(at + 37),
          class: rows.getUint8(at + 38),
        });
      } else if (event === DROP) {
        const reason = REASONS[rows.getUint8(at + 39)] ?? "other";
        this.#causes[reason] = (this.#causes[reason] ?? 0) + 1;
        this.#dropsAt.push(port);
        const flow = this.names.flows[rows.getUint32(at + 20, true)];
        if (flow !== undefined) this.#lost[groupOf(flow)] = (this.#lost[groupOf(flow)] ?? 0) + 1;
      } else if (event === MARK) {
        this.#marks += 1;
      }
    }
    const now = this.now;
    if (this.#flights.length > 2 * MOST_LISTED || rows.byteLength > 0) {
      this.#flights = this.#flights.filter((flight) => flight.end > now);
    }
  }

  #sample(): void {
    const view = this.#view();
    this.#latest = view;
    const numbers = numbersOf(view, this.#columns);
    this.#samples.push({ time: view.time_ps / 1e12, numbers, causes: { ...this.#causes, marked: this.#marks }, lost: { ...this.#lost } });
  }

  #view(): View {
    return this.#final?.view ?? this.#engine.view(this.#handle);
  }

  /** Takes the report, which closes the simulation. */
  #finish(): void {
    const view = this.#engine.view(this.#handle);
    const scenario = this.#engine.scenario(this.#handle);
    const report = JSON.parse(this.#engine.report(this.#handle)) as { digest: string };
    this.#final = { view, scenario };
    this.#digest = report.digest;
  }

  /** Returns the state for the drawing and the samples since the last picture. */
  picture(port: number, flow: string, attained: number | null): Picture {
    if (this.done && this.#final === null) this.#finish();
    const now = this.now;
    const view = this.#view();
    const ports = this.names.ports.map((name): DrawnPort => {
      const state = view.ports[name]!;
      return {
        queue: state.queue_bytes,
        parts: this.#parts(state.classes),
        stopped: state.stopped,
        up: state.up,
        frames: state.on_link_frames,
        dropped: state.dropped_packets,
      };
    });
    this.#flights = this.#flights.filter((flight) => flight.end > now);
    const crowded = new Array<number>(ports.length).fill(0);
    for (const flight of this.#flights) crowded[flight.port]! += 1;
    const listed = this.#flights.length <= MOST_LISTED ? this.#flights : [];
    const moving: Moving = {
      port: listed.map((flight) => flight.port),
      place: listed.map((flight) => (now - flight.start) / (flight.end - flight.start)),
      flow: listed.map((flight) => flight.flow),
      frame: listed.map((flight) => flight.frame),
      class: listed.map((flight) => flight.class),
    };
    const drops = this.#dropsAt.slice(-50);
    this.#dropsAt = [];
    const series = this.#series(this.#sent, port, flow);
    this.#sent = this.#samples.length;
    return {
      now,
      end: this.end,
      done: this.done,
      ports,
      moving,
      crowded,
      drops,
      series,
      causes: { ...this.#causes },
      lost: { ...this.#lost },
      marks: this.#marks,
      digest: this.#digest,
      attained,
    };
  }

  /** Sends all samples again with the next picture. */
  resend(): void {
    this.#sent = 0;
  }

  #parts(classes: View["ports"][string]["classes"]): [number, number][] {
    const parts = new Map<number, number>();
    classes.forEach((queue, index) => {
      for (const [name, counts] of Object.entries(queue.by_flow)) {
        const key = this.byClass ? index : (this.#flowIndex.get(name.replace(/ \(ack\)$/, "")) ?? -1);
        parts.set(key, (parts.get(key) ?? 0) + counts.bytes);
      }
    });
    return [...parts];
  }

  /** Returns samples from the number `from` on of a port and a flow. */
  #series(from: number, port: number, flow: string): Series {
    const name = this.names.ports[port] ?? this.names.ports[0]!;
    const samples = this.#samples.slice(from);
    const values: Series["values"] = {};
    const column = (key: string, read: (sample: Sample, before: Sample | undefined) => number | null | undefined) => {
      values[key] = samples.map((sample, i) => read(sample, this.#samples[Math.max(0, from + i - RATE_OVER)]) ?? null);
    };
    const own = this.#columns.ports.get(name)!;
    const number = (place: number) => (sample: Sample) => sample.numbers[place]!;
    const state = (place: number) => (sample: Sample) => {
      const value = sample.numbers[place]!;
      return Number.isNaN(value) ? null : value;
    };
    column("queue", (s) => s.numbers[own.at + QUEUE]! / 1000);
    column("delay", (s) => (8000 * s.numbers[own.at + QUEUE]!) / s.numbers[own.at + RATE]!);
    column("throughput", (s, before) => rate(s, before, number(own.at + SENT)));
    for (const reason of REASONS) column(`drops: ${reason}`, (s) => s.causes[reason]);
    column("marks", (s) => s.causes["marked"]);
    own.states.forEach((key, i) => column(`state: ${key}`, state(own.at + PORT_STATES + i)));
    const sender = this.#columns.flows.get(flow);
    if (sender !== undefined) {
      sender.states.forEach((key, i) => column(`flow: ${key}`, state(sender.at + 1 + i)));
      column("goodput", (s, before) => rate(s, before, number(sender.at)));
    }
    return { from, time: samples.map((sample) => sample.time), values };
  }

  /** What the samples of the last `seconds` after `since` (picoseconds) say of a port and the flows; null: they do not reach so far back. */
  excerpt(port: string, seconds: number, since: number): Excerpt | null {
    const latest = this.#samples.at(-1)!;
    const first = this.#samples.findLastIndex(({ time }) => time <= latest.time - seconds + 1e-9);
    const before = this.#samples[first];
    const own = this.#columns.ports.get(port);
    if (before === undefined || own === undefined || before.time * 1e12 < since) return null;
    const within = this.#samples.slice(first + 1);
    const number = (place: number) => within.map(({ numbers }) => numbers[place]!);
    const megabits = (place: number) => (8e-6 * (latest.numbers[place]! - before.numbers[place]!)) / (latest.time - before.time);
    const goodput: Record<string, number> = {};
    for (const [flow, { at }] of this.#columns.flows) {
      goodput[groupOf(flow)] = (goodput[groupOf(flow)] ?? 0) + megabits(at);
    }
    const drops = REASONS.map((reason) => [reason, (latest.causes[reason] ?? 0) - (before.causes[reason] ?? 0)]);
    const lost = Object.entries(latest.lost).map(([group, count]) => [group, count - (before.lost[group] ?? 0)]);
    return {
      lost: Object.fromEntries(lost) as Record<string, number>,
      queue: number(own.at + QUEUE).map((bytes) => bytes / 1000),
      delay: within.map(({ numbers }) => (8000 * numbers[own.at + QUEUE]!) / numbers[own.at + RATE]!),
      state: Object.fromEntries(own.states.map((key, i) => [key, number(own.at + PORT_STATES + i)])),
      throughput: megabits(own.at + SENT),
      goodput,
      drops: Object.fromEntries(drops) as Record<string, number>,
    };
  }

  /** All samples of a port and a flow as columns, for exports. */
  table(port: number, flow: string): { names: string[]; columns: (number | null)[][] } {
    const { time, values } = this.#series(0, port, flow);
    const names = Object.keys(values).filter((key) => values[key]!.some((value) => value !== null));
    return { names: ["time_s", ...names], columns: [time, ...names.map((key) => values[key]!)] };
  }
}

/** Name of the group of a flow. */
const groupOf = (flow: string) => flow.replace(/\[\d+\]$/, "");

/** Returns Mbit/s between two samples. */
function rate(now: Sample, before: Sample | undefined, read: (sample: Sample) => number): number | null {
  if (before === undefined || now.time <= before.time) return null;
  return (8e-6 * (read(now) - read(before))) / (now.time - before.time);
}
