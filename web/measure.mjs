// Measures the lab in the browser:
//
//     node measure.mjs frames      # work of the page's main thread while a run is drawn, and its longest tasks
//     node measure.mjs speed       # one run in the browser's worker and by the program TAILBACK, alternately
//
// Times are processor times of the thread (`tdur` of Chromium's trace), so that other programs on the machine count little.

import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { deflateRawSync } from "node:zlib";
import { open, start } from "./test/browser.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const PAGE = pathToFileURL(here("../python/tailback/web/built/lab/index.html")).href;
const BENCH = here("../python/tailback/bench");
/** Scenarios of the gallery with the most nodes and flows, and the first one. */
const LARGEST = ["", "lan-extended", "lan-models", "datacentre-fct", "datacentre-bench", "internet-e20"];
/** Seconds of a trace. */
const SECONDS = 10;
const CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline", "toplevel", "blink.user_timing", "v8.execute", "disabled-by-default-v8.cpu_profiler"];

/** Alternating rounds of the speeds, and the simulated seconds of each benchmark: about a second of processor time natively. */
const ROUNDS = 9;
const LENGTHS = { red64: 2000, "lan-a1": 5000 };
const [PROGRAM, ...FIRST_ARGUMENTS] = (process.env.TAILBACK ?? here("../.venv/bin/tailback")).split(" ");

/** Address of the lab with a scenario. */
function address(text) {
  const state = { variants: [{ text, sets: [], tunable: [], timeline: [] }], seed: "1" };
  return `${PAGE}#s=${deflateRawSync(JSON.stringify(state)).toString("base64url")}`;
}

/** Returns the events of the trace of `work`. */
async function traced(browser, page, work, profiled = false) {
  await browser.startTracing(page, { categories: profiled ? CATEGORIES : CATEGORIES.slice(0, -1) });
  await work();
  return JSON.parse((await browser.stopTracing()).toString()).traceEvents;
}

/** Numbers of the processes that show the lab; the browser has pages of its own in others. */
function processes(events) {
  const frames = events.flatMap((e) => [...(e.args?.data?.frames ?? []), ...(e.name === "FrameCommittedInBrowser" ? [e.args.data] : [])]);
  return new Set(frames.filter(({ url }) => url?.includes("/lab/index.html")).map(({ processId }) => processId));
}

/** Returns the tasks of the thread that draws the page: start, duration and processor time (ms), and what most of it was. */
function tasks(events) {
  const pages = processes(events);
  const threads = events.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain" && pages.has(e.pid));
  const main = threads.map((e) => `${e.pid}/${e.tid}`);
  if (main.length === 0) throw new Error("the trace has no thread of the lab");
  const own = events.filter((e) => main.includes(`${e.pid}/${e.tid}`) && e.ph === "X");
  const all = own.filter((e) => e.name === "ThreadControllerImpl::RunTask");
  return all.map((task) => {
    const inner = own.filter((e) => e.tid === task.tid && e !== task && e.ts >= task.ts && e.ts < task.ts + task.dur && !e.name.endsWith("RunTask"));
    const most = inner.sort((a, b) => (b.dur ?? 0) - (a.dur ?? 0)).slice(0, 5);
    return { start: task.ts / 1000, wall: task.dur / 1000, cpu: (task.tdur ?? task.dur) / 1000, most: most.map((e) => `${e.name} ${((e.dur ?? 0) / 1000).toFixed(0)}`) };
  });
}

const quantile = (values, share) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))];
const shown = (ms) => `${ms.toFixed(1)} ms`;

/** Prints the longest tasks. */
function longest(name, events) {
  const all = tasks(events).sort((a, b) => b.cpu - a.cpu).slice(0, Number(process.env.TASKS ?? 1));
  for (const task of all) console.log(`  ${name}: task of ${shown(task.cpu)} (${shown(task.wall)} of wall time): ${task.most.join(", ")}`);
  return all[0]?.cpu ?? 0;
}

