// Tests of the lab in a browser: `make lab test-web`.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessibility } from "./browser.mjs";
import { FIRST_ARGUMENTS, GALLERY, PROGRAM, folder, here, jump, lab, saved, seconds, tailback, test } from "./lab.mjs";

/** Longest queue that the page shows, kB. */
async function longest(page) {
  return Number(/longest queue ([\d.]+) kB/.exec(await page.textContent("#state"))?.[1] ?? 0);
}

/** Makes a key tunable or moves the slider of one that is. */
async function slide(page, path, place) {
  const slider = page.getByRole("slider", { name: path });
  await slider.evaluate((input, value) => {
    input.value = String(value);
    input.dispatchEvent(new Event("input"));
    input.dispatchEvent(new Event("change"));
  }, place);
  await page.waitForTimeout(200);
}

test("the page opens from a file, and a queue grows within seconds of the click on Play", async (t) => {
  const page = await lab(t);
  const blank = await page.locator("canvas.network").screenshot();
  await page.click("#play");
  await page.waitForFunction(() => /longest queue [1-9]/.test(document.getElementById("state").textContent), null, { timeout: 20000 });
  assert.notDeepEqual(await page.locator("canvas.network").screenshot(), blank);
  await page.click("#play");
  // The click returns before the engine, which works in a thread of its own, has stopped.
  await page.waitForSelector("#now:not([data-place=''])");
  const stopped = await seconds(page);
  assert.ok(stopped > 0);
  await page.waitForTimeout(400);
  assert.equal(await seconds(page), stopped, "a paused run stays where it is");
  assert.ok((await page.locator("figure.plot").count()) >= 4);
});

test("a slower link gives a longer queue", async (t) => {
  const page = await lab(t);
  await jump(page, 12);
  const fast = await longest(page);
  await jump(page, 0);
  await slide(page, "links[3].rate", 0);
  await jump(page, 12);
  // Up to 48 ms, 13 Mbit/s arrive for about 38 ms: about 60 kB; the link takes 8 Mbit/s less than before, 38 kB. No stop takes
  // effect below 45 kB, and none reaches the sources within the 5 ms that it travels.
  assert.ok((await longest(page)) > fast + 20, `${await longest(page)} kB after ${fast} kB`);
});

test("a shared address opens the same run in a fresh browser", async (t) => {
  const page = await lab(t);
  await jump(page, 50);
  await slide(page, "links[3].rate", 60);
  await jump(page, 100);
  await page.locator("#files summary").click();
  await page.click("#share");
  await page.waitForFunction(() => location.hash.startsWith("#s="));
  const toml = (await saved(page, "toml")).toString();
  assert.match(toml, /\[\[timeline\]\]/);
  const other = await lab(t, { url: page.url() });
  await other.waitForSelector('#now[data-place="100"]', { timeout: 20000 });
  assert.equal(await other.textContent("#state"), await page.textContent("#state"));
  await other.locator("#files summary").click();
  assert.equal((await saved(other, "toml")).toString(), toml);
  // The exported scenario has the digest of the run that was changed by hand.
  await jump(page, 1000);
  const digest = /tb2:\w+/.exec(await page.textContent("#result"))[0];
  const file = join(folder, "changed.toml");
  writeFileSync(file, toml);
  assert.equal(JSON.parse(tailback("run", file, "--reps", "1", "--json", "-q").out).replications[0].digest, digest);
});

