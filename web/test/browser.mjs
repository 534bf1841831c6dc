// The browser of the tests: Debian's chromium, or the program that CHROMIUM names.

import { existsSync } from "node:fs";
import AxeBuilder from "@axe-core/playwright";
import { chromium } from "playwright-core";

const path = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Why the tests are skipped; false if there is a browser. A missing one is an error if TAILBACK_NEEDS_BROWSER is set. */
export const skip = existsSync(path) ? false : `SKIPPED: there is no browser at ${path} (Debian package chromium)`;
if (skip && process.env.TAILBACK_NEEDS_BROWSER) throw new Error(skip);
if (skip) console.log(skip);

/** Starts the browser. */
export function start() {
  return chromium.launch({ executablePath: path, args: ["--no-sandbox", "--disable-gpu"] });
}

/** Opens an address in a profile of its own; `problems` gets errors and warnings of the console, and uncaught errors. */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(address);
  return { context, page, problems };
}

/** Returns the serious and critical findings of axe, each with the first element concerned. */
export async function accessibility(page) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations
    .filter((found) => ["serious", "critical"].includes(found.impact))
    .map((found) => `${found.id}: ${found.nodes[0]?.html} (${found.nodes.length} elements)`);
}
