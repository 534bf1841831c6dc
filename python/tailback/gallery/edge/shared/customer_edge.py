"""Parts that the customer-edge experiments share: Table 1, the port towards the provider, and its configurations.

    tester -1G- ce2 -1G, shaped to 100 Mbit/s- ce1 -1G- sink

All queueing is at `ce2->ce1`. Frames have 1500 B, so that 1 Mbit/s is 83.3 frames per second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING

from tailback.bounds.fluid import max_min
from tailback.results import observables as m
from tailback.results.observables import Observable
from tailback.results.report import Report
from tailback.scenario import Value
from tailback.study.experiment.design import Experiment
from tailback.study.experiment.points import Settings

if TYPE_CHECKING:
    from tailback.study.experiment.claims import Condition
    from tailback.study.experiment.quantity import Quantity
    from tailback.study.experiment.results import Results

__all__ = [
    "BOTTLENECK",
    "CLASSES",
    "DISCIPLINE",
    "GROUPS",
    "LEVELS",
    "LINK",
    "PORT",
    "TABLE_1",
    "AtTheEdge",
    "all_of",
    "class_delay",
    "class_loss",
    "class_throughput",
    "drop_tail",
    "fair_inside",
    "fluid_losses",
    "group_delay",
    "group_jitter",
    "group_loss",
    "group_pdv",
    "labelled",
    "limits_inside",
    "mean_of",
    "offered",
    "policy",
    "sources",
    "wred",
    "wred_by_exp",
    "wred_inside",
]

PORT = "switches.ce2.ports.ce1"
"""Path of the port towards the provider in the scenario document."""
# Path of the port's queue discipline in the scenario document.
DISCIPLINE = f"{PORT}.discipline"
# Name of the port in reports.
BOTTLENECK = "ce2->ce1"
LINK = 100.0
"""Rate that the company buys from the provider, Mbit/s."""


@dataclass(frozen=True, slots=True)
class Row:
    """A column of Table 1."""

    flows: int
    rate: float
    """Rate of each flow, Mbit/s, supplementary traffic included."""
    extra: float
    """Supplementary traffic of each flow, Mbit/s."""


# Columns of Table 1 by group of flows.
TABLE_1: Mapping[str, Row] = {
    "ef": Row(10, 1.5, 0.0),
    "af41": Row(10, 3.0, 0.0),
    "af31": Row(4, 2.502, 0.84),
    "af32": Row(3, 3.336, 1.11),
    "af33": Row(3, 3.336, 1.11),
    "af21": Row(4, 3.336, 1.66),
    "af22": Row(3, 4.446, 2.22),
    "af23": Row(3, 4.446, 2.22),
    "af11": Row(4, 0.666, 0.0),
    "af12": Row(3, 0.888, 0.0),
    "af13": Row(3, 0.888, 0.0),
}
GROUPS = tuple(TABLE_1)
# Groups of flows of each class.
CLASSES: Mapping[str, tuple[str, ...]] = {
    "EF": ("ef",),
    "AF41": ("af41",),
    "AF3x": ("af31", "af32", "af33"),
    "AF2x": ("af21", "af22", "af23"),
    "AF1x": ("af11", "af12", "af13"),
}
SHARES = {"voice": "15%", "video": "35%", "critical": "20%", "noncritical": "20%", "bulk": "10%"}
"""Planned share of the rate, by class map; the class maps are EF, AF41, AF3x, AF2x and AF1x, in this order."""
_EXP = {"voice": 5, "video": 4, "critical": 3, "noncritical": 2, "bulk": 1}
"""Traffic class (EXP) of the labels by class map: the precedence of the class's code points."""
_PATTERNS = {"EF": "ef", "AF41": "af41", "AF3x": "af3[123]", "AF2x": "af2[123]", "AF1x": "af1[123]"}


def offered(group: str, supplement: float = 1.0) -> float:
    """Return the rate that a column of Table 1 offers with a share of its supplementary traffic, Mbit/s.

    `supplement` is 1 for Table 1, and may be larger. Raises KeyError for an unknown column.
    """
    row = TABLE_1[group]
    return row.flows * (row.rate - (1 - supplement) * row.extra)


