// The lab in a cell of a notebook, as a module for anywidget: a frame with the page of the lab, which the model brings, so that
// nothing is loaded from a network.

/** What the widget uses of anywidget's model; `tailback.web.notebook` defines the values. */
interface Model {
  /** The page of the lab, in one file. */
  get(name: "page"): DataView;
  /** The fragment of its address, which holds the scenario. */
  get(name: "fragment"): string;
  /** Height of the frame, CSS pixels. */
  get(name: "height"): number;
  on(event: string, call: () => void): void;
}

/** Colours of the notebook: JupyterLab and Notebook 7 state theirs; elsewhere those of the system are used. */
function colours(): string {
  const isLight = document.body.dataset["jpThemeLight"];
  return isLight === undefined ? "" : ` data-colours="${isLight === "true" ? "light" : "dark"}"`;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const text = new TextDecoder().decode(model.get("page")).replace("<html", `<html${colours()}`);
  const page = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  const show = () => {
    // A new frame, since the lab reads the fragment when it begins.
    const frame = document.createElement("iframe");
    frame.title = "Tailback lab";
    frame.style.cssText = `display: block; width: 100%; height: ${model.get("height")}px; border: 0`;
    frame.src = page + model.get("fragment");
    el.replaceChildren(frame);
  };
  show();
  model.on("change:fragment", show);
  model.on("change:height", () => {
    const frame = el.querySelector("iframe");
    if (frame !== null) frame.style.height = `${model.get("height")}px`;
  });
  return () => URL.revokeObjectURL(page);
}

export default { render };
