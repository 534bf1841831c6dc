// Host of users' laws in WebAssembly for the module of the simulator, in browsers and Node.js.
//
//     const laws = new Laws(wasm);                  // the exports of tailback_wasm.wasm
//     await laws.add("codel.wasm", bytes);          // the name in the scenario's key `file`
//
// Scenarios that are run or opened afterwards find the law. Each instance of a law is an instance of its module, with a memory
// of its own. A law that is in an endless loop does not return: run the simulator in a worker that can be terminated. The
// interfaces are in crates/wasm/src/laws.rs and python/tailback/include/tailback_law.h.

// A module that exports the function that it imports: a function of JavaScript cannot be placed in a table of functions, the
// export can. (module (import "host" "call" (func (param i32 i32 i32 i32 i32) (result i32))) (export "call" (func 0)))
const TRAMPOLINE = new Uint8Array([
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,
  0x01, 0x0a, 0x01, 0x60, 0x05, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x01, 0x7f,
  0x02, 0x0d, 0x01, 0x04, 0x68, 0x6f, 0x73, 0x74, 0x04, 0x63, 0x61, 0x6c, 0x6c, 0x00, 0x00,
  0x07, 0x08, 0x01, 0x04, 0x63, 0x61, 0x6c, 0x6c, 0x00, 0x00,
]);
// Version of the interface of laws, which is part of the hash of a file.
const ABI = 1;
// Sizes of records, bytes, and offset of the answer in the memory that a law lends.
const DESCRIPTION = 256;
const CLASS_NUMBER = DESCRIPTION;
const CLASS_HASH = DESCRIPTION + 4;
const ANSWER_AT = 512;
const ANSWER = 16;
const SPACE = 1024;
const MATHS = ["ln", "ln_1p", "log2", "exp", "exp_m1", "sin", "cos", "ln_gamma", "pow"];

export class Laws {
  #wasm;
  #files = new Map();
  #classes = [];
  #instances = new Map();
  #last = 0;

