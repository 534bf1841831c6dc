// Numbers as text.

/** Returns a number with four significant digits, thin spaces between thousands, and no trailing zeros. */
export function text(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
  const digits = Math.max(0, 3 - Math.floor(Math.log10(size)));
  const plain = String(Number(value.toFixed(Math.min(digits, 8))));
  const [whole = "", part] = plain.split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
  return part === undefined ? grouped : `${grouped}.${part}`;
}
