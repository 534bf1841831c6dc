"""Messages about the parameters of users' components: the place, the reason and the cure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from components import dumbbell, read
from conftest import Ran

import tailback as core

Cli = Callable[..., Ran]

LAW = """
import tailback


class Ramp(tailback.Law):
    def __init__(self, low="5ms", high="100ms", limit=20, gain: float = 1.0):
        self.low_ps = self.picoseconds(low)
        self.high_ps = self.picoseconds(high)
        if gain < 0:
            raise ValueError("the gain is negative")

    def arrive(self, call):
        return tailback.PASS


class Needs(tailback.Law):
    def __init__(self, slope, *, start):
        self.slope = slope

    def arrive(self, call):
        return tailback.PASS


class Open(tailback.Law):
    def __init__(self, **others):
        self.others = others

    def arrive(self, call):
        return tailback.PASS


class Plain(tailback.Law):
    def arrive(self, call):
        return tailback.PASS


class Wrong(tailback.Law):
    def __init__(self):
        self.low_ps = self.picoseconds("5")

    def arrive(self, call):
        return tailback.PASS
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ramp.py").write_text(LAW)
    return tmp_path


def discipline(name: str, parameters: str) -> str:
    return f'{{ kind = "user", file = "ramp.py", class = "{name}", parameters = {parameters} }}'


def refusal(folder: Path, name: str, parameters: str) -> core.ScenarioError:
    with pytest.raises(core.ScenarioError) as refused:
        read(dumbbell(discipline(name, parameters)), folder)
    return refused.value


def underlined(error: core.ScenarioError, text: str) -> str:
    """Return the part of the text at the line and column of the error, as long as the carets in the message."""
    assert error.line is not None
    assert error.column is not None
    carets = next(line for line in error.rendered.splitlines() if set(line) <= set(" |^") and "^" in line)
    return text.splitlines()[error.line - 1][error.column - 1 :][: carets.count("^")]


@pytest.mark.parametrize(
    ("parameters", "value", "message", "cure"),
    [
        ("{ high = 20 }", "20", "`high` of `Ramp` expects a duration: `20` is not text", 'such as "20ms"'),
        ("{ low = 2.5 }", "2.5", "`low` of `Ramp` expects a duration: `2.5` is not text", 'such as "2.5ms"'),
        ("{ high = true }", "true", "`high` of `Ramp` expects a duration: `True` is not text", "with a unit"),
        ('{ high = "20" }', '"20"', "`high` of `Ramp` expects a duration: `20` has no unit", 'such as "20ms"'),
        ('{ low = "soon" }', '"soon"', "`low` of `Ramp` expects a duration: `soon` is not a duration", "a unit"),
        # The limit has the same value, and is not passed to `picoseconds`.
        ("{ limit = 20, high = 20 }", "20", "`high` of `Ramp`", "with a unit"),
    ],
)
def test_a_value_that_is_no_duration_is_refused_at_its_place_with_a_cure(
    folder: Path, parameters: str, value: str, message: str, cure: str
) -> None:
    error = refusal(folder, "Ramp", parameters)
    name = message.split("`")[1]
    assert error.path == f"network.discipline.parameters.{name}"
    assert message in error.message
    assert cure in (error.suggestion or "")
    assert underlined(error, dumbbell(discipline("Ramp", parameters))) == value
    assert "Traceback" not in str(error)
    assert "component.py" not in str(error)


@pytest.mark.parametrize(
    ("name", "parameters", "key", "cure"),
    [
        ("Ramp", '{ hihg = "20ms" }', "hihg", "did you mean `high`? its parameters: low, high, limit, gain"),
        ("Ramp", '{ low = "1ms", zebra = 3 }', "zebra", "its parameters: low, high, limit, gain"),
        ("Plain", "{ limit = 3 }", "limit", "the class takes no parameters"),
    ],
)
def test_an_unknown_parameter_is_underlined_and_the_known_ones_are_listed(
    folder: Path, name: str, parameters: str, key: str, cure: str
) -> None:
    error = refusal(folder, name, parameters)
    assert error.message == f"`{name}` has no parameter `{key}`"
    assert error.suggestion == cure
    assert underlined(error, dumbbell(discipline(name, parameters))) == key


def test_parameters_without_a_default_are_named(folder: Path) -> None:
    error = refusal(folder, "Needs", "{ slope = 1 }")
    assert (error.message, error.path) == ("`Needs` needs `start`", "network.discipline.parameters")
    assert refusal(folder, "Needs", "{}").message == "`Needs` needs `slope` and `start`"


def test_a_class_with_open_parameters_takes_any(folder: Path) -> None:
    read(dumbbell(discipline("Open", "{ anything = 1 }")), folder).check()


def test_other_errors_of_the_class_have_the_lines_of_its_file_only(folder: Path) -> None:
    for name, parameters, message in (
        ("Ramp", "{ gain = -1 }", "ValueError: the gain is negative"),
        ("Wrong", "{}", "`5` has no unit"),
    ):
        error = refusal(folder, name, parameters)
        assert message in error.message
        assert "ramp.py" in error.message
        assert "component.py" not in error.message
        assert error.path == "network.discipline.parameters"


def test_check_names_the_option_with_the_wrong_parameter(tailback: Cli, folder: Path) -> None:
    for parameters, where, message in (
        ("{ high = 20 }", "--parameters, high", "expects a duration"),
        ('{ hihg = "20ms" }', "--parameters, hihg", "has no parameter `hihg`"),
        ("{ gain = -1 }", "--parameters", "the gain is negative"),
    ):
        done = tailback("check", folder / "ramp.py", "--class", "Ramp", "--parameters", parameters)
        assert done.code == 3
        assert f"--> {where}\n" in done.err
        assert message in done.err
        assert "<scenario>" not in done.err


def test_a_fault_states_the_exact_instant(folder: Path) -> None:
    # As a floating-point number, 100e9 ps times 1e-12 is 0.09999999999999999 s.
    (folder / "late.py").write_text(
        "import tailback\n\n\nclass Late(tailback.Law):\n"
        "    def start(self, call):\n        self.wake_ps = 100_000_000_000\n\n"
        "    def timer(self, call):\n        return 3\n"
    )
    one = read(dumbbell('{ kind = "user", file = "late.py", class = "Late" }'), folder)
    with pytest.raises(core.RunError, match=r"in `timer` at 0\.1 s:"):
        core.run(one, replications=1)