  constructor(wasm) {
    this.#wasm = wasm;
    const call = (...task) => this.#task(...task);
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(TRAMPOLINE), { host: { call } });
    const table = wasm.__indirect_function_table;
    const index = table.grow(1);
    table.set(index, exports.call);
    wasm.tailback_set_law_host(index);
  }

  // Adds the module of a law under the name of its file.
  async add(file, bytes) {
    const module = new WebAssembly.Module(bytes);
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
      if (from !== "tailback" || kind !== "function") throw new Error(`${file} imports \`${from}.${name}\``);
    }
    const head = new TextEncoder().encode(`wasm ${ABI}\n`);
    const whole = new Uint8Array(head.length + bytes.length);
    whole.set(head);
    whole.set(bytes, head.length);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
    this.#files.set(file, { module, hash: Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("") });
  }

  // Carries out a task of the simulator; returns its status. The simulator's memory may grow during each of its functions, so
  // that no view of it is kept.
  #task(task, number, input, length, result) {
    const ours = (at, bytes) => new Uint8Array(this.#wasm.memory.buffer, at, bytes);
    try {
      switch (task) {
        case 0: return this.#load(new TextDecoder().decode(ours(input, length).slice()).split("\0"), result, ours);
        case 1: return this.#create(number, result, ours);
        case 2: return this.#answer(this.#instances.get(number), input, length, result, ours);
        case 3: return this.#probe(this.#instances.get(number), input, result);
        case 4: this.#instances.delete(number); return 0;
        default: throw new Error(`there is no task ${task}`);
      }
    } catch (error) {
      this.#fail(error.message);
      return 1;
    }
  }

  #load([file, name], result, ours) {
    const found = this.#files.get(file);
    if (!found) throw new Error(`the host has no law \`${file}\``);
    const law = this.#start(found.module);
    const describe = law.exports[`tailback_${name}_describe`];
    if (!describe) throw new Error(`${file} has no class \`${name}\``);
    law.bytes(law.space, DESCRIPTION).fill(0);
    describe(law.space);
    ours(result, DESCRIPTION).set(law.bytes(law.space, DESCRIPTION));
    let number = this.#classes.findIndex((known) => known.module === found.module && known.name === name);
    if (number < 0) number = this.#classes.push({ module: found.module, name }) - 1;
    new DataView(this.#wasm.memory.buffer).setUint32(result + CLASS_NUMBER, number, true);
    ours(result + CLASS_HASH, 64).set(new TextEncoder().encode(found.hash));
    return 0;
  }

  #create(number, result) {
    const { module, name } = this.#classes[number];
    const law = this.#start(module);
    const status = law.exports[`tailback_${name}_create`](0, law.space);
    if (status !== 0) return status;
    law.self = new DataView(law.exports.memory.buffer).getUint32(law.space, true);
    law.answer = law.exports[`tailback_${name}_answer`];
    law.probe = law.exports[`tailback_${name}_probe`];
    this.#last += 1;
    this.#instances.set(this.#last, law);
    new DataView(this.#wasm.memory.buffer).setUint32(result, this.#last, true);
    return 0;
  }

  #answer(law, input, length, result, ours) {
    const at = law.space + ANSWER_AT;
    law.bytes(law.space, length).set(ours(input, length));
    law.bytes(at, ANSWER).set(ours(result, ANSWER));
    const status = law.answer(law.self, law.space, at, 0);
    ours(result, ANSWER).set(law.bytes(at, ANSWER));
    return status;
  }

  #probe(law, input, result) {
    const number = new DataView(this.#wasm.memory.buffer).getUint32(input, true);
    const value = law.probe(law.self, number);
    new DataView(this.#wasm.memory.buffer).setFloat64(result, value, true);
    return 0;
  }

  // Starts a module in memory of its own.
  #start(module) {
    const wasm = this.#wasm;
    const law = { bytes: (at, length) => new Uint8Array(law.exports.memory.buffer, at, length) };
    const text = (at) => {
      const bytes = new Uint8Array(law.exports.memory.buffer, at);
      return bytes.slice(0, bytes.indexOf(0));
    };
    const tailback = {
      fail: (at) => this.#fail(new TextDecoder().decode(text(at))),
      random: wasm.tailback_law_random,
      below: wasm.tailback_law_below,
      exponential: wasm.tailback_law_exponential,
      normal: wasm.tailback_law_normal,
      parameter: (name, unit, otherwise) =>
        this.#lend(text(name), (at, length) => wasm.tailback_law_parameter(at, length, unit, otherwise)),
      text: (name, buffer, capacity) => {
        const length = this.#lend(text(name), (at, bytes) => wasm.tailback_law_text(at, bytes));
        if (length === -1 || capacity === 0) return length;
        const copied = Math.min(length, capacity - 1);
        law.bytes(buffer, copied).set(new Uint8Array(wasm.memory.buffer, wasm.tailback_result_ptr(), copied));
        law.bytes(buffer + copied, 1)[0] = 0;
        return length;
      },
    };
    MATHS.forEach((name, index) => { tailback[name] = (x, y = 0) => wasm.tailback_law_maths(index, x, y); });
    law.exports = new WebAssembly.Instance(module, { tailback }).exports;
    law.space = law.exports.tailback_space();
    if (law.space % 8 !== 0 || law.space + SPACE > law.exports.memory.buffer.byteLength) {
      throw new Error(`\`tailback_space\` returned ${law.space}`);
    }
    return law;
  }

  // Passes bytes to a function of the simulator.
  #lend(bytes, call) {
    const at = this.#wasm.tailback_alloc(bytes.length);
    new Uint8Array(this.#wasm.memory.buffer, at, bytes.length).set(bytes);
    const found = call(at, bytes.length);
    this.#wasm.tailback_free(at, bytes.length);
    return found;
  }

  #fail(reason) {
    this.#lend(new TextEncoder().encode(reason), (at, length) => this.#wasm.tailback_law_fail(at, length));
  }
}
