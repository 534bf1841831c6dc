// Colours of flows, classes and lines: Okabe and Ito's palette without black, lighter on a dark page.

import { isDark } from "./theme.ts";

const LIGHT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#a89a00", "#7f7f7f"];
const DARK = ["#4aa8f0", "#f0b030", "#27c498", "#e29cc4", "#9ad4f5", "#ff8a4a", "#e0d34c", "#a8a8a8"];

/** Number of colours; further flows repeat them. */
export const COUNT = LIGHT.length;

/** Returns the colour with a number; that of flows without a number is grey. */
export function colourOf(key: number): string {
  const colours = isDark() ? DARK : LIGHT;
  return key < 0 ? colours.at(-1)! : colours[key % COUNT]!;
}
