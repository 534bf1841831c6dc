// Record of the last call of a user's component in memory that two threads share: one thread makes the calls, the other one reads
// which call does not return. A browser has such memory in pages that are isolated from other origins.

const BYTES = 1024;
// Offsets: number of begins and ends (4 bytes), length of the text (4), time of the call (8), text.
const NOW_AT = 8;
const TEXT_AT = 16;
// No time.
const NEVER = 2n ** 64n - 1n;

// Returns a call as the messages of faults name it: the component, the call, and its time in picoseconds, `undefined` before the run.
export function described(name, call, now) {
  return `${name}, in \`${call}\`${now === undefined ? "" : ` at ${Number(now) / 1e12} s`}`;
}

export class LastCall {
  #words;
  #now;
  #text;

  // Without `buffer`, which is that of the record of another thread, a new record is made.
  constructor(buffer = new SharedArrayBuffer(BYTES)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, 2);
    this.#now = new BigUint64Array(buffer, NOW_AT, 1);
    this.#text = new Uint8Array(buffer, TEXT_AT);
  }

  // Notes that a call begins; `now` is its time in picoseconds, `undefined` before the run.
  begin(name, call, now = NEVER) {
    const text = new TextEncoder().encode(described(name, call)).subarray(0, this.#text.length);
    this.#text.set(text);
    this.#now[0] = now;
    this.#words[1] = text.length;
    Atomics.add(this.#words, 0, 1);
  }

  // Notes that the call has ended.
  end() {
    Atomics.add(this.#words, 0, 1);
  }

  // Number of begins and ends: odd during a call. A call does not return if the number stays odd and equal.
  get count() {
    return Atomics.load(this.#words, 0) >>> 0;
  }

  // Name of the component, the call and its time, as in the message of a fault.
  get text() {
    const text = new TextDecoder().decode(this.#text.slice(0, this.#words[1]));
    return this.#now[0] === NEVER ? text : `${text} at ${Number(this.#now[0]) / 1e12} s`;
  }
}
