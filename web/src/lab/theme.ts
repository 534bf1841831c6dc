// Light or dark: the choice of the page around the lab (`?colours=dark` in the address, or `data-colours` of the document),
// else that of the system.

const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = document.documentElement.dataset["colours"] ?? new URLSearchParams(location.search).get("colours");

/** Returns whether the lab is dark. */
export const isDark = () => (chosen === "light" || chosen === "dark" ? chosen === "dark" : system.matches);

/** Makes the style sheets follow the choice, and calls a function when the colours of the system change. */
export function followColours(changed: () => void): void {
  system.addEventListener("change", changed);
  if (chosen !== "light" && chosen !== "dark") return;
  document.documentElement.style.colorScheme = chosen;
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  for (const rule of rules) {
    if (rule instanceof CSSMediaRule && rule.conditionText === "(prefers-color-scheme: dark)") {
      rule.media.mediaText = chosen === "dark" ? "all" : "not all";
    }
  }
}
