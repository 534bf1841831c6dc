"""Tables of reports for Polars and Parquet.

The suffix of a column is its unit: `_packets`, `_bytes`, `_s`, `_bps`, or `_ratio` for a ratio from 0 to 1. Exceptions
are `packets` of drops and `delay_count` (packets), and `window`, `ssthresh` and sequence numbers (segments).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast, get_args

from tailback.results.metrics import METRICS, measures
from tailback.results.report import Report
from tailback.results.rows import Counter, DelayRow

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TABLES", "TABLE_NAMES", "TableName", "build", "parquet_metadata", "unfit", "units"]

Row = dict[str, object]
"""Values of a row by column; a column without an entry is null."""

TableName = Literal[
    "flows",
    "transports",
    "applications",
    "classes",
    "drops",
    "ports",
    "nodes",
    "transfers",
    "transport_changes",
    "queue_by_flow",
    "delays",
    "series",
    "metrics",
]
TABLE_NAMES: tuple[TableName, ...] = get_args(TableName)
"""Names of the tables of a result and of a run directory, in the order in which they are written."""

_COUNTERS = ("offered", "delivered", "dropped", "in_network")
_DELAYS = ("mean_s", "max_s", "p50_s", "p90_s", "p99_s", "p999_s")
_COUNTS = {f"{c}_{u}": int for c in _COUNTERS for u in ("packets", "bytes")}
_DELAY_COLUMNS = {"delay_count": int, **{f"delay_{name}": float for name in _DELAYS}}
_RUN = {"replication": int, "seed": int}

TABLES: dict[str, dict[str, type]] = {
    "flows": {
        **_RUN,
        "flow": str,
        "group": str,
        "from": str,
        "to": str,
        "class": int,
        **_COUNTS,
        "reordered_packets": int,
        **_DELAY_COLUMNS,
    },
    "transports": {
        **_RUN,
        "flow": str,
        "group": str,
        "goodput_bytes": int,
        "segments": int,
        "retransmissions": int,
        "timeouts": int,
        "fast_retransmits": int,
        "ecn_reductions": int,
        "spurious": int,
        "probes": int,
        "syn_timeouts": int,
        "acks_sent": int,
        "acks_lost": int,
        "window": float,
        "ssthresh": float,
        "srtt_s": float,
        **{f"completion_{name}": kind for name, kind in (("count", int), ("mean_s", float), ("max_s", float))},
    },
    "applications": {
        **_RUN,
        "group": str,
        "begun": int,
        "failed": int,
        "refused": int,
        **{
            f"{what}_{name}": int if name == "count" else float
            for what in ("time", "exchange")
            for name in ("count", *_DELAYS)
        },
        **{f"slowdown_{name}": float for name in ("mean", "min", "max", "p50", "p90", "p95", "p99")},
        "completed_count": int,
        "completed_mean_s": float,
    },
    "classes": {**_RUN, "class": int, **_COUNTS, **_DELAY_COLUMNS},
    "drops": {**_RUN, "flow": str, "kind": str, "where": str, "reason": str, "packets": int},
    "ports": {
        **_RUN,
        "port": str,
        "node": str,
        "to": str,
        "class": int,
        "rate_bps": int,
        "utilisation_ratio": float,
        "stopped_s": float,
        "slowed_s": float,
        "held_s": float,
        "notifications_sent": int,
        "notifications_lost": int,
        "notifications_received": int,
        **{f"{c}_{u}": int for c in ("lost_on_line", "refused_at_input") for u in ("packets", "bytes")},
        **{f"{c}_{u}": int for c in ("arrived", "sent", "dropped", "queued") for u in ("packets", "bytes")},
        "marked_packets": int,
        "queue_max_bytes": int,
        "queue_mean_bytes": float,
    },
    "nodes": {
        **_RUN,
        "node": str,
        "kind": str,
        "queue_max_bytes": int,
        "mean_bytes": float,
        "dropped_packets": int,
    },
    "transfers": {
        **_RUN,
        "flow": str,
        "group": str,
        "start_s": float,
        "size_bytes": int,
        "completion_s": float,
        "idle_s": float,
        "slowdown": float,
        "retransmissions": int,
    },
    "transport_changes": {
        **_RUN,
        "flow": str,
        "group": str,
        "time_s": float,
        "window_segments": float,
        "threshold_segments": float,
        "outstanding_segments": int,
        "smoothed_rtt_s": float,
        "state": str,
        "acknowledged_sequence": int,
        "next_sequence": int,
    },
    "queue_by_flow": {
        **_RUN,
        "time_s": float,
        "port": str,
        "flow": str,
        "group": str,
        "waiting_packets": int,
        "waiting_bytes": int,
    },
    "delays": {**_RUN, "scope": str, "name": str, "delay_s": float, "delivered_packets": int},
    "series": {**_RUN, "time_s": float, "scope": str, "name": str, "quantity": str, "value": float},
    "metrics": {**_RUN, "scope": str, "name": str, "metric": str, "unit": str, "value": float},
}
"""Columns of each table, with their types.

