// The lab in a browser, for tests of its pages. Results are compared with those of the command line, TAILBACK.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test as always } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { open, skip as noBrowser, start } from "./browser.mjs";

export const here = (path) => fileURLToPath(new URL(path, import.meta.url));
export const BUILT = here("../../python/tailback/web/built/lab/index.html");
export const PAGE = pathToFileURL(BUILT).href;
export const GALLERY = here("../../python/tailback/gallery");
export const [PROGRAM, ...FIRST_ARGUMENTS] = (process.env.TAILBACK ?? here("../../.venv/bin/tailback")).split(" ");

/** Why the tests are skipped; false if there are a browser and the lab. */
export const skip = noBrowser || (existsSync(BUILT) ? false : "SKIPPED: the lab was not built (make lab)");
if (skip && !noBrowser) console.log(skip);
export const test = (name, work) => always(name, { skip }, work);

/** A folder for the files of the tests. */
export const folder = mkdtempSync(join(tmpdir(), "lab-"));
let browser;
before(async () => {
  if (!skip) browser = await start();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** Runs the command line; returns its output and exit code. */
export function tailback(...args) {
  try {
    return { code: 0, out: execFileSync(PROGRAM, [...FIRST_ARGUMENTS, ...args], { encoding: "utf8", stdio: "pipe" }) };
  } catch (error) {
    // The program could not be started.
    if (typeof error.status !== "number") throw error;
    return { code: error.status, out: error.stdout + error.stderr };
  }
}

/** Opens the lab in a fresh context; the test fails on any error in the console. */
export async function lab(t, { url = PAGE, ...options } = {}) {
  const { context, page, problems } = await open(browser, url, options);
  t.after(async () => {
    await context.close();
    assert.deepEqual(problems, []);
  });
  await page.waitForSelector("#play:not([disabled])", { timeout: 60000 });
  return page;
}

/** Seconds that the page shows. */
export async function seconds(page) {
  const [number, unit] = (await page.textContent("#now")).split(" ");
  return Number(number) * { s: 1, ms: 1e-3, "µs": 1e-6 }[unit];
}

/** Moves to a part of the run, 0 to 1000, and waits until it is there. */
export async function jump(page, place) {
  await page.locator("#time").evaluate((input, value) => {
    input.value = String(value);
    input.dispatchEvent(new Event("input"));
    input.dispatchEvent(new Event("change"));
  }, place);
  await page.waitForSelector(`#now[data-place="${place}"]`, { timeout: 120000 });
}

/** Saves a file by its button; returns its bytes. */
export async function saved(page, kind) {
  const waiting = page.waitForEvent("download");
  await page.click(`[data-export=${kind}]`);
  const file = join(folder, kind);
  await (await waiting).saveAs(file);
  return readFileSync(file);
}
