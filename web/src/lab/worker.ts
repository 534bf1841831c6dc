// The worker in which the engine runs: answers requests, and sends pictures while it plays.

import { described } from "../../../crates/wasm/last_call.mjs";
import { Engine, type Watch } from "./engine.ts";
import type { Answer, Event, Request, Requests } from "./protocol.ts";
import { Run } from "./run.ts";

/** Milliseconds between two pictures. */
const PERIOD = 33;
/** Milliseconds of work after which a picture is sent, although the chosen time is not reached. */
const MOST_WORK = 60;

let coloured = false;
let engine: Engine | null = null;
let runs: Run[] = [];
/** Number of openings so far: pictures of earlier runs may be under way when the page has replaced them. */
let generation = 0;
let watched = { port: 0, flow: "" };
/** Work under way: moving all runs to `reach`, then playing up to `goal` at a speed, or moving there (null). */
let work: { reach: number; goal: number; speed: number | null; last: number } | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

const send = (message: Answer | Event) => postMessage(message);

function pictures(attained: number | null = null): void {
  const made = runs.map((run) => run.picture(watched.port, watched.flow, attained));
  send({ event: "pictures", generation, pictures: made, playing: work !== null });
}

/** Advances all runs to `at` as far as `MOST_WORK` allows for each; returns `true` when all are there. */
function advance(at: number): boolean {
  return runs.map((run) => run.advance(at, performance.now() + MOST_WORK)).every((there) => there);
}

function tick(): void {
  timer = undefined;
  if (work === null) return;
  try {
    const started = performance.now();
    const elapsed = Math.min(started - work.last, 100);
    const before = slowest();
    const behind = before < Math.min(work.reach, longest());
    const played = before + (work.speed ?? Infinity) * elapsed * 1e9;
    const there = advance(behind ? work.reach : Math.min(work.goal, played));
    work.last = started;
    const attained = there || behind || work.speed === null ? null : ((slowest() - before) * 1e-9) / (performance.now() - started);
    if (runs.every((run) => run.now >= Math.min(work!.goal, run.end))) work = null;
    pictures(attained);
    if (work !== null) timer = setTimeout(tick, Math.max(0, PERIOD - (performance.now() - started)));
  } catch (error) {
    work = null;
    send({ event: "failed", error: error instanceof Error ? error.message : String(error) });
  }
}

/** Time of the run that is furthest behind, and of the one that is furthest ahead. */
const slowest = () => Math.min(...runs.map((run) => run.now));
const furthest = () => Math.max(...runs.map((run) => run.now));
/** End of the longest run. */
const longest = () => Math.max(...runs.map((run) => run.end));

function begin(goal: number, speed: number | null): void {
  clearTimeout(timer);
  // A move that is under way is completed before the run plays, and the runs play from the same time.
  const pending = work !== null && speed !== null ? (work.speed === null ? work.goal : work.reach) : 0;
  work = { reach: Math.max(pending, furthest()), goal, speed, last: performance.now() };
  timer = setTimeout(tick, 0);
}

function halt(): void {
  clearTimeout(timer);
  work = null;
}

/** Decodes gzip in base64. */
async function unpacked(text: string): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

const loaded = (): Engine => {
  if (engine === null) throw new Error("the engine is not loaded yet");
  return engine;
};

const at = (variant: number): Run => {
  const run = runs[variant];
  if (run === undefined) throw new Error("there is no such variant");
  return run;
};

/** Tells the page when a user's component may be called: a call that does not return leaves no other trace. */
const watch: Watch = {
  begins: (at) => send({ event: "working", at }),
  ends: () => send({ event: "worked" }),
};

/** Tells the page each call from a time on, and its end. */
const notes = (from: number) => ({
  begin(name: string, call: string, now?: bigint) {
    if (Number(now ?? -1) >= from) send({ event: "calling", call: described(name, call, now) });
  },
  end: () => send({ event: "calling", call: null }),
});

type Handlers = { [K in keyof Requests]: (argument: Requests[K]["argument"]) => Requests[K]["answer"] | Promise<Requests[K]["answer"]> };

const handlers: Handlers = {
  async load({ wasm, noteFrom }) {
    const started = performance.now();
    const calls = noteFrom === null ? null : notes(noteFrom);
    engine = await Engine.load(typeof wasm === "string" ? await unpacked(wasm) : wasm, watch, calls);
    return { milliseconds: performance.now() - started };
  },
  async laws({ files }) {
    for (const { name, bytes } of files) await loaded().laws.add(name, bytes);
    return {};
  },
  check: ({ text }) => ({ ...loaded().check(text), missing: loaded().laws.takeMissing() }),
  schema: () => loaded().schema(),
  open({ variants, seed, at }) {
    halt();
    const before = runs;
    // All variants are opened before the present runs end, so that a refused scenario leaves them as they are.
    const opened = variants.map((variant) => new Run(loaded(), variant, BigInt(seed)));
    before.forEach((run) => run.close());
    runs = opened;
    generation += 1;
    runs.forEach((run) => (run.byClass = coloured));
    if (at > 0) begin(at, null);
    else pictures();
    return { generation, opened: runs.map((run) => run.opened) };
  },
  watch({ port, flow }) {
    watched = { port, flow };
    runs.forEach((run) => run.resend());
    if (work === null) pictures();
    return {};
  },
  colour({ byClass }) {
    coloured = byClass;
    runs.forEach((run) => (run.byClass = byClass));
    if (work === null) pictures();
    return {};
  },
  play({ speed }) {
    begin(Infinity, speed);
    return {};
  },
  pause() {
    halt();
    if (runs.length > 0 && slowest() < Math.min(furthest(), longest())) begin(furthest(), null);
    else pictures();
    return {};
  },
  step({ span }) {
    halt();
    const now = slowest();
    const goal = span === null ? Math.min(...runs.map((run) => run.nextEvent)) : now + span;
    begin(Math.min(Math.max(goal, now), longest()), null);
    return {};
  },
  jump({ at }) {
    halt();
    for (const run of runs) if (at < run.now) run.restart(at);
    if (runs.length > 0) begin(at, null);
    return {};
  },
  change({ variant, lines }) {
    return { at: at(variant).change(lines), lines };
  },
  excerpts: ({ port, seconds, since }) => runs.map((run) => run.excerpt(port, seconds, since)),
  scenario: ({ variant }) => at(variant).scenario(),
  table: ({ variant }) => at(variant).table(watched.port, watched.flow),
};

onmessage = async ({ data }: MessageEvent<Request>) => {
  try {
    const handler = handlers[data.name] as (argument: unknown) => unknown;
    send({ id: data.id, answer: await handler(data.argument) });
  } catch (error) {
    const missing = engine?.laws.takeMissing() ?? [];
    send({ id: data.id, error: error instanceof Error ? error.message : String(error), missing });
  }
};
