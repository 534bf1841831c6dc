"""Figures of an experiment's networks, the first ones of its section in the report."""

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
    """Return a figure of the network of each base scenario, in the order of the experiment's points.

    A network is drawn with the settings of the first point that has this base scenario.
    """
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
            "both; arrows show the directions of flows. If links have different rates, the slowest ones are red."
        )
        found.append(Figure(name, title, caption, partial(_draw, scenario)))
    return found


def _draw(scenario: Scenario) -> Drawing:
    from tailback.plotting import network

    return network.draw(scenario)
