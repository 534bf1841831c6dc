// Tests of the built site (`make site`) in a browser, opened from the file system: the way from the first page into the lab,
// samples that run where they are read, the search, and accessibility. SITE names the folder; without a site they are skipped.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { accessibility, open, skip as withoutBrowser, start } from "./browser.mjs";

const SITE = process.env.SITE ?? fileURLToPath(new URL("../../out/site", import.meta.url));
const skip = withoutBrowser || (existsSync(`${SITE}/index.html`) ? false : `SKIPPED: there is no site at ${SITE} (make site)`);
if (skip) console.log(skip);
const at = (page) => pathToFileURL(`${SITE}/${page}`).href;

let browser;
before(async () => {
  if (!skip) browser = await start();
});
after(() => browser?.close());

/** Plays the lab in a page or frame until its time has moved. */
async function plays(lab) {
  await lab.waitForSelector("#play:not([disabled])");
  const before = await lab.textContent("#now");
  await lab.click("#play");
  await lab.waitForFunction((was) => document.querySelector("#now").textContent !== was, before);
}

/** The frame of the lab that is open in a page. */
const framed = async (page) => (await page.waitForSelector(".lab-frame iframe")).contentFrame();

test("the first page leads to the lab, which plays", { skip }, async () => {
  const { context, page, problems } = await open(browser, at("index.html"));
  assert.equal(await page.locator("svg.queue").count(), 8);
  assert.ok((await page.locator("a.first").boundingBox()).y < 300);
  await page.click("a.first");
  await plays(page);
  assert.deepEqual(problems, []);
  await context.close();
});

test("a card of a lesson opens the lesson", { skip }, async () => {
  const { context, page, problems } = await open(browser, at("index.html"));
  await page.click("text=7. Bufferbloat, CoDel and FQ-CoDel");
  await page.waitForSelector("#lesson:not([hidden])");
  assert.match(await page.textContent("#lesson"), /Which buffer gives A/);
  assert.deepEqual(problems, []);
  await context.close();
});

test("an entry of the gallery opens in the lab", { skip }, async () => {
  const { context, page, problems } = await open(browser, at("gallery.html"));
  await page.click('a[href="lab/index.html#scenario=lan-a1"]');
  await page.waitForSelector("#play:not([disabled])");
  assert.equal(await page.locator("#pick").inputValue(), "lan-a1");
  assert.deepEqual(problems, []);
  await context.close();
});

test("a scenario runs where it is read, one at a time, by pointer and by keyboard", { skip }, async () => {
  const { context, page, problems } = await open(browser, at("docs/first-steps.html"));
  const links = page.locator("a.run-here");
  await links.nth(0).click();
  await plays(await framed(page));
  await links.nth(1).focus();
  await page.keyboard.press("Space");
  assert.equal(await page.locator(".lab-frame").count(), 1);
  assert.equal(await links.nth(0).getAttribute("aria-expanded"), "false");
  assert.equal(await links.nth(1).getAttribute("aria-expanded"), "true");
  const lab = await framed(page);
  await plays(lab);
  assert.equal(await lab.locator("header").isVisible(), false);
  // axe reads style sheets, which the browser refuses for files with a message.
  assert.deepEqual(problems, []);
  assert.deepEqual(await accessibility(page), []);
  await page.click(".lab-frame button");
  assert.equal(await page.locator(".lab-frame").count(), 0);
  assert.equal(await page.evaluate(() => document.activeElement.className), "run-here");
  await context.close();
});

test("the lab on a page has the page's scenario, with the settings of the command", { skip }, async () => {
  const { context, page } = await open(browser, at("docs/first-steps.html"));
  // The second step of the page runs without back-pressure.
  const [written, changed] = await page.locator("p.run a.run-here").evaluateAll((all) => all.slice(0, 2).map((link) => link.href));
  assert.notEqual(written, changed);
  await page.goto(changed);
  await page.waitForSelector("#play:not([disabled])");
  await page.click("#text summary");
  await page.waitForSelector(".cm-content");
  assert.match(await page.textContent(".cm-content"), /scope = "none"/);
  await context.close();
});

test("the colours of the lab follow those chosen on the page", { skip }, async () => {
  const { context, page } = await open(browser, at("docs/scenarios.html"), { colorScheme: "light" });
  await page.evaluate(() => document.body.setAttribute("data-theme", "dark"));
  await page.locator("a.run-here").first().click();
  const lab = await framed(page);
  await lab.waitForSelector("#play:not([disabled])");
  const [red] = /\d+/.exec(await lab.evaluate(() => getComputedStyle(document.body).backgroundColor));
  assert.ok(Number(red) < 50, red);
  await context.close();
});

test("the search finds pages without a server", { skip }, async () => {
  const { context, page, problems } = await open(browser, `${at("search.html")}?q=bufferbloat`);
  await page.waitForSelector("#search-results li a");
  assert.deepEqual(problems, []);
  await context.close();
});

const PAGES = ["index.html", "lessons.html", "gallery.html", "api.html", "docs/mechanisms/red.html", "docs/first-steps.html"];
for (const [scheme, width] of [["light", 1280], ["dark", 390]]) {
  test(`pages are accessible and not wider than the window: ${scheme}, ${width} px`, { skip }, async () => {
    for (const name of PAGES) {
      const { context, page, problems } = await open(browser, at(name), { viewport: { width, height: 900 }, colorScheme: scheme });
      assert.deepEqual(problems, [], name);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, name);
      assert.deepEqual(await accessibility(page), [], name);
      await context.close();
    }
  });
}
