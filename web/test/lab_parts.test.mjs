// Tests of the parts of the lab that need no browser.

import { build } from "esbuild";
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

/** Imports a module of the lab. */
async function part(name) {
  const entry = fileURLToPath(new URL(`../src/lab/${name}.ts`, import.meta.url));
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: "esm", write: false, logLevel: "warning" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

const { parse, format, time } = await part("quantity");
const { placeAt, keysOf, Schema } = await part("schema");
const { layOut } = await part("layout");
const { toFragment, fromFragment } = await part("share");
const { bounds } = await part("sliders");
const { Run, tunableLine } = await part("run");
const { Engine } = await part("engine");
const MODULE = fileURLToPath(new URL("../../python/tailback/web/built/lab/site/tailback.wasm", import.meta.url));
const noModule = existsSync(MODULE) ? false : "SKIPPED: the lab was not built (make lab)";

test("quantities are read and written with their units", () => {
  assert.deepEqual(parse("2.5Mbit/s"), { number: 2.5e6, unit: "bit/s" });
  assert.deepEqual(parse("50 kB"), { number: 50000, unit: "B" });
  assert.deepEqual(parse("20ms"), { number: 0.02, unit: "s" });
  assert.deepEqual(parse("2min"), { number: 120, unit: "s" });
  assert.deepEqual(parse(0.1), { number: 0.1, unit: "" });
  assert.equal(parse("unlimited"), null);
  assert.equal(parse("5parsecs"), null);
  assert.equal(format({ number: 6.3214e6, unit: "bit/s" }), "6.32Mbit/s");
  assert.equal(format({ number: 999.7e3, unit: "bit/s" }), "1Mbit/s");
  assert.equal(format({ number: 0.00015, unit: "s" }), "150us");
  assert.equal(format({ number: 64000, unit: "B" }), "64kB");
  assert.equal(format({ number: 0.02, unit: "" }), "0.02");
  assert.equal(time(1.5e12), "1.5000 s");
  assert.equal(time(2.5e7), "25.000 µs");
});

test("a position in a text is in a table, at a key or in a value", () => {
  const at = (text) => placeAt(text.replace("|", ""), text.indexOf("|"));
  assert.deepEqual(at("[run]\nwarm|"), { table: ["run"], kind: undefined, key: null });
  assert.deepEqual(at('[run]\nduration = "1|s"'), { table: ["run"], kind: undefined, key: "duration" });
  assert.deepEqual(at('[[flows]]\nname = "a"\nsource = { kind = "cbr", ra| }'), { table: ["flows", "source"], kind: "cbr", key: null });
  assert.deepEqual(at('[[links]]\nbetween = ["a", "|"]'), { table: ["links"], kind: undefined, key: "between" });
  assert.deepEqual(at('# a = {\n[network.discipline]\nkind = "red"\nmi|'), { table: ["network", "discipline"], kind: "red", key: null });
  assert.deepEqual(keysOf('switches."a.b".ports'), ["switches", "a.b", "ports"]);
});

test("keys and words come from the schema, of the stated kind", () => {
  const schema = new Schema({
    properties: { q: { $ref: "#/$defs/Q" }, list: { items: { properties: { on: { type: "boolean" } } } } },
    $defs: {
      Q: {
        oneOf: [
          { properties: { kind: { const: "red" }, max: { description: "The upper threshold." } } },
          { properties: { kind: { const: "pie" }, target: {} } },
        ],
      },
    },
  });
  assert.deepEqual([...schema.keys(["q"], "red").keys()], ["kind", "max"]);
  assert.deepEqual([...schema.keys(["q"]).keys()], ["kind", "max", "target"]);
  assert.deepEqual(schema.values(["q", "kind"]).map(({ value }) => value), ['"red"', '"pie"']);
  assert.deepEqual(schema.values(["list", "on"]).map(({ value }) => value), ["true", "false"]);
  assert.equal(schema.help(["q", "max"], "red"), "The upper threshold.");
});

/** A network of links between pairs of names; names with h are hosts. */
function network(pairs, flows) {
  const names = [...new Set(pairs.flat())];
  const links = pairs.map((ends) => ({ ends, rate_bps: [1, 1], delay_s: 0, buffer_bytes: [null, null] }));
  return { nodes: names.map((name) => [name, name.startsWith("h") ? "host" : "switch"]), links, flows };
}

test("senders are in the first column, and each port is on one line", () => {
  const found = layOut(network([["h1", "s"], ["h2", "s"], ["s", "t"], ["t", "h3"]], [["h1", "h3", "f"], ["h2", "h3", "f"]]));
  const x = Object.fromEntries(found.symbols.map(({ label, x }) => [label, x]));
  assert.deepEqual(x, { h1: 0, h2: 0, s: 1 / 3, t: 2 / 3, h3: 1 });
  assert.deepEqual(found.lines.flatMap(({ ports }) => ports.flat()).sort(), [0, 1, 2, 3, 4, 5, 6, 7]);
});

test("many hosts with one role share a symbol, and a ring of switches is a circle", () => {
  const hosts = Array.from({ length: 64 }, (_, i) => `h${i + 1}`);
  const star = layOut(network([...hosts.map((host) => [host, "s"]), ["s", "hd"]], hosts.map((host) => [host, "hd", "f"])));
  assert.deepEqual(star.symbols.map(({ label }) => label).sort(), ["h1–64", "hd", "s"]);
  assert.equal(star.lines.find(({ ports }) => ports[0].length > 1).ports[0].length, 64);
  const ring = [1, 2, 3, 4, 5];
  const pairs = ring.flatMap((i) => [[`h${i}`, `s${i}`], [`s${i}`, `s${(i % 5) + 1}`]]);
  const circle = layOut(network(pairs, ring.map((i) => [`h${i}`, `h${((i + 1) % 5) + 1}`, "f"])));
  for (const { kind, x, y } of circle.symbols) {
    assert.ok(Math.abs(Math.hypot(x - 0.5, y - 0.5) - (kind === "host" ? 0.5 : 0.275)) < 1e-9);
  }
});

test("an address gives back what it was made of, and a damaged one is refused", async () => {
  const shared = { variants: [{ text: "# µ\n", sets: [], tunable: ["a"], timeline: [{ at: 5, lines: ["a=1"] }] }], seed: "7", at: 9, laws: [{ name: "a.wasm", sha256: "00", content: "AA==" }] };
  const fragment = await toFragment(shared);
  assert.match(fragment, /^s=[\w-]+$/);
  assert.deepEqual(await fromFragment(`#${fragment}`), shared);
  assert.equal(await fromFragment("#top"), null);
  await assert.rejects(fromFragment(`#${fragment.slice(0, -8)}`));
  await assert.rejects(fromFragment(`#${await toFragment({ variants: [] })}`), /no scenario/);
});

test("bounds are those of the declaration, or from a tenth to ten times the value", () => {
  const of = (value, more = {}) => bounds({ path: "p", value, help: "", declared: false, ...more }, parse(value));
  assert.deepEqual(of("10Mbit/s", { min: "2Mbit/s", max: "20Mbit/s" }), { least: 2e6, most: 2e7, factors: true });
  assert.deepEqual(of("10Mbit/s"), { least: 1e6, most: 1e8, factors: true });
  assert.deepEqual(of(0.02, { min: 0, max: 1 }), { least: 0, most: 1, factors: false });
});

test("a delay that is made tunable has a lower bound, and declared keys keep theirs", () => {
  const tunable = [{ path: "links[0].delay", value: "10ms", help: "", declared: false }];
  const declared = ["flows[*].state", { key: "links[0].rate", min: "1kbit/s" }];
  assert.equal(
    tunableLine({ errors: [], warnings: [], tunable, declared }, ["links[0].delay", "links[1].rate"]),
    'run.tunable=["flows[*].state", { key = "links[0].rate", min = "1kbit/s" }, { key = "links[0].delay", min = "1ms" }, "links[1].rate"]',
  );
});

test("the frames on a link are at the places that rate and delay give", { skip: noModule }, async () => {
  const text = `
    tailback = 1
    [run]
    duration = "50ms"
    [hosts]
    a = {}
    b = {}
    [[links]]
    between = ["a", "b"]
    rate = "100Mbit/s"
    delay = "10ms"
    [[flows]]
    name = "data"
    from = "a"
    to = "b"
    source = { kind = "cbr", rate = "50Mbit/s", packet = "1000B", phase = "zero" }
  `;
  const run = new Run(await Engine.load(readFileSync(MODULE)), { text, sets: [], tunable: [], timeline: [] }, 1n);
  assert.equal(run.advance(30e9, Infinity), true);
  const { moving, ports, crowded, series } = run.picture(0, "data", null);
  // A packet every 160 us, at 0, 160 us, ...; 1038 B on the wire take 83.04 us, so that a frame arrives 10.08304 ms after its
  // start. At 30 ms those that started after 19.91696 ms are on the link: from 20 ms (number 125) to 29.92 ms (number 187).
  assert.equal(moving.port.length, 63);
  assert.equal(crowded[0], 63);
  assert.equal(ports[0].frames, 63);
  const places = [...moving.place].sort((a, b) => a - b);
  assert.ok(Math.abs(places[0] - 0.08 / 10.08304) < 1e-9, `${places[0]}`);
  assert.ok(Math.abs(places[62] - 10 / 10.08304) < 1e-9, `${places[62]}`);
  // 30 ms are 600 of the 1000 intervals. In the steady state 1018 B of each packet leave in 160 us: 50.9 Mbit/s, within a packet
  // in the 0.25 ms over which the rate is taken: 32.6 Mbit/s.
  assert.equal(series.time.length, 601);
  const mean = series.values.throughput.slice(200).reduce((sum, value) => sum + value, 0) / 401;
  assert.ok(Math.abs(mean - 50.9) < 0.5, `${mean}`);
  run.close();
});
