// Look-ups in the JSON Schema of a scenario: the keys and values that are possible at a place of a TOML text.

/** A node of the schema. */
export interface Node {
  $ref?: string;
  description?: string;
  title?: string;
  const?: unknown;
  enum?: unknown[];
  type?: string | string[];
  properties?: Record<string, Node>;
  additionalProperties?: Node | boolean;
  items?: Node;
  anyOf?: Node[];
  oneOf?: Node[];
  default?: unknown;
  examples?: unknown[];
}

export class Schema {
  readonly #root: Node & { $defs?: Record<string, Node> };

  constructor(root: unknown) {
    this.#root = root as Node;
  }

  /** The alternatives at a node: references resolved, `anyOf` and `oneOf` expanded. */
  alternatives(node: Node): Node[] {
    if (node.$ref !== undefined) {
      const found = this.#root.$defs?.[node.$ref.replace("#/$defs/", "")];
      return found === undefined ? [] : this.alternatives(found);
    }
    const choices = node.oneOf ?? node.anyOf;
    return choices === undefined ? [node] : choices.flatMap((choice) => this.alternatives(choice));
  }

  /** The nodes of a path of keys; `kind` selects among the tables at its end. A list stands for its entries. */
  at(path: string[], kind?: string): Node[] {
    let nodes: Node[] = [this.#root];
    for (const key of path) {
      nodes = this.tables(nodes).flatMap((node) => {
        const property = node.properties?.[key];
        if (property !== undefined) return [property];
        return typeof node.additionalProperties === "object" ? [node.additionalProperties] : [];
      });
    }
    const tables = this.tables(nodes);
    const ofKind = tables.filter((node) => kind !== undefined && node.properties?.["kind"]?.const === kind);
    return ofKind.length > 0 ? ofKind : nodes;
  }

  /** The tables among nodes, entries of lists included. */
  tables(nodes: Node[]): Node[] {
    return nodes
      .flatMap((node) => this.alternatives(node))
      .flatMap((node) => (node.items === undefined ? [node] : this.alternatives(node.items)));
  }

  /** The keys that are possible in the tables at a path, with their nodes. */
  keys(path: string[], kind?: string): Map<string, Node> {
    const found = new Map<string, Node>();
    for (const table of this.tables(this.at(path, kind))) {
      for (const [key, node] of Object.entries(table.properties ?? {})) if (!found.has(key)) found.set(key, node);
    }
    return found;
  }

  /** Values that the schema lists for a key: words, kinds and examples. */
  values(path: string[]): { value: string; help: string }[] {
    const found = new Map<string, string>();
    for (const node of this.at(path).flatMap((one) => [one, ...this.alternatives(one)])) {
      const texts = [node.const, ...(node.enum ?? []), ...(node.examples ?? [])].filter((v) => v !== undefined);
      for (const value of texts) {
        const text = JSON.stringify(value);
        if (!found.has(text)) found.set(text, node.description ?? "");
      }
    }
    if (this.at(path).some((node) => this.alternatives(node).some((one) => one.type === "boolean"))) {
      ["true", "false"].forEach((word) => found.set(word, ""));
    }
    return [...found].map(([value, help]) => ({ value, help }));
  }

  /** The description of a key. */
  help(path: string[], kind?: string): string {
    const parents = this.keys(path.slice(0, -1), kind);
    const node = parents.get(path.at(-1) ?? "");
    const nodes = node === undefined ? this.at(path) : [node, ...this.alternatives(node)];
    return nodes.find((one) => one.description !== undefined)?.description ?? "";
  }
}

/** Where a position in a TOML text is. */
export interface Place {
  /** Path of the table. */
  table: string[];
  /** Kind of the table, if it is stated. */
  kind: string | undefined;
  /** Key of the value in which the position is; `null`: a key is being written. */
  key: string | null;
}

/** Splits a dotted key; quoted parts may contain dots. */
export function keysOf(dotted: string): string[] {
  return [...dotted.matchAll(/"([^"]*)"|'([^']*)'|([\w-]+)/g)].map((part) => part[1] ?? part[2] ?? part[3]!);
}

/** Finds the table and the key at a position of a TOML text, from the headings and braces before it. */
export function placeAt(text: string, position: number): Place {
  const before = text.slice(0, position);
  const heading = [...before.matchAll(/^[ \t]*\[{1,2}([^\]\n]+)\]{1,2}/gm)].at(-1);
  const table = heading === undefined ? [] : keysOf(heading[1]!);
  const start = heading === undefined ? 0 : heading.index + heading[0].length;
  // A value may have several lines, within brackets or braces.
  const stack: { keys: string[]; at: number }[] = [];
  let [keys, inValue, quote, from] = [[] as string[], false, "", start];
  for (let i = start; i < before.length; i++) {
    const letter = before[i]!;
    if (quote !== "") {
      if (letter === quote) quote = "";
    } else if (letter === '"' || letter === "'") quote = letter;
    else if (letter === "#") {
      const end = before.indexOf("\n", i);
      if (end < 0) break;
      i = end - 1;
    } else if (letter === "=" && !inValue) {
      keys = keysOf(before.slice(from, i));
      inValue = true;
    } else if (letter === "{") {
      stack.push({ keys, at: i });
      [keys, inValue, from] = [[], false, i + 1];
    } else if (letter === "[" && inValue) {
      stack.push({ keys, at: -1 });
    } else if ((letter === "}" || letter === "]") && stack.length > 0) {
      const top = stack.pop()!;
      [keys, inValue] = [top.keys, true];
    } else if (letter === "," && stack.at(-1)?.at !== -1 && stack.length > 0) {
      [keys, inValue, from] = [[], false, i + 1];
    } else if (letter === "\n" && stack.length === 0) {
      [keys, inValue, from] = [[], false, i + 1];
    }
  }
  const inner = stack.filter(({ at }) => at >= 0).flatMap((part) => part.keys);
  const whole = [...table, ...inner];
  const brace = stack.at(-1)?.at ?? -1;
  const rest = brace >= 0 ? text.slice(brace) : text.slice(start, (text.slice(start).search(/\n[ \t]*\[/) + text.length + 1) % (text.length + 1) + start || undefined);
  const kind = /\bkind\s*=\s*"([\w-]+)"/.exec(brace >= 0 ? (rest.split("}")[0] ?? "") : rest)?.[1];
  if (inValue) return { table: [...whole, ...keys.slice(0, -1)], kind, key: keys.at(-1) ?? null };
  return { table: whole, kind, key: null };
}
