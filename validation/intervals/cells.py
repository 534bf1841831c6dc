"""Cells of the table: how often the intervals of studies contain the true value, and how often the run warns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from studies import REPLICATIONS, Row, Setting

from tailback.results.coverage import doubts
from tailback.results.intervals import mean_interval

SIZES = (3, 5, REPLICATIONS)
"""Numbers of replications."""
CONFIDENCE = 0.95
"""Level of the intervals."""
TOLERANCE = 0.02
"""Distance of the coverage from the level above which a cell is outside."""


@dataclass(frozen=True)
class Truth:
    """True value of a metric at a load."""

    system: str
    metric: str
    load: float
    value: float
    """The value with which intervals are compared, in the metric's unit."""
    closed_form: bool
    """`True` if the value is that of a closed form, `False` if it is the mean of the long runs."""
    lo: float
    """Lower end of the 95 % interval of the long runs."""
    hi: float
    """Upper end of that interval."""


@dataclass(frozen=True)
class Cell:
    """Counts over the studies of a metric with one load, length, warm-up and number of replications."""

    system: str
    metric: str
    load: float
    length: str
    warmup: str
    replications: int
    studies: int
    """Number of studies, without those that were refused."""
    refused: int
    """Number of studies that ended with an error since no warm-up was found; they have no interval."""
    covered: int
    """Number of studies whose interval contains the true value."""
    below: int
    """Number of studies whose whole interval is below it."""
    without: int
    """Number of studies whose interval has width 0, and covers its mean only, or is missing."""
    warned: int
    """Number of studies whose run gives the warning `doubtful-interval` about this metric."""

    @property
    def coverage(self) -> float:
        """Share of the studies whose interval contains the true value."""
        return self.covered / self.studies

    @property
    def is_outside(self) -> bool:
        """`True` if the coverage is outside 95 ± 2 %."""
        # Counts are whole numbers: 930 and 970 of 1000 are inside.
        return abs(self.covered - CONFIDENCE * self.studies) > TOLERANCE * self.studies + 1e-9

    @property
    def fires(self) -> bool:
        """`True` if the warning is given in more than half of the studies."""
        return 2 * self.warned > self.studies


def count(setting: Setting, studies: Iterable[list[Row] | None], known: Iterable[Truth]) -> list[Cell]:
    """Return the cells of the studies of a setting."""
    done = list(studies)
    ran = [rows for rows in done if rows is not None]
    truths = [truth for truth in known if (truth.system, truth.load) == (setting.system.name, setting.load)]
    values = {truth.metric: truth.value for truth in truths}
    found = []
    for metric in setting.system.metrics:
        for size in SIZES:
            value, key = values[metric.name], metric.measure
            intervals = [mean_interval([row[key] for row in rows[:size] if key in row], CONFIDENCE) for rows in ran]
            found.append(
                Cell(
                    setting.system.name,
                    metric.name,
                    setting.load,
                    setting.length,
                    setting.warmup,
                    size,
                    studies=len(ran),
                    refused=len(done) - len(ran),
                    covered=sum(interval.n > 1 and interval.lo <= value <= interval.hi for interval in intervals),
                    below=sum(interval.n > 1 and interval.hi < value for interval in intervals),
                    without=sum(interval.n < 2 or interval.lo == interval.hi for interval in intervals),
                    warned=sum(any(doubt.measure == key for doubt in doubts(rows[:size])) for rows in ran),
                )
            )
    return found
