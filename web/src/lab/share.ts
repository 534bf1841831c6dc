// What the fragment of the page's address names: a scenario of the gallery (`scenario=ID`), or the state of the lab as text
// (`s=`): JSON, deflated, in base64url.

import type { Entry } from "./client.ts";
import type { SharedLaw } from "./laws.ts";
import type { Variant } from "./protocol.ts";

/** Characters of a fragment up to which it contains the files of components; a longer one has their hashes only. */
const MOST_WITH_LAWS = 8000;

/** What a shared address contains. */
export interface Shared {
  variants: Variant[];
  seed: string;
  /** Time of the run, picoseconds. */
  at?: number;
  /** Files of components. */
  laws?: SharedLaw[];
}

async function through(bytes: BlobPart, stream: CompressionStream | DecompressionStream): Promise<ArrayBuffer> {
  return new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer();
}

/** Returns the fragment, without `#`. */
export async function toFragment(shared: Shared): Promise<string> {
  const whole = await packed(shared);
  if (whole.length <= MOST_WITH_LAWS || !shared.laws?.length) return whole;
  return packed({ ...shared, laws: shared.laws.map(({ name, sha256 }) => ({ name, sha256 })) });
}

async function packed(shared: Shared): Promise<string> {
  const bytes = new Uint8Array(await through(JSON.stringify(shared), new CompressionStream("deflate-raw")));
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return `s=${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Returns the scenario of the gallery that a fragment names; undefined: it names none. */
export function entryOf(fragment: string, entries: Entry[]): Entry | undefined {
  return entries.find(({ id }) => id !== "" && fragment === `#scenario=${encodeURIComponent(id)}`);
}

/** Returns the state of a fragment; `null`: the fragment has none. Fails if the text is damaged. */
export async function fromFragment(fragment: string): Promise<Shared | null> {
  const text = /^#?s=([\w-]+)$/.exec(fragment)?.[1];
  if (text === undefined) return null;
  const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const plain = await through(bytes, new DecompressionStream("deflate-raw"));
  const shared = JSON.parse(new TextDecoder().decode(plain)) as Partial<Shared>;
  const isText = (value: unknown) => typeof value === "string";
  const isVariant = (v: Partial<Variant>) =>
    isText(v.text) && [v.sets, v.tunable].every((list) => Array.isArray(list) && list.every(isText)) && Array.isArray(v.timeline);
  if (!Array.isArray(shared.variants) || shared.variants.length === 0 || !shared.variants.every(isVariant)) {
    throw new Error("the address has no scenario");
  }
  const isLaw = (law: Partial<SharedLaw>) => isText(law.name) && isText(law.sha256) && ["string", "undefined"].includes(typeof law.content);
  const laws = shared.laws ?? [];
  if (!Array.isArray(laws) || !laws.every(isLaw)) throw new Error("the files of components in the address are damaged");
  return { variants: shared.variants.slice(0, 2), seed: String(shared.seed ?? "1"), at: Number(shared.at ?? 0), laws };
}
