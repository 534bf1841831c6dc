// The page: connects the controls, the drawing, the plots and the editor with the worker.

import codel from "../../../python/tests/laws/codel.wat";
import { RequestError, gallery, loadEditor, start, type Client, type Entry, type Heard } from "./client.ts";
import { COUNT, colourOf } from "./colours.ts";
import { Drawing, heightFor } from "./draw.ts";
import type { Tunable } from "./engine.ts";
import { csv, download, parquet, png, svg } from "./exports.ts";
import first from "./first.toml";
import law from "./law.toml";
import { LawFiles, sharedLaws } from "./laws.ts";
import { Plots } from "./plots.ts";
import type { Opened, Picture, Requests, Variant } from "./protocol.ts";
import { time } from "./quantity.ts";
import { Schema } from "./schema.ts";
import { entryOf, fromFragment, toFragment } from "./share.ts";
import { slider } from "./sliders.ts";
import { followColours } from "./theme.ts";
import { guideOf } from "../lessons/guides.ts";
import { LESSONS, lessonOf, variantsOf, type Lesson } from "../lessons/lessons.ts";
import { panel } from "../lessons/panel.ts";
import type { EditorView } from "@codemirror/view";
import type { EditorParts } from "./editor.ts";

const find = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const FIRST: Entry = { id: "", group: "", title: "Two sources, one link, PAUSE frames", about: "Two hosts send more than the link from s2 to d can carry, and the switches stop their neighbours with PAUSE frames. Press Play, then change a value.", toml: first };
/** A law of its own (A) and the same one of the simulator (B). */
const OWN_LAW = "own-law";
const OWN_LAW_TITLE = "A law of your own: CoDel as WebAssembly (A), and the built-in CoDel (B)";
const GROUPS: Record<string, string> = {
  lan: "Switched Ethernet LANs",
  internet: "TCP and active queue management",
  edge: "Quality of service at the customer edge",
  datacentre: "Data-centre Ethernet",
};
/** Speeds, in simulated seconds per second. */
const SPEEDS = [-7, -6, -5, -4, -3, -2, -1, 0, 1, 2].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));

const ui = {
  pick: find<HTMLSelectElement>("pick"),
  seed: find<HTMLInputElement>("seed"),
  play: find<HTMLButtonElement>("play"),
  restart: find<HTMLButtonElement>("restart"),
  toEnd: find<HTMLButtonElement>("to-end"),
  step: find<HTMLButtonElement>("step"),
  span: find<HTMLSelectElement>("span"),
  slower: find<HTMLButtonElement>("slower"),
  faster: find<HTMLButtonElement>("faster"),
  speed: find<HTMLOutputElement>("speed"),
  time: find<HTMLInputElement>("time"),
  now: find<HTMLOutputElement>("now"),
  problem: find("problem"),
  problemText: find("problem-text"),
  add: find<HTMLSelectElement>("add"),
  compare: find<HTMLInputElement>("compare"),
  port: find<HTMLSelectElement>("port"),
  flow: find<HTMLSelectElement>("flow"),
  colours: find<HTMLSelectElement>("colours"),
  runText: find<HTMLButtonElement>("run-text"),
};

let client: Client;
let lawFiles: LawFiles;
/** Variants that were refused since they lack files of components, and the time at which they were to be opened. */
let lacking: { variants: Variant[]; at: number } | null = null;
let entries: Entry[] = [];
let schema: Schema | null = null;
let editor: EditorView | null = null;
let parts: EditorParts | null = null;
let variants: Variant[] = [];
let opened: Opened[] = [];
let generation = 0;
let drawings: Drawing[] = [];
let pictures: Picture[] = [];
let playing = false;
let speed = 0;
let dragging = false;
let frame = 0;
/** The lesson that is open, and what shows its answer. */
let lesson: Lesson | null = null;
let answer: ReturnType<typeof panel> = () => undefined;
/** `true` while the samples of an answer are asked for, and if a picture has come since. */
let asking = false;
let askAgain = false;
const plots = new Plots(find("plots"));

