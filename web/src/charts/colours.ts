// Colours of series, which are chosen for a white background, on the background of the page.

/** Least contrast of a series and the background: the least for graphical objects in WCAG 2.1, 1.4.11. */
const CONTRAST = 3;

function channels(colour: string): [number, number, number] {
  const value = Number.parseInt(colour.slice(1, 7), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** Returns the relative luminance as WCAG 2.1 defines it, 0 (black) to 1 (white). */
function luminance(rgb: readonly number[]): number {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * (r ?? 0) + 0.7152 * (g ?? 0) + 0.0722 * (b ?? 0);
}

/** Returns the colour `#rrggbb`, made lighter until it can be seen on `background`, if that is dark. */
export function visible(colour: string, background: string): string {
  const behind = luminance(channels(background));
  let rgb: number[] = channels(colour);
  while (behind < 0.2 && (luminance(rgb) + 0.05) / (behind + 0.05) < CONTRAST) rgb = rgb.map((c) => c + (255 - c) * 0.2 + 1);
  return `rgb(${rgb.map((c) => Math.min(255, Math.round(c))).join(" ")})`;
}

/** Colours of the parts of a chart that are not data. */
export interface Theme {
  background: string;
  text: string;
  grid: string;
}

/** Returns the colours that the style sheet gives the element: custom properties in the form `#rrggbb`. */
export function theme(element: Element): Theme {
  const style = getComputedStyle(element);
  const of = (name: string, otherwise: string) => style.getPropertyValue(name).trim() || otherwise;
  return { background: of("--paper", "#ffffff"), text: of("--ink", "#1b1f24"), grid: of("--grid", "#e4e4e4") };
}
