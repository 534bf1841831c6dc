// Tests of the lessons of the lab: the goals of the questions on 5 seeds in Node.js, and the page in a browser.

import { build } from "esbuild";
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { accessibility, open, skip as noBrowser, start } from "./browser.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const BUILT = here("../../python/tailback/web/built/lab/index.html");
const MODULE = here("../../python/tailback/web/built/lab/site/tailback.wasm");
const PAGE = pathToFileURL(BUILT).href;
const notBuilt = existsSync(BUILT) ? false : "SKIPPED: the lab was not built (make lab)";
if (notBuilt) console.log(notBuilt);
const skip = noBrowser || notBuilt;

async function part(name) {
  const options = { bundle: true, format: "esm", write: false, logLevel: "warning", loader: { ".toml": "text" } };
  const { outputFiles } = await build({ entryPoints: [here(`../src/${name}.ts`)], ...options });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

const { Engine } = await part("lab/engine");
const { Run } = await part("lab/run");
const { LESSONS, variantsOf } = await part("lessons/lessons");
const { GUIDED, guideOf } = await part("lessons/guides");
const GALLERY = JSON.parse(existsSync(BUILT) ? /<script type="application\/json" id="lab-gallery">(.*?)<\/script>/s.exec(readFileSync(BUILT, "utf8"))[1] : "[]");

/** For each scenario of the gallery with a question: the slider, the value that answers it, and the times of the change and of the goal (s). */
const GUIDES = {
  "lan-b1": ["flows[1].source.rate", "2Mbit/s", 40, 80],
  "internet-e15": ["flows[1].source.rate", "8Mbit/s", 15, 40],
};

/** For each lesson: the key of the slider, values that answer the question, and two times: of the change, and when the goal holds (s). */
const ANSWERS = {
  synchronisation: ["switches.a.ports.b.discipline.min", ["20kB", "10kB"], 20, 40],
  red: ["switches.a.ports.b.discipline.max-p", ["0.3", "0.5"], 20, 50],
  unresponsive: ["flows[1].source.rate", ["20Mbit/s", "25Mbit/s"], 20, 60],
  pause: ["flows[1].source.rate", ["15Mbit/s", "18Mbit/s"], 12, 30],
  bcn: ["switches.core.congestion-notification.sampling", ["0.02", "0.1"], 0.04, 0.09],
  priority: ["switches.a.ports.b.discipline.classes[0].priority.rate", ["4Mbit/s", "7Mbit/s"], 12, 30],
  bufferbloat: ["switches.a.ports.b.buffer", ["45kB", "30kB"], 20, 60],
  deadlock: ["switches.s.model.memory", ["300kB", "150kB"], 0.004, 0.02],
};
/** Keys for the slider that lead to a value such as the first above. */
const KEYS = {
  synchronisation: ["PageDown", 4],
  red: ["PageUp", 8],
  unresponsive: ["PageUp", 9],
  pause: ["PageUp", 9],
  bcn: ["PageUp", 6],
  priority: ["PageUp", 6],
  bufferbloat: ["PageDown", 7],
  deadlock: ["PageDown", 8],
};
const SEEDS = [1, 2, 3, 4, 5];

test("each lesson has an answer here, and a text of at most 120 words", () => {
  assert.deepEqual(LESSONS.map(({ id }) => id), Object.keys(ANSWERS));
  for (const { about, id } of LESSONS) assert.ok(about.split(/\s+/).length <= 120, id);
});

for (const lesson of LESSONS) {
  const [key, values, change, end] = ANSWERS[lesson.id];
  test(`${lesson.id}: the goal holds after the slider has moved and not before, on 5 seeds`, { skip: notBuilt }, async () => {
    const engine = await Engine.load(readFileSync(MODULE));
    const measured = (runs, since) => lesson.measure(runs.map((run) => run.excerpt(lesson.port, lesson.seconds, since)));
    for (const seed of SEEDS) {
      for (const [index, value] of values.entries()) {
        // The second value on one seed only, to save time.
        if (index > 0 && seed > 1) continue;
        const runs = variantsOf(lesson).map((variant) => new Run(engine, variant, BigInt(seed)));
        const advance = (seconds) => runs.forEach((run) => run.advance(seconds * 1e12, Infinity));
        for (const part of [0.7, 0.85, 1]) {
          advance(part * change);
          if (part * change < lesson.seconds) continue;
          const before = measured(runs, 0);
          assert.ok(!before.every(({ holds }) => holds), `seed ${seed}, at the start: ${JSON.stringify(before)}`);
        }
        runs.forEach((run) => run.change([`${key}=${value}`]));
        advance(end);
        const after = measured(runs, change * 1e12);
        assert.ok(after.every(({ holds }) => holds), `seed ${seed}, ${value}: ${JSON.stringify(after)}`);
        runs.forEach((run) => run.close());
      }
    }
  });
}

test("each question of the gallery has an answer here", { skip: notBuilt }, () => {
  assert.deepEqual([...GUIDED].sort(), Object.keys(GUIDES).sort());
});

for (const [id, [key, value, change, end]] of Object.entries(GUIDES)) {
  test(`${id}: the question is answered by the slider, and not before`, { skip: notBuilt }, async () => {
    const lesson = guideOf(GALLERY.find((entry) => entry.id === id));
    const engine = await Engine.load(readFileSync(MODULE));
    const runs = variantsOf(lesson).map((variant) => new Run(engine, variant, 1n));
    const measured = (since) => lesson.measure(runs.map((run) => run.excerpt(lesson.port, lesson.seconds, since)));
    const advance = (seconds) => runs.forEach((run) => run.advance(seconds * 1e12, Infinity));
    advance(change);
    const before = measured(0);
    assert.ok(!before[0].holds && before[1].holds, JSON.stringify(before));
    runs.forEach((run) => run.change([`${key}=${value}`]));
    advance(end);
    const after = measured(change * 1e12);
    assert.ok(after.every(({ holds }) => holds), JSON.stringify(after));
    runs.forEach((run) => run.close());
  });
}

let browser;
before(async () => {
  if (!skip) browser = await start();
});
after(() => browser?.close());

/** Opens a lesson by its address; the test fails on any problem in the console. */
async function lessonPage(t, id, options = {}) {
  const { context, page, problems } = await open(browser, `${PAGE}#lesson=${id}`, options);
  t.after(async () => {
    await context.close();
    assert.deepEqual(problems, []);
  });
  await page.waitForSelector("#play:not([disabled])", { timeout: 60000 });
  await page.waitForFunction((known) => document.getElementById("pick").value === `lesson=${known}`, id);
  await page.locator("#lesson .answer").waitFor();
  return page;
}

/** Moves to a time of the run. */
async function jump(page, seconds, duration) {
  const place = Math.round((1000 * seconds) / duration);
  await page.locator("#time").evaluate((input, value) => {
    input.value = String(value);
    input.dispatchEvent(new Event("input"));
    input.dispatchEvent(new Event("change"));
  }, place);
  await page.waitForSelector(`#now[data-place="${place}"]`, { timeout: 60000 });
}

for (const { id, toml, second, seconds } of LESSONS) {
  const [key, , change, end] = ANSWERS[id];
  const [, number, unit] = /^duration = "([\d.]+)(m?s)"/m.exec(toml);
  const duration = Number(number) * { s: 1, ms: 1e-3 }[unit];
  test(`${id}: the question is answered on the page with the keyboard`, { skip }, async (t) => {
    const page = await lessonPage(t, id);
    await jump(page, Math.max(change, 1.2 * seconds), duration);
    await page.waitForFunction(() => document.querySelector("#lesson .answer").textContent.startsWith("Not answered"), null, { timeout: 10000 });
    assert.ok((await page.locator("#lesson li").count()) > 0, "the measured values are shown");
    for (const name of second === undefined ? [key] : [`${key}, variant A`, `${key}, variant B`]) {
      const slider = page.getByRole("slider", { name, exact: true });
      await slider.focus();
      for (let i = 0; i < KEYS[id][1]; i++) await page.keyboard.press(KEYS[id][0]);
    }
    await jump(page, end, duration);
    await page.waitForFunction(() => document.querySelector("#lesson .answer").textContent.startsWith("Answered."), null, { timeout: 10000 });
  });
}

for (const [name, options] of Object.entries({ light: {}, dark: { colorScheme: "dark" }, phone: { viewport: { width: 390, height: 844 } } })) {
  test(`a lesson on a ${name} page is accessible and does not scroll sideways`, { skip }, async (t) => {
    const page = await lessonPage(t, "pause", options);
    await jump(page, 12, 60);
    await page.locator("#lesson li").first().waitFor();
    assert.deepEqual(await accessibility(page), []);
    const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= width, `${content} px of content in ${width} px`);
  });
}

