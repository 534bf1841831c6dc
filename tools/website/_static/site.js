// Script of the site: opens the lab below the sample whose link was activated, one at a time. Without this script the links lead to the lab.

let opened = null;

function close() {
  if (opened === null) return;
  opened.frame.remove();
  opened.link.setAttribute("aria-expanded", "false");
  opened = null;
}

/** The block behind which the lab is shown. */
function blockOf(link) {
  return link.closest(".table-wrapper, table") ?? link.closest("ul, ol, dl") ?? link.closest("p, div") ?? link;
}

function toggle(link) {
  const again = opened?.link === link;
  close();
  if (again) return;
  const frame = document.createElement("div");
  frame.className = "lab-frame";
  const bar = document.createElement("p");
  const whole = document.createElement("a");
  whole.href = link.href;
  whole.target = "_blank";
  whole.textContent = "Open in a tab of its own";
  const end = document.createElement("button");
  end.textContent = "Close";
  end.onclick = () => {
    close();
    link.focus();
  };
  bar.append(whole, end);
  const inner = document.createElement("iframe");
  inner.title = "The lab with this scenario";
  inner.src = link.href.replace("#", `${colours()}#`);
  frame.append(bar, inner);
  blockOf(link).after(frame);
  link.setAttribute("aria-expanded", "true");
  opened = { link, frame };
  frame.scrollIntoView({ block: "nearest" });
}

/** Part of the lab's address for the colours chosen on this page; empty: those of the system. */
function colours() {
  const chosen = document.body.dataset.theme;
  return chosen === "light" || chosen === "dark" ? `?colours=${chosen}` : "";
}

// What the theme leaves out: the role of parameters, and the keyboard in samples that scroll.
document.querySelectorAll("dt.sig > dl").forEach((parameters) => {
  parameters.setAttribute("role", "list");
  parameters.querySelectorAll("dd").forEach((one) => one.setAttribute("role", "listitem"));
});
document.querySelectorAll("pre").forEach((sample) => {
  if (sample.scrollWidth > sample.clientWidth) sample.tabIndex = 0;
});

for (const link of document.querySelectorAll("a.run-here")) {
  link.setAttribute("role", "button");
  link.setAttribute("aria-expanded", "false");
  link.addEventListener("click", (event) => {
    // With such a key the lab opens in a tab or window of its own, as for any link.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    toggle(link);
  });
  link.addEventListener("keydown", (event) => {
    if (event.key !== " ") return;
    event.preventDefault();
    toggle(link);
  });
}
