// The report: sections that are unpacked and drawn when they are opened, search, and a filter by verdict.

import { Chart } from "../charts/chart.ts";
import type { ChartData } from "../charts/data.ts";
import { unpack } from "./unpack.ts";

/** Packed content of a section, as `tailback.pages.document` writes it. */
interface Content {
  html: string;
  /** Figures by name: data of a chart, or the text of an SVG file. */
  figures: Record<string, ChartData | string>;
}

const charts: Chart[] = [];
/** Charts of open sections that are not drawn yet: they are drawn when they come near the visible part of the page. */
const waiting = new Map<HTMLElement, ChartData>();
const near = new IntersectionObserver(
  (entries) => entries.forEach(({ isIntersecting, target }) => isIntersecting && draw(target as HTMLElement)),
  { rootMargin: "800px" },
);

/** Draws a chart that waits. */
function draw(place: HTMLElement): void {
  const figure = waiting.get(place);
  if (!figure) return;
  waiting.delete(place);
  near.unobserve(place);
  place.style.aspectRatio = "";
  try {
    charts.push(new Chart(place, figure, place.dataset.title ?? ""));
  } catch (error) {
    // The other figures do not depend on this one.
    place.textContent = "This figure could not be drawn here; report-static.html has it.";
    console.error(error);
  }
}
const sections = [...document.querySelectorAll<HTMLDetailsElement>("details.section")];
/** Texts for the search, lower case, by the id of the section. */
let texts: Record<string, string> = {};

/** Unpacks a section and prepares its figures, once. */
async function fill(section: HTMLDetailsElement): Promise<void> {
  if (await fillUnfiltered(section)) filter();
}

/** As `fill`, but without the filter of claims; returns whether the section had not been filled. */
async function fillUnfiltered(section: HTMLDetailsElement): Promise<boolean> {
  const packed = section.querySelector<HTMLScriptElement>(":scope > script");
  if (!packed) return false;
  packed.remove();
  const { html, figures } = JSON.parse(await unpack(packed.textContent ?? "")) as Content;
  const body = document.createElement("div");
  body.className = "section-body";
  body.innerHTML = html;
  section.append(body);
  for (const place of body.querySelectorAll<HTMLElement>("[data-figure]")) {
    const figure = figures[place.dataset.figure ?? ""];
    if (typeof figure === "string") {
      place.classList.add("picture");
      place.innerHTML = figure;
      const drawing = place.querySelector("svg");
      drawing?.setAttribute("role", "img");
      drawing?.setAttribute("aria-label", place.dataset.title ?? "");
    } else if (figure) {
      waiting.set(place, figure);
      // About the height of the chart, so that the page does not jump when it is drawn.
      place.style.aspectRatio = String(1 / figure.aspect);
      near.observe(place);
    }
  }
  return true;
}

/** Opens a section and the place in it that the address names. */
async function goTo(id: string): Promise<void> {
  const target = document.getElementById(id);
  const section = target?.closest<HTMLDetailsElement>("details.section");
  if (!target || !section) return;
  section.hidden = false;
  section.open = true;
  await fill(section);
  target.scrollIntoView({ block: "start" });
}

const search = document.querySelector<HTMLInputElement>("#search");
const boxes = [...document.querySelectorAll<HTMLInputElement>(".verdicts input")];

/** Hides the sections, and the claims in open sections, that the search and the ticked verdicts leave out. */
function filter(): void {
  const words = (search?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const ticked = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
  const every = ticked.size === boxes.length;
  let shown = 0;
  for (const section of sections) {
    const has = (section.dataset.verdicts ?? "").split(" ").some((verdict) => ticked.has(verdict));
    const found = words.every((word) => (texts[section.id] ?? "").includes(word));
    section.hidden = !found || !(every || has);
    const link = document.querySelector<HTMLElement>(`nav a[href="#${CSS.escape(section.id)}"]`);
    if (link?.parentElement) link.parentElement.hidden = section.hidden;
    if (!section.hidden) shown++;
    for (const claim of section.querySelectorAll<HTMLElement>("[data-verdict]")) {
      claim.hidden = !ticked.has(claim.dataset.verdict ?? "");
    }
  }
  for (const group of document.querySelectorAll<HTMLElement>("nav .group")) {
    group.hidden = ![...group.querySelectorAll<HTMLElement>("li")].some((line) => !line.hidden);
  }
  const count = document.querySelector("#count");
  if (count) count.textContent = shown === sections.length ? `${shown} sections` : `${shown} of ${sections.length} sections`;
}

/** Chooses the colours: those of the system, light, or dark. */
function colours(): void {
  const button = document.querySelector<HTMLButtonElement>("#colours");
  const names = ["system", "light", "dark"];
  const kept = () => {
    try {
      return localStorage.getItem("tailback-colours") ?? "system";
    } catch {
      return "system"; // Pages from files may have no storage.
    }
  };
  const set = (name: string) => {
    if (name === "system") delete document.documentElement.dataset.colours;
    else document.documentElement.dataset.colours = name;
    if (button) button.textContent = `Colours: ${name}`;
    for (const chart of charts) chart.redraw();
  };
  set(kept());
  button?.addEventListener("click", () => {
    const next = names[(names.indexOf(document.documentElement.dataset.colours ?? "system") + 1) % names.length] ?? "system";
    try {
      localStorage.setItem("tailback-colours", next);
    } catch {
      // The choice is forgotten with the page.
    }
    set(next);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((chart) => chart.redraw()));
}

async function openAll(): Promise<void> {
  for (const section of sections) {
    if (section.hidden) continue;
    section.open = true;
    await fillUnfiltered(section);
  }
  filter();
}

// Charts of open sections are printed also if the browser's own command prints.
addEventListener("beforeprint", () => [...waiting.keys()].forEach(draw));
for (const section of sections) section.addEventListener("toggle", () => section.open && void fill(section));
search?.addEventListener("input", filter);
for (const box of boxes) box.addEventListener("change", filter);
addEventListener("hashchange", () => void goTo(decodeURIComponent(location.hash.slice(1))));
document.querySelector("#open-all")?.addEventListener("click", () => void openAll());
document.querySelector("#print")?.addEventListener("click", () => {
  // A frame later everything is drawn.
  void openAll().then(() => {
    [...waiting.keys()].forEach(draw);
    requestAnimationFrame(() => requestAnimationFrame(() => print()));
  });
});
document.querySelector("#menu")?.addEventListener("click", (event) => {
  const open = document.body.classList.toggle("menu-open");
  (event.currentTarget as HTMLElement).ariaExpanded = String(open);
});
document.querySelector("nav")?.addEventListener("click", (event) => {
  const link = (event.target as HTMLElement).closest("a");
  if (!link) return;
  document.body.classList.remove("menu-open");
  // The same address again changes nothing, so that there would be no event.
  if (link.hash === location.hash) void goTo(decodeURIComponent(link.hash.slice(1)));
});
colours();
const index = document.querySelector<HTMLScriptElement>("#texts");
if (index) void unpack(index.textContent ?? "").then((text) => (texts = JSON.parse(text) as Record<string, string>)).then(filter);
if (location.hash) void goTo(decodeURIComponent(location.hash.slice(1)));
else if (sections.length === 1 && sections[0]) sections[0].open = true;
for (const section of sections) if (section.open) void fill(section);
