"""Comparison of policies on an unmodified Linux kernel and on Tailback: throughput, loss and delay of groups of flows.

    python validation/linux/compare.py [--policies REGEX] [--seeds 5] [--kernel PROGRAM] [--out FOLDER] [--page PAGE]

Each policy is imported and exported as a script of tc, which runs unchanged in a guest with sources of the same packet
sizes, rates and intervals (guest.py). The results are compared with those of Tailback for the scenario imported from
that script and, if the policy is in another language, also for the scenario imported from the policy. No parameter is
fitted. The table is written to FOLDER/linux.md and FOLDER/linux.json, with `--page` also into the page's marked region.
Results of the kernel are cached in FOLDER/linux.

Exits with 1 if the guest fails or a value outside the tolerances is not in the policy's `known`
(docs/validation-linux.md gives the reasons of those), with 0 if the kernel or a tool is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import guest
from guest import Group, Outcome, Run
from policies import POLICIES, Policy

import tailback as tb
from tailback.results.intervals import Interval, mean_interval
from tailback.router.policy import export_configuration, import_configuration
from tailback.witness.kernel import GUEST, GuestError, Kernel

BEGIN, END = "<!-- validation/linux/compare.py writes from here -->", "<!-- to here -->"
WARMUP_S, DURATION_S = 4, 24
"""Warm-up, and duration of a run with its warm-up, seconds."""
LINE = "10Gbit/s"
"""Rate of the scenario's link behind the policy: 1500 B take a negligible 1.2 us. A veth pair has no rate."""
METRICS = ("throughput_bps", "loss", "mean_s", "p99_s")
"""Fields of `Outcome` that are compared."""
TOLERANCE = 0.1
"""Permitted difference as a fraction of the kernel's value; see also `MIN_TOLERANCE`."""
MIN_TOLERANCE = {"throughput_bps": 0.0, "loss": 0.002, "mean_s": 1e-4, "p99_s": 1e-4}
"""Absolute differences that are always permitted: 0.2 percentage points of loss, 0.1 ms of delay.

For comparison, 1500 B take 1.2 ms at 10 Mbit/s.
"""


@dataclass(frozen=True)
class Prepared:
    """A policy, prepared to be run on the kernel and on Tailback."""

    policy: Policy
    script: str
    """Commands of tc."""
    groups: Sequence[Group]
    """Sources of the guest."""
    scenarios: Mapping[str, tb.Scenario]
    """Scenarios by origin: `script`, and, if the policy is in another language than tc, also `policy`."""
    remarks: Sequence[str]
    """Warnings of the export."""


@dataclass
class Row:
    """Results of one group of flows under one policy: 95 % confidence intervals over the seeds, by metric."""

    policy: str
    """Name of the policy."""
    predicted_by: str
    """Key of the scenario: `script` or `policy`."""
    group: str
    kernel: dict[str, Interval]
    """Intervals of the kernel."""
    ours: dict[str, Interval]
    """Intervals of Tailback."""
    outside: list[str] = field(default_factory=list)
    """Metrics outside the tolerances."""


def prepare(policy: Policy) -> Prepared:
    """Import a policy, export it to tc, and import the export; return the script and the scenarios.

    Raises ValueError if a part of the policy is not simulated, or is not in the export.
    """
    options = {"traffic": policy.traffic, "rate": LINE, "overhead": "ethernet", "duration": f"{DURATION_S}s"}
    found = import_configuration(policy.language, policy.text, **options)
    written = found.check().set(warmup=f"{WARMUP_S}s")
    if found.not_simulated:
        raise ValueError(f"{policy.name}: {found.not_simulated[0]}")
    made = export_configuration("tc", written, name="eth1")
    refused = [notice for notice in made.notices if notice.level in ("error", "unsupported")]
    if refused:
        raise ValueError(f"{policy.name}: {refused[0]}")
    again = import_configuration("tc", made.text, **options).check().set(warmup=f"{WARMUP_S}s")
    scenarios = {"script": again}
    if policy.language != "tc":
        scenarios["policy"] = written
    remarks = [notice.message for notice in made.notices if notice.level == "warning"]
    return Prepared(policy, made.text, guest.groups(written), scenarios, remarks)


def predicted(scenario: tb.Scenario, groups: Iterable[Group], seeds: int) -> dict[str, list[Outcome]]:
    """Return the results of each group on Tailback, one for each seed."""
    reports = tb.run(scenario, replications=seeds).reports
    return {
        group.name: [
            Outcome(
                offered_bps=report.offered_bps(group.name),
                throughput_bps=report.throughput_bps(group.name),
                loss=report.loss(group.name),
                mean_s=report.mean_delay_s(group.name),
                p99_s=_p99_s(report, group.name),
            )
            for report in reports
        ]
        for group in groups
    }


def _p99_s(report: tb.Report, group: str) -> float:
    if report.throughput_bps(group) == 0:
        return math.nan
    return report.variation(group)["delay"].get("p99_s") or math.nan


def measured(kernel: Kernel, run: Run, answers: Path) -> dict[str, Outcome]:
    """Return the results of a run on the kernel, from the cache in `answers` if they are there; raises GuestError."""
    sources = [
        path.read_text(encoding="utf-8") for path in [guest.HERE / "network.sh", GUEST / "init.sh", GUEST / "traffic.c"]
    ]
    question = "\n".join([*sources, run.script, run.case(), str((run.warmup_s, run.duration_s))])
    answer = answers / f"{hashlib.sha256(question.encode()).hexdigest()[:32]}.json"
    if not answer.exists():
        found = run.on(kernel, answer.with_suffix(".log"))
        answer.write_text(json.dumps({name: asdict(one) for name, one in found.items()}), encoding="utf-8")
    return {name: Outcome(**one) for name, one in json.loads(answer.read_text(encoding="utf-8")).items()}


