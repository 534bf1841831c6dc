// Bundles the browser parts of Tailback into python/tailback/web/built, from where the package reads them:
//
//     node build.mjs
//
// Each bundle but the widget of notebooks is one script in an anonymous function, so that a page that was opened from a file can hold it in a <script>
// element. The text of a bundle depends on the sources and the pinned packages only.

import { build } from "esbuild";
import { fileURLToPath } from "node:url";
import { common, script } from "./bundle.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Bundles: the options of esbuild for each. */
export const bundles = [
  { ...script, entryPoints: { report: here("src/report/main.ts") } },
  { ...common, entryPoints: { report: here("src/report/report.css") } },
  // A notebook imports it as a module.
  { ...common, format: "esm", entryPoints: { widget: here("src/notebook/widget.ts") } },
];

for (const options of bundles) {
  await build({ ...options, outdir: here("../python/tailback/web/built") });
}
