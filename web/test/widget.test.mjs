// Tests of the widget of notebooks in a browser: the module is imported, and rendered with a model that has the values which
// `tailback.Lab` gives it. No program of Jupyter takes part.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { open, skip as noBrowser, start } from "./browser.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const FILES = {
  "/lab": here("../../python/tailback/web/built/lab/index.html"),
  "/widget.js": here("../../python/tailback/web/built/widget.js"),
};
const skip = noBrowser || (Object.values(FILES).every(existsSync) ? false : "SKIPPED: the lab was not built (make lab)");
if (skip) console.log(skip);

let browser;
let server;
let asked = [];
before(async () => {
  if (skip) return;
  browser = await start();
  server = createServer(async ({ url }, answer) => {
    asked.push(url);
    answer.setHeader("Content-Type", url === "/widget.js" ? "text/javascript" : "text/html");
    answer.end(FILES[url] === undefined ? '<!doctype html><link rel="icon" href="data:,"><div id="cell"></div>' : await readFile(FILES[url]));
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** Renders the widget in a page; `light`: what JupyterLab states about its colours. */
async function rendered(fragment, light) {
  const { page, context, problems } = await open(browser, `http://127.0.0.1:${server.address().port}/`, { colorScheme: "light" });
  await page.evaluate(
    async ([fragment, light]) => {
      if (light !== undefined) document.body.dataset.jpThemeLight = light;
      const page = new DataView(await (await fetch("/lab")).arrayBuffer());
      const values = { page, fragment, height: 600 };
      const calls = {};
      const model = { get: (name) => values[name], on: (event, call) => (calls[event] = call) };
      globalThis.change = (name, value) => {
        values[name] = value;
        calls[`change:${name}`]();
      };
      const { default: widget } = await import("/widget.js");
      globalThis.end = widget.render({ model, el: document.getElementById("cell") });
    },
    [fragment, light],
  );
  asked = [];
  const lab = async () => (await page.waitForSelector("#cell iframe")).contentFrame();
  return { page, context, problems, lab };
}

test("the widget draws the network and plays, without loading anything", { skip }, async () => {
  const { page, context, problems, lab } = await rendered("#lesson=red");
  const frame = await lab();
  await frame.waitForSelector("#play:not([disabled])");
  assert.equal(await frame.textContent("#title"), "2. RED with many flows");
  assert.equal(await frame.locator("header").isVisible(), false);
  const coloured = await frame.evaluate(() => {
    const canvas = document.querySelector("canvas.network");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, i) => i % 4 === 3 && value > 0).length;
  });
  assert.ok(coloured > 1000, `${coloured} pixels are drawn`);
  await frame.click("#play");
  await frame.waitForFunction(() => document.querySelector("#now").textContent !== "0 s");
  assert.equal((await page.locator("#cell iframe").boundingBox()).height, 600);
  assert.deepEqual(asked, []);
  assert.deepEqual(problems, []);
  await context.close();
});

test("a change of the model shows another scenario, and another height", { skip }, async () => {
  const { page, context, problems, lab } = await rendered("#lesson=red");
  await (await lab()).waitForSelector("#play:not([disabled])");
  await page.evaluate(() => globalThis.change("fragment", "#scenario=lan-a1"));
  const frame = await lab();
  await frame.waitForSelector("#play:not([disabled])");
  assert.equal(await frame.locator("#pick").inputValue(), "lan-a1");
  await page.evaluate(() => globalThis.change("height", 450));
  assert.equal((await page.locator("#cell iframe").boundingBox()).height, 450);
  await page.evaluate(() => globalThis.end());
  assert.deepEqual(problems, []);
  await context.close();
});

test("the widget has the colours of the notebook", { skip }, async () => {
  for (const [light, least, most] of [["true", 200, 255], ["false", 0, 60]]) {
    const { context, lab } = await rendered("#lesson=red", light);
    const frame = await lab();
    await frame.waitForSelector("#play:not([disabled])");
    const [red] = /\d+/.exec(await frame.evaluate(() => getComputedStyle(document.body).backgroundColor));
    assert.ok(least <= Number(red) && Number(red) <= most, `${light}: ${red}`);
    await context.close();
  }
});
