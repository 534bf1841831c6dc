"""Long-range dependence of a time series: the variance-time plot and its Hurst parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["fitted_slope", "hurst", "variance_time"]


def variance_time(series: Sequence[float], blocks: Sequence[int]) -> list[float]:
    """Return the variance of the means of blocks of m values, divided by the squared mean of the series, for each m.

    `blocks` are the values of m. For independent values the variance falls as 1/m; for a self-similar process of Hurst
    parameter H as m^(2H-2) (W. Leland, M. Taqqu, W. Willinger and D. Wilson, IEEE/ACM Transactions on Networking 2(1),
    1994, section III). Raises ZeroDivisionError if the mean is 0 or the series has fewer than two blocks of a length.
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
    """Return the slope of the least-squares line through points on logarithmic axes.

    Raises ValueError if a coordinate is not positive, and ZeroDivisionError unless `x` has two different values.
    """
    across, up = [math.log(value) for value in x], [math.log(value) for value in y]
    middle_x, middle_y = sum(across) / len(across), sum(up) / len(up)
    return sum((a - middle_x) * (b - middle_y) for a, b in zip(across, up, strict=True)) / sum(
        (a - middle_x) ** 2 for a in across
    )


def hurst(series: Sequence[float], blocks: Sequence[int]) -> float:
    """Return the Hurst parameter 1 + s/2, where s is the slope of the variance-time plot.

    `blocks` are the block lengths of the plot. Raises as `variance_time` and `fitted_slope`.
    """
    return 1 + fitted_slope(blocks, variance_time(series, blocks)) / 2
