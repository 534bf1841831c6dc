"""Global synchronisation, measured by the share of sources that reduce their congestion windows together."""

from __future__ import annotations

from statistics import fmean

from tailback.results.report import Report

__all__ = ["backoff_shares", "mean_share", "synchronisation_index"]

BACKED_OFF = 0.8
"""Ratio of a sample of a window to the sample before, below which the window counts as reduced."""


def backoff_shares(report: Report, epoch_s: float, wanted: str = "") -> list[float]:
    """Return the share of the sources, 0 to 1, that reduce their windows in each congestion epoch after the warm-up.

    An epoch begins when a source reduces its window. Its length is `epoch_s`, the round-trip time with the longest
    queue, plus the sample interval, since a reduction is observed up to one interval late. Sources are the flows with
    `probe = true` whose names begin with `wanted`. The scenario must set `run.sample`.
    """
    series = report.data["series"]
    assert series is not None
    times = series["time_s"]
    found = [series["transports"][name] for name in series["transports"] if name.startswith(wanted)]
    cuts: list[tuple[float, int]] = []
    for source, values in enumerate(found):
        window = values["window_segments"]
        cuts += [
            (at, source)
            for index, at in enumerate(times)
            if index and at >= report.data["warmup_s"] and window[index] < BACKED_OFF * window[index - 1]
        ]
    length = epoch_s + times[1] - times[0]
    epochs: list[set[int]] = []
    end = float("-inf")
    for at, source in sorted(cuts):
        if at > end:
            end = at + length
            epochs.append(set())
        epochs[-1].add(source)
    return [len(sources) / len(found) for sources in epochs]


def synchronisation_index(shares: list[float]) -> float:
    """Return the share of epochs, 0 to 1, in which more than half of the sources reduce their windows.

    NaN: there is no epoch.
    """
    return fmean(share > 0.5 for share in shares) if shares else float("nan")


def mean_share(shares: list[float]) -> float:
    """Return the mean over epochs of the share of sources that reduce their windows, %; NaN: there is no epoch."""
    return 100 * fmean(shares) if shares else float("nan")