/** Shows the text of an error, as the command line does; null: none. */
function problem(message: string | null, text: string | null = null): void {
  ui.problem.hidden = message === null;
  ui.problem.textContent = message ?? "";
  ui.problemText.hidden = text === null;
  ui.problemText.textContent = text ?? "";
}

const failed = (error: unknown) => problem(error instanceof Error ? error.message : String(error));

function heard(event: Heard): void {
  if (event.event === "searching") {
    playing = false;
    showControls();
    return problem("A component does not return from a call. The run is repeated up to this call, to name it.");
  }
  if (event.event === "ended") return void recover(event.error, event.at).catch(failed);
  if (event.event === "failed") {
    playing = false;
    showControls();
    return problem("The run has failed.", event.error);
  }
  if (event.generation !== generation) return;
  pictures = event.pictures.map((picture, i) => ({ ...picture, drops: [...(pictures[i]?.drops ?? []), ...picture.drops] }));
  event.pictures.forEach((picture, i) => plots.add(i, picture.series));
  playing = event.playing;
  if (frame === 0) frame = requestAnimationFrame(show);
  void measureAnswer().catch(failed);
}

/** Opens the last run again in a new worker, at the last time before the call that did not return. */
async function recover(error: string, at: number | null): Promise<void> {
  playing = false;
  if (variants.length === 0) await choose(FIRST);
  else await open(variants, at ?? 0);
  problem("A component has ended the run.", error);
}

/** Measures the answer to the question of a lesson, since the last change. */
async function measureAnswer(): Promise<void> {
  if (lesson === null) return;
  if (asking) {
    askAgain = true;
    return;
  }
  [asking, askAgain] = [true, false];
  const { port, seconds } = lesson;
  const since = Math.max(0, ...variants.flatMap((variant) => variant.timeline.map((change) => change.at)));
  try {
    const changed = variants.some((variant) => variant.timeline.length > 0);
    answer(await client.ask("excerpts", { port, seconds, since }), changed);
  } finally {
    // Twice a second is enough to read.
    setTimeout(
      () => {
        asking = false;
        if (askAgain) void measureAnswer().catch(failed);
      },
      playing ? 500 : 0,
    );
  }
}

/** Opens a lesson: its variants, port, flow and question. */
async function teach(next: Lesson, address = `lesson=${next.id}`): Promise<void> {
  find("about").textContent = next.about;
  ui.seed.value = "1";
  ui.compare.checked = next.second !== undefined;
  ui.pick.value = address.startsWith("scenario=") ? next.id : address;
  if (editor !== null) parts?.setText(editor, next.toml);
  await client.ask("pause", {}).catch(() => undefined);
  playing = false;
  lesson = null;
  if (!(await open(variantsOf(next), 0))) return;
  find("title").textContent = next.title;
  ui.port.value = String(opened[0]!.names.ports.indexOf(next.port));
  ui.flow.value = next.flow;
  await watch();
  answer = panel(find("lesson"), next);
  lesson = next;
  history.replaceState(null, "", `#${address}`);
  const distance = (one: number) => Math.abs(Math.log(one / next.speed));
  speed = SPEEDS.reduce((best, one, i) => (distance(one) < distance(SPEEDS[best]!) ? i : best), 0);
  showControls();
  await measureAnswer();
}

/** Ends a lesson. */
function endLesson(): void {
  lesson = null;
  find("lesson").hidden = true;
  if (lessonOf(location.hash) !== null) history.replaceState(null, "", "#");
}

/** Colour of a flow: that of its group, if there are several groups. */
let colourOfFlow = colourOf;

