// The page's side of the worker: requests with answers, and the pictures that it sends. A worker in which a call of a user's
// component does not return is ended; a second one repeats the run to name the call, and a third one goes on.

import type { EditorParts } from "./editor.ts";
import type { Answer, CallEvent, Event, LawFile, Request, Requests } from "./protocol.ts";

/** Milliseconds between two looks at the worker. */
const LOOK = 250;
/** Milliseconds after which a call counts as one that does not return. */
export const CALL_LIMIT = 5000;

/** A request was refused; `missing`: files of users' components that the scenario names and that are not there. */
export class RequestError extends Error {
  readonly missing: string[];

  constructor(message: string, missing: string[] = []) {
    super(message);
    this.missing = missing;
  }
}

/** What the page hears from its client besides the events of the worker. */
export type Heard =
  | Exclude<Event, CallEvent>
  /** A call does not return; the run is repeated to name it. */
  | { event: "searching" }
  /** The worker was ended, and a new one has no run; `at`: the last time before the call, null: it was before the run. */
  | { event: "ended"; error: string; at: number | null };

/** A request without its number. */
type Asked = Omit<Request, "id">;
interface Waiting {
  asked: Asked;
  done: (answer: never) => void;
  failed: (error: Error) => void;
}

export class Client {
  readonly #make: () => Worker;
  readonly #wasm: () => Promise<ArrayBuffer | string>;
  readonly #heard: (event: Heard) => void;
  #worker: Worker;
  #waiting = new Map<number, Waiting>();
  #last = 0;
  /** Components that the worker has. */
  readonly #laws = new Map<string, LawFile>();
  /** The request by which the present run was opened. */
  #opened: Asked | null = null;
  /** What the worker does since `looks` looks; null: nothing that could call a component. */
  #work: { at: number | null; call: string | null; looks: number } | null = null;
  /** What the worker repeats to name a call, and the time from which it tells calls. */
  #repeated: { from: number; requests: Asked[]; refuse: (error: Error) => void } | null = null;