/** Prints the work for each animation frame: that of all tasks since the frame before. */
function frames(events) {
  const all = tasks(events).sort((a, b) => a.start - b.start);
  const starts = events.filter((e) => e.name === "FireAnimationFrame").map((e) => e.ts / 1000).sort((a, b) => a - b);
  const work = new Array(starts.length).fill(0);
  let frame = 0;
  for (const task of all) {
    while (frame < starts.length && task.start + task.wall >= starts[frame]) frame++;
    if (frame > 0 && frame < starts.length) work[frame] += task.cpu;
  }
  const inner = work.slice(1);
  console.log(`  ${inner.length} frames; work of a frame: median ${shown(quantile(inner, 0.5))}, 95 % ${shown(quantile(inner, 0.95))}, most ${shown(Math.max(...inner))}`);
}

async function measureFrames(browser) {
  const text = readFileSync(`${BENCH}/red64.toml`, "utf8").replace(/duration = .*/, 'duration = "600s"');
  const { page, context } = await open(browser, "about:blank");
  console.log("opening of the page");
  longest("open", await traced(browser, page, async () => {
    await page.goto(address(text));
    await page.waitForSelector("#play:not([disabled])");
    await page.waitForTimeout(1500);
  }));
  console.log("red64, 64 flows");
  // 10 Mbit/s are 1200 segments of 1040 B in a second: with their acknowledgements over three links, 7200 packet-hops, and 144 000 for
  // each second of the page at this speed.
  for (const speed of ["20 s"]) {
    for (let i = 0; i < 40 && (await page.textContent("#speed")) !== `${speed} per second`; i++) {
      const unit = { s: 1, ms: 1e-3, "µs": 1e-6 };
      const value = (told) => Number(told.split(" ")[0]) * unit[told.split(" ")[1]];
      await page.click(value(await page.textContent("#speed")) < value(speed) ? "#faster" : "#slower");
    }
    await page.click("#play");
    await page.waitForTimeout(1500);
    const before = await page.textContent("#now");
    const events = await traced(browser, page, () => page.waitForTimeout(1000 * SECONDS));
    console.log(`  from ${before} to ${await page.textContent("#now")}, speed ${await page.textContent("#speed")}`);
    frames(events);
    longest("play", events);
    await page.click("#play");
  }
  await context.close();
  for (const id of process.env.ONLY?.split(",") ?? LARGEST) {
    const { page: one, context: own } = await open(browser, PAGE);
    await one.waitForSelector("#play:not([disabled])");
    await one.waitForTimeout(1000);
    console.log(id || "the first scenario");
    longest("open", await traced(browser, one, async () => {
      await one.selectOption("#pick", id);
      await one.waitForTimeout(2500);
    }));
    longest("play", await traced(browser, one, async () => {
      await one.click("#play");
      await one.waitForTimeout(3000);
    }));
    await own.close();
  }
  const { page: other } = await open(browser, PAGE);
  await other.waitForSelector("#play:not([disabled])");
  await other.waitForTimeout(1000);
  console.log("other parts of the page");
  const actions = {
    editor: () => other.click("#text summary"),
    "text of a large scenario": () => other.selectOption("#pick", "lan-extended"),
    lesson: () => other.selectOption("#pick", "lesson=bufferbloat"),
    "a law of its own": () => other.selectOption("#pick", "own-law"),
    "end of a run": () => other.evaluate(() => {
      const time = document.getElementById("time");
      time.value = "1000";
      time.dispatchEvent(new Event("change"));
    }),
  };
  for (const [name, act] of Object.entries(actions)) {
    longest(name, await traced(browser, other, async () => {
      await act();
      await other.waitForTimeout(3000);
    }));
  }
}

/** The program of the worker: runs scenarios in the module. */
const WORKER = `
import { run } from "../crates/wasm/simulator.mjs";
let wasm;
onmessage = async ({ data }) => {
  if (data.module) ({ exports: wasm } = (await WebAssembly.instantiate(data.module)).instance);
  postMessage(data.module ? "" : run(wasm, data.toml, 1).digest);
};`;

