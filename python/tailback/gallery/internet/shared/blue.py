"""Parts that the Blue experiments share: the published parameter sets of RED and Blue, and their curves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tailback.gallery.internet.shared import dumbbell
from tailback.scenario import Table
from tailback.study.experiment.points import Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tailback.study.experiment.quantity import Quantity

__all__ = ["BLUE", "RED", "curves", "freeze_s", "settings"]

RED: dict[str, float] = {"R1": 0.0002, "R2": 0.002, "R3": 0.02, "R4": 0.2}
"""Weight of a new sample in RED's average queue, by set; the other parameters are the same in all sets."""

BLUE: dict[str, tuple[int, float, float]] = {
    "B1": (10, 0.0025, 0.00025),
    "B2": (100, 0.0025, 0.00025),
    "B3": (10, 0.02, 0.002),
    "B4": (100, 0.02, 0.002),
}
"""Freeze time in ms, and increment (d1) and decrement (d2) of Blue's probability, by set."""


def settings(name: str, buffer_kb: float, *, ecn: bool = True) -> Settings:
    """Return the settings of the bottleneck's buffer and discipline for a set, `R1` to `R4` or `B1` to `B4`.

    Raises KeyError for another name.
    """
    if name in RED:
        return dumbbell.red(buffer_kb, 1.0, ecn=ecn) | {f"{dumbbell.PORT}.discipline.weight": RED[name]}
    freeze, increment, decrement = BLUE[name]
    discipline: Table = {
        "kind": "blue",
        "freeze": f"{freeze}ms",
        "increment": increment,
        "decrement": decrement,
        "ecn": ecn,
    }
    return dumbbell.bottleneck(buffer_kb, discipline)


def freeze_s(name: str) -> float:
    """Return the shortest time in s in which Blue's probability can rise from 0 to 1 with a set, `B1` to `B4`."""
    freeze, increment, _ = BLUE[name]
    return 1e-3 * freeze / increment


def curves(axes: Axes, of: Callable[[str], Quantity], names: list[str], x: str) -> None:
    """Draw the quantity `of(name)` against the axis `x`, one curve per set.

    RED's curves are dashed and Blue's solid; both get darker from the first set to the last. Fewer than three points
    are not joined: a line from 100 to 1000 kB would suggest values that were not measured.
    """
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    from tailback.plotting import plot

    for index, name in enumerate(names):
        kin = RED if name in RED else BLUE
        shade = 0.45 + 0.5 * list(kin).index(name) / (len(kin) - 1)
        colour = to_hex(colormaps["Oranges" if name in RED else "Blues"](shade))
        along, intervals = of(name).curve(x)
        plot.curve(axes, along, intervals, label=name, index=index, colour=colour, dashed=name in RED)
        if len(along) < 3:
            axes.containers[-1][0].set_linestyle("none")
