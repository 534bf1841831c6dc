"""Scenarios: documents built in Python or loaded from files, kinds, quantities with units, partitions and warnings."""

from __future__ import annotations

from tailback.scenario.document import Precision, Scenario, Variant, load
from tailback.scenario.values import (
    Table,
    Value,
    check_depth,
    copied,
    discipline,
    kind,
    read_document,
    source,
    tcp,
    toml_value,
)

__all__ = [
    "Precision",
    "Scenario",
    "Table",
    "Value",
    "Variant",
    "check_depth",
    "copied",
    "discipline",
    "kind",
    "load",
    "read_document",
    "source",
    "tcp",
    "toml_value",
]
