// Calls of the module of the simulator from JavaScript, in browsers and Node.js. `wasm` stands for the exports of
// tailback_wasm.wasm, whose functions are described in crates/wasm/tailback.h.

// Passes bytes to a function of the module, as their address and their number; returns its result.
export function withBytes(wasm, bytes, call) {
  const at = wasm.tailback_alloc(bytes.length) >>> 0;
  new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
  try {
    return call(at, bytes.length);
  } finally {
    wasm.tailback_free(at, bytes.length);
  }
}

// Passes a text to a function of the module; returns its result.
export function withText(wasm, text, call) {
  return withBytes(wasm, new TextEncoder().encode(text), call);
}

// Returns the bytes of the last answer, which the next call overwrites. The memory may have grown, which detaches earlier views of
// it. Addresses are signed in calls from WebAssembly.
export function answerBytes(wasm) {
  return new Uint8Array(wasm.memory.buffer, wasm.tailback_result_ptr() >>> 0, wasm.tailback_result_len());
}

// Returns the last answer as text.
export function answer(wasm) {
  return new TextDecoder().decode(answerBytes(wasm));
}

// Runs a scenario in TOML; returns the report. An invalid scenario and a failed run are an Error with the text.
export function run(wasm, toml, seed) {
  const failed = withText(wasm, toml, (at, length) => wasm.tailback_run(at, length, BigInt(seed)));
  if (failed) throw new Error(answer(wasm));
  return JSON.parse(answer(wasm));
}
