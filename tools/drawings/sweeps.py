"""Figures of sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawings.common import figure, study
from tailback import sweep
from tailback.plotting.sweep.figures import figures
from tailback.plotting.xy import sweep_xy

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@figure("study.toml", slow=True)
def sweep_map() -> Figure:
    """Draw the loss against load and buffer, as in the report of the study's sweep."""
    found = sweep(study("study.toml"))
    return next(picture.figure for picture in figures(found) if picture.title == "Map of loss (%)")


@figure("first-law/study.toml", slow=True)
def first_law() -> Figure:
    """Draw the mean delay against the buffer, under the law of the tutorial, CoDel and no law."""
    return sweep_xy(sweep(study("first-law/study.toml")), "buffer", "delay", size="page")