def sources(supplement: float) -> Settings:
    """Return the settings of the flows' rates with a share of their supplementary traffic; 1 is Table 1."""
    return {
        f"flows[{group}].source.rate": f"{row.rate - (1 - supplement) * row.extra:.6g}Mbit/s"
        for group, row in TABLE_1.items()
        if row.extra
    }


# Configurations.


def drop_tail(limit: int = 40) -> Settings:
    """Return the settings of configuration i: drop-tail with a limit in packets."""
    return {DISCIPLINE: {"kind": "drop-tail"}, f"{PORT}.buffer": f"{limit}packets"}


def wred(
    low: int, high: int, codes: Sequence[str], *, denominator: int = 10, exponent: int = 9, **more: Value
) -> dict[str, Value]:
    """Return WRED with the same profile for each of the code points.

    Thresholds are in packets; the drop probability at `high` is 1/`denominator`; a packet has the weight 2^-`exponent`
    in the average queue. `more` has other keys of the discipline.
    """
    profile: dict[str, Value] = {"min": low, "max": high, "denominator": denominator}
    profiles: dict[str, Value] = {code: dict(profile) for code in codes}
    return {"kind": "wred", "by": "dscp", "exponent": exponent, "profiles": profiles, **more}


def policy(
    *,
    low_latency: bool,
    inside: Mapping[str, Value] | None = None,
    by_exp: bool = False,
    shares: Mapping[str, str] = SHARES,
) -> Settings:
    """Return the settings of configurations iii to v: classes with planned bandwidths and limits of 64 packets.

    With `low_latency` voice has priority and a policer. `inside` has the discipline within a class by class map;
    classes that are not in it have one queue. With `by_exp` packets are classified by the EXP of their labels. `shares`
    are the planned bandwidths by class map, such as "15%".
    """
    classes: list[Value] = []
    for name, share in shares.items():
        one: dict[str, Value] = {"name": name, "match": {"exp": _EXP[name]} if by_exp else name}
        if name == "voice" and low_latency:
            one["priority"] = {"rate": share}
        else:
            one["bandwidth"] = share
            if inside and name in inside:
                one["discipline"] = inside[name]
        classes.append(one)
    return {DISCIPLINE: {"kind": "class-based", "classes": classes}}


def fair_inside() -> dict[str, Value]:
    """Return deficit round robin with a queue for each flow, for every class map.

    If a class is full, its longest queue drops its last packet.
    """
    fair: dict[str, Value] = {"kind": "drr", "quantum": "1500B"}
    return dict.fromkeys(SHARES, fair)


def limits_inside() -> dict[str, Value]:
    """Return tail drop by class map for AF3x and AF2x, with limits of 64, 48 and 32 packets for drop precedence 1 to 3.

    The limits are expressed as WRED that drops no packet below the limit and every packet at it, with the shortest
    possible average, over two arrivals.
    """
    limits = (64, 48, 32)
    return {
        name: {
            "kind": "wred",
            "by": "dscp",
            "exponent": 1,
            "profiles": {
                code: {"min": limit - 1, "max": limit, "denominator": 1}
                for code, limit in zip(CLASSES[key], limits, strict=True)
            },
        }
        for name, key in (("critical", "AF3x"), ("noncritical", "AF2x"))
    }


def wred_inside() -> dict[str, Value]:
    """Return the WRED disciplines of configuration v by class map."""
    return {
        "critical": wred(26, 42, CLASSES["AF3x"]),
        "noncritical": wred(24, 42, CLASSES["AF2x"]),
    }


def wred_by_exp() -> dict[str, Value]:
    """Return the WRED disciplines of configuration v in a VPN by class map.

    The profiles are by precedence, since only a label's EXP is visible.
    """
    return {
        name: {"kind": "wred", "by": "precedence", "profiles": {exp: {"min": low, "max": 42, "denominator": 10}}}
        for name, exp, low in (("critical", "3", 26), ("noncritical", "2", 24))
    }


