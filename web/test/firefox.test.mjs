// The lab in Firefox: it opens from a file, runs, and has the digest of the command line.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, test } from "node:test";
import { skip as noBrowser, start } from "./firefox.mjs";
import { BUILT, PAGE, here, tailback } from "./lab.mjs";

const skip = noBrowser || (existsSync(BUILT) ? false : "SKIPPED: the lab was not built (make lab)");

let browser;
after(() => browser?.close());

test("Firefox opens the lab from a file, a queue grows, and the digest is that of the command line", { skip }, async () => {
  browser = await start();
  await browser.open(PAGE);
  await browser.until('!document.getElementById("play").disabled');
  await browser.evaluate('document.getElementById("play").click()');
  await browser.until('/longest queue [1-9]/.test(document.getElementById("state").textContent)');
  const jump = `{ const time = document.getElementById("time"); time.value = "1000"; time.dispatchEvent(new Event("change")); }`;
  await browser.evaluate(jump);
  await browser.until('/tb2:/.test(document.getElementById("result").textContent)');
  const native = JSON.parse(tailback("run", here("../src/lab/first.toml"), "--reps", "1", "--json", "-q").out).replications[0];
  assert.equal(await browser.evaluate('/tb2:\\w+/.exec(document.getElementById("result").textContent)[0]'), native.digest);

  // A component of a user, too, in a worker that was started from a file.
  await browser.evaluate(`{ const pick = document.getElementById("pick"); pick.value = "own-law"; pick.dispatchEvent(new Event("change")); }`);
  await browser.until('document.querySelectorAll("canvas.network").length === 2 && document.getElementById("result").textContent === ""');
  await browser.until('document.getElementById("now").dataset.place === "0"');
  await browser.evaluate(jump);
  await browser.until('/^End of the run. Digest: A (tb2:\\w+), B \\1$/.test(document.getElementById("result").textContent)');
  assert.deepEqual(browser.problems, []);
});