test("errors of the text are those of the command line, at their place", async (t) => {
  const page = await lab(t);
  await page.locator("#text summary").click();
  await page.waitForSelector(".cm-content");
  const wrong = readFileSync(here("../src/lab/first.toml"), "utf8").replace('delay = "3ms"', 'delay = "3 parsecs"');
  await page.locator(".cm-content").fill(wrong);
  await page.waitForSelector(".cm-lintRange-error", { timeout: 10000 });
  assert.equal(await page.locator("#run-text").isDisabled(), true);
  const file = join(folder, "wrong.toml");
  writeFileSync(file, wrong);
  const told = tailback("validate", file).out.replaceAll(file, "<scenario>");
  const shown = await page.textContent("#problem-text");
  assert.match(shown, /parsecs/);
  assert.ok(told.includes(shown.trim().split("\n")[0].replace("error: ", "")), `${told}\n---\n${shown}`);
  for (const line of shown.trim().split("\n").slice(1)) assert.ok(told.includes(line.trim()), `${line}\n---\n${told}`);
  await page.locator(".cm-content").fill(wrong.replace("3 parsecs", "3ms"));
  await page.waitForSelector("#run-text:not([disabled])");
  await page.waitForSelector("#problem-text", { state: "hidden" });
});

test("the editor completes keys of the schema", async (t) => {
  const page = await lab(t);
  await page.locator("#text summary").click();
  const content = page.locator(".cm-content");
  await content.fill("tailback = 1\n[run]\nwarm");
  await page.waitForTimeout(1500);
  await content.press("Control+End");
  await content.press("Control+Space");
  await page.waitForSelector(".cm-tooltip-autocomplete");
  assert.match(await page.textContent(".cm-tooltip-autocomplete"), /warmup/);
});

test("the files are complete", async (t) => {
  const page = await lab(t);
  await jump(page, 200);
  await page.locator("#files summary").click();
  const csv = (await saved(page, "csv")).toString().trim().split("\n");
  assert.match(csv[0], /^time_s,queue,delay,throughput/);
  // The run has 1000 samples, the first at 0: 201 up to 800 ms.
  assert.equal(csv.length, 202);
  assert.equal(csv.at(-1).split(",")[0], "0.8");
  const parquet = await saved(page, "parquet");
  assert.equal(parquet.subarray(0, 4).toString() + parquet.subarray(-4).toString(), "PAR1PAR1");
  const svg = (await saved(page, "svg")).toString();
  assert.ok(svg.includes("<polyline") && svg.endsWith("</svg>\n"));
  assert.deepEqual([...(await saved(page, "png")).subarray(1, 4)], [..."PNG"].map((letter) => letter.charCodeAt(0)));
});

test("the keyboard is enough", async (t) => {
  const page = await lab(t);
  await page.locator("body").press("ArrowRight");
  await page.waitForFunction(() => document.getElementById("now").textContent.startsWith("1.0000 ms"));
  await page.locator("body").press("ArrowRight");
  await page.waitForFunction(() => document.getElementById("now").textContent.startsWith("2.0000 ms"));
  await page.locator("body").press("ArrowLeft");
  await page.waitForFunction(() => document.getElementById("now").textContent.startsWith("1.0000 ms"));
  await page.locator("body").press(" ");
  await page.waitForFunction(() => document.getElementById("play").textContent === "Pause");
  await page.locator("body").press(" ");
  await page.waitForFunction(() => document.getElementById("play").textContent === "Play");
  const reached = new Set();
  for (let i = 0; i < 30; i++) {
    await page.keyboard.press("Tab");
    const [id, outline] = await page.evaluate(() => {
      const element = document.activeElement;
      return [element.id || element.tagName, getComputedStyle(element).outlineStyle];
    });
    if (id !== "BODY") assert.notEqual(outline, "none", `the focus on ${id} is visible`);
    reached.add(id);
  }
  for (const id of ["pick", "seed", "play", "step", "span", "time", "colours", "add", "compare"]) assert.ok(reached.has(id), id);
});

for (const [name, options] of Object.entries({
  "a light page": {},
  "a dark page": { colorScheme: "dark" },
  "a phone": { viewport: { width: 390, height: 844 } },
})) {
  test(`${name} has no serious accessibility findings and does not scroll sideways`, async (t) => {
    const page = await lab(t, options);
    await jump(page, 100);
    for (const id of ["text", "files"]) await page.locator(`#${id} summary`).click();
    await page.waitForSelector(".cm-content");
    assert.deepEqual(await accessibility(page), []);
    const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= width, `${content} px of content in ${width} px`);
  });
}

