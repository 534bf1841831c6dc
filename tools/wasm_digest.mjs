// Runs scenarios in the WebAssembly module and prints their digests, one per line.
//
//     node wasm_digest.mjs MODULE.wasm < runs.json
//
// where runs.json is a list of {"name", "toml", "seed"}. The module's interface is described in crates/wasm. An invalid
// scenario is an error with its name.

import { readFileSync } from "node:fs";

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const imports = WebAssembly.Module.imports(module);
if (imports.length > 0) {
  // An import would be a clock, a random source or the host's mathematics, with which results could differ.
  throw new Error(`the module imports ${imports.map((i) => `${i.module}.${i.name}`).join(", ")}; it must import nothing`);
}
const wasm = new WebAssembly.Instance(module).exports;

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

for (const { name, toml, seed } of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    console.log(run(toml, seed).digest);
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}
