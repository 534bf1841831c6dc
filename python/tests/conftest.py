"""Fixtures of all tests: the command line in this process, and a small scenario."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tailback.cli import main

# The time of an example depends on the machine, so that Hypothesis must not fail a test that is slow.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

MERGE = Path(__file__).with_name("merge.toml").read_text()


@dataclass
class Ran:
    """Exit code, standard output and standard error of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Value of the JSON document on standard output."""
        return json.loads(self.out)


@pytest.fixture
def tailback(capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Return a function that runs the command with its arguments in this process, and fails if it shows a traceback."""

    def call(*arguments: str | Path) -> Ran:
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        assert isinstance(stop.value.code, int)
        assert "Traceback" not in captured.err
        return Ran(stop.value.code, captured.out, captured.err)

    return call


@pytest.fixture
def merge(tmp_path: Path) -> Path:
    """Return the path of a small scenario that runs in milliseconds and loses a few packets."""
    path = tmp_path / "merge.toml"
    path.write_text(MERGE)
    return path
