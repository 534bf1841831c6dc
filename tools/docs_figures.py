"""Draws the figures of the documentation, each by a small experiment of its own; they are in `drawings/`.

    python tools/docs_figures.py                   draws all of them, in a minute
    python tools/docs_figures.py merging video     draws some
    python tools/docs_figures.py --check [NAME...] draws into memory and names those that differ from docs/figures
    python tools/docs_figures.py --check --quick   the same of those that take little time

The same version gives the same files: seeds are fixed, and the drawings carry no dates. With the version of matplotlib
in requirements/run.txt, which brings its own FreeType and fonts, `--check` compares bytes; with any other it compares
texts exactly and places within half a point (`drawing_compare.py`). The exit code is 1 if a figure differs.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from drawing_compare import difference
from drawing_weight import lighter
from drawings import FIGURES
from drawings.common import SLOW
from tailback.plotting import plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "figures"


def as_svg(drawn: Figure) -> bytes:
    """Return the file of a figure."""
    return lighter(plot.to_bytes(drawn, "svg"))


def save(name: str, drawn: Figure) -> Path:
    """Write a figure."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.svg"
    path.write_bytes(as_svg(drawn))
    return path


def pinned() -> bool:
    """Return `True` if matplotlib is the version that drew the committed figures."""
    text = (ROOT / "requirements" / "run.txt").read_text(encoding="utf-8")
    return f"matplotlib=={version('matplotlib')} " in text


def stale(name: str, exact: bool) -> str:
    """Return how a committed figure differs from the one drawn now; empty if it is current."""
    path = FOLDER / f"{name}.svg"
    if not path.exists():
        return "not in docs/figures"
    now, committed = as_svg(FIGURES[name]()), path.read_bytes()
    if now == committed:
        return ""
    found = difference(committed, now)
    return found or ("same look, other bytes" if exact else "")


def check(names: list[str]) -> int:
    """Print the figures that differ, with the command that draws them."""
    exact = pinned()
    differing = []
    for name in names:
        if found := stale(name, exact):
            differing.append(name)
            print(f"{name}: {found}", flush=True)
    if differing:
        print(f"Stale. Look at what changed and why, then: python tools/docs_figures.py {' '.join(differing)}")
        return 1
    print(
        f"{len(names)} figures are current ({'same bytes' if exact else 'same look: matplotlib is not the pinned one'})"
    )
    return 0


def main() -> int:
    """Draw the figures named, or all; or compare them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], help="default: all")
    parser.add_argument("--check", action="store_true", help="write nothing; name the figures that differ")
    parser.add_argument("--quick", action="store_true", help="leave out those that take long")
    arguments = parser.parse_args()
    names = [name for name in arguments.names or FIGURES if not (arguments.quick and name in SLOW)]
    if arguments.check:
        return check(names)
    for name in names:
        print(save(name, FIGURES[name]()).relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
