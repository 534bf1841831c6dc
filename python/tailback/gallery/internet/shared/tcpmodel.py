"""TCP's rate at a given loss, by two published models, and the loss at which connections just fill a link.

The models assume random losses with the same probability for all connections, and windows that only losses limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import fsum, sqrt

__all__ = ["PERIODIC", "Response", "loss_needed", "pftk", "square_root", "timeout_s"]

PERIODIC = sqrt(1.5)
"""Constant C of the square-root law for one acknowledgement per segment and equally spaced losses."""

Response = Callable[[float, float], float]
"""Model: segments per second that a connection sends, lost ones included, at a loss (0 to 1) and a round trip in s."""


def square_root(loss: float, round_trip_s: float) -> float:
    """Return the rate in segments per second by the law on the thesis' slides: C / (RTT √p), without timeouts.

    M. Mathis, J. Semke, J. Mahdavi and T. Ott, ACM CCR 27(3), 1997.
    """
    return PERIODIC / (round_trip_s * sqrt(loss))


def timeout_s(round_trip_s: float, least_s: float = 0.2) -> float:
    """Return the RTO in s assumed for a round trip: 4 RTT (RFC 5348 section 4.3), or `least_s`, the minimum RTO."""
    return max(4 * round_trip_s, least_s)


def pftk(loss: float, round_trip_s: float, first_timeout_s: float | None = None, b: int = 1) -> float:
    """Return the rate of Reno in segments per second, timeouts included; an acknowledgement is sent for `b` segments.

    J. Padhye, V. Firoiu, D. Towsley and J. Kurose, SIGCOMM 1998, equation 30, without a limit by the receive window.
    """
    p = loss
    first = timeout_s(round_trip_s) if first_timeout_s is None else first_timeout_s
    third = (2 + b) / (3 * b)
    w = third + sqrt(8 * (1 - p) / (3 * b * p) + third**2)
    q: float = min(1, (1 - (1 - p) ** 3) * (1 + (1 - p) ** 3 * (1 - (1 - p) ** (w - 3))) / (1 - (1 - p) ** w))
    f = 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
    sent = (1 - p) / p + w + q / (1 - p)
    lasts: float = round_trip_s * (b * w / 2 + 1) + q * first * f / (1 - p)
    return sent / lasts


def loss_needed(response: Response, round_trips_s: Sequence[float], carried: float, unresponsive: float = 0.0) -> float:
    """Return the loss p (0 to 1) at which connections with these round trips deliver `carried` segments per second.

    Of the segments that a connection sends, the share 1 - p is delivered. The same holds for the `unresponsive`
    segments per second of additional senders, which losses do not slow.
    """

    def delivered(loss: float) -> float:
        return (1 - loss) * fsum([unresponsive, *(response(loss, round_trip) for round_trip in round_trips_s)])

    low, high = 1e-6, 1 - 1e-6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delivered(middle) > carried else (low, middle)
    return (low + high) / 2