def labelled(mode: str = "short-pipe") -> Settings:
    """Return the settings of two labels on packets towards the provider.

    `mode` is the MPLS mode of RFC 3270: "uniform", "pipe" or "short-pipe". Bytes of labels count for the shaper, not
    for the policer of voice.
    """
    return {f"{PORT}.mpls": {"labels": 2, "mode": mode}, f"{DISCIPLINE}.accounting": "-8B"}


# Observables.


def group_loss(group: str) -> Observable:
    """Return the observable of the loss of a column of Table 1, %."""
    return m.loss(group, f"loss_{group}", f"loss of {group.upper()}")


def group_delay(group: str) -> Observable:
    """Return the observable of the mean delay of a column of Table 1, ms."""
    return m.mean_delay(group, f"delay_{group}", f"delay of {group.upper()}")


def class_loss(name: str) -> Observable:
    """Return the observable of the loss of a class, %."""
    return m.loss(_PATTERNS[name], f"loss_{name}", f"loss of {name}")


def class_delay(name: str) -> Observable:
    """Return the observable of the mean delay of a class, ms."""
    return m.mean_delay(_PATTERNS[name], f"delay_{name}", f"delay of {name}")


def class_throughput(name: str) -> Observable:
    """Return the observable of the throughput of a class, Mbit/s."""
    return m.throughput(_PATTERNS[name], f"throughput_{name}", f"throughput of {name}")


def group_jitter(group: str) -> Observable:
    """Return the observable of RFC 3550's jitter of a column of Table 1, ms."""
    return m.jitter(group, f"jitter_{group}", f"jitter of {group.upper()}")


def group_pdv(group: str) -> Observable:
    """Return the observable of the 99.9th percentile of the delay variation of a column of Table 1, ms."""
    return m.pdv(group, "p999", f"pdv_{group}", f"p99.9 delay variation of {group.upper()}")


DATA_GROUPS = tuple(group for name in ("AF3x", "AF2x", "AF1x") for group in CLASSES[name])
GAP = 5.0
"""Minimum difference of losses on different levels, percentage points.

The gap exceeds the random differences between flows, and is less than the differences between max-min shares.
"""


# Number of levels of the losses of `DATA_GROUPS`.
def _levels(report: Report) -> float:
    losses = sorted(100 * report.loss(group) for group in DATA_GROUPS)
    return 1.0 + sum(b - a > GAP for a, b in pairwise(losses))


LEVELS = Observable("levels", "number of loss levels of the data columns", "", _levels)
"""Number of levels of the losses of the nine data columns, at least 1.
 Neighbours in the sorted losses that are more than `GAP` apart are on different levels. """


# Theory.


def fluid_losses(supplement: float = 1.0, link: float = LINK) -> dict[str, float]:
    """Return the loss in % by class if classes have the guarantees of `SHARES` and share unused capacity in proportion.

    `supplement` is as in `offered`; `link` is the port's rate, Mbit/s.
    """
    demands = {name: sum(offered(group, supplement) for group in groups) for name, groups in CLASSES.items()}
    weights = [float(share.rstrip("%")) for share in SHARES.values()]
    shares = max_min(link, list(zip(demands.values(), weights, strict=True)))
    return {name: 100 * (1 - share / demand) for (name, demand), share in zip(demands.items(), shares, strict=True)}


def all_of(conditions: Iterable[Condition]) -> Condition:
    """Return the conjunction of conditions; raises ValueError if there is no condition."""
    first, *rest = conditions
    for condition in rest:
        first &= condition
    return first


def mean_of(results: Results, names: Sequence[str]) -> Quantity:
    """Return the mean of several metrics with the same unit; raises IndexError without names."""
    total = results[names[0]]
    for name in names[1:]:
        total = total + results[name]
    return total / len(names)


class AtTheEdge(Experiment):
    """An experiment on the base scenario of configuration v."""

    def read(self, name: str) -> str:
        """Read a file of the experiment's folder; the scenario is that of `edge-configs` unless it has its own."""
        folder = resources.files(type(self).__module__.rpartition(".")[0])
        if name == "scenario.toml" and not folder.joinpath(name).is_file():
            folder = resources.files("tailback.gallery.edge.five_configurations")
        return folder.joinpath(name).read_text(encoding="utf-8")
