// Messages between the page and the worker in which the engine runs.

import type { Check, Names } from "./engine.ts";
import type { Layout } from "./layout.ts";

/** A change made during a run: its time and lines `path=value`. */
export interface Change {
  at: number;
  lines: string[];
}

/** What is run: a scenario, values set before the run, keys made tunable, and changes during the run. */
export interface Variant {
  text: string;
  sets: string[];
  tunable: string[];
  timeline: Change[];
}

/** Columns of a sample of a port; the state variables of its discipline follow. */
export const PORT_COLUMNS = ["queue", "delay", "throughput", "drops", "marks"] as const;

/** Samples of the port and flow that are plotted. */
export interface Series {
  /** Number of the first sample here; 0 replaces all. */
  from: number;
  /** Seconds. */
  time: number[];
  /** Values by name, as long as `time`. */
  values: Record<string, (number | null)[]>;
}

/** The samples of a part of a run at a port, and the flows over the same time. */
export interface Excerpt {
  /** kB. */
  queue: number[];
  /** Time to empty the queue at the link's rate, ms. */
  delay: number[];
  /** State variables of the discipline, by name. */
  state: Record<string, number[]>;
  /** Mean, Mbit/s. */
  throughput: number;
  /** Data delivered to each group of flows, mean, Mbit/s. */
  goodput: Record<string, number>;
  /** Dropped packets of all ports, by cause. */
  drops: Record<string, number>;
  /** Dropped packets of all ports, by group of flows. */
  lost: Record<string, number>;
}

/** State of a port for the drawing. */
export interface DrawnPort {
  queue: number;
  /** Waiting bytes by colour index (flow or class). */
  parts: [number, number][];
  stopped: boolean;
  up: boolean;
  frames: number;
  dropped: number;
}

/** Frames on the links at an instant; each has an entry in every list. */
export interface Moving {
  port: number[];
  /** Part of the way from one end to the other, 0 to 1, of the middle of the frame. */
  place: number[];
  /** Index of the flow; -1: a control frame. */
  flow: number[];
  /** Index of the kind of frame. */
  frame: number[];
  class: number[];
}

/** State of one variant at an instant. */
export interface Picture {
  now: number;
  end: number;
  done: boolean;
  ports: DrawnPort[];
  moving: Moving;
  /** Frames on each port's link, when they are too many to be listed. */
  crowded: number[];
  /** Ports at which packets were dropped since the last picture. */
  drops: number[];
  series: Series;
  /** Number of drops by cause. */
  causes: Record<string, number>;
  /** Dropped packets since the start, by group of flows. */
  lost: Record<string, number>;
  marks: number;
  /** Digest of the report, at the end of the run. */
  digest: string | null;
  /** Simulated seconds per second that the engine attained while it played; null: it kept the chosen speed. */
  attained: number | null;
}

/** What is known after a variant is opened. */
export interface Opened {
  check: Check;
  names: Names;
  layout: Layout;
  end: number;
  /** The scenario that runs: with the values and the tunable keys set. */
  toml: string;
}

/** A file of users' components: its name in the scenario, and its content. */
export interface LawFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Requests of the page, by name: argument and answer. */
export interface Requests {
  /** Loads the engine; calls of users' components from `noteFrom` on are events (picoseconds, -1: all; null: none). */
  load: { argument: { wasm: ArrayBuffer | string; noteFrom: number | null }; answer: { milliseconds: number } };
  /** Adds files of users' components, for scenarios that are opened afterwards. */
  laws: { argument: { files: LawFile[] }; answer: object };
  /** Also answers with the files of users' components that the scenario names and that were not added. */
  check: { argument: { text: string }; answer: Check & { missing: string[] } };
  schema: { argument: object; answer: unknown };
  open: { argument: { variants: Variant[]; seed: string; at: number }; answer: { generation: number; opened: Opened[] } };
  watch: { argument: { port: number; flow: string }; answer: object };
  colour: { argument: { byClass: boolean }; answer: object };
  play: { argument: { speed: number }; answer: object };
  pause: { argument: object; answer: object };
  step: { argument: { span: number | null }; answer: object };
  jump: { argument: { at: number }; answer: object };
  change: { argument: { variant: number; lines: string[] }; answer: Change };
  excerpts: { argument: { port: string; seconds: number; since: number }; answer: (Excerpt | null)[] };
  scenario: { argument: { variant: number }; answer: string };
  table: { argument: { variant: number }; answer: { names: string[]; columns: (number | null)[][] } };
}

/** A request, its answer, or an event of the worker. */
export type Request = { [K in keyof Requests]: { id: number; name: K; argument: Requests[K]["argument"] } }[keyof Requests];
/** An error has the files of users' components that the scenario names and that were not added. */
export type Answer = { id: number; answer?: unknown; error?: string; missing?: string[] };
export type Event =
  | { event: "pictures"; generation: number; pictures: Picture[]; playing: boolean }
  | { event: "failed"; error: string }
  | CallEvent;

/** The engine begins work that can call users' components, at a time of the run (null: before it); a component is called (null: the call has ended); the work has ended. */
export type CallEvent = { event: "working"; at: number | null } | { event: "calling"; call: string | null } | { event: "worked" };
