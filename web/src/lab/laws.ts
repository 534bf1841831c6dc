// Files of users' components in the page: which of them there are, which one a scenario lacks, and the form in which they are shared.

import type { Client } from "./client.ts";
import { download } from "./exports.ts";
import type { LawFile } from "./protocol.ts";

/** A file of components in a shared address: with its content (base64), or with its hash only, if it is too large for an address. */
export interface SharedLaw {
  name: string;
  sha256: string;
  content?: string;
}

const find = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
/** Whether the lab can run a file; Python and machine code need the command line. */
const isWebAssembly = (name: string) => /\.wa(t|sm)$/.test(name);

/** Returns the SHA-256 of a file in hexadecimal digits, as `sha256sum` prints it. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the files in the form of a shared address, with their contents. */
export function sharedLaws(files: LawFile[]): Promise<SharedLaw[]> {
  const letters = (bytes: Uint8Array) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return Promise.all(files.map(async ({ name, bytes }) => ({ name, sha256: await sha256(bytes), content: btoa(letters(bytes)) })));
}

/** The files of the page and the controls that add them. */
export class LawFiles {
  readonly #client: Client;
  /** Files that the present scenario names and that are not there. */
  #missing: string[] = [];
  /** Hashes that a shared address states for files that it does not contain. */
  #expected = new Map<string, string>();

  /** `added` is called with the names of files that have been added by the user. */
  constructor(client: Client, added: (names: string[]) => Promise<void>, failed: (error: unknown) => void) {
    this.#client = client;
    const input = find<HTMLInputElement>("law-file");
    input.onchange = () => {
      const chosen = [...(input.files ?? [])];
      input.value = "";
      void this.#choose(chosen).then(added).catch(failed);
    };
    find("missing-choose").onclick = () => input.click();
    this.#list();
  }

  /** Adds files as they were chosen: a single one takes the name of the only file that is missing. */
  async #choose(chosen: File[]): Promise<string[]> {
    const only = chosen.length === 1 && this.#missing.length === 1 ? this.#missing[0] : undefined;
    const files = chosen.map(async (file) => ({ name: only ?? file.name, bytes: new Uint8Array(await file.arrayBuffer()) }));
    return this.add(await Promise.all(files));
  }

  /** Adds files; returns their names. */
  async add(files: LawFile[]): Promise<string[]> {
    for (const { name, bytes } of files) {
      const [expected, found] = [this.#expected.get(name), await sha256(bytes)];
      if (expected !== undefined && expected !== found) {
        throw new Error(`This is not the file ${name} of the address: its SHA-256 is ${found}, not ${expected}.`);
      }
    }
    await this.#client.addLaws(files);
    this.#list();
    return files.map(({ name }) => name);
  }

  /** Adds the files of a shared address that it contains, and remembers the hashes of the others. */
  async addShared(laws: SharedLaw[]): Promise<void> {
    this.#expected = new Map(laws.map(({ name, sha256: hash }) => [name, hash]));
    const bytes = (content: string) => Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
    await this.add(laws.flatMap(({ name, content }) => (content === undefined ? [] : [{ name, bytes: bytes(content) }])));
  }

  /** Names the files that a scenario lacks, and offers to choose them; none: the scenario has all. */
  lacks(names: string[]): void {
    this.#missing = names;
    find("missing").hidden = names.length === 0;
    const usable = names.filter(isWebAssembly);
    find("missing-choose").hidden = usable.length === 0;
    const [files, are] = names.length > 1 ? ["files", "are"] : ["file", "is"];
    const hashes = names.flatMap((name) => (this.#expected.has(name) ? [`${name}: SHA-256 ${this.#expected.get(name)}`] : []));
    find("missing-text").textContent =
      `The scenario needs the ${files} ${names.join(", ")}, which ${are} not in the page.` +
      (usable.length < names.length ? " The lab runs components in WebAssembly only (.wasm or .wat); others need the command line." : "") +
      (hashes.length > 0 ? ` The address was made with ${hashes.join("; ")}.` : "");
  }

  #list(): void {
    const items = this.#client.laws.map((file) => {
      const item = document.createElement("li");
      const save = document.createElement("button");
      save.textContent = `Save ${file.name}`;
      save.onclick = () => download(file.name, new Blob([file.bytes]));
      item.append(`${file.name}, ${file.bytes.length} bytes `, save);
      return item;
    });
    find("law-files").replaceChildren(...items);
  }
}
