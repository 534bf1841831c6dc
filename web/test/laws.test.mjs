// Tests of users' components in the lab: their digests and faults are those of the command line.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, here, jump, lab, tailback, test } from "./lab.mjs";

const LAWS = here("../../python/tests/laws");
const law = (name) => readFileSync(`${LAWS}/${name}`);
const NETWORK = readFileSync(here("../../tools/wasm_laws.toml"), "utf8");
const SAMPLE = readFileSync(here("../src/lab/law.toml"), "utf8");

/** Runs a text that is written into the editor. */
async function run(page, text) {
  if (!(await page.locator(".cm-content").isVisible())) await page.locator("#text summary").click();
  await page.locator(".cm-content").fill(text);
  await page.waitForFunction(() => document.getElementById("checked").textContent !== "");
}

/** The outcome of the command line: digest, or text of the error. */
function natively(toml, files) {
  const path = join(folder, "native.toml");
  writeFileSync(path, toml);
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
  const { code, out } = tailback("run", path, "--seed", "1", "--reps", "1", "--json", "-q");
  return code === 0 ? JSON.parse(out).replications[0].digest : out;
}

const digests = async (page) => {
  await page.waitForFunction(() => /tb2:/.test(document.getElementById("result").textContent), null, { timeout: 60000 });
  return (await page.textContent("#result")).match(/tb2:\w+/g);
};

const choose = (page, ...files) => page.setInputFiles("#law-file", files.map(([name, buffer]) => ({ name, mimeType: "application/wasm", buffer })));

/** Opens a network with a component of `faults.wat`. */
async function faulty(page, text) {
  await run(page, text);
  await page.waitForSelector("#missing:not([hidden])");
  await choose(page, ["faults.wat", law("faults.wat")]);
  await page.waitForSelector("#run-text:not([disabled])");
  await page.click("#run-text");
  await page.waitForFunction(() => /voice/.test(document.getElementById("legend").textContent));
}

/** The network with a congestion control that fails after 1 s. */
const control = (fault) =>
  NETWORK.replace('congestion-control = { kind = "reno" }', `congestion-control = { kind = "user", file = "faults.wat", class = "Control", parameters = { fault = ${fault} } }`);

/** Asks for the end of the run. */
async function end(page) {
  await page.locator("#time").evaluate((input) => {
    input.value = "1000";
    input.dispatchEvent(new Event("change"));
  });
}

test("the law of the list has the digest of the built-in one, and of the command line", async (t) => {
  const page = await lab(t);
  await page.selectOption("#pick", "own-law");
  await page.waitForFunction(() => document.querySelectorAll("canvas.network").length === 2);
  await jump(page, 1000);
  const [a, b] = await digests(page);
  assert.equal(a, b);
  assert.equal(a, natively(SAMPLE, { "codel.wat": law("codel.wat") }));
});

test("a missing file is named, and its scenario runs as soon as it is chosen", async (t) => {
  const page = await lab(t);
  const text = NETWORK.replace('source = { kind = "cbr", packet = "200B", interval = "3ms", jitter = 0.5 }', 'source = { kind = "user", file = "own.wasm", class = "Cbr", parameters = { packet = "200B", interval = "3ms", jitter = 0.5 } }').replace('congestion-control = { kind = "reno" }', 'congestion-control = { kind = "user", file = "reno.wat", class = "Reno" }');
  await run(page, text);
  await page.waitForSelector("#missing:not([hidden])");
  assert.match(await page.textContent("#missing"), /own\.wasm, reno\.wat/);
  // With two missing files, each is found by its name.
  await choose(page, ["own.wasm", law("cbr.wat")], ["reno.wat", law("reno.wat")]);
  await page.waitForSelector("#run-text:not([disabled])");
  await page.click("#run-text");
  await page.waitForFunction(() => /voice/.test(document.getElementById("legend").textContent));
  assert.equal(await page.locator("#missing").isHidden(), true);
  await jump(page, 1000);
  // The built-in source and congestion control have the same digest.
  assert.equal((await digests(page))[0], natively(NETWORK, {}));
});

