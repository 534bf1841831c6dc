"""Graph of delay against goodput: the cloud of points of a class of traffic, its median and its 1-sigma ellipse.

K. Winstein and H. Balakrishnan, TCP ex Machina, SIGCOMM 2013; section 2.7 of RFC 7928.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

__all__ = ["Ellipse", "ellipse"]


@dataclass(frozen=True, slots=True)
class Ellipse:
    """Summary of a cloud of points (x, y): median, mean, and the ellipse of one standard deviation around the mean.

    The ellipse is the contour of the Gaussian distribution of maximum likelihood at a Mahalanobis distance of 1.
    """

    count: int
    """Number of points."""
    median: tuple[float, float]
    """Medians of x and of y."""
    mean: tuple[float, float]
    """Centre of the ellipse."""
    covariance: tuple[float, float, float]
    """Variance of x, covariance, and variance of y, with the divisor n."""

    @property
    def axes(self) -> tuple[float, float]:
        """Half axes of the ellipse, the larger first: roots of the eigenvalues of the covariance matrix."""
        xx, xy, yy = self.covariance
        middle, half = (xx + yy) / 2, math.hypot((xx - yy) / 2, xy)
        return math.sqrt(max(middle + half, 0.0)), math.sqrt(max(middle - half, 0.0))

    @property
    def angle(self) -> float:
        """Angle of the larger half axis to the x axis, radians, above -π/2 and at most π/2."""
        xx, xy, yy = self.covariance
        return 0.5 * math.atan2(2 * xy, xx - yy)

    def outline(self, points: int = 72) -> list[tuple[float, float]]:
        """Return points of the ellipse in order; the last equals the first."""
        (a, b), angle = self.axes, self.angle
        turns = [2 * math.pi * k / points for k in range(points + 1)]
        return [
            (
                self.mean[0] + a * math.cos(t) * math.cos(angle) - b * math.sin(t) * math.sin(angle),
                self.mean[1] + a * math.cos(t) * math.sin(angle) + b * math.sin(t) * math.cos(angle),
            )
            for t in turns
        ]

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "points": self.count,
            "median": list(self.median),
            "mean": list(self.mean),
            "half_axes": list(self.axes),
            "angle": self.angle,
        }


def ellipse(points: Sequence[tuple[float, float]]) -> Ellipse | None:
    """Return the summary of a cloud; `None`: it has no point."""
    if not points:
        return None
    xs, ys = [x for x, _ in points], [y for _, y in points]
    mx, my = fmean(xs), fmean(ys)
    return Ellipse(
        len(points),
        (median(xs), median(ys)),
        (mx, my),
        (
            fmean((x - mx) ** 2 for x in xs),
            fmean((x - mx) * (y - my) for x, y in points),
            fmean((y - my) ** 2 for y in ys),
        ),
    )
