"""The extension module: its stub, cancellation, progress, errors and quantities."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tailback import _native

MERGE = Path(__file__).with_name("merge.toml").read_text()


def test_the_stub_matches_the_extension_module() -> None:
    pytest.importorskip("mypy", reason="mypy is not installed: pip install 'tailback[test]'")
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "tailback._native", "--concise"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_cancelled_run_ends_within_5_s() -> None:
    scenario = _native.Scenario.from_toml(MERGE.replace('"2s"', '"1000000s"'))
    cancel = _native.Cancel()
    timer = threading.Timer(0.3, cancel.cancel)
    timer.start()
    start = time.monotonic()
    with pytest.raises(_native.Cancelled):
        scenario.run(1, cancel)
    assert time.monotonic() - start < 5.0
    assert cancel.cancelled


def test_runs_release_the_interpreter_lock() -> None:
    scenario = _native.Scenario.from_toml(MERGE.replace('"2s"', '"1000000s"'))
    cancel = _native.Cancel()
    ended = threading.Event()

    def work() -> None:
        with pytest.raises(_native.Cancelled):
            scenario.run(1, cancel)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    count = 0
    deadline = time.monotonic() + 0.2
    while time.monotonic() < deadline:
        count += 1
    cancel.cancel()
    thread.join()
    assert ended.is_set()
    assert count > 1000


def test_progress_does_not_fall_and_is_at_most_1_and_an_error_of_the_callback_ends_the_run() -> None:
    scenario = _native.Scenario.from_toml(MERGE.replace('"2s"', '"2000s"'))
    reported: list[float] = []
    report = json.loads(scenario.run(1, None, reported.append))
    assert report["end_s"] == 2000
    assert reported == sorted(reported)
    assert 0 < reported[0] < reported[-1] <= 1

    def fails(_: float) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        scenario.run(1, None, fails)


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: _native.parse_rate("10 mb"), "Mbit/s"),
        (lambda: _native.parse_duration("5m"), "min"),
        (lambda: _native.parse_bytes("50KB"), "kB"),
        (lambda: _native.t_quantile(1.5, 3.0), "between 0 and 1"),
        (lambda: _native.Scenario.from_toml(MERGE).run(1, engine="fast"), "merged"),
        (lambda: _native.Scenario.from_toml(MERGE).run(1, warmup_s=-1.0), "out of range"),
    ],
)
def test_invalid_arguments_are_value_errors_with_advice(call, advice: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=advice):
        call()


def test_quantities_are_parsed_exactly() -> None:
    # In bit/s, ps and B.
    assert _native.parse_rate("1.544Mbit/s") == 1_544_000
    assert _native.parse_duration("1.5ms") == 1_500_000_000
    assert _native.parse_bytes("1KiB") == 1024


def test_an_error_of_the_engine_writes_nothing_to_stderr() -> None:
    # A warm-up after the end of the run must be an exception in Python, without a message on standard error.
    scenario = _native.Scenario.from_toml(MERGE)
    code = (
        "from tailback import _native\n"
        f"s = _native.Scenario.from_toml({MERGE!r})\n"
        "try: s.run(1, warmup_s=5.0)\n"
        "except (RuntimeError, ValueError) as error: print('refused')\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "TAILBACK_DEBUG"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.stderr == ""
    assert done.stdout in ("refused\n", "")
    assert scenario.hash
