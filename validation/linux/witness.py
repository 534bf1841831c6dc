"""Comparison of dumbbells on an unmodified Linux kernel and on Tailback (`tailback.witness`).

    python validation/linux/witness.py [--cases REGEX | --draw COUNT SEED] [--seeds 5] [--most 20] [--kernel PROGRAM]
                                       [--out FOLDER] [--record] [--accept] [--page PAGE]

The cases are those of cases.py, all with the same settings; no case is fitted. Each is compared twice: with Tailback's
defaults, and with `preset = "linux-6.1"` and disciplines in form "linux". A case is inside if all its metrics are
inside the tolerances; one with an interval that is wider than its tolerance is undecided. Results of the kernel are
kept in FOLDER/witness, and with `--record` also in recorded.json.xz, with which `--recorded` compares without a kernel.
A drawn case (`--draw`) that is undecided with the first seeds gets up to `--most`, of runs that are 4 or 16 times as
long if the intervals of the first seeds show that this decides it.

Exits with 1 if the guest fails, or with `--recorded` if other metrics are inside than known.json lists; with 0, after a
line that begins with SKIPPED, if the kernel or a tool is missing.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import re
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cases
from cases import Dumbbell, Tree
from compare import rewrite
from records import read

from tailback.results.intervals import Interval, t_quantile
from tailback.scenario import Scenario
from tailback.witness.comparison import CONFIDENCE, Answers, Line, compare, table, without_probes
from tailback.witness.comparison import lines as lines_of
from tailback.witness.kernel import GuestError, Kernel
from tailback.witness.network import case as case_of
from tailback.witness.outcome import Outcome, on_tailback

RECORDED = Path(__file__).resolve().with_name("recorded.json.xz")
"""Results of the kernel by case, with the hash of the kernel and the command that made them, and with `Answers.key` of
the first seed of each case: with another key the results are those of another guest, and are not used again."""
KNOWN = Path(__file__).resolve().with_name("known.json")
"""Metrics of recorded cases that are not inside the tolerances, by case: with the defaults, and with the preset.

docs/witness.md has what is known of the causes. `--accept` writes the file.
"""
BEGIN, END = "<!-- validation/linux/witness.py writes from here -->", "<!-- to here -->"
SAMPLE = 12
"""Number of cases of `--sample`, which `make witness` and `make test` compare."""
FACTORS = (1, 4, 16)
"""Factors of the measured time of drawn cases that the first seeds do not decide."""
MANY = 200
"""Seeds of Tailback in the page's table of metrics that are outside: whether its 20 seeds are outside by chance."""


@dataclass(frozen=True)
class Row:
    """Comparison of a case."""

    case: Dumbbell | Tree
    kernel: list[Outcome]
    """Results of the kernel by seed."""
    defaults: list[Line]
    """Metrics with Tailback's defaults."""
    preset: list[Line]
    """Metrics with `preset = "linux-6.1"`, and disciplines in form "linux"."""


def verdict(lines: list[Line]) -> str:
    """Return `inside`, `outside` or `undecided`, the worst of the metrics."""
    found = {line.verdict for line in lines}
    return next((word for word in ("outside", "undecided") if word in found), "inside")


def misses(lines: list[Line]) -> list[str]:
    """Return the metrics that are not inside."""
    return [f"{line.metric} {line.verdict}" for line in lines if line.verdict not in ("inside", "none")]


def with_preset(case: Dumbbell | Tree, runs: list[Outcome]) -> list[Line]:
    """Compare a case with the preset with the outcomes of the kernel, with all of its seeds."""
    found, _, _ = compare(
        cases.scenario(case, preset=True), case_of(cases.scenario(case)), lambda seed: runs[seed - 1],
        least=len(runs), most=len(runs),
    )  # fmt: skip
    return found


