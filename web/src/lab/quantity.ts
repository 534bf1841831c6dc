// Quantities with units, as scenarios have them: "50kB", "1Gbit/s", "20ms", or plain numbers.

/** Factors of the prefixes. */
const PREFIXES: Record<string, number> = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, m: 1e-3, µ: 1e-6, u: 1e-6, n: 1e-9, p: 1e-12 };
/** Base units: with the prefixes in which they are written, largest first. */
const UNITS: Record<string, string[]> = {
  "bit/s": ["G", "M", "k", ""],
  B: ["M", "k", ""],
  bit: ["M", "k", ""],
  s: ["", "m", "u", "n"],
};

export interface Quantity {
  number: number;
  /** Base unit; empty: a plain number. */
  unit: string;
}

/** Reads a quantity; `null`: the value is a word or has another form. */
export function parse(value: unknown): Quantity | null {
  if (typeof value === "number") return { number: value, unit: "" };
  if (typeof value !== "string") return null;
  const [, number, name] = /^\s*([\d.]+(?:e[+-]?\d+)?)\s*([^\d\s]*)\s*$/.exec(value) ?? [];
  if (number === undefined || name === undefined) return null;
  if (name === "") return { number: Number(number), unit: "" };
  if (name === "%") return { number: Number(number), unit: "%" };
  if (name === "min") return { number: 60 * Number(number), unit: "s" };
  for (const unit of Object.keys(UNITS)) {
    const factor = name.endsWith(unit) ? PREFIXES[name.slice(0, name.length - unit.length)] : undefined;
    if (factor !== undefined) return { number: Number(number) * factor, unit };
  }
  return null;
}

/** Returns the text of a quantity with three significant digits. */
export function format({ number, unit }: Quantity): string {
  const rounded = Number(number.toPrecision(3));
  const prefixes = UNITS[unit];
  if (prefixes === undefined) return `${rounded}${unit}`;
  const prefix = prefixes.find((p) => rounded >= PREFIXES[p]! * 0.9999) ?? prefixes.at(-1)!;
  return `${Number((rounded / PREFIXES[prefix]!).toPrecision(3))}${prefix}${unit}`;
}

/** A time in picoseconds as text. */
export function time(ps: number): string {
  const seconds = ps * 1e-12;
  if (seconds === 0) return "0 s";
  if (seconds >= 1) return `${seconds.toFixed(4)} s`;
  if (seconds >= 1e-3) return `${(seconds * 1e3).toFixed(4)} ms`;
  return `${(seconds * 1e6).toFixed(3)} µs`;
}
