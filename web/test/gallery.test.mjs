// The scenarios of the gallery in the lab: each has the digest of the command line, played at full speed and then in steps and jumps.
// LAB_GALLERY=all goes through all of them (minutes), as `make validate` does; otherwise some of each group.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { BUILT, folder, jump, lab, skip, tailback, test } from "./lab.mjs";

/** Scenarios of each group. */
const SOME = [
  ...["lan-thresholds", "lan-c2-tcp", "lan-class-destination", "lan-mac", "lan-models"],
  ...["internet-e01", "internet-e09", "internet-rivals", "edge-configs"],
  ...["datacentre-loop", "datacentre-bench", "datacentre-pfc"],
];
/** Settings of variant A of a scenario that opens with a question (src/lessons/guides.ts). */
const FIRST = { "lan-b1": ["--set", "backpressure.scope=plain"] };
const entries = skip ? [] : JSON.parse(readFileSync(join(dirname(BUILT), "site/gallery.json"), "utf8"));
const chosen = process.env.LAB_GALLERY === "all" ? entries : entries.filter(({ id }) => SOME.includes(id));

async function digest(page) {
  // Of two variants, that of A.
  await page.waitForFunction(() => /(: |A )tb2:/.test(document.getElementById("result").textContent), null, { timeout: 240000 });
  return /(?:: |A )(tb2:\w+)/.exec(await page.textContent("#result"))[1];
}

test("scenarios of the gallery have the digests of the command line, played and stepped", async (t) => {
  assert.equal(chosen.length, process.env.LAB_GALLERY === "all" ? entries.length : SOME.length);
  const page = await lab(t);
  for (const { id, toml } of chosen) {
    await t.test(id, async () => {
      const file = join(folder, "gallery.toml");
      writeFileSync(file, toml);
      const native = JSON.parse(tailback("run", file, "--reps", "1", "--json", "-q", ...(FIRST[id] ?? [])).out).replications[0];
      await page.selectOption("#pick", id);
      await page.waitForFunction((seed) => document.getElementById("seed").value === seed, String(native.seed));
      await page.waitForSelector("#now[data-place='0']");
      await page.waitForFunction(() => document.getElementById("result").textContent === "");
      const fastest = () => {
        const faster = document.getElementById("faster");
        while (!faster.disabled) faster.click();
      };
      await page.evaluate(fastest);
      await page.click("#play");
      assert.equal(await digest(page), native.digest, "played");
      await page.click("#restart");
      await page.waitForFunction(() => document.getElementById("result").textContent === "");
      await page.selectOption("#span", "event");
      for (let i = 0; i < 5; i++) await page.click("#step");
      for (const place of [1, 200, 377, 1000]) await jump(page, place);
      assert.equal(await digest(page), native.digest, "in steps");
    });
  }
});
