// Types of laws.mjs.

/** What hears of each call of a component, such as a LastCall of last_call.mjs. */
export interface Calls {
  begin(name: string, call: string, now?: bigint): void;
  end(): void;
}

export class Laws {
  constructor(wasm: WebAssembly.Exports, lastCall?: Calls | null);
  add(file: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  get size(): number;
  takeMissing(): string[];
}
