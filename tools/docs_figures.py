"""Draws the figures of the documentation by functions of drawings/, from scenarios of the gallery or docs/examples.

    python tools/docs_figures.py                   draws all figures, in about a minute
    python tools/docs_figures.py merging video     draws the named figures
    python tools/docs_figures.py --check [NAME...] writes nothing, and names the figures that differ from docs/figures
    python tools/docs_figures.py --quick           leaves out figures that take more than 0.25 processor seconds
    python tools/docs_figures.py --table           writes docs/figures.md, the list of figures, pages and scenarios

The same versions of Tailback and matplotlib give the same files: seeds are fixed, and the drawings have no dates. With
the version of matplotlib in requirements/run.txt, which includes FreeType and fonts, `--check` compares bytes; with
another version it compares texts exactly and positions within 1.5 points (`drawing_compare.py`).

`--check` first compares docs/figures.md; if the page differs, figures are not compared. The exit code is 1 if the page
or a figure differs, else 0.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from drawing_compare import difference
from drawing_weight import lighter
from drawings import FIGURES
from drawings.common import path_of
from tailback import Scenario, Study
from tailback.gallery.registry import EVERY
from tailback.plotting import plot
from tailback.study.document import is_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "figures"
LIST = ROOT / "docs" / "figures.md"
# First line of the table in `LIST`; the text before it is written by hand.
HEAD = "| figure | page | scenario | seed |"


def as_svg(drawn: Figure) -> bytes:
    """Return the content of a figure's SVG file."""
    return lighter(plot.to_bytes(drawn, "svg"))


def save(name: str, drawn: Figure) -> Path:
    """Write a figure, and return its path."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.svg"
    path.write_bytes(as_svg(drawn))
    return path


def pinned() -> bool:
    """Return `True` if matplotlib has the version in requirements/run.txt, which drew the committed figures."""
    text = (ROOT / "requirements" / "run.txt").read_text(encoding="utf-8")
    return f"matplotlib=={version('matplotlib')} " in text


def stale(name: str, exact: bool) -> str:
    """Return the difference between a committed figure and the one drawn now, in words; empty if there is none.

    With `exact`, different bytes are a difference even if the appearance is the same.
    """
    path = FOLDER / f"{name}.svg"
    if not path.exists():
        return "not in docs/figures"
    now, committed = as_svg(FIGURES[name]()), path.read_bytes()
    if now == committed:
        return ""
    text = difference(committed, now)
    return text or ("same appearance, other bytes" if exact else "")


def check(names: list[str]) -> int:
    """Print the figures that differ, with the command that draws them; return the exit code.

    If docs/figures.md is stale, only this is printed.
    """
    if table() != LIST.read_text(encoding="utf-8"):
        print("docs/figures.md is stale: python tools/docs_figures.py --table")
        return 1
    exact = pinned()
    differing = []
    for name in names:
        if found := stale(name, exact):
            differing.append(name)
            print(f"{name}: {found}", flush=True)
    if differing:
        print(f"Stale. If the changes are intended: python tools/docs_figures.py {' '.join(differing)}")
        return 1
    print(
        f"{len(names)} figures are current "
        f"({'same bytes' if exact else 'same appearance: the version of matplotlib is not the pinned one'})"
    )
    return 0


def pages_of(name: str) -> list[Path]:
    """Return the pages that show a figure, the list of figures excepted."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if page != LIST and f"figures/{name}.svg)" in page.read_text(encoding="utf-8")]


def seed_of(source: str) -> int:
    """Return the base seed of a scenario or study: `seed` of its `run`, or that of the study."""
    path = path_of(source)
    text = path.read_text(encoding="utf-8")
    if is_study(text):
        return Study.load(path, text).seed
    return int(str(Scenario.from_toml(text, source).run_config["seed"]))


def table() -> str:
    """Return the page that lists all figures: the text before the table unchanged, and a new table."""
    rows = [HEAD, "|---|---|---|---:|"]
    for name, drawing in sorted(FIGURES.items()):
        pages = ", ".join(f"[{page.stem}]({os.path.relpath(page, FOLDER.parent)})" for page in pages_of(name))
        named = [
            f"`tailback reproduce {source}`" if source in EVERY else f"[{Path(source).name}](examples/{source})"
            for source in drawing.sources
        ]
        seeds = [str(seed_of(source)) for source in drawing.sources]
        rows.append(
            f"| [{name}](figures/{name}.svg) | {pages} | {', '.join(named) or 'none: a drawing or a formula'} | "
            f"{', '.join(seeds)} |"
        )
    return LIST.read_text(encoding="utf-8").partition(HEAD)[0] + "\n".join(rows) + "\n"


def main() -> int:
    """Draw or compare the named figures, by default all, or write the table; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], help="default: all")
    parser.add_argument("--check", action="store_true", help="write nothing, and name the figures that differ")
    parser.add_argument("--quick", action="store_true", help="leave out figures that take more than 0.25 s")
    parser.add_argument("--table", action="store_true", help="write docs/figures.md")
    arguments = parser.parse_args()
    if arguments.table:
        LIST.write_text(table(), encoding="utf-8")
        return 0
    names = [name for name in arguments.names or FIGURES if not (arguments.quick and FIGURES[name].slow)]
    if arguments.check:
        return check(names)
    for name in names:
        print(save(name, FIGURES[name]()).relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
