"""All experiments, one line each. The id says where it is: `lan-a1` is `lan/lan_a1/experiment.py`."""

from __future__ import annotations

import re
from difflib import get_close_matches
from importlib import import_module

from tailback.errors import UsageError
from tailback.study.experiment.design import Experiment

__all__ = ["EVERY", "EXPERIMENTS", "GROUPS", "ON_REQUEST", "experiment", "select"]

GROUPS = {
    "lan": "Congestion control in switched Ethernet LANs",
    "internet": "TCP and active queue management",
    "edge": "Quality of service at the customer edge",
    "datacentre": "Backward congestion notification in data-centre Ethernet",
}

EXPERIMENTS = (
    "lan-traffic",
    "lan-a1",
    "lan-a2",
    "lan-b1",
    "lan-thresholds",
    "lan-buffers",
    "lan-models",
    "lan-queues",
    "lan-alternatives",
    "lan-c1",
    "lan-c2",
    "lan-c3",
    "lan-a1-tcp",
    "lan-c2-tcp",
    "lan-class-destination",
    "lan-notify",
    "lan-mac",
    "lan-headroom",
    "lan-extended",
    "internet-e01",
    "internet-e02",
    "internet-e03",
    "internet-e04",
    "internet-e05",
    "internet-e06",
    "internet-e07",
    "internet-e08",
    "internet-e09",
    "internet-e10",
    "internet-e11",
    "internet-e12",
    "internet-e13",
    "internet-e14",
    "internet-e15",
    "internet-e16",
    "internet-e17",
    "internet-e18",
    "internet-e19",
    "internet-e20",
    "internet-rivals",
    "internet-scoreboard",
    "internet-collapse",
    "edge-configs",
    "edge-wfq",
    "edge-ramp",
    "edge-tcp",
    "edge-priority",
    "edge-hard",
    "edge-red-udp",
    "edge-intserv",
    "edge-slm",
    "datacentre-seed",
    "datacentre-derivative",
    "datacentre-solicit",
    "datacentre-loop",
    "datacentre-ecm",
    "datacentre-blocking",
    "datacentre-red",
    "datacentre-udp",
    "datacentre-bench",
    "datacentre-fct",
    "datacentre-pfc",
)  # fmt: skip

ON_REQUEST = ("internet-1999",)
"""Experiments that take too long to be part of `all` or of their group: they are run when asked for by their id."""
EVERY = (*EXPERIMENTS, *ON_REQUEST)


def experiment(id: str) -> Experiment:  # noqa: A002
    """Load one experiment by its id."""
    module = import_module(f"tailback.gallery.{id.split('-', 1)[0]}.{id.replace('-', '_')}.experiment")
    found = [
        c
        for c in vars(module).values()
        if isinstance(c, type) and issubclass(c, Experiment) and c.__module__ == module.__name__
    ]
    (only,) = found
    made: Experiment = only()
    assert made.id == id, f"{module.__name__} says that it is {made.id}"
    return made


def select(what: str) -> list[Experiment]:
    """Return the experiment of an id, those of a group, or `all`; raises UsageError for anything else.

    Those of `ON_REQUEST` belong to neither a group nor `all`.
    """
    if what == "all":
        chosen = list(EXPERIMENTS)
    elif what in GROUPS:
        chosen = [id for id in EXPERIMENTS if id.startswith(f"{what}-")]  # noqa: A001
        if not chosen:
            raise UsageError(f"the group {what} has no experiment yet")
    elif what in EVERY:
        chosen = [what]
    else:
        # Numbers have two digits in some groups: internet-e1 is meant as internet-e01 and not as internet-e19.
        written_out = re.sub(r"\d+$", lambda number: f"{int(number[0]):02}", what)
        near = [written_out] if written_out in EVERY else get_close_matches(what, [*EVERY, *GROUPS, "all"], n=1)
        advice = f"; did you mean {near[0]}?" if near else "; see `tailback list`"
        raise UsageError(f"there is no experiment or group {what!r}{advice}")
    return [experiment(id) for id in chosen]  # noqa: A001