There is a row per replication and flow (`flows`), flow with a transport (`transports`), group that an application
drives (`applications`), class (`classes`), flow, kind, port and reason of drops (`drops`), port and class (`ports`),
node (`nodes`), sampled value (`series`) or metric of the summary (`metrics`).

The tables `transfers`, `transport_changes`, `queue_by_flow` and `delays` have rows only if `run.record` names them. The
rows of the first three are of the whole run, warm-up included. `transfers` has a row for each transfer: `completion_s`
is the time from the write to the arrival of the last byte, null if the transfer was not complete at the end; `idle_s`
is the completion time over the idle path, and `slowdown` is `completion_s` divided by `idle_s`. `transport_changes` has
a row for each change of a transport's sender, with the values after the change, and `queue_by_flow` one for each
sample, port and flow with waiting packets; names of flows of acknowledgements end in ` (ack)`. `delays` has the number
of packets generated after the warm-up by their delay: `delay_s` is the upper end of a bucket, whose delays are above
the `delay_s` of the row before.

The `kind` of a drop is `data`, `data of the warm-up` (generated during the warm-up, lost after it), `acknowledgement`,
`handshake` or `handshake of the warm-up` (SYN and SYN-ACK packets), or `control frame`, which has no flow. In
`ports`, `utilisation_ratio`, `stopped_s`, `slowed_s`, `held_s` and the notifications are those of the whole port,
repeated for each class.

Columns with a common prefix are statistics of one set of times: in `transports`, `completion_*` of the times from a
write to the arrival of its last byte; in `applications`, `time_*` of the completion times of pages or transfers that
were begun after the warm-up, `exchange_*` of the times of single requests with their responses, and `completed_*` of
the completion times of pages or transfers that ended after the warm-up. `*_count` is the number of the times, so
`delay_count` is a number of packets, and the others are numbers of writes, pages, transfers or requests.
"""

_BOOLEANS = {"stopped": "stopped_ratio", "held": "held_ratio"}
"""Names of quantities whose samples are booleans, by the key in the report; they are stored as 0 and 1."""

_SUFFIXES = {"packets": "packet", "bytes": "B", "s": "s", "bps": "bit/s", "ratio": "1"}
"""Units of columns by the last word of the name."""


def units(table: str) -> dict[str, str]:
    """Return the unit of each column that has one: `packet`, `B`, `s`, `bit/s` or `1`.

    Raises KeyError if there is no such table. Numbers of segments, writes, pages and other things that are not packets
    have no unit.
    """
    found = {name: unit for name in TABLES[table] if (unit := unit_of(name)) is not None}
    return found | ({"delay_count": "packet"} if "delay_count" in TABLES[table] else {})


def unit_of(name: str) -> str | None:
    """Return the unit by the suffix of a column or quantity; `None`: it has none."""
    return _SUFFIXES.get(name.rsplit("_", 1)[-1])


def build(table: str, reports: Sequence[Report], base_seed: int) -> pl.DataFrame:
    """Return a table of some replications, in their order; raises KeyError if `table` is not a key of `TABLES`.

    Replication k has the seed `base_seed` + k. Values that a report lacks are null.
    """
    import polars as pl

    columns = TABLES[table]
    data: dict[str, list[object]] = {name: [] for name in columns}
    for report in reports:
        run: Row = {"replication": report.seed - base_seed, "seed": report.seed}
        if table in _COLUMNS:
            recorded = _COLUMNS[table](report)
            length = len(next(iter(recorded.values()), ()))
            for name, column in data.items():
                column.extend([run[name]] * length if name in run else recorded.get(name, ()))
            continue
        for row in _ROWS[table](report):
            for name, column in data.items():
                column.append(run[name] if name in run else row.get(name))
    return pl.DataFrame(data, schema=_schema(table))


def _schema(table: str) -> pl.Schema:
    import polars as pl

    kinds = {int: pl.Int64(), float: pl.Float64(), str: pl.String()}
    return pl.Schema({name: kinds[kind] for name, kind in TABLES[table].items()})


def unfit(table: str, frame: pl.DataFrame) -> str:
    """Return the first reason why a data frame cannot be the given table, in words; empty if it can.

    Reasons are a column that is missing or has a wrong type, a missing value in a column without nulls, an unknown
    metric, and a metric's value that is not finite. Additional columns, such as those of a later version, are accepted.
    """
    expected = _schema(table)
    if differing := next((name for name, kind in expected.items() if frame.schema.get(name) != kind), None):
        return f"the column {differing} is missing or has a wrong type"
    always = [name for name in (*_RUN, "scope", "name", "metric", "quantity") if name in expected]
    always += ["value"] if table == "metrics" else []
    if missing := next((name for name in always if frame[name].null_count()), None):
        return f"a value of the column {missing} is missing"
    if table == "metrics":
        if unknown := set(frame["metric"]) - METRICS.keys():
            return f"the metric {min(unknown)} is unknown to this version"
        if not frame["value"].is_finite().all():
            return "a value is not a finite number"
    return ""


def parquet_metadata(table: str, about: Mapping[str, object]) -> dict[str, str]:
    """Return the metadata of a table's Parquet file.

    Its keys are `tailback.units`, the units by column, and `tailback`, the mapping `about`, both as JSON.
    """
    return {"tailback.units": json.dumps(units(table)), "tailback": json.dumps(dict(about))}


def _flows(report: Report) -> Iterable[Row]:
    for f in report.data["flows"]:
        head: Row = {"flow": f["name"], "group": f["group"], "from": f["from"], "to": f["to"], "class": f["class"]}
        yield head | _counts(f, _COUNTERS) | {"reordered_packets": f["reordered"]} | _delay(f["delay"])


def _transports(report: Report) -> Iterable[Row]:
    for f in report.data["flows"]:
        t = f["transport"]
        if t is not None:
            done = t["completion"]
            completion: Row = {f"completion_{name}": done.get(name) for name in ("count", "mean_s", "max_s")}
            yield {"flow": f["name"], "group": f["group"], **t} | completion


def _applications(report: Report) -> Iterable[Row]:
    for group, a in report.data["applications"].items():
        row: Row = {"group": group, "begun": a["begun"], "failed": a["failed"], "refused": a["refused"]}
        for what, delay in (("time", a["time"]), ("exchange", a["exchange"])):
            row |= {f"{what}_{name}": value for name, value in delay.items()}
        row |= {f"slowdown_{name}": value for name, value in (a["slowdown"] or {}).items()}
        yield row | {f"completed_{name}": value for name, value in a["completed"].items()}


def _classes(report: Report) -> Iterable[Row]:
    for c in report.data["classes"]:
        yield {"class": c["class"]} | _counts(c, _COUNTERS) | _delay(c["delay"])


_HANDSHAKES = {"data of the warm-up": "handshake of the warm-up"}
"""Kinds of lost SYN packets by the kind of lost data packets; the default is `handshake`.

