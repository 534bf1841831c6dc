"""Pages of the site: those of the repository, the first page, the gallery, and the reference of the Python package."""

from __future__ import annotations

import html
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import tailback
from tailback.gallery.registry import EXPERIMENTS, GROUPS
from tailback.gallery.registry import experiment as registered

__all__ = ["api", "gallery", "index", "stage", "tracked"]

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"(?<!\\)(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def tracked(pattern: str) -> list[Path]:
    """Return the files that git tracks and that match a pattern, relative to the repository."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--", pattern], check=True, capture_output=True, text=True
    )
    return [Path(line) for line in listed.stdout.splitlines()]


def stage(pages: list[Path], target: Path) -> None:
    """Copy pages with the files to which they link; a link to a folder, or to Rust's sources, becomes its text."""
    known = set(pages)
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        place = target / page
        place.parent.mkdir(parents=True, exist_ok=True)
        linked = partial(_linked, page=page, known=known, target=target)
        place.write_text(_outside_fences(text, linked), encoding="utf-8")


def _outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Apply a change to a page, but not to its blocks of code."""
    parts, last = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*parts, change(text[last:])])


def _linked(text: str, page: Path, known: set[Path], target: Path) -> str:
    def one(found: re.Match[str]) -> str:
        mark, words, address = found.groups()
        if re.match(r"[a-z]+:|#", address):
            return found[0]
        path, _, anchor = address.partition("#")
        file = _normal(page.parent / path)
        if (ROOT / file).is_dir():
            readme = file / "README.md"
            if readme not in known:
                return words
            return f"{mark}[{words}]({path.rstrip('/')}/README.md{'#' + anchor if anchor else ''})"
        if file in known:
            return found[0]
        if not (ROOT / file).is_file():
            sys.exit(f"{page}: the link {address} leads nowhere")
        copy = target / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, copy)
        # Sphinx copies pictures and downloads; an anchor in them would be one of a viewer of the repository.
        return found[0] if mark else f"{{download}}`{_plain(words)} <{path}>`"

    return _LINK.sub(one, text)


def _plain(words: str) -> str:
    """Return the text of a link without marks of Markdown, which a role cannot contain."""
    return words.replace("`", "").replace("<", "(").replace(">", ")")


def _normal(path: Path) -> Path:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return Path(*parts)


def index(pages: list[Path]) -> str:
    """Return the first page: the README, and the lists of pages by folder."""
    names = {page.as_posix() for page in pages}
    order = re.findall(r"\]\(([^)#]+\.md)", (ROOT / "docs/index.md").read_text(encoding="utf-8"))
    first = [name for path in dict.fromkeys(order) if (name := _normal(Path("docs") / path).as_posix()) in names]
    groups = {
        "Guides": [
            "Overview <README>",
            "Pages by task <docs/index>",
            *[n for n in first if n.startswith("docs/") and n.count("/") == 1],
        ],
        "Mechanisms": [n for n in sorted(names) if n.startswith("docs/mechanisms/")],
        "Results": [n for n in sorted(names) if n.startswith(("docs/results/", "docs/evaluate/"))],
        "Experiments": [n for n in sorted(names) if n.startswith("python/tailback/gallery/")],
        "Decisions": [n for n in sorted(names) if n.startswith("docs/adr/")],
    }
    listed = {name for group in groups.values() for name in group} | {"README.md", "docs/index.md"}
    groups["More"] = [n for n in sorted(names) if n not in listed]
    cards = "".join(
        f'<a href="{address}"><span><strong>{title}</strong> {words}</span></a>\n' for title, address, words in _FIRST
    )
    text = "# Tailback\n\nA packet-level network simulator for congestion control and queue management: a Rust core, a "
    text += f'Python package, and one command.\n\n```{{raw}} html\n<div class="gallery first">\n{cards}</div>\n```\n\n'
    for title, group in groups.items():
        if title == "Guides":
            group = ["Gallery <gallery>", *group, "Python reference <api>"]
        entries = "\n".join(re.sub(r"\.(md|rst)$", "", name) for name in dict.fromkeys(group))
        text += f"```{{toctree}}\n:caption: {title}\n:maxdepth: 1\n:hidden:\n\n{entries}\n```\n\n"
    return text


def gallery(pages: list[Path]) -> str:
    """Return the page of all experiments with a picture of each."""
    text = "# Gallery\n\nEach experiment of the sources and its results at full length.\n"
    known = {page.as_posix() for page in pages}
    for group, title in GROUPS.items():
        cards = ""
        for experiment in map(registered, EXPERIMENTS):
            home = ROOT / "docs/results" / experiment.id
            pictures = sorted(path.name for path in home.glob("*.svg") if not path.name.startswith("network"))
            if experiment.group != group or not pictures:
                continue
            page = f"docs/results/{group}.md"
            if page not in known:
                sys.exit(f"there is no page {page}")
            heading = f"{experiment.id}: {experiment.title}"
            cards += (
                f'<a href="docs/results/{group}.html#{_slug(heading)}">'
                f'<img loading="lazy" alt="" src="docs/results/{experiment.id}/{pictures[0]}">'
                f"<span><code>{experiment.id}</code>{html.escape(experiment.title)}</span></a>\n"
            )
        text += f'\n## {title}\n\n```{{raw}} html\n<div class="gallery">\n{cards}</div>\n```\n'
    return text


def _slug(heading: str) -> str:
    """Return the anchor of a heading as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def api() -> str:
    """Return the reference of the package's names, in reStructuredText."""
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Exceptions": [], "Constants": []}
    for name in tailback.__all__:
        value = getattr(tailback, name)
        kind = "Constants"
        if inspect.isclass(value):
            kind = "Exceptions" if issubclass(value, BaseException) else "Classes"
        elif callable(value):
            kind = "Functions"
        if name != "__version__":
            kinds[kind].append(name)
    text = "Python reference\n================\n\nThe names of the package ``tailback``.\n\n"
    directives = {
        "Functions": "autofunction",
        "Classes": "autoclass",
        "Exceptions": "autoexception",
        "Constants": "autodata",
    }
    for kind, names in kinds.items():
        text += f"{kind}\n{'-' * len(kind)}\n\n"
        for name in names:
            members = "   :members:\n" if kind == "Classes" else ""
            text += f".. {directives[kind]}:: tailback.{name}\n{members}\n"
    text += "Functions of mathematics\n------------------------\n\n.. automodule:: tailback.maths\n   :members:\n"
    return text


_FIRST = (
    ("Overview", "README.html", "What it does, and how to install it."),
    ("Tutorial", "docs/tutorial.html", "From the installation to a changed threshold."),
    ("Pages by task", "docs/index.html", "What to read for what you want to do."),
    ("Gallery", "gallery.html", "Published experiments, reproduced, each with its claims."),
    ("Mechanisms", "docs/mechanisms/README.html", "What each queue discipline, transport and signal does exactly."),
    ("Python reference", "api.html", "The names of the package."),
)
"""Title, address and description of the links of the first page."""
