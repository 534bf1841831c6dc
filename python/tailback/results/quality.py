"""Quality for users, computed from delay, delay variation and loss: speech, video, and classes of ITU-T Y.1541.

    report = tailback.run("edge.toml").reports[0]
    quality.speech(report, "voice").mos
    quality.service_class(report, "voice")

The run must measure delay variation (`[run] delay-variation = true`). docs/quality.md has the formulae.
"""

from __future__ import annotations

from dataclasses import dataclass

from tailback import _native
from tailback.results.report import Report

__all__ = ["Speech", "call", "service_class", "speech", "video", "violations"]


@dataclass(frozen=True, slots=True)
class Speech:
    """Quality of a call by the E-model (ITU-T G.107)."""

    rating: float
    """Rating R, at most 93.2; above 80 most users are satisfied, below 50 nearly all are dissatisfied."""
    mos: float
    """Mean opinion score, 1 to 4.5."""


def call(delay_s: float, loss: float = 0.0, *, burst_ratio: float = 1.0, codec: str = "g.711") -> Speech:
    """Return the quality of a call with a mouth-to-ear delay in seconds and a loss ratio (0 to 1).

    `burst_ratio` is the mean length of bursts of losses, divided by that of independent losses. The codec is `g.711`,
    `g.711-plc`, `g.723.1`, `g.729a` or `gsm-efr`; raises ValueError for others.
    """
    rating = _native.speech_rating(delay_s, loss, burst_ratio, codec)
    return Speech(rating, _native.mos(rating))


def speech(report: Report, group: str, *, terminal_s: float = 0.05, codec: str = "g.711") -> Speech:
    """Return the quality of the calls of a group of flows; raises KeyError if delay variation was not measured.

    The mouth-to-ear delay is the minimum delay, plus a play-out buffer of the 99th percentile of the delay variation,
    plus `terminal_s` for coding and packetisation in the terminals; it is at least the mean delay plus `terminal_s`. If
    delays vary, the 1 % of packets that arrive too late for the buffer count as lost.
    """
    row = report.variation(group)
    mean = row["delay"]["mean_s"] or 0.0
    late = 0.01 if row["pdv_p99_s"] > 0 else 0.0
    loss = report.loss(group)
    total = loss + (1 - loss) * late
    delay = row["min_s"] + row["pdv_p99_s"] + terminal_s
    return call(max(delay, mean + terminal_s), total, burst_ratio=row["burst_ratio"] or 1.0, codec=codec)


def video(report: Report, group: str, *, frame_rate: float = 30.0, codec: str = "h.264-vga") -> float:
    """Return the video quality of a group of flows by ITU-T G.1070, 1 to 5.

    Each flow is one stream, whose rate is the mean offered rate of the flows. `frame_rate` is in frames per second. The
    codec is `h.264-vga` or `mpeg-4-qvga`; raises ValueError for others.
    """
    rate = report.offered_bps(group) / len(report.flows(group))
    return _native.video_score(max(rate, 1.0), report.loss(group), frame_rate, codec)


def service_class(report: Report, group: str) -> int:
    """Return the strictest class of ITU-T Y.1541 that a group of flows meets, 0 to 5; class 5 has no limits.

    Raises KeyError if delay variation was not measured.
    """
    return _native.y1541_class(*_figures(report, group))


def violations(report: Report, group: str, class_: int) -> list[str]:
    """Return those of `delay`, `variation` and `loss` that exceed the limits of a class, 0 to 5, of ITU-T Y.1541.

    Raises KeyError if delay variation was not measured.
    """
    return _native.y1541_violations(class_, *_figures(report, group))


def _figures(report: Report, group: str) -> tuple[float, float, float]:
    # Mean delay, s, 99.9th percentile of the delay variation, s, and loss ratio of a group of flows.
    row = report.variation(group)
    return row["delay"]["mean_s"] or 0.0, row["pdv_p999_s"], report.loss(group)
