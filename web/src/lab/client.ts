// The page's side of the worker: requests with answers, and the pictures that it sends.

import type { EditorParts } from "./editor.ts";
import type { Answer, Event, Requests } from "./protocol.ts";

export class Client {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, { done: (answer: never) => void; failed: (error: Error) => void }>();
  #last = 0;

  constructor(worker: Worker, heard: (event: Event) => void) {
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<Answer | Event>) => {
      if ("event" in data) return heard(data);
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if (data.error !== undefined) waiting?.failed(new Error(data.error));
      else waiting?.done(data.answer as never);
    };
    worker.onerror = (error) => heard({ event: "failed", error: error.message });
  }

  ask<K extends keyof Requests>(name: K, argument: Requests[K]["argument"]): Promise<Requests[K]["answer"]> {
    const id = ++this.#last;
    return new Promise((done, failed) => {
      this.#waiting.set(id, { done, failed });
      this.#worker.postMessage({ id, name, argument });
    });
  }
}

/** Text of an element of the page that holds a part of the bundle; `null`: the page is served with its parts as files. */
const part = (id: string) => document.getElementById(id)?.textContent ?? null;

/** Starts the worker and loads the engine in it. */
export async function start(heard: (event: Event) => void): Promise<Client> {
  const source = part("lab-worker");
  const inline = source === null ? null : URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const client = new Client(new Worker(inline ?? "worker.js"), heard);
  const packed = part("lab-engine");
  const wasm = packed ?? (await (await fetch("tailback.wasm")).arrayBuffer());
  await client.ask("load", { wasm });
  return client;
}

/** The scenarios of the gallery. */
export interface Entry {
  id: string;
  group: string;
  title: string;
  about: string;
  toml: string;
}

export async function gallery(): Promise<Entry[]> {
  const text = part("lab-gallery") ?? (await (await fetch("gallery.json")).text());
  return JSON.parse(text) as Entry[];
}

/** Loads the editor, which is a script of its own since most of the page's code is in it. */
export async function loadEditor(): Promise<EditorParts> {
  const script = document.createElement("script");
  const text = part("lab-editor");
  if (text === null) {
    script.src = "editor.js";
    await new Promise((done, failed) => {
      script.onload = done;
      script.onerror = () => failed(new Error("the editor cannot be loaded"));
      document.head.append(script);
    });
  } else {
    script.textContent = text;
    document.head.append(script);
  }
  return globalThis.tailbackEditor;
}
