// Places of the nodes of a network: columns by the position on the paths of the flows, senders first.

import type { Network } from "./engine.ts";

/** A symbol: a node, or several hosts with the same neighbours. */
export interface Symbol {
  names: string[];
  kind: string;
  label: string;
  /** Column and row, 0 to 1. */
  x: number;
  y: number;
}

/** A line between two symbols, with the output ports that it stands for in both directions. */
export interface Line {
  from: number;
  to: number;
  /** Indices of the ports by which `from` sends, and of those by which `to` sends. */
  ports: [number[], number[]];
}

export interface Layout {
  symbols: Symbol[];
  lines: Line[];
  columns: number;
  /** Largest number of symbols in a column, or of a circle's diameter. */
  rows: number;
}

/** Largest number of alike hosts that have a symbol each. */
const MOST_ALIKE = 4;
/** Pairs of hosts whose paths decide the columns. */
const MOST_PAIRS = 300;

export function layOut(network: Network): Layout {
  const kinds = new Map(network.nodes);
  const neighbours = new Map<string, string[]>(network.nodes.map(([name]) => [name, []]));
  for (const { ends } of network.links) {
    neighbours.get(ends[0])!.push(ends[1]);
    neighbours.get(ends[1])!.push(ends[0]);
  }
  const position = positions(network, kinds, neighbours);
  const symbols = grouped(network, neighbours, position);
  const of = new Map(symbols.flatMap((symbol, index) => symbol.names.map((name) => [name, index] as const)));
  const lines = joined(network, of);
  const { columns, rows } = arrange(symbols, lines);
  if (columns <= 2 && symbols.length > 6 && symbols.filter(({ kind }) => kind === "switch").length > 2) {
    return { symbols, lines, ...circle(symbols, lines) };
  }
  return { symbols, lines, columns, rows };
}

/** Returns the mean position of each node on the paths of the flows; nodes on no path follow their neighbours. */
function positions(network: Network, kinds: Map<string, string>, neighbours: Map<string, string[]>): Map<string, number> {
  const sums = new Map<string, [number, number]>();
  const pairs = new Map(network.flows.map(([from, to]) => [`${from}\n${to}`, [from, to] as const]));
  // Of flows in both directions, one decides.
  const used = new Set<string>();
  let count = 0;
  for (const [from, to] of pairs.values()) {
    if (used.has(`${to}\n${from}`) || count >= MOST_PAIRS) continue;
    used.add(`${from}\n${to}`);
    count += 1;
    path(from, to, kinds, neighbours).forEach((name, i) => {
      const sum = sums.get(name) ?? [0, 0];
      sums.set(name, [sum[0] + i, sum[1] + 1]);
    });
  }
  const found = new Map([...sums].map(([name, [sum, n]]) => [name, sum / n]));
  for (let round = 0; round < network.nodes.length && found.size < network.nodes.length; round++) {
    for (const [name] of network.nodes) {
      if (found.has(name)) continue;
      // A node off the paths is beside one with the same neighbours, such as another spine.
      const own = [...neighbours.get(name)!].sort().join(" ");
      const alike = network.nodes.find(([other]) => found.has(other) && [...neighbours.get(other)!].sort().join(" ") === own);
      if (alike !== undefined) {
        found.set(name, found.get(alike[0])!);
        continue;
      }
      const known = neighbours.get(name)!.filter((other) => found.has(other));
      if (known.length > 0) found.set(name, Math.max(0, found.get(known[0]!)! + (kinds.get(name) === "host" ? -1 : 1)));
    }
    if (found.size === 0) found.set(network.nodes[0]![0], 0);
  }
  network.nodes.forEach(([name]) => found.has(name) || found.set(name, 0));
  return found;
}

/** Returns a path with the fewest hops, ends included; only switches forward. */
function path(from: string, to: string, kinds: Map<string, string>, neighbours: Map<string, string[]>): string[] {
  const previous = new Map([[from, from]]);
  const ahead = [from];
  for (let i = 0; i < ahead.length && !previous.has(to); i++) {
    for (const other of neighbours.get(ahead[i]!)!) {
      if (!previous.has(other) && (other === to || kinds.get(other) === "switch")) {
        previous.set(other, ahead[i]!);
        ahead.push(other);
      }
    }
  }
  if (!previous.has(to)) return [];
  const found = [to];
  while (found.at(-1) !== from) found.push(previous.get(found.at(-1)!)!);
  return found.reverse();
}

