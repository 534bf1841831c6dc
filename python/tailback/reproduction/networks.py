"""Drawings of an experiment's networks, the first figures of its section of the report."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

from tailback.plotting.experiment import Figure
from tailback.scenario import Scenario
from tailback.study.experiment.design import Experiment
from tailback.study.experiment.points import Point, ProfileName

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

__all__ = ["networks"]


def networks(experiment: Experiment, profile: ProfileName) -> list[Figure]:
    """Return a figure for each scenario file that is a base of points, with the settings of the first such point."""
    first: dict[str, Point] = {}
    for point in experiment.points(profile):
        first.setdefault(experiment.scenario(point), point)
    found = []
    for file, point in first.items():
        scenario = experiment.at(point, profile)
        stem = PurePath(file).stem
        alone = len(first) == 1
        name = "network" if alone else f"network-{stem}"
        title = "Network" if alone else f"Network of {scenario.title or stem}"
        caption = (
            f"Settings of the point {experiment.describe(point)}. Blue hosts send, green ones receive, brown ones do "
            "both; arrows show the directions of flows; the slowest links are red."
        )
        found.append(Figure(name, title, caption, partial(_draw, scenario)))
    return found


def _draw(scenario: Scenario) -> Drawing:
    from tailback.plotting import network

    return network.draw(scenario)
