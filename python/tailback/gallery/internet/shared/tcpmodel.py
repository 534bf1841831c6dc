"""TCP's rate at a given loss, by two published models, and the loss at which connections just fill a link.

The models assume random losses with the same probability for all connections, and windows that only losses limit. A
loss is a probability p with 0 < p < 1, a round-trip time (RTT) is positive; other values raise ZeroDivisionError or
ValueError, or give meaningless rates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import fsum, sqrt

__all__ = ["PERIODIC", "Response", "loss_needed", "pftk", "square_root", "timeout_s"]

PERIODIC = sqrt(1.5)
"""Constant C of the square-root law, for one acknowledgement per segment and losses at equal intervals: √(3/2)."""

Response = Callable[[float, float], float]
"""Model: segments per second that a connection sends, lost ones included, as a function of loss and RTT in s."""


def square_root(loss: float, round_trip_s: float) -> float:
    """Return the rate in segments per second by the square-root law, C / (RTT √p), which has no timeouts.

    M. Mathis, J. Semke, J. Mahdavi and T. Ott, ACM CCR 27(3), 1997; the thesis' slides use this law.
    """
    return PERIODIC / (round_trip_s * sqrt(loss))


def timeout_s(round_trip_s: float, least_s: float = 0.2) -> float:
    """Return the RTO in s assumed for an RTT in s: the larger of 4 RTT and the minimum RTO `least_s`.

    The factor is that of RFC 5348, section 4.3.
    """
    return max(4 * round_trip_s, least_s)


def pftk(loss: float, round_trip_s: float, first_timeout_s: float | None = None, b: int = 1) -> float:
    """Return the rate of Reno in segments per second, timeouts included.

    The receiver acknowledges every `b` segments (b >= 1). `first_timeout_s` is the RTO before any back-off, in s;
    `None`: `timeout_s(round_trip_s)`. J. Padhye, V. Firoiu, D. Towsley and J. Kurose, SIGCOMM 1998: the full model,
    without a limit by the receive window.
    """
    p = loss
    first = timeout_s(round_trip_s) if first_timeout_s is None else first_timeout_s
    # `w` is the mean window at a loss, `q` the probability that the loss leads to a timeout.
    offset = (2 + b) / (3 * b)
    w = offset + sqrt(8 * (1 - p) / (3 * b * p) + offset**2)
    q: float = min(1, (1 - (1 - p) ** 3) * (1 + (1 - p) ** 3 * (1 - (1 - p) ** (w - 3))) / (1 - (1 - p) ** w))
    f = 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
    sent = (1 - p) / p + w + q / (1 - p)
    cycle_s: float = round_trip_s * (b * w / 2 + 1) + q * first * f / (1 - p)
    return sent / cycle_s


def loss_needed(response: Response, round_trips_s: Sequence[float], carried: float, unresponsive: float = 0.0) -> float:
    """Return the loss p at which connections with the given RTTs deliver `carried` segments per second.

    Of the segments that a connection sends, the share 1 - p is delivered. The same share is delivered of the
    `unresponsive` segments per second of additional senders, which losses do not slow. The search is by bisection
    between 1e-6 and 1 - 1e-6; if no loss in between fits, the result is the nearer end.
    """

    def delivered(loss: float) -> float:
        return (1 - loss) * fsum([unresponsive, *(response(loss, round_trip) for round_trip in round_trips_s)])

    low, high = 1e-6, 1 - 1e-6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delivered(middle) > carried else (low, middle)
    return (low + high) / 2
