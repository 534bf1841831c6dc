// Calls of the module of the simulator from JavaScript, in browsers and Node.js. `wasm` stands for the exports of
// tailback_wasm.wasm, whose functions are described in crates/wasm/tailback.h.

// Passes bytes to a function of the module, as their address and their number; returns its result.
export function withBytes(wasm, bytes, call) {
  const at = wasm.tailback_alloc(bytes.length);
  new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
  const found = call(at, bytes.length);
  wasm.tailback_free(at, bytes.length);
  return found;
}

// Passes a text to a function of the module; returns its result.
export function withText(wasm, text, call) {
  return withBytes(wasm, new TextEncoder().encode(text), call);
}

// Returns the last answer. The memory may have grown, which detaches earlier views of it.
export function answer(wasm) {
  const { buffer } = wasm.memory;
  return new TextDecoder().decode(new Uint8Array(buffer, wasm.tailback_result_ptr(), wasm.tailback_result_len()));
}

// Runs a scenario in TOML; returns the report. An invalid scenario and a failed run are an Error with the text.
export function run(wasm, toml, seed) {
  const failed = withText(wasm, toml, (at, length) => wasm.tailback_run(at, length, BigInt(seed)));
  if (failed) throw new Error(answer(wasm));
  return JSON.parse(answer(wasm));
}