/** Processor time of all tasks of workers, s. */
function workerTime(events) {
  const workers = events.filter((e) => e.name === "thread_name" && e.args.name === "DedicatedWorker thread").map((e) => `${e.pid}/${e.tid}`);
  const own = events.filter((e) => e.ph === "X" && e.name === "ThreadControllerImpl::RunTask" && workers.includes(`${e.pid}/${e.tid}`));
  return own.reduce((sum, e) => sum + e.tdur, 0) / 1e6;
}

/** Processor time of the program for a scenario, s, and the digest. */
function natively(file) {
  const line = [PROGRAM, ...FIRST_ARGUMENTS, "run", file, "--seed", "1", "--reps", "1", "--json", "-q"];
  const { stdout, stderr } = spawnSync("bash", ["-c", 'TIMEFORMAT="%U %S"; time "$@"', "time", ...line], { encoding: "utf8", maxBuffer: 1e9 });
  const [user, system] = stderr.trim().split("\n").at(-1).split(" ").map(Number);
  return { time: user + system, digest: JSON.parse(stdout).replications[0].digest };
}

async function measureSpeed(browser) {
  const folder = mkdtempSync(join(tmpdir(), "speed-"));
  const { page } = await open(browser, PAGE);
  const bundle = { stdin: { contents: WORKER, resolveDir: here(".") }, bundle: true, format: "iife", write: false };
  const { text } = (await build(bundle)).outputFiles[0];
  const module = readFileSync(here("../python/tailback/web/built/lab/site/tailback.wasm")).toString("base64");
  await page.evaluate(
    async ([source, packed]) => {
      const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
      globalThis.ask = (data) =>
        new Promise((done, failed) => {
          worker.onmessage = (event) => done(event.data);
          worker.onerror = (error) => failed(new Error(error.message));
          worker.postMessage(data);
        });
      await globalThis.ask({ module: Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0)) });
    },
    [text, module],
  );
  for (const [name, seconds] of Object.entries(LENGTHS)) {
    const file = (duration) => {
      const path = join(folder, `${name}.toml`);
      const toml = readFileSync(`${BENCH}/${name}.toml`, "utf8").replace(/^duration = .*/m, `duration = "${duration}s"`);
      writeFileSync(path, toml);
      return { path, toml };
    };
    const rounds = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const { path: short } = file(1);
      const begin = natively(short).time;
      const { path, toml } = file(seconds);
      const native = natively(path);
      let digest;
      const events = await traced(browser, page, async () => {
        digest = await page.evaluate((data) => globalThis.ask(data), { toml });
        // The event of a task is written after its end.
        await page.waitForTimeout(300);
      });
      if (digest !== native.digest) throw new Error(`${name}: ${digest} in the browser, ${native.digest} natively`);
      // The first round compiles.
      if (round > 0) rounds.push({ native: native.time - begin, browser: workerTime(events) });
    }
    const times = (key) => rounds.map((round) => round[key]);
    const ratio = rounds.map((round) => round.native / round.browser);
    const range = `${Math.min(...ratio).toFixed(2)} to ${Math.max(...ratio).toFixed(2)}`;
    const [native, inBrowser] = [times("native"), times("browser")].map((all) => quantile(all, 0.5).toFixed(2));
    console.log(`${name}, ${seconds} s: natively ${native} s, in the browser ${inBrowser} s; speed relative to the native one ${quantile(ratio, 0.5).toFixed(2)} (${range})`);
  }
  rmSync(folder, { recursive: true });
}

const commands = { frames: measureFrames, speed: measureSpeed };
const command = commands[process.argv[2]];
if (command === undefined) {
  console.error(`usage: node measure.mjs ${Object.keys(commands).join("|")}`);
  process.exit(2);
}
const browser = await start();
await command(browser);
await browser.close();
