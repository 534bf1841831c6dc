"""Draws the figures of the documentation, each by a small experiment of its own; they are in `drawings/`.

    python tools/docs_figures.py              all of them, some minutes
    python tools/docs_figures.py merging video  some

The same version gives the same files: seeds are fixed, and the drawings carry no dates.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from drawing_weight import lighter
from drawings import FIGURES
from tailback.plotting import plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "figures"


def save(name: str, drawn: Figure) -> Path:
    """Write a figure."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.svg"
    path.write_bytes(lighter(plot.to_bytes(drawn, "svg")))
    return path


def main() -> int:
    """Draw the figures named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], help="default: all")
    arguments = parser.parse_args()
    for name in arguments.names or FIGURES:
        print(save(name, FIGURES[name]()).relative_to(FOLDER.parent.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
