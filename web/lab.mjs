// Builds the lab into python/tailback/web/built/lab from the WebAssembly module of the engine:
//
//     node lab.mjs MODULE.wasm
//
// index.html there is the whole lab in one file, which opens from the file system. The folder site has the same parts as
// files, for a web server. lessons.json has the texts of the lessons, for the site of the documentation.

import { build } from "esbuild";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { common, script } from "./bundle.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const GALLERY = here("../python/tailback/gallery");
const OUT = here("../python/tailback/web/built/lab");

/** Returns the first paragraph of a text in Markdown after its heading, without marks. */
function firstParagraph(markdown) {
  const paragraph = markdown.replace(/^#.*\n+/, "").split(/\n\s*\n/)[0] ?? "";
  return paragraph.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[*`]/g, "").replaceAll("\n", " ").trim();
}

/** Returns the scenarios of the gallery in the order of its registry: id, group, title, first paragraph, text. */
async function gallery() {
  const registry = await readFile(`${GALLERY}/registry.py`, "utf8");
  const folders = [.../^FOLDERS = \{$([^}]*)/m.exec(registry)[1].matchAll(/"([\w-]+)": "(\w+)"/g)];
  const found = [];
  for (const [, id, name] of folders) {
    const group = id.split("-")[0];
    const folder = `${GALLERY}/${group}/${name}`;
    const readme = await readFile(`${folder}/README.md`, "utf8");
    const files = (await readdir(folder)).filter((file) => file.endsWith(".toml")).sort();
    files.sort((a, b) => Number(b === "scenario.toml") - Number(a === "scenario.toml"));
    for (const [index, file] of files.entries()) {
      const heading = /^#\s*(.*)/.exec(readme)?.[1] ?? id;
      const part = file.replace(/\.toml$/, "").replaceAll("_", " ");
      const title = files.length > 1 ? `${heading}: ${part}` : heading;
      const toml = await readFile(`${folder}/${file}`, "utf8");
      found.push({ id: index === 0 ? id : `${id}/${part}`, group, title, about: firstParagraph(readme), toml });
    }
  }
  return found;
}

/** Returns the text of a bundle. */
async function bundled(entry) {
  const options = { ...script, loader: { ".toml": "text", ".wat": "text" }, entryPoints: [here(entry)], write: false, outdir: OUT };
  const { outputFiles } = await build(options);
  return outputFiles[0].text;
}

/** Returns the lessons, without the functions that measure their answers. */
async function lessons() {
  const entryPoints = [here("src/lessons/lessons.ts")];
  const { outputFiles } = await build({ ...common, format: "esm", loader: { ".toml": "text" }, entryPoints, write: false });
  const { LESSONS } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
  return LESSONS;
}

/** Returns an element that holds a text which the page reads. */
const held = (id, type, text) => `<script type="${type}" id="${id}">${text.replace(/<\/(?=script)/gi, "<\\/")}</script>\n`;

/** Starts the script of the page from an address, since the browser compiles such a script in another thread. */
const START = `{
  const script = document.createElement("script");
  const text = document.getElementById("lab-main").textContent;
  script.src = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  document.body.append(script);
}`;

export async function lab(module) {
  const wasm = await readFile(module);
  const packed = gzipSync(wasm, { level: 9 });
  const [page, style, main, editor, worker] = await Promise.all([
    readFile(here("src/lab/index.html"), "utf8"),
    bundled("src/lab/lab.css"),
    bundled("src/lab/main.ts"),
    bundled("src/lab/editor.ts"),
    bundled("src/lab/worker.ts"),
  ]);
  const scenarios = JSON.stringify(await gallery());
  const code = [main, editor, worker, style, page].reduce((sum, text) => sum + gzipSync(text).length, 0);
  const kilobytes = (bytes) => String(Math.round(bytes / 1000));
  const sized = page
    .replaceAll("{{engine}}", kilobytes(packed.length))
    .replaceAll("{{page}}", kilobytes(code))
    .replaceAll("{{gallery}}", kilobytes(gzipSync(scenarios).length));

  await rm(OUT, { recursive: true, force: true });
  await mkdir(`${OUT}/site`, { recursive: true });
  const whole =
    held("lab-gallery", "application/json", scenarios) +
    held("lab-worker", "text/plain", worker) +
    held("lab-editor", "text/plain", editor) +
    held("lab-engine", "text/plain", packed.toString("base64")) +
    held("lab-main", "text/plain", main) +
    `<script>${START}</script>\n`;
  const put = (text, head, body) => text.replace("<!-- style -->", () => head).replace("<!-- parts -->", () => body);
  const files = {
    "index.html": put(sized, `<style>${style}</style>`, whole),
    "lessons.json": JSON.stringify(await lessons()),
    "site/index.html": put(sized, '<link rel="stylesheet" href="lab.css">', '<script src="main.js" defer></script>\n'),
    "site/lab.css": style,
    "site/main.js": main,
    "site/editor.js": editor,
    "site/worker.js": worker,
    "site/gallery.json": scenarios,
    "site/tailback.wasm": wasm,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(`${OUT}/${name}`, text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const module = process.argv[2];
  if (module === undefined) {
    console.error("usage: node lab.mjs MODULE.wasm");
    process.exit(2);
  }
  await lab(module);
}