test("a shared address has a small law in it, and names a large one", async (t) => {
  const page = await lab(t);
  await page.selectOption("#pick", "own-law");
  await page.waitForFunction(() => document.querySelectorAll("canvas.network").length === 2);
  await jump(page, 100);
  const share = async () => {
    await page.evaluate(() => document.getElementById("shared").replaceChildren());
    if (!(await page.locator("#share").isVisible())) await page.locator("#files summary").click();
    await page.click("#share");
    await page.waitForFunction(() => document.getElementById("shared").textContent !== "");
    return page.url();
  };
  const small = await lab(t, { url: await share() });
  await small.waitForSelector('#now[data-place="100"]', { timeout: 20000 });
  assert.equal(await small.textContent("#state"), await page.textContent("#state"));

  // A comment that no compression shortens makes the same law too large for an address.
  const noise = Array.from({ length: 12000 }, (_, i) => String.fromCharCode(97 + ((i * i * 7919 + (i % 89) * 31 + Math.floor(i ** 1.5)) % 26))).join("");
  const large = Buffer.concat([law("codel.wat"), Buffer.from(`\n;; ${noise}\n`)]);
  await page.locator("#text summary").click();
  await choose(page, ["codel.wat", large]);
  await page.waitForSelector('#now[data-place="0"]', { timeout: 20000 });
  const url = await share();
  assert.ok(url.length < 8100, `${url.length} characters`);
  const context = await page.context().browser().newContext();
  t.after(() => context.close());
  const other = await context.newPage();
  await other.goto(url);
  await other.waitForSelector("#missing:not([hidden])", { timeout: 20000 });
  assert.match(await other.textContent("#missing"), /needs the file codel\.wat.*SHA-256 [0-9a-f]{64}/);
  await choose(other, ["codel.wat", law("codel.wat")]);
  await other.waitForSelector("#problem:not([hidden])");
  assert.match(await other.textContent("#problem"), /not the file codel\.wat of the address/);
  await choose(other, ["renamed.wat", large]);
  await other.waitForFunction(() => document.querySelectorAll("canvas.network").length === 2);
  assert.equal(await other.locator("#missing").isHidden(), true);
});

test("a call that does not return is named, and the lab goes on", async (t) => {
  const page = await lab(t);
  await faulty(page, control(2));
  await end(page);
  await page.waitForFunction(() => /has ended the run/.test(document.getElementById("problem").textContent), null, { timeout: 40000 });
  const text = await page.textContent("#problem-text");
  // Natively the number of steps is limited: the call is the same.
  const native = natively(control(2), { "faults.wat": law("faults.wat") });
  const [, call] = /(`Control` of faults\.wat at tcp\[\d\], in `acknowledged` at [\d.]+ s): the call took more than/.exec(native);
  assert.equal(text, `${call}: the call did not return within 5 s, and its worker was ended`);
  // The run is there up to the call.
  assert.match(await page.textContent("#now"), /^(0\.99|1\.)/);
  await page.selectOption("#pick", "");
  await page.waitForFunction(() => /PAUSE/.test(document.getElementById("title").textContent));
  await jump(page, 100);
  assert.match(await page.textContent("#state"), /longest queue/);
});

test("an endless loop before the run is named, too", async (t) => {
  const page = await lab(t);
  const text = law("codel.wat").toString();
  const start = text.indexOf("(global.set $target", text.indexOf("Codel_create"));
  const looping = `${text.slice(0, start)}(loop $again (br $again))\n    ${text.slice(start)}`;
  await jump(page, 50);
  await run(page, SAMPLE);
  await page.waitForSelector("#missing:not([hidden])");
  await choose(page, ["codel.wat", Buffer.from(looping)]);
  await page.waitForFunction(() => /has ended the run/.test(document.getElementById("problem").textContent), null, { timeout: 40000 });
  assert.match(await page.textContent("#problem-text"), /^`Codel` of codel\.wat, in `create`: the call did not return within 5 s/);
  // The run before is opened again.
  await page.waitForSelector('#now[data-place="0"]');
  await jump(page, 50);
});

for (const [fault, name] of [[1, "trap"], [4, "time before now"], [5, "window that is not a number"]]) {
  test(`a ${name} is refused with the call and its time, as by the command line`, async (t) => {
    const page = await lab(t);
    await faulty(page, control(fault));
    await end(page);
    await page.waitForSelector("#problem-text:not([hidden])", { timeout: 20000 });
    const text = await page.textContent("#problem-text");
    const native = natively(control(fault), { "faults.wat": law("faults.wat") });
    const [, call] = /(`Control` of faults\.wat at tcp\[\d\], in `acknowledged` at [\d.]+ s: )/.exec(native);
    assert.ok(text.startsWith(call), `${text}\n---\n${native}`);
    if (fault !== 1) assert.ok(native.includes(text), `${text}\n---\n${native}`);
  });
}

test("a law that imports anything but the interface is refused", async (t) => {
  const page = await lab(t);
  await run(page, SAMPLE);
  await page.waitForSelector("#missing:not([hidden])");
  const text = law("codel.wat").toString().replace("(memory", '(import "env" "fetch" (func))\n  (memory');
  await choose(page, ["codel.wat", Buffer.from(text)]);
  await page.waitForSelector("#problem:not([hidden])");
  await page.waitForFunction(() => /imports `env\.fetch`/.test(document.getElementById("problem").textContent));
});
