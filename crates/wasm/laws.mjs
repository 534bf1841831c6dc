// Host of users' components in WebAssembly for the module of the simulator, in browsers and Node.js.
//
//     const laws = new Laws(wasm);                  // the exports of tailback_wasm.wasm
//     await laws.add("codel.wasm", bytes);          // the name in the scenario's key `file`; binary or text format
//
// Scenarios that are run or opened afterwards find the component: a queue law, a scheduler, a congestion control or a traffic
// source. Each instance is an instance of its module, with a memory of its own. A call that is in an endless loop does not return:
// run the simulator in a worker that can be terminated, as watched.mjs does in Node.js. The interfaces are in
// crates/wasm/src/laws/mod.rs and python/tailback/include/tailback_law.h.

import { answer, answerBytes, withBytes } from "./simulator.mjs";

// A module that exports the function that it imports: a function of JavaScript cannot be placed in a table of functions, the
// export can. (module (import "host" "call" (func (param i32 i32 i32 i32 i32) (result i32))) (export "call" (func 0)))
const TRAMPOLINE = new Uint8Array([
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,
  0x01, 0x0a, 0x01, 0x60, 0x05, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x01, 0x7f,
  0x02, 0x0d, 0x01, 0x04, 0x68, 0x6f, 0x73, 0x74, 0x04, 0x63, 0x61, 0x6c, 0x6c, 0x00, 0x00,
  0x07, 0x08, 0x01, 0x04, 0x63, 0x61, 0x6c, 0x6c, 0x00, 0x00,
]);
// Version of the interface of components, which is part of the hash of a file.
const ABI = 1;
// Size of a description, bytes, offset of the names of the probes in it, and offsets behind it of the class and the hash.
const DESCRIPTION = 256;
const PROBES = 24;
const CLASS_NUMBER = DESCRIPTION;
const CLASS_HASH = DESCRIPTION + 4;
const MATHS = ["ln", "ln_1p", "log2", "exp", "exp_m1", "sin", "cos", "ln_gamma", "pow"];

export class Laws {
  #wasm;
  #lastCall;
  #files = new Map();
  #missing = new Set();
  #classes = [];
  #instances = new Map();
  #last = 0;