function show(): void {
  frame = 0;
  // The network was replaced after this picture was asked for.
  if (pictures.length === 0 || pictures.length !== drawings.length) return;
  const byClass = ui.colours.value === "class";
  drawings.forEach((drawing, i) => drawing.draw(pictures[i]!, byClass ? colourOf : colourOfFlow, byClass));
  // Drops flash once.
  pictures = pictures.map((picture) => ({ ...picture, drops: [] }));
  const latest = pictures.reduce((a, b) => (b.now > a.now ? b : a));
  if (!dragging) ui.time.value = String(Math.round((1000 * latest.now) / latest.end));
  ui.time.setAttribute("aria-valuetext", time(latest.now));
  ui.now.textContent = time(latest.now);
  ui.now.dataset["place"] = playing ? "" : String(Math.round((1000 * latest.now) / latest.end));
  find("state").textContent = pictures
    .map((picture, i) => `${pictures.length > 1 ? `${"AB"[i]}: ` : ""}${drawings[i]!.described(picture)}`)
    .join(" · ");
  const digests = pictures.flatMap((p, i) => (p.digest === null ? [] : [`${pictures.length > 1 ? `${"AB"[i]} ` : ""}${p.digest}`]));
  find("result").textContent = digests.length > 0 ? `End of the run. Digest: ${digests.join(", ")}` : "";
  showControls(latest);
  if (playing) plots.draw();
  else drawPlots();
}

/** Draws the plots of a run that stands still, one in each frame. */
function drawPlots(): void {
  plots.draw();
  if (plots.waiting && !playing) requestAnimationFrame(drawPlots);
}

/** A time with two digits; the attained speed changes all the time. */
function rough(seconds: number): string {
  const [unit, name] = seconds >= 1 ? [1, "s"] : seconds >= 1e-3 ? [1e-3, "ms"] : [1e-6, "µs"];
  return `${Number((seconds / unit).toPrecision(2))} ${name}`;
}

function showControls(latest: Picture | undefined = pictures[0]): void {
  const ready = opened.length > 0;
  for (const button of [ui.play, ui.restart, ui.toEnd, ui.step, ui.slower, ui.faster]) button.disabled = !ready;
  const done = ready && pictures.length > 0 && pictures.every((picture) => picture.done);
  ui.play.textContent = playing ? "Pause" : done ? "Play again" : "Play";
  ui.slower.disabled ||= speed === 0;
  ui.faster.disabled ||= speed === SPEEDS.length - 1;
  const attained = playing ? (latest?.attained ?? null) : null;
  ui.speed.textContent = attained === null ? `${time(SPEEDS[speed]! * 1e12).replace(/\.?0+ /, " ")} per second` : `${rough(attained)} per second, limit`;
}

/** Opens the variants at a time; on an error the present run stays. */
async function open(next: Variant[], at: number): Promise<boolean> {
  if (next.length === 0) return false;
  problem(null);
  lawFiles.lacks([]);
  lacking = null;
  const was = playing;
  try {
    const answer = await client.ask("open", { variants: next, seed: ui.seed.value || "0", at });
    variants = next;
    ({ opened, generation } = answer);
  } catch (error) {
    const missing = error instanceof RequestError ? error.missing : [];
    if (missing.length > 0) {
      lacking = { variants: next, at };
      lawFiles.lacks(missing);
    } else problem("The simulator refuses this scenario:", error instanceof Error ? error.message : String(error));
    return false;
  }
  await arrange();
  if (was && at > 0) await client.ask("play", { speed: SPEEDS[speed]! });
  return true;
}

/** Ends the present task, so that the browser can draw and react; returns whether the same run is still open. */
async function pause(): Promise<boolean> {
  const mine = generation;
  await new Promise((done) => setTimeout(done, 0));
  return mine === generation;
}

/** Options that are added in one task. */
const MOST_OPTIONS = 250;

/** Replaces the options of a list in several tasks; `false`: another run was opened meanwhile. */
async function fill(list: HTMLSelectElement, options: HTMLElement[]): Promise<boolean> {
  list.replaceChildren(...options.slice(0, MOST_OPTIONS));
  for (let from = MOST_OPTIONS; from < options.length; from += MOST_OPTIONS) {
    if (!(await pause())) return false;
    list.append(...options.slice(from, from + MOST_OPTIONS));
  }
  return pause();
}

