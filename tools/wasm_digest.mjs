// Runs scenarios in the WebAssembly module and prints for each a line with its digest and, if it is to be traced, the hash
// of its packet trace, otherwise "-".
//
//     node wasm_digest.mjs MODULE.wasm [LAW.wasm...] < runs.json
//
// where runs.json is a list of {"name", "toml", "seed", "traced"}, and each LAW.wasm is a user's law, which scenarios name by its
// file name. The module's interface is described in crates/wasm. An invalid scenario is an error with its name; for a run with
// "fails", the line is the text of its error.

import { readFileSync } from "node:fs";
import { Laws } from "../crates/wasm/laws.mjs";

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const imports = WebAssembly.Module.imports(module);
if (imports.length > 0) {
  // An import would be a clock, a random source or the host's mathematics, with which results could differ.
  throw new Error(`the module imports ${imports.map((i) => `${i.module}.${i.name}`).join(", ")}; it must import nothing`);
}
const wasm = new WebAssembly.Instance(module).exports;
if (process.argv.length > 3) {
  const laws = new Laws(wasm);
  for (const path of process.argv.slice(3)) await laws.add(path.split("/").at(-1), readFileSync(path));
}

function run(toml, seed) {
  const text = new TextEncoder().encode(toml);
  const at = wasm.tailback_alloc(text.length);
  new Uint8Array(wasm.memory.buffer, at, text.length).set(text);
  const failed = wasm.tailback_run(at, text.length, BigInt(seed));
  wasm.tailback_free(at, text.length);
  // The memory may have grown, which detaches earlier views of it.
  const result = new Uint8Array(wasm.memory.buffer, wasm.tailback_result_ptr(), wasm.tailback_result_len());
  const answer = new TextDecoder().decode(result);
  if (failed) throw new Error(answer);
  return JSON.parse(answer);
}

// Passes a text to an export, and frees its memory.
function withText(text, call) {
  const bytes = new TextEncoder().encode(text);
  const at = wasm.tailback_alloc(bytes.length);
  new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
  const found = call(at, bytes.length);
  wasm.tailback_free(at, bytes.length);
  return found;
}

function answer() {
  return new TextDecoder().decode(
    new Uint8Array(wasm.memory.buffer, wasm.tailback_result_ptr(), wasm.tailback_result_len()),
  );
}

// Returns the report of a run in seven steps, with a view after each.
function stepped(toml, seed) {
  const handle = withText(toml, (at, length) => wasm.tailback_open(at, length, BigInt(seed)));
  if (handle === 0) throw new Error(answer());
  const end = wasm.tailback_end(handle);
  for (let step = 1n; step <= 7n; step++) {
    while (wasm.tailback_run_until(handle, (BigInt.asUintN(64, end) * step) / 7n, 10000n) === 2);
    if (wasm.tailback_view(handle) !== 0) throw new Error(answer());
  }
  if (wasm.tailback_report(handle) !== 0) throw new Error(answer());
  return JSON.parse(answer());
}

// Returns the number of rows and the hash of the packet trace of a run in steps, whose rows are taken after each.
function traceHash(toml, seed) {
  const handle = withText(toml, (at, length) => wasm.tailback_open_traced(at, length, BigInt(seed)));
  if (handle === 0) throw new Error(answer());
  const end = BigInt.asUintN(64, wasm.tailback_end(handle));
  for (let more = true; more; ) {
    more = wasm.tailback_run_until(handle, end, 20000n) === 2;
    if (wasm.tailback_take_trace(handle) !== 0) throw new Error(answer());
  }
  if (wasm.tailback_trace_hash(handle) !== 0) throw new Error(answer());
  const hash = answer().replace(" ", ":");
  wasm.tailback_close(handle);
  return hash;
}

let number = 0;
for (const { name, toml, seed, traced, fails } of JSON.parse(readFileSync(0, "utf8"))) {
  if (fails) {
    try {
      run(toml, seed);
      console.log("no error");
    } catch (error) {
      console.log(error.message.replaceAll("\n", " "));
    }
    continue;
  }
  try {
    const { digest } = run(toml, seed);
    // Every fifth run in steps, too.
    if (number++ % 5 === 0 && stepped(toml, seed).digest !== digest) throw new Error("a run in steps has another digest");
    console.log(`${digest} ${traced ? traceHash(toml, seed) : "-"}`);
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}
