"""Figures of explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawings.common import example, figure
from tailback import why as explain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@figure("why.toml")
def why() -> Figure:
    """Draw the hops of the packet that a storm behind two switches held longest."""
    return explain(example("why.toml"), flow="web").plot()