def measured(
    case: Dumbbell | Tree, scenario: Scenario, answers: Answers, record: dict[str, Any], least: int, most: int
) -> Row:
    """Compare a case with the kernel, with so many seeds that no metric is undecided in either form, or with `most`.

    Recorded results of the same guest are used again.
    """
    made = case_of(scenario)
    valid = record["keys"].get(case.name) == answers.key(made, 1)
    old = [outcome(one) for one in record["cases"].get(case.name, [])] if valid else []
    least = min(most, max(least, len(old)))

    def ask(seed: int) -> Outcome:
        return old[seed - 1] if seed <= len(old) else answers.of(made, seed)

    while True:
        found, runs, _ = compare(scenario, made, ask, least=least, most=most)
        preset = with_preset(case, runs)
        if len(runs) >= most or all(line.verdict != "undecided" for line in preset):
            return Row(case, runs, found, preset)
        least = min(most, len(runs) + 5)


def enough(found: list[Line], most: int) -> int:
    """Return the smallest of `FACTORS` with which `most` seeds are expected to decide a case.

    It is 1 if no factor is enough. It follows from the widths with the first seeds, `found`. Widths become smaller
    with the root of the number of seeds, with Student's t, and with the root of the factor if parts of a run are
    independent.
    """

    def expected(interval: Interval) -> float:
        if interval.n < 2:
            return math.inf
        now, then = (t_quantile(CONFIDENCE, n - 1) / math.sqrt(n) for n in (interval.n, most))
        return interval.half_width * then / now

    widths = [
        (max(expected(line.kernel), expected(line.ours)), line.tolerance) for line in found if line.verdict != "none"
    ]
    decides = (
        factor for factor in FACTORS if all(width <= math.sqrt(factor) * tolerance for width, tolerance in widths)
    )
    return next(decides, 1)


def drawn_row(case: Dumbbell, answers: Answers, seeds: int, most: int) -> Row:
    """Compare a drawn case with `seeds` seeds; if a metric is undecided, with up to `most` of longer runs.

    As on the page, a case with a metric outside gets more seeds too while another one is undecided.
    """
    nothing: dict[str, Any] = {"cases": {}, "keys": {}}
    first = measured(case, cases.scenario(case), answers, nothing, seeds, seeds)
    if all(line.verdict != "undecided" for line in first.preset):
        return first
    longer = replace(case, longer=enough(first.preset, most))
    return measured(longer, cases.scenario(longer), answers, nothing, seeds, most)


def read_record() -> dict[str, Any]:
    """Return the recorded results: `kernel`, `command`, and `cases` with the outcomes by name and seed."""
    return read(RECORDED)


def outcome(values: dict[str, float | None]) -> Outcome:
    """Return an outcome from its table in a file."""
    return Outcome(**{key: float("nan") if value is None else value for key, value in values.items()})  # type: ignore[arg-type]


def recorded(case: Dumbbell | Tree, record: dict[str, Any]) -> Row:
    """Compare a case with the recorded results of the kernel, with all recorded seeds."""
    runs = [outcome(one) for one in record["cases"][case.name]]
    scenario = cases.scenario(case)
    found, _, _ = compare(scenario, case_of(scenario), lambda seed: runs[seed - 1], least=len(runs), most=len(runs))
    return Row(case, runs, found, with_preset(case, runs))


