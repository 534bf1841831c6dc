// The pages of a reproduction and of a run, opened from files.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { accessibility, open, skip, start } from "./browser.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const tailback = join(root, ".venv/bin/tailback");
const folder = mkdtempSync(join(tmpdir(), "tailback-report-"));
const address = pathToFileURL(join(folder, "out/report.html")).href;
let browser;

const SCENARIO = `
tailback = 1
title = "Two flows"
[run]
duration = "5s"
sample = "20ms"
replications = 2
record = ["transport-changes"]
[hosts]
a = {}
b = {}
[switches.s]
[[links]]
between = ["a", "s"]
rate = "100Mbit/s"
[[links]]
between = ["s", "b"]
rate = "10Mbit/s"
delay = "5ms"
[[flows]]
name = "data"
from = "a"
to = "b"
transport = { kind = "tcp" }
source = { kind = "bulk" }
`;

before(async () => {
  if (skip) return;
  execFileSync(tailback, ["reproduce", "lan-a1", "--quick", "--out", join(folder, "out")], { stdio: "pipe" });
  writeFileSync(join(folder, "run.toml"), SCENARIO);
  execFileSync(tailback, ["run", join(folder, "run.toml"), "--out", join(folder, "run")], { stdio: "pipe" });
  execFileSync(tailback, ["report", join(folder, "run")], { stdio: "pipe" });
  browser = await start();
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** Returns the number of pixels of the first canvas in a place that are not transparent. */
function painted(page, place) {
  return page.locator(`${place} canvas`).first().evaluate((canvas) => {
    const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
    let count = 0;
    for (let index = 3; index < data.length; index += 4) if (data[index] > 0) count++;
    return count;
  });
}


/** Returns the ids of the claims on the page, each once: a claim stands beside every figure that shows it. */
async function claims(page) {
  const found = await page.locator(".claim > div > strong").allTextContents();
  return [...new Set(found)].sort();
}

test("sections are drawn when they are opened, with every claim of the results", { skip }, async () => {
  const { context, page, problems } = await open(browser, address);
  const results = JSON.parse(readFileSync(join(folder, "out/results.json"), "utf8"));
  const [experiment] = results.experiments;
  assert.equal(await page.locator("details.section").count(), results.experiments.length);
  await page.locator("details.section > .section-body").waitFor();
  assert.deepEqual(await claims(page), experiment.claims.map((claim) => claim.id).sort());
  const drawn = await page.locator("[data-figure]").evaluateAll((all) => all.map((place) => place.dataset.figure));
  assert.deepEqual(drawn.sort(), experiment.figures.map((figure) => `lan-a1/${figure.name}`).sort());
  for (const name of drawn) {
    const place = `[data-figure="${name}"]`;
    // Charts are drawn when they come near the visible part.
    await page.locator(place).scrollIntoViewIfNeeded();
    await page.locator(`${place} canvas, ${place} svg`).first().waitFor();
    const isChart = (await page.locator(`${place} canvas`).count()) > 0;
    if (isChart) assert.ok((await painted(page, place)) > 500, name);
    else assert.ok((await page.locator(`${place} svg text`).count()) > 0, name);
  }
  // Command, digest, version and commit stand at each figure.
  const made = await page.locator("figcaption .made").allTextContents();
  assert.equal(made.length, drawn.length);
  for (const text of made) {
    assert.ok(text.includes("tailback reproduce lan-a1 --quick"), text);
    assert.ok(text.includes(experiment.provenance.digest), text);
    assert.ok(text.includes(experiment.provenance.tailback), text);
  }
  assert.deepEqual(problems, []);
  await context.close();
});

test("no link leads nowhere", { skip }, async () => {
  const { context, page } = await open(browser, address);
  await page.locator(".section-body").waitFor();
  const dead = await page.evaluate(() =>
    [...document.querySelectorAll('a[href^="#"]')].map((a) => a.getAttribute("href")).filter((to) => !document.getElementById(to.slice(1))),
  );
  assert.deepEqual(dead, []);
  assert.equal(await page.locator("noscript").count(), 1);
  const text = readFileSync(join(folder, "out/report.html"), "utf8");
  assert.ok(text.includes('href="report-static.html"'));
  await context.close();
});

/** Returns a selector of a chart that is drawn: charts are drawn when they come near the visible part, in any order. */
async function firstChart(page) {
  await page.locator("[data-figure]").first().scrollIntoViewIfNeeded();
  const chart = page.locator("[data-figure]:has(canvas)").first();
  await chart.waitFor();
  return `[data-figure="${await chart.getAttribute("data-figure")}"]`;
}

test("the legend hides a curve, a drag zooms, and the button undoes it", { skip }, async () => {
  const { context, page, problems } = await open(browser, `${address}#lan-a1`);
  const place = await firstChart(page);
  await page.locator(place).first().scrollIntoViewIfNeeded();
  const before = await painted(page, place);
  const entry = page.locator(`${place} .legend-entry`).first();
  await entry.click();
  assert.equal(await entry.getAttribute("aria-pressed"), "false");
  const without = await painted(page, place);
  assert.ok(without < before, `${without} of ${before}`);
  await entry.click();
  assert.equal(await painted(page, place), before);
  const over = await page.locator(`${place} .u-over`).first().boundingBox();
  await page.mouse.move(over.x + 0.1 * over.width, over.y + 0.1 * over.height);
  await page.mouse.down();
  await page.mouse.move(over.x + 0.5 * over.width, over.y + 0.6 * over.height, { steps: 5 });
  await page.mouse.up();
  const zoomed = await page.locator(`${place} canvas`).first().evaluate((canvas) => canvas.toDataURL());
  await page.locator(`${place} .chart-tools button`).first().click();
  const all = await page.locator(`${place} canvas`).first().evaluate((canvas) => canvas.toDataURL());
  assert.notEqual(zoomed, all);
  assert.deepEqual(problems, []);
  await context.close();
});

test("pointer and keyboard show a point with its interval and the number of replications", { skip }, async () => {
  const { context, page } = await open(browser, `${address}#lan-a1`);
  const panel = page.locator(`${await firstChart(page)} .panel`).first();
  await panel.focus();
  await page.keyboard.press("ArrowRight");
  const tip = panel.locator(".tip");
  assert.match(await tip.textContent(), /\[.*, .*\], \d+ replications/);
  const first = await tip.textContent();
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await tip.textContent(), first);
  await page.keyboard.press("ArrowDown");
  const second = await tip.textContent();
  assert.notEqual(second?.split(":")[0], first?.split(":")[0]);
  await page.keyboard.press("Escape");
  assert.equal(await tip.isVisible(), false);
  await page.keyboard.press("Home");
  await tip.waitFor();
  // The same point by the pointer.
  const [box, over] = [await tip.evaluate((e) => [e.offsetLeft, e.offsetTop]), await panel.locator(".u-over").boundingBox()];
  const text = await tip.textContent();
  await page.keyboard.press("Escape");
  await page.mouse.move(over.x + Math.max(1, box[0]), over.y + Math.max(1, box[1] - 1));
  assert.equal(await tip.textContent(), text);
  await context.close();
});

test("the table behind a figure has every point, and so has the CSV file", { skip }, async () => {
  const { context, page } = await open(browser, `${address}#lan-a1`);
  const place = page.locator(await firstChart(page));
  await place.locator("summary").click();
  await place.locator("tbody tr").first().waitFor();
  const rows = await place.locator("tbody tr").count();
  const [download] = await Promise.all([page.waitForEvent("download"), place.getByText("Save CSV").click()]);
  const csv = readFileSync(await download.path(), "utf8").trim().split("\r\n");
  assert.equal(csv.length, rows + 1);
  assert.ok(rows >= 12, String(rows));
  assert.ok(csv[0].includes("lower end"), csv[0]);
  await context.close();
});

test("search and verdicts choose sections and claims", { skip }, async () => {
  const { context, page } = await open(browser, `${address}#lan-a1`);
  await page.locator(".section-body").waitFor();
  await page.fill("#search", "no such words here");
  await page.waitForFunction(() => document.querySelector("#count").textContent === "0 of 1 sections");
  assert.equal(await page.locator("details.section").isVisible(), false);
  await page.fill("#search", "merging");
  await page.waitForFunction(() => document.querySelector("#count").textContent === "1 sections");
  const all = await page.locator(".claim:visible").count();
  const reproduced = await page.locator(".claim.reproduced").count();
  assert.ok(reproduced > 0 && reproduced < all);
  await page.uncheck('.verdicts input[value="reproduced"]');
  assert.equal(await page.locator(".claim:visible").count(), all - reproduced);
  await context.close();
});

for (const scheme of ["light", "dark"]) {
  for (const [name, viewport] of [["desktop", { width: 1280, height: 900 }], ["phone", { width: 390, height: 844 }]]) {
    test(`axe finds nothing serious: ${name}, ${scheme}`, { skip }, async () => {
      for (const where of [`${address}#lan-a1`, pathToFileURL(join(folder, "run/report.html")).href]) {
        const { context, page, problems } = await open(browser, where, { viewport, colorScheme: scheme });
        await page.locator(".section-body").first().waitFor();
        await page.waitForTimeout(200);
        assert.deepEqual(await accessibility(page), []);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `the page is ${wide} pixels wider than the window`);
        assert.deepEqual(problems, []);
        await context.close();
      }
    });
  }
}

test("without JavaScript the reader finds the other page, which has every claim and figure", { skip }, async () => {
  const { context, page } = await open(browser, address, { javaScriptEnabled: false });
  await page.locator("noscript a").click();
  await page.waitForURL(/report-static\.html/);
  const results = JSON.parse(readFileSync(join(folder, "out/results.json"), "utf8"));
  assert.deepEqual(await claims(page), results.experiments[0].claims.map((claim) => claim.id).sort());
  assert.equal(await page.locator(".picture svg").count(), results.experiments[0].figures.length);
  await context.close();
});
