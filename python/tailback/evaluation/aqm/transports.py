"""Section 5: transport protocols."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from tailback import _native
from tailback.evaluation.aqm import choices
from tailback.evaluation.aqm.network import bulk, dumbbell, friendly
from tailback.evaluation.case import Case, Entry, missing, run
from tailback.evaluation.choice import PACKET, Length
from tailback.evaluation.criteria import (
    Cloud,
    completion,
    completion_p99,
    delay_p99,
    goodput,
    loss,
    ratio,
    utilisation,
    waiting,
)
from tailback.scenario import Scenario, Table, Value, kind, source

__all__ = ["entries"]

_RTT = float(choices.RTT.value)


def entries() -> Iterable[Entry]:
    """Return the entries of section 5."""
    yield run("5.1.1", _single("5.1.1", "one TCP-friendly flow", {"initial_window": choices.SINGLE_WINDOW.value}))
    yield run("5.1.2", *(_windows(window) for window in choices.WINDOWS.value))
    aggressive = {"congestion_control": {"kind": choices.AGGRESSIVE.value}}
    yield run("5.2", _single("5.2", "one aggressive flow", aggressive))
    yield run("5.3", _alone(), _beside())
    yield _scavenger()


def _single(key: str, title: str, transport: Mapping[str, Value]) -> Case:
    return Case(
        key,
        title,
        lambda discipline, length: bulk(
            dumbbell(discipline, length.duration_s, length.warmup_s, {"a": _RTT}), "bulk", "a", transport=transport
        ),
        (
            goodput("bulk", "goodput"),
            waiting("bulk", _RTT, "queueing delay"),
            delay_p99("bulk", _RTT, "99 % queueing delay"),
            loss("bulk", label="packet loss"),
            utilisation(),
        ),
        (Cloud("bulk", _RTT, "bulk TCP"),),
    )


def _windows(window: int) -> Case:
    def build(discipline: Mapping[str, Value], length: Length) -> Scenario:
        made = bulk(dumbbell(discipline, length.duration_s, length.warmup_s, {"a": _RTT}), "bulk", "a")
        size = f"{choices.TRANSFER.value * 1460}B"
        return made.flow(
            "short",
            "send-a",
            "recv-a",
            # The application-limited flow starts when the other one has reached its steady state.
            start=f"{length.warmup_s}s",
            count=4,
            application=kind("transfers", size=kind("fixed", size=size), interval=f"{choices.TRANSFER_GAP.value}s"),
            transport=friendly(initial_window=window),
        )

    return Case(
        f"5.1.2 initial window {window}",
        f"a long flow, and transfers with an initial window of {window}",
        build,
        (
            completion("short", "completion", "completion time of a transfer"),
            completion_p99("short", "completion_p99", "99 % completion time of a transfer"),
            loss("short", label="packet loss, transfers"),
            goodput("bulk", "goodput, long flow"),
            waiting("bulk", _RTT, "queueing delay, long flow"),
        ),
        (Cloud("bulk", _RTT, "long flow"), Cloud("short", _RTT, "transfers")),
    )


def _unresponsive(made: Scenario, rate_mbps: float) -> Scenario:
    model = source("cbr", rate=f"{rate_mbps:g}Mbit/s", packet=f"{PACKET.value}B")
    return made.flow("unresponsive", "send-a", "recv-a", model)


def _alone() -> Case:
    return Case(
        "5.3 alone",
        "one unresponsive flow",
        lambda discipline, length: _unresponsive(
            dumbbell(discipline, length.duration_s, length.warmup_s, {"a": _RTT}), choices.UNRESPONSIVE.value
        ),
        (
            goodput("unresponsive", "goodput", None),
            waiting("unresponsive", _RTT, "queueing delay"),
            loss("unresponsive", label="packet loss", better=None),
            utilisation(),
        ),
        (Cloud("unresponsive", _RTT),),
    )


def _beside() -> Case:
    return Case(
        "5.3 with TCP",
        "an unresponsive flow and a TCP-friendly one",
        lambda discipline, length: bulk(
            _unresponsive(dumbbell(discipline, length.duration_s, length.warmup_s, {"a": _RTT}), choices.BESIDE.value),
            "friendly",
            "a",
        ),
        (
            goodput("friendly", "goodput, TCP"),
            goodput("unresponsive", "goodput, unresponsive", None),
            waiting("friendly", _RTT, "queueing delay, TCP"),
            loss("friendly", label="packet loss, TCP"),
        ),
        (Cloud("friendly", _RTT, "TCP"), Cloud("unresponsive", _RTT)),
    )


def _scavenger() -> Entry:
    name = choices.SCAVENGER.value
    if name not in json.loads(_native.names())["congestion-controls"]:
        return missing("5.4", f"this version of Tailback has no congestion control `{name}`")
    control: Table = {
        "kind": name,
        "target": f"{choices.SCAVENGER_TARGET.value}ms",
        "gain": choices.SCAVENGER_GAIN.value,
    }
    case = Case(
        "5.4",
        "a less-than-best-effort flow and a TCP-friendly one",
        lambda discipline, length: bulk(
            bulk(dumbbell(discipline, length.duration_s, length.warmup_s, {"a": _RTT}), "friendly", "a"),
            "scavenger",
            "a",
            transport={"congestion_control": control},
        ),
        (
            goodput("friendly", "goodput, TCP"),
            goodput("scavenger", "goodput, less than best effort", None),
            ratio("scavenger", "friendly", "ratio", "goodput, less than best effort / TCP"),
            waiting("friendly", _RTT, "queueing delay, TCP"),
            utilisation(),
        ),
        (Cloud("friendly", _RTT, "TCP"), Cloud("scavenger", _RTT, "less than best effort")),
    )
    return run("5.4", case, note="an AQM that keeps the queue below the target of the flow removes its low priority")
