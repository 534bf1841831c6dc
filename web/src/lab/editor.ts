// The editor of the scenario's text: colours, completion and help from the schema, errors of the engine in place.

import { autocompletion, closeBrackets, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { linter, lintGutter, type Diagnostic } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Problem } from "./engine.ts";
import type { Requests } from "./protocol.ts";
import { placeAt, type Schema } from "./schema.ts";

/** What the editor needs from the page. */
export interface Host {
  check(text: string): Promise<Requests["check"]["answer"]>;
  schema(): Schema | null;
  /** Called with the outcome of each check. */
  checked(check: Requests["check"]["answer"], text: string): void;
}

/** What this script leaves for the page. */
export interface EditorParts {
  makeEditor(parent: HTMLElement, text: string, host: Host): EditorView;
  setText(view: EditorView, text: string): void;
}

declare global {
  var tailbackEditor: EditorParts;
}

const style = HighlightStyle.define([
  { tag: tags.comment, color: "var(--muted)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--text-string)" },
  { tag: [tags.number, tags.bool, tags.atom], color: "var(--text-number)" },
  { tag: [tags.propertyName, tags.heading], color: "var(--text-key)" },
]);

function makeEditor(parent: HTMLElement, text: string, host: Host): EditorView {
  const extensions = [
    lineNumbers(),
    history(),
    closeBrackets(),
    // Tab is not bound, so that the keyboard can leave the editor.
    keymap.of([...defaultKeymap, ...historyKeymap]),
    StreamLanguage.define(toml),
    syntaxHighlighting(style),
    autocompletion({ override: [(context) => complete(context, host.schema())] }),
    hoverTooltip((view, position) => help(view, position, host.schema())),
    linter((view) => diagnose(view, host), { delay: 400 }),
    lintGutter(),
    EditorView.contentAttributes.of({ "aria-label": "Scenario in TOML" }),
  ];
  const view = new EditorView({ parent, state: EditorState.create({ doc: text, extensions }) });
  // The region that scrolls must be reachable by the keyboard.
  view.scrollDOM.tabIndex = 0;
  view.scrollDOM.setAttribute("aria-label", "Scenario text, scrolls");
  view.scrollDOM.setAttribute("role", "region");
  return view;
}

/** Keys that are possible at the cursor, or the words that the schema has for the key. */
function complete(context: CompletionContext, schema: Schema | null): CompletionResult | null {
  if (schema === null) return null;
  const word = context.matchBefore(/[\w."-]*/);
  if (word === null || (word.from === word.to && !context.explicit)) return null;
  const place = placeAt(context.state.doc.toString(), word.from);
  if (place.key !== null) {
    const values = schema.values([...place.table, place.key]);
    return { from: word.from, options: values.map(({ value, help }) => ({ label: value, info: help, type: "constant" })) };
  }
  const keys = schema.keys(place.table, place.kind);
  const options = [...keys].map(([key, node]) => ({
    label: key,
    apply: `${key} = `,
    info: [node, ...schema.alternatives(node)].find((one) => one.description !== undefined)?.description ?? "",
    type: "property",
  }));
  return { from: word.from, options };
}

/** The description of the key under the pointer. */
function help(view: EditorView, position: number, schema: Schema | null) {
  const line = view.state.doc.lineAt(position);
  const word = /[\w-]+/g;
  for (const found of line.text.matchAll(word)) {
    const from = line.from + found.index;
    const to = from + found[0].length;
    if (position < from || position > to || schema === null) continue;
    const place = placeAt(view.state.doc.toString(), from);
    const heading = /^\s*\[/.test(line.text);
    const path = heading ? placeAt(view.state.doc.toString(), line.to).table : [...place.table, found[0]];
    const text = place.key === null || heading ? schema.help(path, place.kind) : "";
    if (text === "") return null;
    return {
      pos: from,
      end: to,
      above: true,
      create() {
        const dom = document.createElement("div");
        dom.className = "help";
        dom.textContent = text.replace(/(\S)\n(?=\S)/g, "$1 ");
        return { dom };
      },
    };
  }
  return null;
}

async function diagnose(view: EditorView, host: Host): Promise<Diagnostic[]> {
  const text = view.state.doc.toString();
  // The page tells why a check has failed.
  const check = await host.check(text).catch(() => null);
  if (check === null) return [];
  host.checked(check, text);
  const shown = (severity: "error" | "warning") => (problem: Problem): Diagnostic => {
    const line = view.state.doc.line(Math.min(problem.line ?? 1, view.state.doc.lines));
    const from = Math.min(line.from + (problem.column ?? 1) - 1, line.to);
    const rest = /^("[^"]*"|[\w.-]+)/.exec(view.state.doc.sliceString(from, line.to))?.[0].length ?? 0;
    const to = Math.min(from + Math.max(rest, 1), Math.max(line.to, from));
    const message = problem.help === null ? problem.message : `${problem.message}\nhelp: ${problem.help}`;
    return { from, to, severity, message };
  };
  return [...check.errors.map(shown("error")), ...check.warnings.map(shown("warning"))];
}

/** Replaces the text. */
function setText(view: EditorView, text: string): void {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}

globalThis.tailbackEditor = { makeEditor, setText };
