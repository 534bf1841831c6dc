// Controls for the values that can change during the run.

import type { Tunable } from "./engine.ts";
import { format, parse, type Quantity } from "./quantity.ts";

/** Positions of a slider. */
const POSITIONS = 200;

interface Bounds {
  least: number;
  most: number;
  /** `true`: equal distances are equal factors. */
  factors: boolean;
}

/** Bounds of a value: those of the declaration or schema, else a tenth and ten times the value. */
export function bounds({ min, max }: Tunable, start: Quantity): Bounds {
  const [low, high] = [parse(min), parse(max)];
  const value = Math.abs(start.number) || 1;
  const share = low?.number === 0 && high?.number === 1 && start.unit === "";
  if (share || start.number === 0) return { least: low?.number ?? 0, most: high?.number ?? value, factors: false };
  // A bound of the schema may be far away, such as 2^32; a declared one is meant.
  const least = Math.max(low?.number ?? 0, value / 10);
  const most = Math.min(high?.number ?? Infinity, value * 10);
  const declared = low !== null && high !== null && low.number > 0;
  const [from, to] = declared ? [low.number, high.number] : [least, most];
  return { least: from, most: to, factors: from > 0 && to / from > 4 };
}

/** Makes a control with a row for each column and its present value; `changed` gets the new value as text, and returns the text of a refusal or null. */
export function slider(
  tunable: Tunable,
  columns: string[],
  values: unknown[],
  changed: (column: number, value: string) => Promise<string | null>,
): HTMLElement {
  const box = document.createElement("fieldset");
  box.className = "tunable";
  const legend = document.createElement("legend");
  legend.textContent = tunable.path;
  box.append(legend);
  const help = document.createElement("p");
  help.className = "help";
  help.textContent = tunable.help.split("\n\n")[0]!.replaceAll("\n", " ");
  const start = parse(tunable.value);
  const refused = document.createElement("p");
  refused.className = "refused";
  refused.setAttribute("role", "alert");
  const apply = async (column: number, value: string) => {
    refused.textContent = (await changed(column, value)) ?? "";
  };
  columns.forEach((column, index) => {
    const row = document.createElement("label");
    const name = document.createElement("span");
    name.textContent = column;
    const output = document.createElement("output");
    output.textContent = String(values[index]);
    row.append(name);
    if (start === null || tunable.words !== undefined) row.append(words(tunable, values[index], (value) => void apply(index, value)));
    else {
      const limits = bounds(tunable, start);
      const input = document.createElement("input");
      input.type = "range";
      input.min = "0";
      input.max = String(POSITIONS);
      input.step = "1";
      input.value = String(position(parse(values[index])?.number ?? start.number, limits));
      input.setAttribute("aria-label", column === "" ? tunable.path : `${tunable.path}, variant ${column}`);
      const text = () => format({ number: value(Number(input.value), limits, start), unit: start.unit });
      input.oninput = () => {
        output.textContent = text();
        input.setAttribute("aria-valuetext", text());
      };
      input.setAttribute("aria-valuetext", String(values[index]));
      input.onchange = () => void apply(index, text());
      row.append(input, output);
    }
    box.append(row);
  });
  box.append(help, refused);
  return box;
}

/** A field for a value that is a word. */
function words(tunable: Tunable, value: unknown, changed: (value: string) => void): HTMLElement {
  if (typeof tunable.value === "boolean") {
    const box = document.createElement("input");
    box.type = "checkbox";
    box.setAttribute("aria-label", tunable.path);
    box.checked = String(value) === "true";
    box.onchange = () => changed(String(box.checked));
    return box;
  }
  if (tunable.words !== undefined) {
    const choice = document.createElement("select");
    choice.append(...tunable.words.map((word) => new Option(word, word, false, word === String(value))));
    choice.setAttribute("aria-label", tunable.path);
    choice.onchange = () => changed(choice.value);
    return choice;
  }
  const field = document.createElement("input");
  field.type = "text";
  field.value = String(value);
  field.setAttribute("aria-label", tunable.path);
  field.onchange = () => changed(field.value);
  return field;
}

function position(number: number, { least, most, factors }: Bounds): number {
  const part = factors ? Math.log(number / least) / Math.log(most / least) : (number - least) / (most - least || 1);
  return Math.round(Math.min(Math.max(part, 0), 1) * POSITIONS);
}

function value(place: number, { least, most, factors }: Bounds, start: Quantity): number {
  const part = place / POSITIONS;
  const number = factors ? least * (most / least) ** part : least + part * (most - least);
  // Counts stay whole.
  return start.unit === "" && Number.isInteger(start.number) && most > 10 ? Math.round(number) : number;
}
