"""Experiments: points of a base scenario, claims about the results, and the intervals that decide the claims."""

from __future__ import annotations

from tailback.plotting.experiment import Figure
from tailback.results.observables import Observable
from tailback.study.experiment.claims import Claim, Condition, Verdict
from tailback.study.experiment.design import Experiment, Profile
from tailback.study.experiment.points import Axis, AxisValue, Point, ProfileName, Settings, grid
from tailback.study.experiment.quantity import Quantity
from tailback.study.experiment.results import Results

__all__ = [
    "Axis",
    "AxisValue",
    "Claim",
    "Condition",
    "Experiment",
    "Figure",
    "Observable",
    "Point",
    "Profile",
    "ProfileName",
    "Quantity",
    "Results",
    "Settings",
    "Verdict",
    "grid",
]
