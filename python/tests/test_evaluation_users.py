"""Report cards of users' components: their names, parameters and sizes, and bare files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from components import LAWS
from conftest import Ran

from tailback.errors import UsageError
from tailback.evaluation.aqm import discussion, sensitivity
from tailback.evaluation.choice import Length
from tailback.evaluation.evaluate import evaluate
from tailback.evaluation.subject import DISCIPLINE, TRANSPORT, Subject, subject

Cli = Callable[..., Ran]

TINY = Length(duration_s=6, warmup_s=2, replications=2, max_replications=2)

ONE = """
import tailback


class Base(tailback.Law):
    def __init__(self, target: str = "5ms", *, limit: int, gain=0.5, table=(1, 2), none=None) -> None:
        self.limit = limit

    def arrive(self, call):
        return tailback.PASS
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in LAWS.glob("*.py"):
        shutil.copy(path, tmp_path)
    (tmp_path / "base.py").write_text(ONE)
    return tmp_path


def user(file: str, name: str, **parameters: object) -> str:
    """Return the inline table of a law."""
    inner = ", ".join(f"{key} = {value!r}" for key, value in parameters.items()).replace("'", '"')
    return f'{{ kind = "user", file = "{file}", class = "{name}", parameters = {{ {inner} }} }}'


def named(folder: Path, text: str) -> Subject:
    (folder / "law.toml").write_text(f"discipline = {text}\n")
    return subject(str(folder / "law.toml"))


# Names.


def test_a_law_is_named_by_its_class_its_file_and_the_parameters_that_are_given(folder: Path) -> None:
    assert named(folder, '{ kind = "user", file = "codel.py", class = "Codel" }').name == "Codel of codel.py"
    found = named(folder, user("codel.py", "Codel", target="10ms"))
    assert (found.name, found.kind) == ("Codel of codel.py target=10ms", "user")


def test_a_scheduler_is_named_by_its_class_and_its_parameters_are_its_own(folder: Path) -> None:
    table = '{ kind = "user-scheduler", scheduler = { file = "schedulers.py", class = "Priority" }, queues = '
    found = named(folder, table + '[{ name = "a", match = { dscp = "ef" } }, { name = "b" }] }')
    assert found.name == "Priority of schedulers.py"
    assert found.parameters == {}


# Parameters.


def test_parameters_are_those_given_and_the_defaults_of_the_class(folder: Path) -> None:
    found = named(folder, user("codel.py", "Codel", target="4ms"))
    assert found.parameters == {"target": "4ms", "interval": "100ms", "mtu": 1514}
    assert found.parameters_given == 1
    # Without a default: limit; a default that is no value of TOML is shown as text, and not varied.
    base = named(folder, user("base.py", "Base", limit=3))
    assert base.parameters == {"target": "5ms", "limit": 3, "gain": 0.5, "table": "(1, 2)", "none": None}


def test_numeric_defaults_of_the_class_are_varied_and_counted(folder: Path) -> None:
    found = named(folder, user("codel.py", "Codel", target="4ms"))
    keys = {case.key for entry in sensitivity.entries(found) for case in entry.cases}
    assert {"8.3 target x0.5", "8.3 interval x2", "8.3 mtu x2"} <= keys
    entry = next(entry for entry in discussion.entries(found, []) if entry.section == "12.2")
    counts = {fact.name: fact.values[found.name] for fact in entry.facts}
    assert counts == {"parameters": 3, "set": 1}
    assert 'interval = "100ms"' in entry.why
    changed = found.with_values(found.change("interval", "200ms"))
    assert changed.parameters == {"target": "4ms", "interval": "200ms", "mtu": 1514}
    assert found.accepts(found.change("interval", "200ms"))
    assert not found.accepts(found.change("aim", "8ms"))


def test_of_a_compiled_law_only_the_given_parameters_are_known(folder: Path) -> None:
    shutil.copy(LAWS / "codel.wat", folder)
    found = named(folder, user("codel.wat", "Codel", target="4ms"))
    assert found.parameters == {"target": "4ms"}
    entry = next(entry for entry in discussion.entries(found, []) if entry.section == "12.2")
    assert "compiled law" in entry.why


# Size of the state.


def test_an_undeclared_size_is_neither_shown_nor_compared(folder: Path) -> None:
    mine = named(folder, user("base.py", "Base", limit=3))
    declared = subject(str(folder / "codel.py"))
    for own, other in ((mine, declared), (declared, mine)):
        found = evaluate(own, [other], length=TINY, only=["11.2"], threads=1)
        (score,) = next(row for row in found.rows if row.section == "11.2").scores
        assert score.absent == {mine.name: "not declared"}
        assert found.words(other.name) == {"better": 0, "worse": 0, "undecided": 0}
        # 34 B of the class and 24 B of the queue.
        values = score.interval if own is declared else score.against[declared.name].interval
        assert (values.lo, values.hi) == (58.0, 58.0)


def test_a_compiled_law_that_counts_nothing_has_not_declared_its_size(folder: Path) -> None:
    text = (LAWS / "codel.wat").read_text()
    stored = "(i64.const 34)"
    assert text.count(stored) == 1
    (folder / "codel.wat").write_text(text)
    (folder / "nothing.wat").write_text(text.replace(stored, "(i64.const 0)"))
    for file, words in (("codel.wat", {}), ("nothing.wat", {"Codel of nothing.wat": "not declared"})):
        one = named(folder, user(file, "Codel"))
        (case,) = next(entry for entry in discussion.entries(one, []) if entry.section == "11.2").cases
        assert case.absent == words


# Bare files.


def test_a_bare_file_is_evaluated_if_it_has_one_class(folder: Path) -> None:
    law = subject(str(folder / "codel.py"))
    assert (law.name, law.table) == ("Codel of codel.py", {"kind": "user", "file": "codel.py", "class": "Codel"})
    control = subject(str(folder / "reno.py"), TRANSPORT)
    assert control.name == "Reno of reno.py"


@pytest.mark.parametrize(
    ("file", "text", "role", "message"),
    [
        ("two.py", ONE + ONE.replace("Base", "Other"), DISCIPLINE, r"has the classes Base, Other; name one: '\{ kind"),
        ("none.py", "x = 1\n", DISCIPLINE, r"none.py has no class that is derived from tailback.Law$"),
        ("reno.py", None, DISCIPLINE, "evaluated with --transport"),
        ("schedulers.py", None, DISCIPLINE, "user-scheduler"),
        ("base.py", None, TRANSPORT, "without --transport"),
        ("law.wat", "(module)", DISCIPLINE, "law.wat is compiled"),
    ],
)
def test_other_bare_files_are_refused_with_what_they_have(
    folder: Path, file: str, text: str | None, role: object, message: str
) -> None:
    if text is not None:
        (folder / file).write_text(text)
    with pytest.raises(UsageError, match=message):
        subject(str(folder / file), role)  # type: ignore[arg-type]


def test_the_command_evaluates_a_bare_file(tailback: Cli, folder: Path) -> None:
    ran = tailback("evaluate", folder / "codel.py", "--against", "codel", "--only", "12.2", "--json")
    assert ran.code == 0
    assert ran.json["discipline"] == "Codel of codel.py"
