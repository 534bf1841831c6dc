// Types of simulator.mjs.

/** The exports that these functions use. */
export interface Memory {
  memory: WebAssembly.Memory;
  tailback_alloc(len: number): number;
  tailback_free(at: number, len: number): void;
  tailback_result_ptr(): number;
  tailback_result_len(): number;
}

export function withBytes<T>(wasm: Memory, bytes: Uint8Array, call: (at: number, len: number) => T): T;
export function withText<T>(wasm: Memory, text: string, call: (at: number, len: number) => T): T;
export function answerBytes(wasm: Memory): Uint8Array<ArrayBuffer>;
export function answer(wasm: Memory): string;
export function run(wasm: Memory, toml: string, seed: number | bigint): unknown;