/** Builds the parts of the page that depend on the network, in several tasks. */
async function arrange(): Promise<void> {
  const { check, names, layout } = opened[0]!;
  const network = check.network!;
  plots.clear();
  pictures = [];
  // Pictures are not drawn before the drawings are those of this network.
  drawings = [];
  const keep = { port: names.ports[Number(ui.port.value)], flow: ui.flow.value };
  const known = ui.port.options[ui.port.selectedIndex]?.text;
  if (!(await fill(ui.port, names.ports.map((name, i) => new Option(name, String(i)))))) return;
  if (!(await fill(ui.flow, names.flows.slice(0, 2000).map((name) => new Option(name, name))))) return;
  const same = names.ports.indexOf(known ?? "");
  ui.port.value = String(same >= 0 && keep.port !== undefined ? same : busiest(opened[0]!));
  if (names.flows.includes(keep.flow)) ui.flow.value = keep.flow;
  find("title").textContent = check.title || "Scenario without a title";
  const groups = [...new Set(names.flows.map(group))];
  colourOfFlow = groups.length > 1 ? (key) => colourOf(key < 0 ? -1 : groups.indexOf(group(names.flows[key]!))) : colourOf;
  const place = find("drawings");
  place.replaceChildren();
  const made = opened.map((_, i) => {
    const figure = document.createElement("figure");
    const canvas = document.createElement("canvas");
    canvas.className = "network";
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `Drawing of the network${opened.length > 1 ? `, variant ${"AB"[i]}` : ""}`);
    if (opened.length > 1) {
      const caption = document.createElement("figcaption");
      caption.textContent = `Variant ${"AB"[i]}`;
      figure.append(caption);
    }
    figure.append(canvas);
    place.append(figure);
    canvas.style.height = `${heightFor(layout, canvas.clientWidth)}px`;
    const drawing = new Drawing(canvas, network, layout, names.ports);
    canvas.onclick = (event) => {
      const port = drawing.portAt({ x: event.offsetX, y: event.offsetY });
      if (port === null) return;
      ui.port.value = String(port);
      void watch();
    };
    return drawing;
  });
  legend(groups, names.flows);
  if (!(await pause())) return;
  drawings = made;
  // The first of two drawings had the whole width when it was made.
  if (drawings.length > 1) redraw();
  if (!(await controls())) return;
  await watch();
  showControls();
}

/** Name of a flow without its number. */
const group = (name: string) => name.replace(/\[\d+\]$/, "");

/** The port towards which most flows go: that into which most senders' paths merge, by the smallest buffer or rate. */
function busiest({ check, names }: Opened): number {
  const { links, nodes, flows } = check.network!;
  const kinds = new Map(nodes);
  const to = new Map<string, number[]>();
  links.forEach(({ ends }, link) => {
    to.set(ends[1], [...(to.get(ends[1]) ?? []), 2 * link]);
    to.set(ends[0], [...(to.get(ends[0]) ?? []), 2 * link + 1]);
  });
  const from = (port: number) => links[port >> 1]!.ends[port & 1]!;
  const uses = new Map<number, number>();
  // The paths of some flows are enough, and take little time in large networks.
  for (const [sender, receiver] of flows.filter((_, i) => i % Math.ceil(flows.length / 100) === 0)) {
    // Breadth first from the receiver: the port of each node on a shortest path to it.
    const next = new Map<string, number>();
    const reached = [receiver];
    for (const node of reached) {
      for (const port of to.get(node) ?? []) {
        if (from(port) === receiver || next.has(from(port))) continue;
        next.set(from(port), port);
        reached.push(from(port));
      }
    }
    for (let node = sender; node !== receiver && next.has(node); ) {
      const port = next.get(node)!;
      if (kinds.get(node) === "switch") uses.set(port, (uses.get(port) ?? 0) + 1);
      node = links[port >> 1]!.ends[1 - (port & 1)]!;
    }
  }
  const load = (port: number) => (uses.get(port) ?? 0) / (links[port >> 1]!.rate_bps[port & 1]! || 1);
  return names.ports.reduce((best, _, port) => (load(port) > load(best) ? port : best), 0);
}

