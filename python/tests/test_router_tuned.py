"""Tuning of samples: after a search, the exported text differs from the original only in the tuned number."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from judging import KBIT, Case, csv
from samples_mqc import MQC
from samples_public import PUBLIC
from samples_tc import TC

from tailback.errors import TailbackError
from tailback.router.policy import Configuration, Imported, Language, export_configuration, import_configuration
from tailback.scenario import Scenario
from tailback.study.tune import parameter, target, tune

ROOT = Path(__file__).parents[2]
ROUTER = Path(__file__).parent / "router"
PORT = "switches.ce.ports.sink"
FIRST = (
    "rate",
    "bandwidth",
    "ceil",
    "remaining",
    "limit",
    "buffer",
    "burst",
    "cir",
    "min",
    "target",
    "quantum",
    "queues",
)
"""Keys of values to tune, in order of preference; the first that a word of the text sets is tuned."""
UNTUNED = {
    # Only bands and filters: there is no number of a queue.
    "crlf-lines",
    "flower-mpls-vlan",
    "prio-by-dscp",
    "14-ets.sh",
    "marking-edge",
    # All numbers belong to parts that are not simulated.
    "ingress-policing",
    "11-mq-fq.sh",
}
"""Texts without a number that could be tuned."""


def all_samples() -> Iterator[tuple[Language, str, str, str, dict[str, str]]]:
    """Yield language, name, text, traffic table and options of the import of all samples."""
    for language, samples in (("mqc", MQC), ("tc", TC)):
        for name, cases in samples.items():
            ending = "txt" if language == "mqc" else "sh"
            file = ROOT / "crates/router/tests" / language / f"{name}.{ending}"
            file = ROOT / "docs/examples/edge-v.txt" if name == "reference-v" else file
            case = cases[0]
            if isinstance(case, Case):
                yield language, name, file.read_bytes().decode(), csv(case.rows), dict(case.options)
    for name, public in PUBLIC.items():
        if isinstance(public.case, Case):
            language = "tc" if name.endswith(".sh") else "mqc"
            text = (ROUTER / "public" / name).read_bytes().decode()
            yield language, name, text, csv(public.case.rows), dict(public.case.options)
    table = (ROUTER / "tables/traffic4.csv").read_text()
    for language, ending in (("mqc", "txt"), ("tc", "sh")):
        for file in sorted((ROUTER / language).glob(f"*.{ending}")):
            yield language, file.name, file.read_bytes().decode(), table, {"rate": "10Mbit/s"}


def read(language: Language, text: str, table: str, options: dict[str, str]) -> Imported:
    """Import a text with a traffic table."""
    return import_configuration(language, text, traffic=table, **options)  # type: ignore[arg-type]


def written(language: Language, text: str, scenario: Scenario, table: str, options: dict[str, str]) -> Configuration:
    """Export a scenario into its original text."""
    return export_configuration(language, scenario, original=text, traffic=table, **options)  # type: ignore[arg-type]


def ports(scenario: Scenario) -> object:
    """Return the ports of the imported switch."""
    return json.loads(scenario.native.to_json())["switches"]["ce"]["ports"]


def lowered(value: object) -> str | None:
    """Return the value minus a tenth, in whole kbit/s, bytes, packets or percent; `None` if it cannot be lowered."""
    found = re.fullmatch(r"(\d+)(bit/s|B|packets|us|%|)", str(value))
    if found is None or isinstance(value, bool):
        return None
    number, unit = int(found[1]), found[2]
    step = 1000 if unit == "bit/s" and number >= 10 * KBIT else 1
    lower = number - max(number // 10 // step * step, step)
    return f"{lower}{unit}" if lower > 0 else None


def numbers(value: object, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield the path, the value and a lower value of each number of a port."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("match", "name", "kind"):
                yield from numbers(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from numbers(inner, f"{path}[{index}]")
    else:
        lower = lowered(value)
        if lower is not None:
            yield path, str(value), lower


def tunable(found: Imported, text: str, table: str, options: dict[str, str]) -> tuple[str, str, str] | None:
    """Return path, value and lower value of the preferred number of the port that a word of the text sets."""
    scenario = found.check()
    document = scenario.document["switches"]["ce"]["ports"]["sink"]
    ranks = [path_rank(path) for path, *_ in numbers(document, PORT)]
    order = sorted(zip(ranks, numbers(document, PORT), strict=True), key=lambda pair: pair[0])
    for _, (path, value, lower) in order:
        try:
            made = written(found.language, text, scenario.with_texts([(path, lower)]), table, options)
        except TailbackError:
            continue
        if made.changes and not made.errors:
            return path, value, lower
    return None


def path_rank(path: str) -> int:
    """Return the rank of a path in the order of preference: the index of its last key in `FIRST`."""
    last = re.sub(r"\[\d+\]", "", path).rpartition(".")[2]
    return FIRST.index(last) if last in FIRST else len(FIRST)


def is_number(word: str) -> bool:
    """Return `True` for a number with a unit, an assignment of one, or a variable or computation that becomes one."""
    return re.fullmatch(r"(\w+=)?\$?[\d.]+[A-Za-z%]*(/\d+)?|\$.*", word) is not None


@pytest.mark.parametrize(
    ("language", "name", "text", "table", "options"),
    [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in all_samples()],
)
def test_after_a_search_only_the_tuned_number_differs_and_the_text_reads_back(language, name, text, table, options):
    found = read(language, text, table, options)
    if found.scenario is None:
        # Incomplete configurations; `test_router_mqc.py` names the missing values.
        assert found.errors
        return
    chosen = tunable(found, text, table, options)
    if chosen is None:
        assert name in UNTUNED
        return
    assert name not in UNTUNED
    path, value, lower = chosen
    short = found.check().set(duration="50ms", warmup="0s")
    group = next(group for groups in found.classes.values() for group in groups)
    # Both candidates meet this target, so that the search chooses the cheaper one, the lower value.
    searched = tune(
        short, [parameter(f"{path}={lower}|{value}")], [target(f"{group}.loss<=10000%")],
        budget=2, replications=1, confirmations=2, threads=1,
    )  # fmt: skip
    assert searched.tried == 2
    assert searched.attempts[0].settings == {path: lower}
    tuned = found.check().with_texts(list(searched.attempts[0].settings.items()))
    made = written(language, text, tuned, table, options)
    assert not made.errors, [str(error) for error in made.errors]
    # Words and spaces are equal except for as many numbers as there are reported changes.
    first, second = re.split(r"(\s+)", text), re.split(r"(\s+)", made.text)
    assert len(first) == len(second)
    differ = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    assert len(differ) == len(made.changes) >= 1
    assert all(is_number(a) and is_number(b) for a, b in differ), differ
    again = read(language, made.text, table, options)
    assert again.classes == found.classes
    for kind in ("policies", "class-maps", "access-lists", "ports"):
        assert names(again, kind) == names(found, kind)
    if not [notice for notice in made.notices if notice.level != "ignored"]:
        assert ports(again.check()) == ports(tuned)


def names(found: Imported, kind: str) -> list[str]:
    """Return the names of the policies, class maps, access lists or ports of an import."""
    rows = found.policies.get(kind, found.policies.get(kind.replace("-", "_"), []))
    return [row["name"] for row in rows]  # type: ignore[index, union-attr]
