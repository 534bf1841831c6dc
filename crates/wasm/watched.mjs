// Runs a scenario with users' components in a worker of Node.js, which is ended if a call of a component does not return.
//
//     const report = await run(module, { "codel.wasm": bytes }, toml, seed, 10_000);
//
// `module` is tailback_wasm.wasm as a WebAssembly.Module. The worker's program is watched_worker.mjs. In a browser, a Worker and
// the record of last_call.mjs do the same.

import { Worker } from "node:worker_threads";
import { LastCall } from "./last_call.mjs";

// Interval between looks at the record, ms.
const POLL_MS = 50;

// Returns the report of a run. Errors have the text of the module; the error of a call that takes longer than `limitMs` of real
// time, or that ends the worker, names the component, the call and the simulated time.
export function run(module, files, toml, seed, limitMs = 10_000) {
  const lastCall = new LastCall();
  const workerData = { module, files, toml, seed, record: lastCall.buffer };
  const worker = new Worker(new URL("watched_worker.mjs", import.meta.url), { workerData });
  return new Promise((resolve, reject) => {
    let isOver = false;
    // Ends the worker, which is also the end of the run; only the first reason counts.
    const end = (settle) => {
      if (isOver) return;
      isOver = true;
      clearInterval(timer);
      worker.terminate().then(settle, reject);
    };
    // `reason` is that of the call in progress, if there is one.
    const fail = (reason) => {
      const message = lastCall.count % 2 === 1 ? `${lastCall.text}: ${reason}` : reason;
      end(() => reject(new Error(message)));
    };
    let [count, since] = [lastCall.count, performance.now()];
    const timer = setInterval(() => {
      const now = performance.now();
      if (lastCall.count !== count || count % 2 === 0) {
        [count, since] = [lastCall.count, now];
      } else if (now - since > limitMs) {
        fail(`the call did not return within ${limitMs / 1000} s, and its worker was ended`);
      }
    }, POLL_MS);
    worker.on("message", ({ report, error }) => {
      end(() => (error === undefined ? resolve(report) : reject(new Error(error))));
    });
    worker.on("error", (error) => fail(`its worker ended: ${error.message}`));
    worker.on("exit", (code) => fail(`its worker exited with code ${code}`));
  });
}