function legend(groups: string[], flows: string[]): void {
  const items = (groups.length > 1 ? groups : flows).slice(0, COUNT);
  const byClass = ui.colours.value === "class";
  const shown = byClass ? Array.from({ length: 8 }, (_, i) => `class ${i}`).slice(0, classes()) : items;
  const entry = (text: string, style: string, kind = "") => {
    const item = document.createElement("li");
    const mark = document.createElement("i");
    mark.className = kind;
    mark.style.background = style;
    item.append(mark, text);
    return item;
  };
  const signs = { queue: "queue", square: "PAUSE or other control frame", stop: "stopped port", cross: "drop" };
  const marks = Object.entries(signs).map(([kind, text]) => entry(text, "", kind));
  find("legend").replaceChildren(...shown.map((text, i) => entry(text, colourOf(i))), ...marks);
}

/** Number of traffic classes. */
const classes = () => Math.max(1, Number(/^classes\s*=\s*(\d)/m.exec(opened[0]?.toml ?? "")?.[1] ?? 1));

/** The help of a value, with what it belongs to: `links[2]` alone says little. */
function helpOf({ path, help }: Tunable): string {
  const [, list, index] = /^(links|flows)\[(\d+)\]/.exec(path) ?? [];
  const text = help.replaceAll("`", "");
  if (list === undefined) return text;
  const part = opened[0]!.toml.split(/^\[\[/m).filter((one) => one.startsWith(`${list}]]`))[Number(index)];
  const name = /^(?:between|name)\s*=\s*(.*)$/m.exec(part ?? "")?.[1]?.replace(/["[\]]/g, "").replace(", ", " – ");
  return name === undefined ? text : `${list === "links" ? "Link" : "Flow"} ${name}. ${text}`;
}

/** Value of a key of a variant after its changes so far. */
function present(variant: Variant, { path, value }: Tunable): unknown {
  const lines = variant.timeline.flatMap((change) => change.lines).filter((line) => line.startsWith(`${path}=`));
  return lines.at(-1)?.slice(path.length + 1) ?? value;
}

/** Makes the sliders of the values that can change; `false`: another run was opened meanwhile. */
async function controls(): Promise<boolean> {
  const { check } = opened[0]!;
  const columns = opened.length > 1 ? ["A", "B"] : [""];
  const all = check.tunable ?? [];
  const declared = all.filter((value) => value.declared);
  const current = declared.map((value) => {
    const now = variants.map((variant) => present(variant, value));
    const control = slider({ ...value, help: helpOf(value) }, columns, now, async (variant, text) => {
      try {
        const change = await client.ask("change", { variant, lines: [`${value.path}=${text}`] });
        variants[variant]!.timeline.push(change);
        return null;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    });
    return control;
  });
  const none = document.createElement("p");
  none.textContent = "The scenario has no slider yet: choose a value below. The run is then repeated up to the present time.";
  find("tunables").replaceChildren(...(current.length > 0 ? current : [none]));
  const others = new Map<string, HTMLOptGroupElement>();
  ui.add.replaceChildren(new Option("choose …", ""));
  let added = 0;
  for (const { path, value, declared: known } of all) {
    if (known) continue;
    const table = /^\w+/.exec(path)![0];
    let group = others.get(table);
    if (group === undefined) {
      group = document.createElement("optgroup");
      group.label = table;
      others.set(table, group);
      ui.add.append(group);
    }
    group.append(new Option(`${path} (${String(value)})`, path));
    if (++added % MOST_OPTIONS === 0 && !(await pause())) return false;
  }
  return pause();
}

async function watch(): Promise<void> {
  drawings.forEach((drawing) => (drawing.selected = Number(ui.port.value)));
  await client.ask("watch", { port: Number(ui.port.value), flow: ui.flow.value });
}

/** Makes a key tunable: the run is opened again and repeated up to now. */
async function addTunable(path: string): Promise<void> {
  const at = pictures[0]?.now ?? 0;
  const next = variants.map((variant) => ({ ...variant, tunable: [...variant.tunable, path] }));
  await open(next, at);
}

const plain = (text: string): Variant => ({ text, sets: [], tunable: [], timeline: [] });

async function choose(entry: Entry): Promise<void> {
  const guide = guideOf(entry);
  if (guide !== null) return teach(guide, `scenario=${entry.id}`);
  endLesson();
  find("about").textContent = entry.about;
  const check = await client.ask("check", { text: entry.toml });
  if (check.seed !== undefined) ui.seed.value = String(check.seed);
  if (editor !== null) parts?.setText(editor, entry.toml);
  ui.compare.checked = false;
  await client.ask("pause", {}).catch(() => undefined);
  playing = false;
  if (await open([plain(entry.toml)], 0)) suitableSpeed();
}

/** Opens the comparison of a law of its own with the built-in one. */
async function showOwnLaw(): Promise<void> {
  endLesson();
  find("about").textContent = "The law is the file codel.wat: WebAssembly text after the pseudo-code of RFC 8289. At the end of the run both variants have the same digest. Save the file below the text of the scenario, change it, and load it again.";
  await client.ask("pause", {}).catch(() => undefined);
  playing = false;
  await lawFiles.add([{ name: "codel.wat", bytes: new TextEncoder().encode(codel) }]);
  if (editor !== null) parts?.setText(editor, law);
  ui.seed.value = "1";
  ui.compare.checked = true;
  if (await open([plain(law), { ...plain(law), sets: ['network.discipline={ kind = "codel" }'] }], 0)) suitableSpeed();
}

/** Opens what lacked files that have been added, or, from its start, a run whose files were replaced. */
async function lawsAdded(names: string[]): Promise<void> {
  const waiting = lacking;
  if (waiting !== null) {
    ui.compare.checked = waiting.variants.length > 1;
    if (await open(waiting.variants, waiting.at)) suitableSpeed();
  } else if (names.some((name) => variants.some(({ text }) => text.includes(name)))) {
    await client.ask("pause", {});
    playing = false;
    await open(variants.map((variant) => ({ ...variant, timeline: [] })), 0);
  }
  // The editor checks a text when it is set.
  if (editor !== null) parts?.setText(editor, editor.state.doc.toString());
}

/** A speed at which the longest flight of a frame takes about half a second, but a run at most some minutes. */
function suitableSpeed(): void {
  const { check, end } = opened[0]!;
  const flights = check.network!.links.map((link) => link.delay_s + 12000 / Math.max(...link.rate_bps, 1));
  const wanted = Math.max(2.2 * Math.max(...flights), (end * 1e-12) / 240);
  speed = SPEEDS.reduce((best, one, i) => (Math.abs(Math.log(one / wanted)) < Math.abs(Math.log(SPEEDS[best]! / wanted)) ? i : best), 0);
  showControls();
}

async function play(): Promise<void> {
  if (playing) await client.ask("pause", {});
  else {
    if (pictures.every((picture) => picture.done)) await client.ask("jump", { at: 0 });
    await client.ask("play", { speed: SPEEDS[speed]! });
    playing = true;
  }
  showControls();
}

async function jump(at: number): Promise<void> {
  const back = at < (pictures[0]?.now ?? 0);
  if (back) variants.forEach((variant) => (variant.timeline = variant.timeline.filter((change) => change.at <= at)));
  await client.ask("jump", { at });
  if (back) await controls();
}

const span = () => (ui.span.value === "event" ? null : Number(ui.span.value));
const step = () => client.ask("step", { span: span() });

function faster(by: number): void {
  speed = Math.min(Math.max(speed + by, 0), SPEEDS.length - 1);
  if (playing) void client.ask("play", { speed: SPEEDS[speed]! });
  showControls();
}

function showCheck(check: Requests["check"]["answer"], text: string): void {
  if (lacking === null) lawFiles.lacks(check.missing);
  const count = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`;
  const summary = [count(check.errors.length, "error"), count(check.warnings.length, "warning")].join(", ");
  find("checked").textContent = check.errors.length + check.warnings.length === 0 ? "No errors or warnings." : summary;
  ui.runText.disabled = check.errors.length > 0;
  ui.runText.title = text === variants[0]?.text ? "This text is running" : "";
  if (check.errors.length > 0) {
    problem("The text in the editor has errors:", check.errors.map((error) => error.text).join("\n"));
  } else if (ui.problem.textContent?.startsWith("The text in the editor")) problem(null);
}

/** Makes the editor when its part of the page is opened for the first time. */
async function openEditor(): Promise<void> {
  if (parts !== null) return;
  parts = await loadEditor();
  await pause();
  editor = parts.makeEditor(find("editor"), variants[0]?.text ?? first, {
    check: (text) => client.ask("check", { text }),
    schema: () => schema,
    checked: showCheck,
  });
  schema = new Schema(await client.ask("schema", {}));
}

function bind(): void {
  const act = (work: () => Promise<unknown>) => () => void work().catch(failed);
  ui.play.onclick = act(play);
  ui.restart.onclick = act(async () => {
    await client.ask("pause", {});
    await jump(0);
  });
  ui.toEnd.onclick = act(async () => jump(opened[0]!.end));
  ui.step.onclick = act(step);
  ui.slower.onclick = () => faster(-1);
  ui.faster.onclick = () => faster(1);
  ui.time.oninput = () => {
    dragging = true;
    ui.now.textContent = time((Number(ui.time.value) / 1000) * (opened[0]?.end ?? 0));
  };
  ui.time.onchange = act(async () => {
    dragging = false;
    await jump(Math.round((Number(ui.time.value) / 1000) * (opened[0]?.end ?? 0)));
  });
  ui.pick.onchange = act(() => {
    if (ui.pick.value === OWN_LAW) return showOwnLaw();
    const next = lessonOf(`#${ui.pick.value}`);
    return next === null ? choose(entries.find(({ id }) => id === ui.pick.value) ?? FIRST) : teach(next);
  });
  ui.seed.onchange = act(() => open(variants.map((variant) => ({ ...variant, timeline: [] })), 0));
  ui.port.onchange = act(watch);
  ui.flow.onchange = act(watch);
  ui.colours.onchange = act(async () => {
    legend([...new Set(opened[0]!.names.flows.map(group))], opened[0]!.names.flows);
    await client.ask("colour", { byClass: ui.colours.value === "class" });
  });
  ui.add.onchange = act(() => addTunable(ui.add.value));
  ui.compare.onchange = act(async () => {
    const at = pictures[0]?.now ?? 0;
    const [a] = variants;
    if (a === undefined) return;
    await open(ui.compare.checked ? [a, structuredClone(a)] : [a], at);
  });
  ui.runText.onclick = act(async () => {
    // The question, the port, the flow and the speed are kept: usually a value has been changed.
    const text = editor!.state.doc.toString();
    const kept = lesson === null ? [plain(text)] : variants.map((variant) => ({ ...variant, text, timeline: [] }));
    if (await open(kept, 0)) await client.ask("play", { speed: SPEEDS[speed]! }).then(() => (playing = true));
    showControls();
  });
  find("share").onclick = act(async () => {
    const used = client.laws.filter(({ name }) => variants.some(({ text }) => text.includes(name)));
    const laws = await sharedLaws(used);
    const fragment = await toFragment({ variants, seed: ui.seed.value, at: pictures[0]?.now ?? 0, laws });
    history.replaceState(null, "", `#${fragment}`);
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    find("shared").textContent = copied ? `Copied: ${location.href.length} characters.` : "The address is in the address bar.";
  });
  document.querySelectorAll<HTMLButtonElement>("[data-export]").forEach((button) => {
    button.onclick = act(() => save(button.dataset["export"]!));
  });
  find<HTMLDetailsElement>("text").ontoggle = act(openEditor);
  document.addEventListener("keydown", keyboard);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) plots.resize();
    width = innerWidth;
    redraw();
  });
  followColours(() => {
    plots.resize();
    redraw();
  });
}

