"""Long-range dependence of a time series: the variance-time plot and its Hurst parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["fitted_slope", "hurst", "variance_time"]


def variance_time(series: Sequence[float], blocks: Sequence[int]) -> list[float]:
    """Return the variance of the means of blocks of m values, relative to the square of the mean, for each m.

    For independent values it falls as 1/m; for a self-similar process of Hurst parameter H as m^(2H-2) (W. Leland, M.
    Taqqu, W. Willinger and D. Wilson, IEEE/ACM Transactions on Networking 2(1), 1994, section III).
    """
    sums = [0.0]
    for value in series:
        sums.append(sums[-1] + value)
    mean = sums[-1] / len(series)
    found = []
    for m in blocks:
        count = len(series) // m
        means = [(sums[(k + 1) * m] - sums[k * m]) / m for k in range(count)]
        middle = sum(means) / count
        found.append(sum((value - middle) ** 2 for value in means) / (count - 1) / mean**2)
    return found


def fitted_slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the slope of the least-squares line through points on logarithmic axes; `x` and `y` are positive."""
    across, up = [math.log(value) for value in x], [math.log(value) for value in y]
    middle_x, middle_y = sum(across) / len(across), sum(up) / len(up)
    return sum((a - middle_x) * (b - middle_y) for a, b in zip(across, up, strict=True)) / sum(
        (a - middle_x) ** 2 for a in across
    )


def hurst(series: Sequence[float], blocks: Sequence[int]) -> float:
    """Return the Hurst parameter, 1 + slope/2 of the variance-time plot over these block lengths."""
    return 1 + fitted_slope(blocks, variance_time(series, blocks)) / 2
