"""Studies: a scenario at many points, run so that no finished replication is lost, and their results.

`document` reads the file, `design` chooses the points, `drive` runs them, `store` keeps the runs on disk, `results` has
intervals and differences, and `page` makes the report. `tune` searches for the cheapest settings that keep targets.
"""

from __future__ import annotations

from tailback.study.document import Cell, Study
from tailback.study.results import FailedRuns, Failure, Run, Setting, Sweep

__all__ = ["Cell", "FailedRuns", "Failure", "Run", "Setting", "Study", "Sweep"]