test("a scenario of the gallery with a question opens as two variants with its slider", { skip }, async (t) => {
  const { context, page, problems } = await open(browser, `${PAGE}#scenario=lan-b1`);
  t.after(async () => {
    await context.close();
    assert.deepEqual(problems, []);
  });
  await page.locator("#lesson .question").waitFor({ timeout: 60000 });
  assert.equal(await page.locator("canvas.network").count(), 2);
  assert.ok(await page.getByRole("slider", { name: "flows[1].source.rate, variant A" }).isVisible());
  assert.equal(await page.locator("#port option:checked").textContent(), "sw1->sw2");
  await page.click("#to-end");
  // Video is lost in A (the network of B loses data only).
  await page.waitForFunction(() => /A: .*video \d+.*B: /.test(document.getElementById("state").textContent), null, { timeout: 60000 });
  assert.doesNotMatch((await page.textContent("#state")).split("B: ")[1], /video \d/);
});

test("the first play of a lesson moves packets, and another scenario ends the lesson", { skip }, async (t) => {
  const page = await lessonPage(t, "synchronisation");
  await page.click("#play");
  await page.waitForFunction(() => /longest queue [1-9]/.test(document.getElementById("state").textContent), null, { timeout: 15000 });
  await page.selectOption("#pick", { index: 8 });
  await page.locator("#lesson").waitFor({ state: "hidden" });
  assert.ok(!page.url().includes("lesson="));
});