def close(metric: str, kernel: float, ours: float) -> bool:
    """Return `True` if the values of a metric agree within the tolerances, or both are NaN."""
    if math.isnan(kernel) or math.isnan(ours):
        return math.isnan(kernel) == math.isnan(ours)
    return abs(ours - kernel) <= max(TOLERANCE * kernel, MIN_TOLERANCE[metric])


def compare(policy: str, by: str, group: str, kernel: Sequence[Outcome], ours: Sequence[Outcome]) -> Row:
    """Return the comparison of the means of a group; `by` is the key of the scenario, and outcomes are one per seed."""

    def intervals(outcomes: Sequence[Outcome]) -> dict[str, Interval]:
        return {metric: mean_interval([getattr(one, metric) for one in outcomes], 0.95) for metric in METRICS}

    row = Row(policy, by, group, intervals(kernel), intervals(ours))
    row.outside = [metric for metric in METRICS if not close(metric, row.kernel[metric].mean, row.ours[metric].mean)]
    return row


def _cell(metric: str, kernel: Interval, ours: Interval) -> str:
    scale = {"throughput_bps": 1e-6, "loss": 100, "mean_s": 1e3, "p99_s": 1e3}[metric]
    digits = {"throughput_bps": 3, "loss": 2, "mean_s": 2, "p99_s": 2}[metric]

    def text(interval: Interval) -> str:
        if math.isnan(interval.mean):
            return "none"
        half = (interval.hi - interval.lo) / 2
        if math.isinf(half):
            # A single seed has no interval.
            return f"{scale * interval.mean:.{digits}f}"
        return f"{scale * interval.mean:.{digits}f} ± {scale * half:.{digits}f}"

    return f"{text(kernel)} / {text(ours)}"


def as_json(row: Row) -> dict[str, Any]:
    """Return a row for JSON, which has no number for NaN and infinity: they are `None`."""

    def finite(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in pairs}

    return asdict(row, dict_factory=finite)


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table; each cell has the values of the kernel and of Tailback, divided by `/`."""
    lines = [
        "| policy | predicted by | flows | throughput, Mbit/s | loss % | mean delay, ms | 99 % delay, ms | outside |",
        "|---|---|---|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        cells = [_cell(metric, row.kernel[metric], row.ours[metric]) for metric in METRICS]
        outside = ", ".join(metric.rpartition("_")[0] or metric for metric in row.outside)
        lines.append(f"| {row.policy} | {row.predicted_by} | {row.group} | {' | '.join(cells)} | {outside} |")
    return "\n".join(lines) + "\n"


def rewrite(page: Path, markers: tuple[str, str], region: str) -> None:
    """Replace the text between two markers of a page by `region`."""
    begin, end = markers
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{begin}\n\n{region}\n{end}{after}", encoding="utf-8")


def main() -> int:
    """Run the policies, write the results, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", default="", help="run only policies whose name matches this regular expression")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds; default 5")
    parser.add_argument("--out", type=Path, default=Path("out/validation"), help="folder; default out/validation")
    parser.add_argument("--kernel", type=Path, help="program built by build_kernel.sh; default: OUT/kernel/linux")
    parser.add_argument("--page", type=Path, help="page whose marked region the table replaces; only with all policies")
    options = parser.parse_args()
    if options.page and options.policies:
        parser.error("--page needs all policies")
    if options.seeds < 1:
        parser.error("--seeds needs at least 1")
    answers = options.out / "linux"
    kernel = Kernel.found(options.kernel or options.out / "kernel" / "linux", answers)
    if isinstance(kernel, str):
        print(f"skipped: {kernel}")
        return 0
    prepared = [prepare(policy) for policy in POLICIES if re.search(options.policies, policy.name)]
    seeds = range(1, options.seeds + 1)
    rows: list[Row] = []
    failed = False
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {
            one.policy.name: [
                pool.submit(measured, kernel, Run(one.script, one.groups, seed, WARMUP_S, DURATION_S), answers)
                for seed in seeds
            ]
            for one in prepared
        }
        for one in prepared:
            try:
                measurements = [run.result() for run in runs[one.policy.name]]
            except GuestError as error:
                print(f"{one.policy.name}: {error}", file=sys.stderr)
                failed = True
                continue
            for by, scenario in one.scenarios.items():
                ours = predicted(scenario, one.groups, options.seeds)
                for group in one.groups:
                    name = group.name
                    row = compare(one.policy.name, by, name, [found[name] for found in measurements], ours[name])
                    failed |= any(f"{name} {metric}" not in one.policy.known for metric in row.outside)
                    rows.append(row)
                    print(table(rows[-1:]).splitlines()[-1], flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "linux.md").write_text(table(rows), encoding="utf-8")
    (options.out / "linux.json").write_text(
        json.dumps([as_json(row) for row in rows], indent=1, allow_nan=False) + "\n", encoding="utf-8"
    )
    values = len(METRICS) * len(rows)
    inside = values - sum(len(row.outside) for row in rows)
    summary = f"{inside} of {values} values are inside the tolerances ({options.seeds} seeds)"
    print(summary)
    if options.page:
        rewrite(options.page, (BEGIN, END), f"{summary}.\n\n{table(rows)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
