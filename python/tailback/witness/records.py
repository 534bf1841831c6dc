"""Packets that the guest's recorder has written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["RECORD", "arrivals"]

RECORD = np.dtype(
    [
        ("time_ns", "<i8"),
        ("source", "<u4"),
        ("number", "<u4"),
        ("port", "<u2"),
        ("id", "<u2"),
        ("bytes", "<u2"),
        ("payload", "<u2"),
    ]
)
"""A packet as `struct record` of traffic.c writes it."""


def arrivals(sent: Any, arrived: Any) -> Any:
    """Return the instants at which the packets of `sent` arrived, nanoseconds; -1 for those that did not.

    Both are arrays of `RECORD`.
    """
    # These header fields identify a packet on both sides: each retransmission of TCP has another `id`.
    keys = ["source", "port", "number", "id"]
    at = dict(zip(_rows(arrived, keys), arrived["time_ns"].tolist(), strict=True))
    return np.array([at.get(key, -1) for key in _rows(sent, keys)], dtype=np.int64)


def _rows(records: Any, keys: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Yield the values of the given fields for each record."""
    return zip(*(records[key].tolist() for key in keys), strict=True)