test("two variants of one seed differ by the changed value only", async (t) => {
  const page = await lab(t);
  await page.locator("#compare").check();
  await page.waitForFunction(() => document.querySelectorAll("canvas.network").length === 2);
  await jump(page, 10);
  const [a, b] = (await page.textContent("#state")).split(" · ").map((text) => text.slice(3));
  assert.equal(a, b);
  await slide(page, "links[3].rate, variant B", 0);
  await jump(page, 20);
  const [c, d] = (await page.textContent("#state")).split(" · ").map((text) => text.slice(3));
  assert.notEqual(c, d);
});

test("two variants show the same time after a value is made changeable while they play", async (t) => {
  const page = await lab(t);
  await page.locator("#compare").check();
  await page.waitForFunction(() => document.querySelectorAll("canvas.network").length === 2);
  await jump(page, 60);
  await page.click("#play");
  await page.waitForTimeout(500);
  await page.selectOption("#add", "links[0].rate");
  await page.getByRole("slider", { name: "links[0].rate, variant B" }).waitFor();
  await page.waitForTimeout(1500);
  await page.click("#play");
  await page.waitForSelector("#now:not([data-place=''])");
  const [a, b] = (await page.textContent("#state")).split(" · ").map((text) => text.slice(3));
  assert.equal(a, b, "without a change, the variants are equal at each time");
  await page.locator("#files summary").click();
  const rows = (await saved(page, "csv")).toString().trim().split("\n").length - 2;
  assert.equal(rows, Math.floor((await seconds(page)) / 0.004), "a sample every 4 ms");
});

test("the lab that `tailback lab` serves opens the scenario", async (t) => {
  const file = `${GALLERY}/lan/high_and_low_threshold/scenario.toml`;
  const server = spawn(PROGRAM, [...FIRST_ARGUMENTS, "lab", file, "--seed", "4", "--no-browser"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, PYTHONUNBUFFERED: "1" },
  });
  t.after(() => server.kill());
  let told = "";
  for await (const text of server.stdout) {
    told += text;
    if (told.includes("\n")) break;
  }
  const page = await lab(t, { url: /http:\S+/.exec(told)[0] });
  assert.equal(await page.textContent("#title"), "High and low threshold");
  await jump(page, 1000);
  const native = JSON.parse(tailback("run", file, "--seed", "4", "--reps", "1", "--json", "-q").out).replications[0];
  assert.match(await page.textContent("#result"), new RegExp(native.digest));
  await page.locator("#text summary").click();
  await page.waitForSelector(".cm-content");
});

test("a link that goes down loses the frames on it", async (t) => {
  const page = await lab(t);
  await jump(page, 50);
  await page.selectOption("#add", "links[3].state");
  const state = page.getByRole("combobox", { name: "links[3].state" });
  await state.waitFor();
  await page.waitForSelector('#now[data-place="50"]', { timeout: 20000 });
  assert.match(await page.textContent("#state"), /0 dropped/);
  await state.selectOption("down");
  await jump(page, 55);
  // The link is busy from about 20 ms on: 8 ms of propagation and 1.23 ms for a frame of 1538 B at 10 Mbit/s are 6.5 frames on the
  // link and one in transmission.
  const dropped = Number(/(\d+) dropped/.exec(await page.textContent("#state"))[1]);
  assert.ok(dropped >= 6 && dropped <= 8, `${dropped} frames`);
});

test("a value that the scenario does not declare can be made changeable", async (t) => {
  const page = await lab(t);
  await jump(page, 40);
  const before = await page.textContent("#state");
  await page.selectOption("#add", "backpressure.detection.high");
  await page.getByRole("slider", { name: "backpressure.detection.high" }).waitFor();
  await page.waitForSelector('#now[data-place="40"]', { timeout: 20000 });
  assert.equal(await page.textContent("#state"), before, "the run is repeated up to the same time");
});
