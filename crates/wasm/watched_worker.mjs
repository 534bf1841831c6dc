// Program of the worker of watched.mjs: runs one scenario, and sends its report or the text of its error.

import { parentPort, workerData } from "node:worker_threads";
import { LastCall } from "./last_call.mjs";
import { Laws } from "./laws.mjs";
import { run } from "./simulator.mjs";

const { module, files, toml, seed, record } = workerData;
const wasm = new WebAssembly.Instance(module).exports;
const laws = new Laws(wasm, new LastCall(record));
for (const [file, bytes] of Object.entries(files)) await laws.add(file, bytes);
try {
  parentPort.postMessage({ report: run(wasm, toml, seed) });
} catch (error) {
  parentPort.postMessage({ error: error.message });
}
