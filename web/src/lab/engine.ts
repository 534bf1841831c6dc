// The simulator as a WebAssembly module, with the calls that the lab needs (crates/wasm/tailback.h).

import { Laws, type Calls } from "../../../crates/wasm/laws.mjs";
import { answer, answerBytes, withText, type Memory } from "../../../crates/wasm/simulator.mjs";

/** An error or a warning about a scenario. */
export interface Problem {
  message: string;
  path: string;
  line: number | null;
  column: number | null;
  help: string | null;
  /** The complete text, as the command line shows it. */
  text: string;
}

/** A value of the scenario that can change during a run. */
export interface Tunable {
  path: string;
  value: unknown;
  help: string;
  min?: unknown;
  max?: unknown;
  declared: boolean;
  /** All values of a key that takes one of several words. */
  words?: string[];
}

/** A full-duplex link; rates and buffers have a value for each end. */
export interface Link {
  ends: [string, string];
  rate_bps: [number, number];
  delay_s: number;
  buffer_bytes: [number | null, number | null];
}

/** Nodes (name and kind), links, and flows (sender, receiver, group). */
export interface Network {
  nodes: [string, string][];
  links: Link[];
  flows: [string, string, string][];
}

/** Answer of a check; the later parts are absent if there are errors. */
export interface Check {
  errors: Problem[];
  warnings: Problem[];
  title?: string;
  seed?: number;
  network?: Network;
  tunable?: Tunable[];
  /** `run.tunable` as the scenario has it. */
  declared?: unknown[];
}

/** Names of the indices in rows. */
export interface Names {
  ports: string[];
  flows: string[];
  events: string[];
  frames: string[];
}

/** Packets and bytes. */
export interface Counts {
  packets: number;
  bytes: number;
}

/** State of a port, as far as the lab uses it. */
export interface PortView {
  rate_bps: number;
  delay_s: number;
  up: boolean;
  queue_bytes: number;
  classes: { queued: Counts; by_flow: Record<string, Counts> }[];
  on_link_frames: number;
  sent_bytes: number;
  dropped_packets: number;
  marked_packets: number;
  stopped: boolean;
  state: Record<string, number>;
}

/** State of a flow, as far as the lab uses it. */
export interface FlowView {
  delivered: Counts;
  dropped: Counts;
  sender?: { phase: string; state: Record<string, number> };
}

/** State of the network. */
export interface View {
  time_ps: number;
  ports: Record<string, PortView>;
  flows: Record<string, FlowView>;
}

/** Length of a record of the trace, bytes. */
export const RECORD = 40;

/** The exports of the module that are used here. */
interface Exports extends Memory {
  tailback_schema(): number;
  tailback_check(at: number, len: number): number;
  tailback_set(at: number, len: number, pairs: number): number;
  tailback_run(at: number, len: number, seed: bigint): number;
  tailback_open_selected(at: number, len: number, seed: bigint, events: number, frames: number): number;
  tailback_close(handle: number): number;
  tailback_now(handle: number): bigint;
  tailback_end(handle: number): bigint;
  tailback_next_event(handle: number): bigint;
  tailback_run_until(handle: number, at: bigint, budget: bigint): number;
  tailback_view(handle: number): number;
  tailback_names(handle: number): number;
  tailback_take_rows(handle: number): number;
  tailback_change(handle: number, at: number, len: number, when: bigint): number;
  tailback_scenario(handle: number): number;
  tailback_report(handle: number): number;
}

const REFUSED = 1;
const RUNNING = 2;

/** Text of an error of the engine. */
export class Refusal extends Error {}

/** Hears when a function of the module begins that can call users' components, at a time of the run (null: before it), and when it ends. */
export interface Watch {
  begins(at: number | null): void;
  ends(): void;
}

const UNWATCHED: Watch = { begins: () => undefined, ends: () => undefined };

/** Functions of the module that can call users' components: those whose first argument is a handle, and others. */
const WITH_HANDLE = ["run_until", "view", "change", "scenario", "report", "close"].map((name) => `tailback_${name}`);
const BEFORE_RUN = ["check", "set", "run", "open_selected"].map((name) => `tailback_${name}`);

/** Returns the exports; calls of users' components are between calls of `watch`, if `laws` has any. */
function watched(exports: WebAssembly.Exports, laws: () => number, watch: Watch): Exports {
  const all: Record<string, unknown> = { ...exports };
  for (const name of [...WITH_HANDLE, ...BEFORE_RUN]) {
    const plain = exports[name] as (...values: unknown[]) => unknown;
    const now = exports["tailback_now"] as (handle: unknown) => bigint;
    all[name] = (...values: unknown[]) => {
      if (laws() === 0) return plain(...values);
      watch.begins(WITH_HANDLE.includes(name) ? Number(now(values[0])) : null);
      try {
        return plain(...values);
      } finally {
        watch.ends();
      }
    };
  }
  return all as unknown as Exports;
}