  constructor(make: () => Worker, wasm: () => Promise<ArrayBuffer | string>, heard: (event: Heard) => void) {
    [this.#make, this.#wasm, this.#heard] = [make, wasm, heard];
    this.#worker = this.#started();
    setInterval(() => void this.#look().catch((error: unknown) => heard({ event: "failed", error: String(error) })), LOOK);
  }

  #started(): Worker {
    const worker = this.#make();
    worker.onmessage = ({ data }: MessageEvent<Answer | Event>) => {
      if (this.#work !== null) this.#work.looks = 0;
      if ("event" in data) return this.#event(data);
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if (data.error !== undefined) return waiting?.failed(new RequestError(data.error, data.missing));
      if (waiting?.asked.name === "open") this.#opened = waiting.asked;
      waiting?.done(data.answer as never);
    };
    worker.onerror = (error) => this.#heard({ event: "failed", error: error.message });
    return worker;
  }

  #event(event: Event): void {
    if (event.event === "working") this.#work = { at: event.at, call: null, looks: 0 };
    else if (event.event === "worked") this.#work = null;
    else if (event.event === "calling") {
      if (this.#work !== null) this.#work.call = event.call;
    } else if (this.#repeated === null) this.#heard(event);
    else if (event.event === "failed" || event.pictures.every((picture) => picture.done)) {
      const error = event.event === "failed" ? event.error : "a call took long, but all calls returned";
      void this.#end(error, 0).catch((reason: unknown) => this.#heard({ event: "failed", error: String(reason) }));
    }
  }

  /** Loads the engine in the worker, with the components that it had before. */
  async load(noteFrom: number | null = null): Promise<void> {
    await this.#send("load", { wasm: await this.#wasm(), noteFrom });
    if (this.#laws.size > 0) await this.#send("laws", { files: [...this.#laws.values()] });
  }

  /** Adds files of components; one that was there before under the same name is replaced. */
  async addLaws(files: LawFile[]): Promise<void> {
    for (const file of files) {
      await this.ask("laws", { files: [file] });
      this.#laws.set(file.name, file);
    }
  }

  /** The files of components that were added. */
  get laws(): LawFile[] {
    return [...this.#laws.values()];
  }

  ask<K extends keyof Requests>(name: K, argument: Requests[K]["argument"]): Promise<Requests[K]["answer"]> {
    if (this.#repeated !== null) return Promise.reject(new Error("The run is being repeated; wait until it has ended."));
    return this.#send(name, argument);
  }

  #send<K extends keyof Requests>(name: K, argument: Requests[K]["argument"]): Promise<Requests[K]["answer"]> {
    const id = ++this.#last;
    return new Promise((done, failed) => {
      this.#waiting.set(id, { asked: { name, argument } as Asked, done, failed });
      this.#worker.postMessage({ id, name, argument });
    });
  }

  /** Counts looks without a message, so that a time in which the page itself stood still does not count. */
  async #look(): Promise<void> {
    const work = this.#work;
    if (work === null || ++work.looks * LOOK < CALL_LIMIT) return;
    if (this.#repeated !== null && work.call !== null) {
      return this.#end(`${work.call}: the call did not return within ${CALL_LIMIT / 1000} s, and its worker was ended`, work.at);
    }
    // Calls within one piece of work are named from its beginning on. Work before the run, and at its start, is that of a request.
    const from = (work.at ?? 0) > 0 ? work.at! : -1;
    // If all calls were told, the engine works without one.
    if (this.#repeated !== null && this.#repeated.from <= from) return;
    await this.#repeat(from);
  }

  /** Ends the worker and starts another one. */
  #replace(): void {
    this.#worker.terminate();
    this.#work = null;
    this.#worker = this.#started();
  }

  /** Repeats in another worker what led to a call that does not return. */
  async #repeat(from: number): Promise<void> {
    if (this.#repeated === null) {
      this.#heard({ event: "searching" });
      const [first, ...others] = [...this.#waiting.values()];
      this.#waiting.clear();
      const ended = new Error("the worker was ended, since a call of a component did not return");
      others.forEach(({ failed }) => failed(ended));
      const isCause = first !== undefined && ["open", "check"].includes(first.asked.name);
      if (!isCause) first?.failed(ended);
      const run: Asked[] = this.#opened === null ? [] : [reopened(this.#opened), { name: "play", argument: { speed: 1e9 } }];
      this.#repeated = { from, requests: isCause ? [first.asked] : run, refuse: isCause ? first.failed : () => undefined };
    }
    const { requests, refuse } = this.#repeated;
    this.#repeated.from = from;
    this.#waiting.clear();
    this.#replace();
    await this.load(from);
    try {
      for (const { name, argument } of requests) await this.#send(name, argument as never);
    } catch (error) {
      // The request is refused this time: there is nothing more to repeat.
      this.#repeated = null;
      this.#heard({ event: "ended", error: (error as Error).message, at: null });
      refuse(error as Error);
      return;
    }
    // A request that is repeated and answered was slow only.
    if (requests.length === 1) await this.#end("a call took long, but all calls returned", null);
  }

  /** Ends the worker that repeats a run, for the reason in `error`, and starts one without a run. */
  async #end(error: string, at: number | null): Promise<void> {
    const { refuse } = this.#repeated!;
    this.#waiting.clear();
    this.#replace();
    this.#repeated = null;
    await this.load();
    this.#heard({ event: "ended", error, at });
    refuse(new RequestError(error));
  }
}

/** The request that opens a run again, from its start. */
function reopened(asked: Asked): Asked {
  const { variants, seed } = asked.argument as Requests["open"]["argument"];
  return { name: "open", argument: { variants, seed, at: 0 } };
}

/** Text of an element of the page that holds a part of the bundle; `null`: the page is served with its parts as files. */
const part = (id: string) => document.getElementById(id)?.textContent ?? null;

/** Starts the worker and loads the engine in it. */
export async function start(heard: (event: Heard) => void): Promise<Client> {
  const source = part("lab-worker");
  const inline = source === null ? null : URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const packed = part("lab-engine");
  const wasm = async () => packed ?? (await (await fetch("tailback.wasm")).arrayBuffer());
  const client = new Client(() => new Worker(inline ?? "worker.js"), wasm, heard);
  await client.load();
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
  // A script with an address is compiled in another thread.
  script.src = text === null ? "editor.js" : URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  await new Promise((done, failed) => {
    script.onload = done;
    script.onerror = () => failed(new Error("the editor cannot be loaded"));
    document.head.append(script);
  });
  return globalThis.tailbackEditor;
}
