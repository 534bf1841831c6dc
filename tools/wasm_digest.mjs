// Runs scenarios in the WebAssembly module and prints for each a line with its digest and, if it is to be traced, the hash
// of its packet trace, otherwise "-".
//
//     node wasm_digest.mjs MODULE.wasm [LAW.wasm...] < runs.json
//
// where runs.json is a list of {"name", "toml", "seed", "traced"}, and each LAW.wasm has components of users, which scenarios name
// by its file name. The module's interface is described in crates/wasm. An invalid scenario is an error with its name; for a run
// with "fails", the line is the text of its error. A run with "limit_ms" is in a worker, which ends if a call of a component takes
// longer.

import { readFileSync } from "node:fs";
import { Laws } from "../crates/wasm/laws.mjs";
import { answer, run, withText } from "../crates/wasm/simulator.mjs";
import * as watched from "../crates/wasm/watched.mjs";

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const imports = WebAssembly.Module.imports(module);
if (imports.length > 0) {
  // An import would be a clock, a random source or the host's mathematics, with which results could differ.
  throw new Error(`the module imports ${imports.map((i) => `${i.module}.${i.name}`).join(", ")}; it must import nothing`);
}
const wasm = new WebAssembly.Instance(module).exports;
const files = Object.fromEntries(process.argv.slice(3).map((path) => [path.split("/").at(-1), readFileSync(path)]));
const laws = new Laws(wasm);
for (const [file, bytes] of Object.entries(files)) await laws.add(file, bytes);

// Returns the report of a run in seven steps, with a view after each.
function stepped(toml, seed) {
  const handle = withText(wasm, toml, (at, length) => wasm.tailback_open(at, length, BigInt(seed)));
  if (handle === 0) throw new Error(answer(wasm));
  const end = wasm.tailback_end(handle);
  for (let step = 1n; step <= 7n; step++) {
    while (wasm.tailback_run_until(handle, (BigInt.asUintN(64, end) * step) / 7n, 10000n) === 2);
    if (wasm.tailback_view(handle) !== 0) throw new Error(answer(wasm));
  }
  if (wasm.tailback_report(handle) !== 0) throw new Error(answer(wasm));
  return JSON.parse(answer(wasm));
}

// Returns the number of rows and the hash of the packet trace of a run in steps, whose rows are taken after each.
function traceHash(toml, seed) {
  const handle = withText(wasm, toml, (at, length) => wasm.tailback_open_traced(at, length, BigInt(seed)));
  if (handle === 0) throw new Error(answer(wasm));
  const end = BigInt.asUintN(64, wasm.tailback_end(handle));
  for (let more = true; more; ) {
    more = wasm.tailback_run_until(handle, end, 20000n) === 2;
    if (wasm.tailback_take_trace(handle) !== 0) throw new Error(answer(wasm));
  }
  if (wasm.tailback_trace_hash(handle) !== 0) throw new Error(answer(wasm));
  const hash = answer(wasm).replace(" ", ":");
  wasm.tailback_close(handle);
  return hash;
}

let number = 0;
for (const { name, toml, seed, traced, fails, limit_ms } of JSON.parse(readFileSync(0, "utf8"))) {
  if (fails) {
    try {
      await (limit_ms ? watched.run(module, files, toml, seed, limit_ms) : run(wasm, toml, seed));
      console.log("no error");
    } catch (error) {
      console.log(error.message.replaceAll("\n", " "));
    }
    continue;
  }
  try {
    const { digest } = limit_ms ? await watched.run(module, files, toml, seed, limit_ms) : run(wasm, toml, seed);
    // Every fifth run in steps, too.
    if (number++ % 5 === 0 && stepped(toml, seed).digest !== digest) throw new Error("a run in steps has another digest");
    console.log(`${digest} ${traced ? traceHash(toml, seed) : "-"}`);
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}