  // `lastCall`, if it is stated, gets the name, the call and the time of each call of a component (see last_call.mjs).
  constructor(wasm, lastCall = null) {
    this.#wasm = wasm;
    this.#lastCall = lastCall;
    const call = (...task) => this.#task(...task);
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(TRAMPOLINE), { host: { call } });
    const table = wasm.__indirect_function_table;
    const index = table.grow(1);
    table.set(index, exports.call);
    wasm.tailback_set_law_host(index);
  }

  // Number of files that were added.
  get size() {
    return this.#files.size;
  }

  // Returns the names of the files that scenarios have named since the last call, and that were not added.
  takeMissing() {
    const names = [...this.#missing];
    this.#missing.clear();
    return names;
  }

  // Adds the module of a component under the name of its file; a file with this name before is replaced for later runs.
  async add(file, content) {
    const bytes = this.#binary(file, content);
    const module = new WebAssembly.Module(bytes);
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
      if (from !== "tailback" || kind !== "function") throw new Error(`${file} imports \`${from}.${name}\``);
    }
    const head = new TextEncoder().encode(`wasm ${ABI}\n`);
    const whole = new Uint8Array(head.length + content.length);
    whole.set(head);
    whole.set(content, head.length);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
    this.#files.set(file, { module, hash: Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("") });
  }

  // Returns a module in the binary format, which begins with `\0asm`; any other content is in the text format.
  #binary(file, content) {
    if ([0, 0x61, 0x73, 0x6d].every((byte, index) => content[index] === byte)) return content;
    const failed = withBytes(this.#wasm, content, (at, length) => this.#wasm.tailback_assemble(at, length));
    if (failed) throw new Error(`${file} is no WebAssembly, neither binary nor text: ${answer(this.#wasm)}`);
    return answerBytes(this.#wasm).slice();
  }

  // Carries out a task of the simulator; returns its status. The simulator's memory may grow during each of its functions, so
  // that no view of it is kept.
  #task(task, number, input, length, result) {
    const ours = (at, bytes) => new Uint8Array(this.#wasm.memory.buffer, at, bytes);
    const text = () => new TextDecoder().decode(ours(input, length).slice()).split("\0");
    try {
      switch (task) {
        case 0: return this.#load(text(), result, ours);
        case 1: return this.#create(number, new Uint32Array(ours(input, length).slice().buffer), result);
        case 2: return this.#answer(this.#instances.get(number), input, length, result, ours);
        case 3: return this.#probe(this.#instances.get(number), input, result);
        case 4: this.#instances.delete(number); return 0;
        case 5: this.#place(this.#instances.get(number), text()); return 0;
        default: throw new Error(`there is no task ${task}`);
      }
    } catch (error) {
      this.#fail(error.message);
      return 1;
    }
  }

  #load([file, name], result, ours) {
    const found = this.#files.get(file);
    if (!found) {
      this.#missing.add(file);
      throw new Error(`the host has no law \`${file}\``);
    }
    const { module, hash } = found;
    const law = this.#start(module, `\`${name}\` of ${file}`, DESCRIPTION);
    if (!law.exports[`tailback_${name}_describe`]) throw new Error(`${file} has no class \`${name}\``);
    law.bytes(law.space, DESCRIPTION).fill(0);
    this.#call(law, "describe", this.#function(law, name, "describe"), law.space);
    for (const needed of ["create", "answer"]) this.#function(law, name, needed);
    if (law.bytes(law.space + PROBES, 1)[0] !== 0) this.#function(law, name, "probe");
    ours(result, DESCRIPTION).set(law.bytes(law.space, DESCRIPTION));
    let number = this.#classes.findIndex((known) => known.module === module && known.name === name);
    if (number < 0) number = this.#classes.push({ module, file, name }) - 1;
    new DataView(this.#wasm.memory.buffer).setUint32(result + CLASS_NUMBER, number, true);
    ours(result + CLASS_HASH, 64).set(new TextEncoder().encode(hash));
    return 0;
  }

  #create(number, [space, answerAt, answerBytes, eventAt], result) {
    const { module, file, name } = this.#classes[number];
    const law = this.#start(module, `\`${name}\` of ${file}`, space);
    Object.assign(law, { answerAt, answerBytes, eventAt, calls: [] });
    const status = this.#call(law, "create", this.#function(law, name, "create"), 0, law.space);
    if (status !== 0) return status;
    law.self = new DataView(law.exports.memory.buffer).getUint32(law.space, true);
    law.answer = this.#function(law, name, "answer");
    law.probe = law.exports[`tailback_${name}_probe`];
    this.#last += 1;
    this.#instances.set(this.#last, law);
    new DataView(this.#wasm.memory.buffer).setUint32(result, this.#last, true);
    return 0;
  }

  #place(law, [name, ...calls]) {
    law.name = name;
    law.calls = calls;
  }

  #answer(law, input, length, result, ours) {
    const at = law.space + law.answerAt;
    law.bytes(law.space, length).set(ours(input, length));
    law.bytes(at, law.answerBytes).set(ours(result, law.answerBytes));
    let call;
    if (this.#lastCall) {
      const record = new DataView(this.#wasm.memory.buffer, input, length);
      law.now = record.getBigUint64(0, true);
      call = law.calls[record.getUint32(law.eventAt, true)];
    }
    const status = this.#call(law, call, law.answer, law.self, law.space, at, 0);
    ours(result, law.answerBytes).set(law.bytes(at, law.answerBytes));
    return status;
  }

  #probe(law, input, result) {
    const number = new DataView(this.#wasm.memory.buffer).getUint32(input, true);
    const value = this.#call(law, "probe", law.probe, law.self, number);
    new DataView(this.#wasm.memory.buffer).setFloat64(result, value, true);
    return 0;
  }

  // Returns a function of a class.
  #function(law, name, which) {
    const symbol = `tailback_${name}_${which}`;
    const found = law.exports[symbol];
    if (typeof found !== "function") throw new Error(`it does not define the function \`${symbol}\``);
    return found;
  }

  // Calls a function of a module for the call of this name.
  #call(law, call, work, ...values) {
    this.#lastCall?.begin(law.name, call, law.now);
    try {
      return work(...values);
    } catch (error) {
      // An exhausted stack is a RangeError.
      const trapped = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
      throw trapped ? new Error(`trap: ${error.message}`) : error;
    } finally {
      this.#lastCall?.end();
    }
  }

  // Starts a module in memory of its own, of which it lends `space` bytes. `name` is that of the component.
  #start(module, name, space) {
    const wasm = this.#wasm;
    const law = { name, bytes: (at, length) => new Uint8Array(law.exports.memory.buffer, at, length) };
    // Addresses are signed in calls from WebAssembly.
    const text = (at) => {
      const bytes = new Uint8Array(law.exports.memory.buffer, at >>> 0);
      const end = bytes.indexOf(0);
      if (end < 0) throw new Error(`the text at ${at >>> 0} does not end with a zero`);
      return bytes.slice(0, end);
    };
    const tailback = {
      fail: (at) => this.#fail(new TextDecoder().decode(text(at))),
      random: wasm.tailback_law_random,
      below: wasm.tailback_law_below,
      exponential: wasm.tailback_law_exponential,
      normal: wasm.tailback_law_normal,
      parameter: (parameter, unit, otherwise) =>
        withBytes(wasm, text(parameter), (at, length) => wasm.tailback_law_parameter(at, length, unit, otherwise)),
      text: (parameter, buffer, capacity) => {
        const length = withBytes(wasm, text(parameter), (at, bytes) => wasm.tailback_law_text(at, bytes));
        if (length === -1 || capacity === 0) return length;
        const copied = Math.min(length, (capacity >>> 0) - 1);
        law.bytes(buffer >>> 0, copied + 1).set(new Uint8Array(wasm.memory.buffer, wasm.tailback_result_ptr(), copied));
        law.bytes((buffer >>> 0) + copied, 1)[0] = 0;
        return length;
      },
    };
    MATHS.forEach((function_, index) => { tailback[function_] = (x, y = 0) => wasm.tailback_law_maths(index, x, y); });
    law.exports = this.#call(law, "start", () => new WebAssembly.Instance(module, { tailback }).exports);
    if (!(law.exports.memory instanceof WebAssembly.Memory)) throw new Error("it does not export its memory as `memory`");
    if (typeof law.exports.tailback_space !== "function") {
      throw new Error("it does not define the function `tailback_space`");
    }
    law.space = this.#call(law, "tailback_space", law.exports.tailback_space) >>> 0;
    if (law.space % 8 !== 0 || law.space + space > law.exports.memory.buffer.byteLength) {
      throw new Error(`\`tailback_space\` returned ${law.space}; ${space} bytes at a multiple of 8 are needed`);
    }
    return law;
  }

  #fail(reason) {
    withBytes(this.#wasm, new TextEncoder().encode(reason), (at, length) => this.#wasm.tailback_law_fail(at, length));
  }
}