SYN-ACK packets of the warm-up are not distinguished from later ones.
"""


def _drops(report: Report) -> Iterable[Row]:
    for flow in report.data["flows"]:
        by_kind = (
            ("data", flow["drops"]),
            ("data of the warm-up", flow.get("carried_drops", [])),
            ("acknowledgement", flow.get("ack_drops", [])),
        )
        for kind, drops in by_kind:
            for drop in drops:
                shown = _HANDSHAKES.get(kind, "handshake") if drop.get("handshake") else kind
                yield {
                    "flow": flow["name"],
                    "kind": shown,
                    "where": drop["where"],
                    "reason": drop["reason"],
                    "packets": drop["packets"],
                }
    for port in report.data["ports"]:
        if lost := port.get("notifications_lost", 0):
            yield {"kind": "control frame", "where": port["name"], "reason": "link down", "packets": lost}


def _ports(report: Report) -> Iterable[Row]:
    for p in report.data["ports"]:
        head: Row = {
            "port": p["name"],
            "node": p["node"],
            "to": p["to"],
            "rate_bps": p["rate_bps"],
            "utilisation_ratio": p["utilisation"],
            "stopped_s": p["stopped_s"],
            "slowed_s": p["slowed_s"],
            "held_s": p["held_s"],
            "notifications_sent": p["notifications_sent"],
            "notifications_lost": p.get("notifications_lost", 0),
            "notifications_received": p["notifications_received"],
        }
        for index, c in enumerate(p["classes"]):
            queue: Row = {
                "class": index,
                "marked_packets": c["marked_packets"],
                "queue_max_bytes": c["max_bytes"],
                "queue_mean_bytes": c["mean_bytes"],
            }
            on_link = _counts(p, ("lost_on_line", "refused_at_input"))
            yield head | queue | on_link | _counts(c, ("arrived", "sent", "dropped", "queued"))


def _nodes(report: Report) -> Iterable[Row]:
    for node in report.data["nodes"]:
        yield {"node": node["name"], "queue_max_bytes": node["max_queue_bytes"], **node}


def _series(report: Report) -> Iterable[Row]:
    series = report.data["series"]
    if series is None:
        return
    # Scope, name, quantity and values of each time series.
    named: list[tuple[str, str, str, Sequence[float | None]]] = [
        ("network", "", "in_network_packets", series["in_network_packets"])
    ]
    scopes = (
        ("port", series["ports"]),
        ("group", series["flows"]),
        ("flow", series["transports"]),
        ("flow", series.get("by_flow", {})),
        ("meter", series["meters"]),
    )
    for scope, tables in scopes:
        for name, columns in cast("Mapping[str, Mapping[str, Sequence[float | None]]]", tables).items():
            quantities = ((_BOOLEANS.get(q, q), v) for q, v in columns.items() if q != "state")
            named.extend((scope, name, quantity, values) for quantity, values in quantities)
    for name, port in series["ports"].items():
        named.extend(("port", name, quantity, values) for quantity, values in port["state"].items())
    for scope, name, quantity, values in named:
        for time_s, value in zip(series["time_s"], values, strict=True):
            # `None`: there is no value, such as the slow-start threshold before the first loss.
            shown = None if value is None else float(value)
            yield {"time_s": time_s, "scope": scope, "name": name, "quantity": quantity, "value": shown}


def _metrics(report: Report) -> Iterable[Row]:
    for key, value in measures(report).items():
        yield {"scope": key.scope, "name": key.name, "metric": key.metric, "unit": key.unit, "value": value}


def _groups(report: Report, names: Sequence[str]) -> list[str]:
    """Return the group of each of the named flows.

    Acknowledgements, `NAME (ack)`, have the group of the flow `NAME`.
    """
    groups = {flow["name"]: flow["group"] for flow in report.data["flows"]}
    return [groups[name.removesuffix(" (ack)")] for name in names]


def _named(report: Report, names: Sequence[str], flows: Sequence[int]) -> dict[str, Sequence[object]]:
    """Return the columns `flow` and `group`; `flows` has an index into `names` for each row."""
    groups = _groups(report, names)
    return {"flow": [names[index] for index in flows], "group": [groups[index] for index in flows]}


def _transfers(report: Report) -> dict[str, Sequence[object]]:
    found = report.data.get("transfers")
    if found is None:
        return {}
    times = zip(found["completion_s"], found["idle_s"], strict=True)
    slowdown = [completion / idle if completion is not None and idle else None for completion, idle in times]
    columns = ("start_s", "size_bytes", "completion_s", "idle_s", "retransmissions")
    values = {name: column for name, column in found.items() if name in columns}
    recorded = cast("dict[str, Sequence[object]]", values)
    return _named(report, found["names"], found["flow"]) | recorded | {"slowdown": slowdown}


def _transport_changes(report: Report) -> dict[str, Sequence[object]]:
    found = report.data.get("transport_changes")
    if found is None:
        return {}
    values = {name: column for name, column in found.items() if name in TABLES["transport_changes"]}
    return cast("dict[str, Sequence[object]]", values) | _named(report, found["names"], found["flow"])


def _queue_by_flow(report: Report) -> dict[str, Sequence[object]]:
    found = report.data.get("queue_by_flow")
    if found is None:
        return {}
    values: dict[str, Sequence[object]] = {
        "time_s": found["time_s"],
        "port": [found["ports"][index] for index in found["port"]],
        "waiting_packets": found["waiting_packets"],
        "waiting_bytes": found["waiting_bytes"],
    }
    return _named(report, found["names"], found["flow"]) | values


def _delays(report: Report) -> dict[str, Sequence[object]]:
    found = report.data.get("delays")
    if found is None:
        return {}
    return {name: cast("Sequence[object]", column) for name, column in found.items() if name != "omitted"}


_COLUMNS = {
    "transfers": _transfers,
    "transport_changes": _transport_changes,
    "queue_by_flow": _queue_by_flow,
    "delays": _delays,
}
"""Functions that return whole columns, for tables that may have a million rows."""

_ROWS = {
    "flows": _flows,
    "transports": _transports,
    "applications": _applications,
    "classes": _classes,
    "drops": _drops,
    "ports": _ports,
    "nodes": _nodes,
    "series": _series,
    "metrics": _metrics,
}
"""Functions that yield the rows of the other tables."""


def _counts(row: Mapping[str, object], counters: Iterable[str]) -> Row:
    found = {name: cast(Counter, row[name]) for name in counters}
    return {f"{name}_{unit}": value for name, c in found.items() for unit, value in c.items()}


def _delay(delay: DelayRow) -> Row:
    values = cast(Mapping[str, object], delay)
    return {"delay_count": delay["count"], **{f"delay_{name}": values.get(name) for name in _DELAYS}}