function redraw(): void {
  document.querySelectorAll<HTMLCanvasElement>("canvas.network").forEach((canvas) => {
    canvas.style.height = `${heightFor(opened[0]!.layout, canvas.clientWidth)}px`;
  });
  drawings.forEach((drawing) => drawing.resize());
  if (pictures.length > 0 && frame === 0) frame = requestAnimationFrame(show);
}

function keyboard(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  const typing = target.closest("input, select, textarea, .cm-editor, summary, [contenteditable]") !== null;
  if (typing || event.ctrlKey || event.metaKey || event.altKey || opened.length === 0) return;
  const now = pictures[0]?.now ?? 0;
  const actions: Record<string, () => void> = {
    " ": () => void play().catch(failed),
    ArrowRight: () => void step().catch(failed),
    ArrowLeft: () => void jump(Math.max(0, now - (span() ?? 1))).catch(failed),
    "+": () => faster(1),
    "-": () => faster(-1),
  };
  // A space on a button presses the button.
  if (actions[event.key] === undefined || (event.key === " " && target.closest("button, a") !== null)) return;
  event.preventDefault();
  actions[event.key]!();
}

async function save(kind: string): Promise<void> {
  plots.drawAll();
  const table = () => client.ask("table", { variant: 0 });
  const style = getComputedStyle(document.body);
  if (kind === "toml") {
    for (const [i] of variants.entries()) {
      const text = await client.ask("scenario", { variant: i });
      download(variants.length > 1 ? `scenario-${"ab"[i]}.toml` : "scenario.toml", new Blob([text], { type: "application/toml" }));
    }
  } else if (kind === "csv") download("samples.csv", csv(await table()));
  else if (kind === "parquet") download("samples.parquet", parquet(await table()));
  else if (kind === "svg") download("plots.svg", svg(plots.shown));
  else download("plots.png", await png(plots.shown, style.getPropertyValue("--surface"), style.color));
}