/** An instance of the module. */
export class Engine {
  readonly #exports: Exports;
  readonly laws: Laws;

  constructor(exports: WebAssembly.Exports, watch: Watch, calls: Calls | null) {
    this.laws = new Laws(exports, calls);
    this.#exports = watched(exports, () => this.laws.size, watch);
  }

  /** Compiles and starts the module, which has no imports; `calls` hears of each call of a user's component. */
  static async load(wasm: BufferSource, watch: Watch = UNWATCHED, calls: Calls | null = null): Promise<Engine> {
    const { instance } = await WebAssembly.instantiate(wasm, {});
    return new Engine(instance.exports, watch, calls);
  }

  /** Bytes of the module's memory. */
  get memory(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  /** Calls `work` with a text in the module's memory. */
  #with<T>(text: string, work: (at: number, len: number) => T): T {
    return withText(this.#exports, text, work);
  }

  /** Returns the last result as text; throws it if the call was refused. */
  #answer(status: number): string {
    const text = answer(this.#exports);
    if (status === REFUSED) throw new Refusal(text);
    return text;
  }

  /** The JSON Schema of a scenario. */
  schema(): unknown {
    return JSON.parse(this.#answer(this.#exports.tailback_schema()));
  }

  check(toml: string): Check {
    return JSON.parse(this.#answer(this.#with(toml, (at, len) => this.#exports.tailback_check(at, len)))) as Check;
  }

  /** The document with values replaced: lines `path=value`. */
  set(toml: string, lines: string[]): string {
    if (lines.length === 0) return toml;
    const pairs = lines.map((line) => `${line}\n`).join("");
    const length = new TextEncoder().encode(pairs).length;
    return this.#answer(this.#with(pairs + toml, (at, len) => this.#exports.tailback_set(at, len, length)));
  }

  /** The report of one replication, as JSON text. */
  run(toml: string, seed: bigint): string {
    return this.#answer(this.#with(toml, (at, len) => this.#exports.tailback_run(at, len, seed)));
  }

  /** Opens a simulation with the selected kinds of events and frames in its trace; returns its handle. */
  open(toml: string, seed: bigint, events: number, frames: number): number {
    const open = (at: number, len: number) => this.#exports.tailback_open_selected(at, len, seed, events, frames);
    const handle = this.#with(toml, open);
    if (handle === 0) throw new Refusal(answer(this.#exports));
    return handle;
  }

  close(handle: number): void {
    this.#exports.tailback_close(handle);
  }
  now(handle: number): number {
    return Number(this.#exports.tailback_now(handle));
  }
  end(handle: number): number {
    return Number(this.#exports.tailback_end(handle));
  }
  nextEvent(handle: number): number {
    return Number(BigInt.asUintN(64, this.#exports.tailback_next_event(handle)));
  }
  /** Handles at most `budget` events up to `at`; returns `true` if events may remain. */
  runUntil(handle: number, at: number, budget: number): boolean {
    const status = this.#exports.tailback_run_until(handle, BigInt(Math.round(at)), BigInt(budget));
    if (status === REFUSED) throw new Refusal(answer(this.#exports));
    return status === RUNNING;
  }
  view(handle: number): View {
    return JSON.parse(this.#answer(this.#exports.tailback_view(handle))) as View;
  }
  names(handle: number): Names {
    return JSON.parse(this.#answer(this.#exports.tailback_names(handle))) as Names;
  }
  /** The records of the rows since the last call. */
  rows(handle: number): DataView {
    const status = this.#exports.tailback_take_rows(handle);
    if (status === REFUSED) throw new Refusal(answer(this.#exports));
    const copy = answerBytes(this.#exports).slice();
    return new DataView(copy.buffer);
  }
  /** Schedules a change: lines `path=value`; returns its time in picoseconds. */
  change(handle: number, lines: string[], at: number): number {
    const change = (start: number, len: number) =>
      this.#exports.tailback_change(handle, start, len, BigInt(Math.round(at)));
    return Number(this.#answer(this.#with(lines.join("\n"), change)));
  }
  /** The scenario with all changes in its timeline, as TOML. */
  scenario(handle: number): string {
    return this.#answer(this.#exports.tailback_scenario(handle));
  }
  /** The report up to now, as JSON text; closes the simulation. */
  report(handle: number): string {
    return this.#answer(this.#exports.tailback_report(handle));
  }
}
