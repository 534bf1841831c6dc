"""Systems whose intervals are tried: scenarios with a load, and the closed forms of true values.

The mean packet of the queues takes 1 ms on the link, so that times are in mean transmission times too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import tailback as tb
from tailback.results.metrics import Measure
from tailback.scenario import Scenario

LOADS = (0.5, 0.8, 0.95)
LENGTHS = {"short": 2_000, "long": 20_000}
"""Durations of short and long runs, warm-up included, as multiples of the mean transmission time of what arrives."""
ROOM = 10
"""Packets for which the queue with losses has room, the one in transmission included."""
RATES = (1, 2, 3, 4)
"""Shares of the four TCP connections, as multiples of the smallest."""
_MEAN_S = 1e-3
"""Mean transmission time of a packet of the queues, s."""
_WRITE_BYTES = 3000
"""Mean size of a write to a TCP connection."""
_SEGMENT, _HEADER = 1448, 52
_BOTTLENECK_BPS = 10e6


def mm1_sojourn(load: float, mean_service: float) -> float:
    """Return the mean time in M/M/1, S/(1 - load); the time has an exponential distribution (Kleinrock 1975, 5.9)."""
    return mean_service / (1 - load)


def mm1_quantile(load: float, mean_service: float, share: float) -> float:
    """Return the quantile of the time in M/M/1 that a share of the packets does not exceed."""
    return -math.log1p(-share) * mm1_sojourn(load, mean_service)


def mm1k_loss(load: float, room: int) -> float:
    """Return the loss of M/M/1/K, load^K over the sum of load^i from 0 to K (Kleinrock 1975, equation 3.43)."""
    return load**room / math.fsum(load**i for i in range(room + 1))


def jain(rates: tuple[int, ...]) -> float:
    """Return Jain's index of rates, which TCP connections with a total load below 1 keep in the long run."""
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


@dataclass(frozen=True)
class Metric:
    """A metric under trial."""

    name: str
    """Name in the table."""
    measure: Measure
    closed_form: Callable[[float], float] | None
    """Returns the true value at a load; `None`: there is no closed form, and runs 1000 times as long give it."""


@dataclass(frozen=True)
class System:
    """A network with a load."""

    name: str
    unit_s: float
    """Mean transmission time of what arrives, a packet or a write, s."""
    scenario: Callable[[float], Scenario]
    """Returns the scenario with this load, without duration and warm-up."""
    metrics: tuple[Metric, ...]
    needed: tuple[Measure, ...] = ()
    """Further measures, which the warning uses."""


def _queue(load: float, buffer: str) -> Scenario:
    framing = {"mtu": "65000B", "header": "0B", "min-frame": "0B", "overhead": "0B"}
    source = tb.source("poisson", packet="1000B", sizes="exponential", rate=f"{load * 8e6:.0f}bit/s")
    return (
        tb.Scenario(duration="1s", framing=framing, buffer=buffer)
        .host("s")
        .host("d")
        .switch("q")
        .link(["s", "q"], rate="1Tbit/s")
        .link(["q", "d"], rate="8Mbit/s")
        .flow("data", "s", "d", source)
    )


def _connections(load: float) -> Scenario:
    made = (
        tb.Scenario(duration="1s", framing="none", buffer="unlimited")
        .host("s")
        .host("t")
        .switch("r", ports={"t": {"buffer": "60packets"}})
        .link(["s", "r"], rate="1Gbit/s", delay="1ms")
        .link(["r", "t"], rate="10Mbit/s", delay="4ms")
    )
    # The load counts headers of full segments; acknowledgements take the other direction.
    payload = load * _BOTTLENECK_BPS * _SEGMENT / (_SEGMENT + _HEADER)
    for share in RATES:
        rate = f"{payload * share / sum(RATES):.0f}bit/s"
        source = tb.source("poisson", packet=f"{_WRITE_BYTES}B", sizes="exponential", rate=rate)
        made = made.flow(f"f{share}", "s", "t", source, transport=tb.tcp(segment=f"{_SEGMENT}B", header=f"{_HEADER}B"))
    return made


_DATA = "data"
SYSTEMS = (
    System(
        f"M/M/1/{ROOM}",
        _MEAN_S,
        lambda load: _queue(load, f"{ROOM - 1}packets"),
        (Metric("loss", Measure("group", _DATA, "loss"), lambda load: mm1k_loss(load, ROOM)),),
    ),
    System(
        "M/M/1",
        _MEAN_S,
        lambda load: _queue(load, "unlimited"),
        (
            Metric("mean", Measure("group", _DATA, "delay"), lambda load: mm1_sojourn(load, _MEAN_S)),
            Metric("p99", Measure("group", _DATA, "delay_p99"), lambda load: mm1_quantile(load, _MEAN_S, 0.99)),
        ),
    ),
    System(
        "TCP",
        _WRITE_BYTES * (_SEGMENT + _HEADER) / _SEGMENT * 8 / _BOTTLENECK_BPS,
        _connections,
        (
            Metric("completion", Measure("group", f"f{RATES[-1]}", "completion"), None),
            Metric("Jain", Measure("total", "", "jain"), lambda _: jain(RATES)),
        ),
        (Measure("group", f"f{RATES[-1]}", "completion_p99"),),
    ),
)