function fillPicker(): void {
  const groups = Object.entries(GROUPS).map(([key, name]) => {
    const group = document.createElement("optgroup");
    group.label = name;
    group.append(...entries.filter((e) => e.group === key).map((e) => new Option(`${e.title} (${e.id})`, e.id)));
    return group;
  });
  const lessons = document.createElement("optgroup");
  lessons.label = "Lessons";
  lessons.append(...LESSONS.map(({ id, title }) => new Option(title, `lesson=${id}`)));
  ui.pick.replaceChildren(lessons, new Option(FIRST.title, FIRST.id, true, true), new Option(OWN_LAW_TITLE, OWN_LAW), ...groups);
}

async function begin(): Promise<void> {
  // In a frame, the page around it says what is shown.
  document.documentElement.classList.toggle("embedded", window.parent !== window);
  [client, entries] = await Promise.all([start(heard), gallery()]);
  lawFiles = new LawFiles(client, lawsAdded, failed);
  fillPicker();
  bind();
  const named = lessonOf(location.hash);
  if (named !== null) return teach(named);
  const entry = entryOf(location.hash, entries);
  if (entry !== undefined) {
    ui.pick.value = entry.id;
    return choose(entry);
  }
  const shared = await fromFragment(location.hash).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
  if (shared === null) {
    await choose(FIRST);
    const [, kind, name] = /^#(lesson|scenario)=(.*)$/.exec(location.hash) ?? [];
    if (kind !== undefined) problem(`There is no ${kind} "${name}"; this is the first scenario instead.`);
    return;
  }
  if (shared instanceof Error) {
    await choose(FIRST);
    return problem("The address is damaged; this is the first scenario instead.", shared.message);
  }
  ui.seed.value = shared.seed;
  ui.compare.checked = shared.variants.length > 1;
  ui.pick.prepend(new Option("From the address", "address", true, true));
  await lawFiles.addShared(shared.laws ?? []);
  if (await open(shared.variants, shared.at ?? 0)) suitableSpeed();
  else if (lacking !== null) find("title").textContent = "A file of the scenario is missing";
  else await client.ask("check", { text: shared.variants[0]!.text }).then(() => (find<HTMLDetailsElement>("text").open = true));
}

// In a task of its own, since the script has just been compiled and run.
setTimeout(() => void begin().catch((error: unknown) => {
  find("title").textContent = "The simulator could not be started";
  failed(error);
}), 0);
