"""Objectives of a group of flows: upper limits of delay, delay variation and loss, lower limit of call quality.

    objective_of(46, None)  # telephony, by its code point: class 0 of ITU-T Y.1541, and a minimum MOS
    objective_of(0, "delay<=80ms loss<=0.5%")  # limits stated in the column `target` of the traffic table

RFC 4594 gives the service of a code point, and ITU-T Y.1541 (12/2011), table 1, the objectives of a service. ITU-T
G.114 (05/2003) recommends a one-way delay of at most 150 ms for conversations, and 400 ms as the limit for network
planning; with `bounds="g.114"` the limit for voice is 150 ms instead of the 100 ms of class 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from tailback import _native
from tailback.errors import UsageError

__all__ = ["Bounds", "Objective", "objective_of", "service"]

Bounds: TypeAlias = Literal["y.1541", "g.114"]
"""Source of the limit of one-way delay for voice: 100 ms of Y.1541's class 0, or 150 ms of G.114."""

_CLASSES: Mapping[str, int] = {"voice": 0, "video": 1, "data": 3, "bulk": 4}
"""Classes of ITU-T Y.1541 by the names of targets in the traffic table."""
_NAME_OF_CLASS = {number: name for name, number in _CLASSES.items()}
_G114_S = 0.15
"""One-way delay of at most 150 ms that G.114 recommends, s."""
_LIMIT = re.compile(r"(?P<figure>[a-z]+)(?P<sign><=|>=)(?P<value>.+)")


@dataclass(frozen=True, slots=True)
class Objective:
    """Upper limits of a group of flows, and the minimum MOS of its calls; `None`: no limit."""

    name: str
    """Name in tables, such as "voice (Y.1541 class 0)"."""
    y1541: int | None = None
    """Class of ITU-T Y.1541 that gives the limits: 0, 1, 3 or 4; `None`: the limits were stated one by one."""
    delay_s: float | None = None
    """Upper limit of the mean one-way delay, s."""
    variation_s: float | None = None
    """Upper limit of the 99.9th percentile of the delay variation (RFC 5481), s."""
    loss: float | None = None
    """Upper limit of lost packets per packet sent, 0 to 1."""
    mos: float | None = None
    """Lower limit of the mean opinion score by the E-model (ITU-T G.107), 1 to 4.5."""

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        limits = {"delay_s": self.delay_s, "variation_s": self.variation_s, "loss": self.loss, "mos": self.mos}
        return {"name": self.name, "y1541": self.y1541, **limits}


def service(code_point: int) -> int | None:
    """Return the class of ITU-T Y.1541 that a code point (0 to 63) requires: 0, 1, 3 or 4; `None`: best effort."""
    if code_point in (46, 44, 40):
        return 0
    if code_point in (32, 34, 36, 38):
        return 1
    if code_point in (16, 18, 20, 22, 24, 26, 28, 30, 48, 56):
        return 3
    return 4 if code_point in (10, 12, 14) else None


def objective_of(
    code_point: int, stated: str | None, *, bounds: Bounds = "y.1541", least_mos: float = 3.6
) -> Objective | None:
    """Return the objective of a group of flows; `None`: it has none.

    Args:
        code_point: Code point (DSCP) of the packets, 0 to 63.
        stated: Target in the traffic table: `voice`, `video`, `data`, `bulk`, `none`, or limits such as
            `delay<=80ms loss<=0.5% variation<=30ms mos>=3.8`, separated by spaces or semicolons. `None`: the target
            that follows from the code point.
        bounds: Source of the limit of one-way delay for voice.
        least_mos: Lower limit of the mean opinion score of voice, 1 to 4.5.

    Raises:
        UsageError: `stated` is not a target, or `bounds` is unknown.

    """
    if bounds not in get_args(Bounds):
        raise UsageError(f"there are no bounds `{bounds}`; use {' or '.join(get_args(Bounds))}")
    if stated is None:
        class_ = service(code_point)
        return None if class_ is None else _of_class(class_, bounds, least_mos)
    words = stated.replace(";", " ").split()
    if words == ["none"]:
        return None
    if len(words) == 1 and words[0] in _CLASSES:
        return _of_class(_CLASSES[words[0]], bounds, least_mos)
    objective = Objective(" ".join(words))
    if not words:
        raise _wrong(stated)
    for word in words:
        objective = _limited(objective, word, stated)
    return objective


def _of_class(number: int, bounds: Bounds, least_mos: float) -> Objective:
    """Return the objective of a class of ITU-T Y.1541: 0, 1, 3 or 4."""
    delay_s, variation_s, loss = _native.y1541_limits(number)
    objective = Objective(f"{_NAME_OF_CLASS[number]} (Y.1541 class {number})", number, delay_s, variation_s, loss)
    if number != 0:
        return objective
    objective = replace(objective, mos=least_mos)
    return replace(objective, name="voice (G.114)", delay_s=_G114_S) if bounds == "g.114" else objective


def _limited(objective: Objective, word: str, stated: str) -> Objective:
    """Return an objective with the limit in `word` set; raises UsageError if `word` is not a limit."""
    limit = _LIMIT.fullmatch(word)
    if limit is None or (limit["figure"] == "mos") != (limit["sign"] == ">="):
        raise _wrong(stated)
    figure, value = limit["figure"], limit["value"]
    try:
        if figure in {"delay", "variation"}:
            seconds = _native.parse_duration(value) * 1e-12
            return replace(objective, delay_s=seconds) if figure == "delay" else replace(objective, variation_s=seconds)
        number = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        raise _wrong(stated) from None
    if figure == "loss" and 0 <= number <= 1:
        return replace(objective, loss=number)
    if figure == "mos" and 1 <= number <= 4.5:
        return replace(objective, mos=number)
    raise _wrong(stated)


def _wrong(stated: str) -> UsageError:
    """Return the error of an invalid target."""
    known = ", ".join(_CLASSES)
    return UsageError(
        f"`{stated}` is not a target; write one of {known}, none, or limits such as `delay<=80ms loss<=0.5% mos>=3.8`"
    )
