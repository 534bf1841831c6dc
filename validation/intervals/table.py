"""Tables of the page: true values, coverage of every cell, and the cells that are outside."""

from __future__ import annotations

from collections.abc import Sequence

from cells import SIZES, Cell, Truth
from studies import FACTOR
from systems import LENGTHS, LOADS, SYSTEMS


def share(count: int, of: int) -> str:
    """Return a share in percent, with one decimal; empty: there is nothing to count."""
    return f"{100 * count / of:.1f}" if of else ""


def _lines(head: Sequence[str], right: Sequence[bool], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---:" if one else "---" for one in right]
    return [f"| {' | '.join(head)} |", f"|{'|'.join(rule)}|", *(f"| {' | '.join(row)} |" for row in rows)]


def _value(metric: str, value: float) -> str:
    """Return a value of a metric in its display unit."""
    if metric == "loss":
        return f"{100 * value:.4g} %"
    return f"{value:.5g}" if metric == "Jain" else f"{1000 * value:.4g} ms"


def truths(known: Sequence[Truth]) -> list[str]:
    """Return the table of the true values."""
    rows = []
    for one in known:
        source = "closed form" if one.closed_form else f"runs {FACTOR} times as long"
        ends = f"{_value(one.metric, one.lo)} to {_value(one.metric, one.hi)}"
        rows.append([one.metric, one.system, f"{one.load:g}", _value(one.metric, one.value), source, ends])
    head = ["metric", "system", "load", "true value", "from", "interval of the long runs"]
    return _lines(head, [False, False, True, True, False, True], rows)


def coverage(found: Sequence[Cell]) -> list[str]:
    """Return the table of the coverage: a row for each load, length and warm-up, a column for metric and replications.

    Bold: outside. A star: the run warns in most studies.
    """
    cells = {(c.load, c.length, c.warmup, c.metric, c.replications): c for c in found}
    metrics = [metric.name for system in SYSTEMS for metric in system.metrics]
    rows = []
    for load in LOADS:
        for length in LENGTHS:
            for warmup in ("given", "auto"):
                row = [f"{load:g}", length, warmup]
                for metric in metrics:
                    for size in SIZES:
                        cell = cells.get((load, length, warmup, metric, size))
                        row.append("" if cell is None else _cell(cell))
                rows.append(row)
    head = ["load", "runs", "warm-up", *(f"{metric} {size}" for metric in metrics for size in SIZES)]
    return _lines(head, [True, False, False] + [True] * len(metrics) * len(SIZES), rows)


def _cell(cell: Cell) -> str:
    text = share(cell.covered, cell.studies)
    return (f"**{text}**" if cell.is_outside else text) + ("\\*" if cell.fires else "")


def outside(found: Sequence[Cell]) -> list[str]:
    """Return the table of the cells that are outside."""
    rows = [
        [
            cell.metric,
            f"{cell.load:g}",
            cell.length,
            cell.warmup,
            str(cell.replications),
            share(cell.covered, cell.studies),
            share(cell.below, cell.studies),
            share(cell.without, cell.studies),
            share(cell.warned, cell.studies),
        ]
        for cell in sorted((cell for cell in found if cell.is_outside), key=lambda cell: cell.coverage)
    ]
    head = ["metric", "load", "runs", "warm-up", "replications", "coverage %", "below %", "no width %", "warned %"]
    return _lines(head, [False, True, False, False, True, True, True, True, True], rows)


def refused(found: Sequence[Cell]) -> str:
    """Return a sentence about the studies that were refused; empty: there are none."""
    # All cells of a system with the same load, length and warm-up share their studies.
    counts = {(c.system, c.load, c.length, c.warmup): (c.refused, c.refused + c.studies) for c in found if c.refused}
    if not counts:
        return "No study was refused."
    each = [
        f"{system} at {load:g} {length}: {count} of {of}" for (system, load, length, _), (count, of) in counts.items()
    ]
    return (
        "Studies that were refused, since `auto` found no steady state, have no interval and are not counted: "
        f"{'; '.join(each)}."
    )


def extent(found: Sequence[Cell]) -> str:
    """Return a sentence about the number of studies, with the rows of the table that have fewer or are missing."""
    counts = {(c.system, c.load, c.length, c.warmup): c.refused + c.studies for c in found}
    every = [
        (system.name, load, length, warmup)
        for system in SYSTEMS
        for load in LOADS
        for length in LENGTHS
        for warmup in ("given", "auto")
    ]
    most = max(counts.values(), default=0)
    fewer = [f"{' '.join(map(str, row))}: {counts.get(row, 0)}" for row in every if counts.get(row, 0) < most]
    exceptions = f", except those of {', '.join(fewer)}" if fewer else ""
    return f"Each cell has {most} studies{exceptions}."


def summary(found: Sequence[Cell]) -> str:
    """Return the numbers of cells that are inside and outside, and in how many of both the run warns."""
    bad = [cell for cell in found if cell.is_outside]
    good = [cell for cell in found if not cell.is_outside]
    texts = []
    for cells, name in ((bad, "outside"), (good, "inside")):
        fires = sum(cell.fires for cell in cells)
        rate = share(sum(cell.warned for cell in cells), sum(cell.studies for cell in cells))
        texts.append(
            f"{len(cells)} of {len(found)} cells are {name}; the run warns in most studies of {fires} of them "
            f"({share(fires, len(cells))} %), and in {rate} % of their studies."
        )
    return " ".join(texts)


def markdown(known: Sequence[Truth], found: Sequence[Cell]) -> str:
    """Return the tables."""
    lines = [
        f"{extent(found)} {summary(found)}",
        "",
        refused(found),
        "",
        "Coverage, %; bold: outside 95 ± 2 %; star: the run warns in more than half of the studies.",
        "",
        *coverage(found),
        "",
        "Cells outside 95 ± 2 %:",
        "",
        *outside(found),
        "",
        "True values:",
        "",
        *truths(known),
    ]
    return "\n".join(lines) + "\n"
