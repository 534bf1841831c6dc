"""Experiments that reproduce published figures: scenario, claims and page in one folder each.

How to add one stands in this package's README.
"""

from __future__ import annotations

from tailback.gallery import figures, metrics
from tailback.gallery.claims import Claim, Condition, Verdict
from tailback.gallery.design import Axis, AxisValue, Experiment, Point, Profile, ProfileName, Settings, grid
from tailback.gallery.figures import Figure
from tailback.gallery.metrics import Metric
from tailback.gallery.quantity import Quantity
from tailback.gallery.results import Results

__all__ = [
    "Axis",
    "AxisValue",
    "Claim",
    "Condition",
    "Experiment",
    "Figure",
    "Metric",
    "Point",
    "Profile",
    "ProfileName",
    "Quantity",
    "Results",
    "Settings",
    "Verdict",
    "figures",
    "grid",
    "metrics",
]
