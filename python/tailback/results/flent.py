"""Export of samples as data files of flent (`.flent.gz`, version 4 of its format).

flent plots such files with the data sets of its test `tcp_nup`: the goodput of each flow, their sum and average in
Mbit/s, and a round-trip time in ms. A file has the format of flent's `ResultSet.serialise`.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tailback.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FORMAT", "document", "encoded", "write"]

FORMAT = 4
"""Version of flent's file format."""

_Values = dict[tuple[str, str, str], list[float | None]]
"""Values by scope, name and quantity."""
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""Date at which every run is said to start; it is fixed, so that equal runs give equal files."""


def document(series: pl.DataFrame, title: str, *, replication: int = 0) -> dict[str, object]:
    """Return the content of a data file for one replication; `series` is the table `series` of the run.

    The throughput of a flow or group at a sample is its mean over the interval that ends there. Flows are those of the
    record "throughput-by-flow", or else the groups. Series that flent does not know have names that begin with
    `tailback`.

    Raises:
        UsageError: The run has no samples, or no such replication.

    """
    import polars as pl

    own = series.filter(pl.col("replication") == replication)
    if own.is_empty():
        raise UsageError(f"replication {replication} has no samples: set run.sample, such as sample = '100ms'")
    times = own["time_s"].unique().sort().to_list()
    values: _Values = {
        (str(scope), str(name), str(quantity)): rows["value"].to_list()
        for (scope, name, quantity), rows in own.group_by("scope", "name", "quantity", maintain_order=True)
    }
    results: dict[str, list[float | None]] = {}
    about: dict[str, dict[str, object]] = {}

    def add(name: str, column: Sequence[float | None], unit: str, what: str) -> None:
        clean = [None if value is None or not math.isfinite(value) else value for value in column]
        results[name] = clean
        known = [value for value in clean if value is not None]
        mean = sum(known) / len(known) if known else None
        about[name] = {"UNITS": unit, "MEAN_VALUE": mean, "RUNNER": "tailback", "DESCRIPTION": what}

    for number, (name, quantity, counter) in enumerate(_throughputs(values), start=1):
        rates = _rates(times, counter)
        add(f"TCP upload::{number}", rates, "Mbits/s", f"{quantity} of {name}")
    uploads = [column for name, column in results.items() if name.startswith("TCP upload::")]
    sums = [sum(value or 0.0 for value in row) for row in zip(*uploads, strict=True)]
    add("TCP upload sum", sums, "Mbits/s", "sum of all")
    add("TCP upload avg", [value / len(uploads) for value in sums], "Mbits/s", "mean of all")
    rtts = [
        column for (scope, _, quantity), column in values.items() if (scope, quantity) == ("flow", "smoothed_rtt_s")
    ]
    if rtts:
        means = [_mean([1e3 * value for value in row if value]) for row in zip(*rtts, strict=True)]
        add("Ping (ms) ICMP", means, "ms", "mean of the smoothed round-trip times of the probed flows")
    for (scope, name, quantity), column in values.items():
        if (scope, quantity) == ("port", "queue_bytes") and any(column):
            add(f"tailback queue (bytes)::{name}", column, "bytes", f"queue of {name} at the sample")
    start = _EPOCH.timestamp()
    raw = {
        name: [{"t": start + t, "val": v} for t, v in zip(times, column, strict=True) if v is not None]
        for name, column in results.items()
    }
    date = _EPOCH.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    step = times[1] - times[0] if len(times) > 1 else times[0]
    metadata = {
        "NAME": "tcp_nup",
        "TITLE": title or "tailback",
        "NOTE": "simulated by Tailback",
        "TIME": date,
        "T0": date,
        "DATA_FILENAME": "tailback.flent.gz",
        "HOST": "simulation",
        "HOSTS": ["simulation"],
        "LOCAL_HOST": "tailback",
        "LENGTH": times[-1],
        "TOTAL_LENGTH": times[-1],
        "STEP_SIZE": step,
        "DELAY": 0,
        "IP_VERSION": 4,
        "FLENT_VERSION": "2.3.0",
        "TEST_PARAMETERS": {"upload_streams": str(len(uploads))},
        "SERIES_META": about,
    }
    return {"version": FORMAT, "metadata": metadata, "x_values": times, "results": results, "raw_values": raw}


def encoded(content: dict[str, object]) -> bytes:
    """Return the content of a file: JSON compressed by gzip, without a date."""
    return gzip.compress(json.dumps(content, indent=1, sort_keys=True).encode(), mtime=0)


def write(content: dict[str, object], path: str | PathLike[str]) -> Path:
    """Write a data file and return its path.

    Raises UsageError if its name does not end in `.flent.gz`, and OutputError if it cannot be written.
    """
    from tailback.results.directory import write_file

    target = Path(path)
    if not target.name.endswith(".flent.gz"):
        raise UsageError(f"the name of {target} does not end in .flent.gz")
    write_file(target, encoded(content))
    return target


def _throughputs(values: _Values) -> list[tuple[str, str, list[float | None]]]:
    """Return (name, quantity, counter of bytes) of each sampled flow, or of each group if no flow was sampled.

    The quantity is "goodput" if its counter was sampled, otherwise "throughput".
    """
    found: list[tuple[str, str, list[float | None]]] = []
    for scope in ("flow", "group"):
        for (where, name, quantity), counter in values.items():
            if where == scope and quantity == "delivered_bytes":
                goodput = values.get((scope, name, "goodput_bytes"))
                found.append((name, "goodput" if goodput else "throughput", goodput or counter))
        if found:
            break
    return found


def _rates(times: Sequence[float], counter: Sequence[float | None]) -> list[float | None]:
    """Return the rate of a counter of bytes in each interval that ends at one of `times`, Mbit/s.

    The first begins at 0.
    """
    before = [(0.0, 0.0), *((t, v or 0.0) for t, v in zip(times, counter, strict=True))]
    return [8e-6 * ((v or 0.0) - v0) / (t - t0) for (t0, v0), t, v in zip(before, times, counter, strict=False)]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