def sample(known: list[Dumbbell | Tree], count: int = SAMPLE) -> list[Dumbbell | Tree]:
    """Return `count` of the cases, evenly spread over the list."""
    count = min(count, len(known))
    return [known[i * len(known) // count] for i in range(count)]


def markdown(rows: list[Row]) -> str:
    """Return the tables of the cases, each with the intervals of both programs."""
    lines = [
        f"{summary(rows)}",
        "",
        "| case | seeds | defaults | not inside | preset | not inside |",
        "|---|---:|---|---|---|---|",
    ]
    lines += [
        f"| {row.case.name} | {len(row.kernel)} | {verdict(row.defaults)} | {', '.join(misses(row.defaults))} "
        f"| {verdict(row.preset)} | {', '.join(misses(row.preset))} |"
        for row in rows
    ]
    lines += ["", "| case | metric | Linux | defaults | preset | tolerance |", "|---|---|---:|---:|---:|---:|"]
    for row in rows:
        # A discipline that stops has no delay, so that one of the two can be without values.
        both = zip(table(row.defaults, empty=True), table(row.preset, empty=True), strict=True)
        shown = [pair for pair in both if any(one[-1] != "none" for one in pair)]
        for i, ((title, linux, ours, tolerance, _), (_, _, preset, _, _)) in enumerate(shown):
            lines.append(f"| {row.case.name if i == 0 else ''} | {title} | {linux} | {ours} | {preset} | {tolerance} |")
    return "\n".join([*lines, *many_seeds(rows)]) + "\n"


def many_seeds(rows: list[Row]) -> list[str]:
    """Return a table of the metrics that are outside with the preset, with `MANY` seeds of Tailback."""
    found = []
    for row in rows:
        outside = [line.metric for line in row.preset if line.verdict == "outside"]
        if outside:
            made, scenario = case_of(cases.scenario(row.case)), cases.scenario(row.case, preset=True)
            many = lines_of(row.kernel, on_tailback(scenario, made, MANY))
            few = {line.metric: cells for line, cells in zip(row.preset, table(row.preset, empty=True), strict=True)}
            for line, (title, linux, ours, tolerance, _) in zip(many, table(many, empty=True), strict=True):
                if line.metric in outside:
                    cells = [row.case.name, title, linux, few[line.metric][2], ours, tolerance]
                    found.append(f"| {' | '.join(cells)} |")
    if not found:
        return []
    head = ["case", "metric outside", "Linux", "preset", f"preset, {MANY} seeds", "tolerance"]
    return ["", f"| {' | '.join(head)} |", "|---|---|---:|---:|---:|---:|", *found]


def summary(rows: list[Row]) -> str:
    """Return the numbers of cases that are inside and undecided, in sentences."""

    def counted(verdicts: list[str]) -> str:
        return f"{verdicts.count('inside')} are inside the tolerances and {verdicts.count('undecided')} undecided"

    defaults, preset = (
        [verdict(lines) for lines in of] for of in zip(*((r.defaults, r.preset) for r in rows), strict=True)
    )
    return f"Of {len(rows)} cases {counted(defaults)} with the defaults, and {counted(preset)} with the preset."


def not_inside(row: Row) -> list[list[str]]:
    """Return the metrics that are not inside, with the defaults and with the preset."""
    return [
        sorted({line.metric for line in lines if line.verdict not in ("inside", "none")})
        for lines in (row.defaults, row.preset)
    ]


def accept(rows: list[Row]) -> None:
    """Write what is not inside into `KNOWN`, for the compared cases."""
    known = json.loads(KNOWN.read_text(encoding="utf-8")) | {row.case.name: not_inside(row) for row in rows}
    lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in known.items() if any(found)]
    KNOWN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def unexpected(row: Row) -> str | None:
    """Return what differs from `KNOWN`; `None`: nothing."""
    known = json.loads(KNOWN.read_text(encoding="utf-8")).get(row.case.name, [[], []])
    found = not_inside(row)
    changes = [
        f"{form}: not inside are {now}, not {before}"
        for form, now, before in zip(("defaults", "preset"), found, known, strict=True)
        if now != before
    ]
    return f"{row.case.name}: {'; '.join(changes)}" if changes else None


def say(row: Row, more: str = "") -> None:
    """Print the verdicts of a case."""
    verdicts = f"{verdict(row.defaults)} {misses(row.defaults)}, preset {verdict(row.preset)} {misses(row.preset)}"
    print(f"{row.case.name}{more}: {verdicts}", flush=True)


def main() -> int:
    """Run the cases, write the results, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="", help="run only cases whose name matches this regular expression")
    parser.add_argument("--sample", action="store_true", help=f"run {SAMPLE} of the cases, evenly spread over the list")
    parser.add_argument(
        "--draw", nargs=2, metavar=("COUNT", "SEED"), help="run COUNT cases of another seed, a hexadecimal number"
    )
    parser.add_argument("--seeds", type=int, default=5, help="smallest number of seeds; default 5")
    parser.add_argument("--most", type=int, default=20, help="largest number of seeds; default 20")
    parser.add_argument("--out", type=Path, default=Path("out/validation"), help="folder; default out/validation")
    parser.add_argument("--kernel", type=Path, help="program built by build_kernel.sh; default: OUT/kernel/linux")
    parser.add_argument("--recorded", action="store_true", help="compare with the recorded results, without a kernel")
    parser.add_argument(
        "--record", action="store_true", help="add the results of the kernel to the recorded ones, which are used again"
    )
    parser.add_argument("--accept", action="store_true", help="write what is not inside into known.json")
    parser.add_argument("--page", type=Path, help="page whose marked region the tables replace")
    options = parser.parse_args()
    try:
        draw = (int(options.draw[0]), int(options.draw[1], 16)) if options.draw else None
    except ValueError:
        parser.error("--draw needs a number and a hexadecimal number, such as 20 2684fa6a")
    known: list[Dumbbell | Tree] = (
        [*cases.CASES, *cases.TREES, *cases.drawn()] if draw is None else [*cases.drawn(*draw)]
    )
    if draw is not None and (options.record or options.recorded):
        parser.error("drawn cases are not recorded")
    if options.sample:
        known = sample(known)
    chosen = [case for case in known if re.search(options.cases, case.name)]
    rows: list[Row] = []
    if options.recorded:
        record = read_record()
        for case in chosen:
            if case.name in record["cases"]:
                rows.append(recorded(case, record))
                say(rows[-1])
        changes = [change for change in map(unexpected, rows) if change]
        for change in changes:
            print(f"other than listed in known.json: {change}", file=sys.stderr)
        failed = bool(changes) and not options.accept
    else:
        answers = options.out / "witness"
        kernel = Kernel.found(options.kernel or options.out / "kernel" / "linux", answers)
        if isinstance(kernel, str):
            print(f"SKIPPED: {kernel}")
            return 0
        record = {"kernel": kernel.identity(), "command": " ".join(sys.argv), "cases": {}, "keys": {}}
        if options.record and RECORDED.exists() and read_record()["kernel"] == record["kernel"]:
            record |= {key: read_record()[key] for key in ("cases", "keys")}
        failed = False
        for case in chosen:
            scenario, begin = cases.scenario(case), time.monotonic()
            try:
                ask = Answers(kernel, answers)
                rows.append(
                    drawn_row(case, ask, options.seeds, options.most)
                    if draw is not None and isinstance(case, Dumbbell)
                    else measured(case, scenario, ask, record, options.seeds, options.most)
                )
            except GuestError as error:
                print(f"{case.name}: {error}", file=sys.stderr)
                failed = True
                continue
            record["cases"][case.name] = [without_probes(one) for one in rows[-1].kernel]
            record["keys"][case.name] = ask.key(case_of(scenario), 1)
            seconds = time.monotonic() - begin
            longer = getattr(rows[-1].case, "longer", 1)
            more = f", {longer} times as long" if longer > 1 else ""
            say(rows[-1], f" ({len(rows[-1].kernel)} seeds{more}, {seconds:.0f} s)")
            if options.record:
                with lzma.open(RECORDED, "wt", encoding="utf-8") as file:
                    json.dump(record, file)
    if rows:
        print(summary(rows))
    if options.accept:
        accept(rows)
    if options.page:
        rewrite(options.page, (BEGIN, END), markdown(rows))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
