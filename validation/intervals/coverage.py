"""Coverage of the intervals of runs: how often they contain the true value, by load, length, warm-up and replications.

    python validation/intervals/coverage.py [--studies 1000] [--only REGEX] [--out out/coverage] [--record]
                                             [--kept] [--recorded] [--page docs/statistics.md]

The systems, their loads and their true values are those of systems.py. For each load, length and warm-up, studies of
ten replications are run, the same command resumes an interrupted run, and a line of text for each study is kept in the
folder. The interval of each metric and the warning `doubtful-interval` are those of `tailback run`. `--record` writes
the counts to recorded.json, and `--page` the tables to a page. Without a run, `--kept` counts the studies that are in
the folder, for rows with at least half of their studies, and `--recorded` reads the counts from recorded.json.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from cells import Cell, Truth, count
from studies import Setting, Store, long_runs
from systems import LENGTHS, LOADS, SYSTEMS
from table import markdown

import tailback as tb

RECORDED = Path(__file__).resolve().with_name("recorded.json")
"""Counts of every cell, and the true values, from which the tables are made."""
BEGIN, END = "<!-- validation/intervals/coverage.py writes from here -->", "<!-- to here -->"


def settings(only: str) -> list[Setting]:
    """Return all settings whose file's name matches a regular expression, the shortest runs first."""
    every = [
        Setting(system, load, length, warmup)
        for length in LENGTHS
        for system in SYSTEMS
        for load in LOADS
        for warmup in ("given", "auto")
    ]
    return [setting for setting in every if re.search(only, setting.slug)]


def truths(folder: Path, chosen: Iterable[Setting]) -> list[Truth]:
    """Return the true values for these settings; long runs that are missing are run."""
    found = []
    for system, load in dict.fromkeys((setting.system, setting.load) for setting in chosen):
        means = long_runs(folder, system, load)
        for metric in system.metrics:
            interval = means[metric.name]
            exact = metric.closed_form is not None
            value = metric.closed_form(load) if metric.closed_form is not None else interval.mean
            found.append(Truth(system.name, metric.name, load, value, exact, interval.lo, interval.hi))
    return found


def main() -> int:
    """Run what is missing, write the tables, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1000, help="studies per row of the table; default 1000")
    parser.add_argument("--only", default="", help="run only settings whose file's name matches this expression")
    parser.add_argument("--out", type=Path, default=Path("out/coverage"), help="folder; default out/coverage")
    parser.add_argument("--kept", action="store_true", help="run no study; count those in the folder")
    parser.add_argument("--record", action="store_true", help="write the counts to recorded.json")
    parser.add_argument("--recorded", action="store_true", help="run nothing; read the counts from recorded.json")
    parser.add_argument("--page", type=Path, help="page whose marked region the tables replace")
    options = parser.parse_args()
    if options.recorded:
        record = json.loads(RECORDED.read_text(encoding="utf-8"))
    else:
        chosen = settings(options.only)
        known = truths(options.out, chosen)
        found: list[Cell] = []
        for setting in chosen:
            store = Store(options.out, setting)
            for done in store.complete(0 if options.kept else options.studies):
                if done % 100 == 0:
                    print(f"{setting.slug}: {done} of {options.studies} studies", flush=True)
            if 2 * len(store.studies) >= options.studies:
                found += count(setting, store.studies[: options.studies], known)
        record = {
            "version": tb.__version__,
            "truths": [asdict(truth) for truth in known],
            "cells": [asdict(cell) for cell in found],
        }
    if options.record:
        RECORDED.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    text = markdown([Truth(**row) for row in record["truths"]], [Cell(**row) for row in record["cells"]])
    if options.page is None:
        print(text)
        return 0
    before, _, rest = options.page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        parser.error(f"{options.page} has no marked region: {BEGIN} ... {END}")
    options.page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
