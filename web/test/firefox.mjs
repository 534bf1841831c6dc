// Debian's firefox-esr, or the program that FIREFOX names, by WebDriver BiDi: playwright-core drives a Firefox of its own only.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

// Node.js 20 has no client of WebSocket by default; this one belongs to playwright-core.
const { ws: WebSocket } = createRequire(import.meta.url)("playwright-core/lib/utilsBundle");
const path = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
/** Milliseconds after which an answer or a condition counts as missing. */
const PATIENCE = 60000;

/** Why the test is skipped; false if there is a browser. */
export const skip = existsSync(path) ? false : `SKIPPED: there is no browser at ${path} (Debian package firefox-esr)`;
if (skip) console.log(skip);

/** Starts the browser with a page; `problems` gets errors and warnings of the console, and uncaught errors. */
export async function start() {
  const profile = mkdtempSync(join(tmpdir(), "firefox-"));
  const program = spawn(path, ["--headless", "--no-remote", "--remote-debugging-port=0", "--profile", profile], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((done) => program.once("exit", done));
  let told = "";
  const address = await new Promise((done, failed) => {
    program.stderr.on("data", (text) => {
      told += text;
      const found = /WebDriver BiDi listening on (ws:\S+)/.exec(told);
      if (found) done(found[1]);
    });
    program.once("exit", (code) => failed(new Error(`${path} ended with ${code}: ${told}`)));
    program.once("error", failed);
  });
  const socket = new WebSocket(`${address}/session`);
  await new Promise((done, failed) => socket.on("open", done).on("error", failed));
  const problems = [];
  const waiting = new Map();
  let last = 0;
  socket.on("message", (text) => {
    const { id, result, error, message, method, params } = JSON.parse(text);
    if (method === "log.entryAdded" && ["error", "warn"].includes(params.level)) problems.push(params.text);
    const { done, failed } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (error) failed?.(new Error(`${error}: ${message}`));
    else done?.(result);
  });
  const send = (method, params) =>
    new Promise((done, failed) => {
      waiting.set(++last, { done, failed });
      socket.send(JSON.stringify({ id: last, method, params }));
    });
  await send("session.new", { capabilities: {} });
  await send("session.subscribe", { events: ["log.entryAdded"] });
  const { contexts } = await send("browsingContext.getTree", {});
  const { context } = contexts[0];

  /** Returns the value of an expression in the page. */
  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await send("script.evaluate", { expression, target: { context }, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return result.value;
  };
  return {
    problems,
    evaluate,
    open: (url) => send("browsingContext.navigate", { context, url, wait: "complete" }),
    /** Waits until an expression in the page is true. */
    async until(expression) {
      for (const end = Date.now() + PATIENCE; Date.now() < end; await sleep(100)) if (await evaluate(expression)) return;
      throw new Error(`in ${PATIENCE / 1000} s this has not become true: ${expression}`);
    },
    async close() {
      socket.close();
      program.kill();
      await ended;
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