/** Returns the symbols: hosts with equal names up to numbers, equal neighbours and roles share one if they are many. */
function grouped(network: Network, neighbours: Map<string, string[]>, position: Map<string, number>): Symbol[] {
  const senders = new Set(network.flows.map(([from]) => from));
  const receivers = new Set(network.flows.map(([, to]) => to));
  const alike = new Map<string, string[]>();
  for (const [name, kind] of network.nodes) {
    const role = `${senders.has(name)}${receivers.has(name)}`;
    const next = neighbours.get(name)!.join(" ");
    const key = kind === "host" ? `${name.replace(/\d+/g, "#")}\n${role}\n${next}` : `\n${name}`;
    alike.set(key, [...(alike.get(key) ?? []), name]);
  }
  const kinds = new Map(network.nodes);
  const parts = [...alike.values()].flatMap((names) => (names.length > MOST_ALIKE ? [names] : names.map((name) => [name])));
  return parts.map((names) => ({
    names,
    kind: kinds.get(names[0]!)!,
    label: names.length === 1 ? names[0]! : `${names[0]}–${/\d+$/.exec(names.at(-1)!)?.[0] ?? names.at(-1)}`,
    x: position.get(names[0]!)!,
    y: 0,
  }));
}

/** Returns the lines between symbols. */
function joined(network: Network, of: Map<string, number>): Line[] {
  const lines = new Map<string, Line>();
  network.links.forEach(({ ends }, link) => {
    const [a, b] = [of.get(ends[0])!, of.get(ends[1])!];
    const [from, to] = a < b ? [a, b] : [b, a];
    const line = lines.get(`${from} ${to}`) ?? { from, to, ports: [[], []] };
    line.ports[a < b ? 0 : 1].push(2 * link);
    line.ports[a < b ? 1 : 0].push(2 * link + 1);
    lines.set(`${from} ${to}`, line);
  });
  return [...lines.values()];
}

/** Puts the switches on a circle, neighbours beside each other, and each host outside of its switch. */
function circle(symbols: Symbol[], lines: Line[]): { columns: number; rows: number } {
  const next = (i: number) => lines.flatMap(({ from, to }) => (from === i ? [to] : to === i ? [from] : []));
  const switches = symbols.map((_, i) => i).filter((i) => symbols[i]!.kind === "switch");
  const order = [switches[0]!];
  while (order.length < switches.length) {
    const free = (i: number) => symbols[i]!.kind === "switch" && !order.includes(i);
    order.push(next(order.at(-1)!).find(free) ?? switches.find(free)!);
  }
  const angles = new Map(order.map((i, k) => [i, (2 * Math.PI * k) / order.length - Math.PI / 2]));
  const put = (i: number, angle: number, far: number) => {
    symbols[i]!.x = 0.5 + 0.5 * far * Math.cos(angle);
    symbols[i]!.y = 0.5 + 0.5 * far * Math.sin(angle);
  };
  angles.forEach((angle, i) => put(i, angle, 0.55));
  for (const i of order) {
    const hosts = next(i).filter((other) => symbols[other]!.kind === "host");
    hosts.forEach((host, k) => put(host, angles.get(i)! + 0.35 * (k - (hosts.length - 1) / 2), 1));
  }
  return { columns: 3, rows: Math.max(7, Math.ceil(order.length * 0.8)) };
}

/** Assigns columns and rows from 0 to 1; rows so that neighbours are near. */
function arrange(symbols: Symbol[], lines: Line[]): { columns: number; rows: number } {
  const ranks = [...new Set(symbols.map((symbol) => Math.round(2 * symbol.x) / 2))].sort((a, b) => a - b);
  // At most about ten columns are readable; nearer positions share one.
  const shared = ranks.length > 10 ? (ranks.length - 1) / 9 : 1;
  const column = symbols.map((symbol) => Math.round(ranks.indexOf(Math.round(2 * symbol.x) / 2) / shared));
  const columns = Math.max(...column) + 1;
  const members = Array.from({ length: columns }, (_, c) => symbols.map((_, i) => i).filter((i) => column[i] === c));
  const next = symbols.map((): number[] => []);
  for (const { from, to } of lines) {
    next[from]!.push(to);
    next[to]!.push(from);
  }
  const row = new Map<number, number>();
  const place = () => members.forEach((all) => all.forEach((i, r) => row.set(i, r - (all.length - 1) / 2)));
  place();
  for (let round = 0; round < 12; round++) {
    const order = round % 2 === 0 ? members : [...members].reverse();
    for (const all of order) {
      const mean = new Map(
        all.map((i) => {
          const rows = next[i]!.map((other) => row.get(other)!);
          return [i, rows.length > 0 ? rows.reduce((a, b) => a + b, 0) / rows.length : row.get(i)!] as const;
        }),
      );
      all.sort((a, b) => mean.get(a)! - mean.get(b)!);
      all.forEach((i, r) => row.set(i, r - (all.length - 1) / 2));
    }
  }
  const most = Math.max(...members.map((all) => all.length));
  symbols.forEach((symbol, i) => {
    symbol.x = columns === 1 ? 0.5 : column[i]! / (columns - 1);
    symbol.y = most === 1 ? 0.5 : 0.5 + row.get(i)! / (most - 1);
  });
  return { columns, rows: most };
}
