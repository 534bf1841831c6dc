"""The command line: exit codes, messages, JSON, progress, interruption and input from pipes."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MERGE = Path(__file__).with_name("merge.toml").read_text()

Cli = Callable[..., Any]


def wait_until_busy(pid: int, cpu_s: float) -> None:
    """Wait until a child has used the given processor time, however slow the machine is."""
    ticks = os.sysconf("SC_CLK_TCK")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / ticks >= cpu_s:
            return
        time.sleep(0.05)


def test_exit_codes_are_the_documented_ones(tailback: Cli, merge: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(MERGE.replace("duration", "duratoin"))
    for arguments, code in [
        (["--help"], 0),
        (["--version"], 0),
        (["validate", merge], 0),
        (["run", merge, "--reps", "1"], 0),
        ([], 2),
        (["nonsense"], 2),
        (["run"], 2),
        (["run", "absent.toml"], 2),
        (["run", merge, "--reps", "0"], 2),
        (["run", merge, "--set", "no equals sign"], 2),
        (["reproduce", "lan-a99", "--out", tmp_path / "out"], 2),
        (["explain", "nonsense"], 2),
        (["bench", "nonsense"], 2),
        (["headroom", "--rate", "10Mbit/s"], 2),
        (["headroom", "--rate", "10Mbps", "--delay", "1us"], 2),
        (["validate", wrong], 3),
        (["run", wrong], 3),
        (["run", merge, "--set", "run.nonsense=1"], 3),
        (["sweep", merge, "--set", "flows[data].class=[0, 7]"], 3),
        (["compare", wrong, merge], 3),
        (["run", merge, "--out", merge / "below"], 4),
        (["plot", tmp_path], 4),
    ]:
        assert tailback(*arguments).code == code, arguments


def test_errors_say_what_to_do_and_show_no_traceback(tailback: Cli, merge: Path) -> None:
    assert "Did you mean 'reproduce'?" in tailback("reprodcue").err
    assert "did you mean lan-a1?" in tailback("reproduce", "lan-a11").err
    assert "did you mean internet-e01?" in tailback("reproduce", "internet-e1").err
    assert "did you mean uniform-uniform?" in tailback("explain", "uniform-unifrom").err
    assert "Mbit/s" in tailback("headroom", "--rate", "10Mbps", "--delay", "1us").err
    assert "nonsense" in tailback("run", merge, "--set", "run.nonsense=1").err


def test_validate_shows_the_line_and_json_has_line_and_path(tailback: Cli, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(MERGE.replace('"10Mbit/s"', '"10 mb"', 1))
    human = tailback("validate", wrong)
    assert "wrong.toml:22:" in human.err
    assert "^" in human.err
    found = tailback("validate", wrong, "--json")
    assert found.code == 3
    (problem,) = found.json["errors"]
    assert (found.json["valid"], problem["line"], problem["path"]) == (False, 22, "links[0].rate")


def test_list_has_the_documented_keys_and_explain_knows_each_listed_source_discipline_and_model(tailback: Cli) -> None:
    found = tailback("list", "--json").json
    assert {"id", "group", "title", "reference", "on_request"} == set(found["experiments"][0])
    assert [e["id"] for e in found["experiments"] if e["on_request"]] == ["internet-1999"]
    assert "forward" in found["workloads"]
    for kinds in ("sources", "disciplines", "models"):
        for kind in found["kinds"][kinds]:
            assert tailback("explain", kind).code == 0, kind
    groups, _, on_request = tailback("list").out.partition("On request only")
    assert "lan-a1" in groups
    assert "internet-1999" not in groups
    assert "internet-1999" in on_request
    assert tailback("schema").json["title"]
    assert "Traffic merging" in tailback("explain", "lan-a1").out


def test_pages_of_experiments_fit_80_columns_and_lose_no_word(tailback: Cli) -> None:
    from tailback.gallery.registry import EVERY, experiment

    for name in EVERY:
        page = experiment(name).read("README.md")
        shown = tailback("explain", name).out
        # Drawings of networks are indented, and are not wrapped.
        assert [line for line in shown.splitlines() if len(line) > 80 and not line.startswith("    ")] == [], name
        # Every word outside tables is shown; in tables a line break may divide words.
        kept = "\n".join(line for line in page.splitlines() if not line.startswith("|"))
        assert Counter(kept.split()) - Counter(shown.split()) == Counter(), name


def test_run_reports_manifest_summary_and_ports(tailback: Cli, merge: Path, tmp_path: Path) -> None:
    found = tailback("run", merge, "--json", "--seed", "5", "--reps", "2", "--out", tmp_path / "run").json
    assert [row["seed"] for row in found["replications"]] == [5, 6]
    assert {"scope", "name", "metric", "mean", "lo", "hi", "n", "unit"} == set(found["summary"][0])
    assert found["ports"][0]["port"] == "sw->d"
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["digest"] == found["digest"]
    table = tailback("run", merge)
    assert "data" in table.out
    assert "±" in table.out
    assert "\x1b" not in table.out


def test_a_run_at_a_low_rate_given_by_set_loses_nothing(tailback: Cli, merge: Path) -> None:
    found = tailback(
        "run", merge, "--json", "--set", "flows[data].source.rate=100kbit/s", "--set", "run.duration=1s"
    ).json
    loss = next(row for row in found["summary"] if row["metric"] == "loss")
    assert loss["mean"] == 0


def test_compare_pairs_replications_by_seed_and_refuses_runs_without_a_common_seed(
    tailback: Cli, merge: Path, tmp_path: Path
) -> None:
    a, b, apart = tmp_path / "a", tmp_path / "b", tmp_path / "apart"
    tailback("run", merge, "--out", a)
    tailback("run", merge, "--set", "backpressure.scope=plain", "--out", b, "--reps", "5")
    tailback("run", merge, "--seed", "100", "--out", apart)
    found = tailback("compare", a, b, "--json").json
    assert found["seeds"] == [1, 2, 3]
    offered = next(row for row in found["differences"] if row["metric"] == "offered")
    assert (offered["difference"]["mean"], offered["significant"]) == (0, False)
    refused = tailback("compare", a, apart)
    assert refused.code == 2
    assert "no seed in common" in refused.err
    files = tailback("compare", merge, b / "scenario.toml", "--json").json
    assert files["differences"] == found["differences"]


def test_sweep_writes_all_points_of_the_grid_to_one_file(tailback: Cli, merge: Path, tmp_path: Path) -> None:
    import polars as pl

    out = tmp_path / "sweep.parquet"
    grid = ["--set", "flows[data].source.rate=[1Mbit/s, 2Mbit/s]", "--set", "network.buffer=[10kB, 20kB]"]
    found = tailback("sweep", merge, *grid, "--set", "run.duration=1s", "--reps", "2", "--out", out, "--json").json
    assert len(found["points"]) == 4
    frame = pl.read_parquet(out)
    assert frame.select("flows[data].source.rate", "network.buffer", "seed").unique().height == 8


def test_headroom_matches_the_worked_example(tailback: Cli) -> None:
    found = tailback("headroom", "--rate", "100Mbit/s", "--delay", "1us", "--counts", "wire", "--pfc", "--json").json
    full, short = found["forms"]
    terms = {term["name"]: term["bytes"] for term in full["terms"]}
    # On the wire, the notification has 84 B, and each of two frames 1538 B; cable and response time take 89 B.
    assert terms["notification"] == 84
    assert terms["frame just begun by the peer"] == terms["frame being sent on the reverse way"] == 1538
    assert terms["round trip on the cable"] + terms["response time"] == 89
    assert full["bytes_per_link"] == sum(terms.values())
    assert short["bytes_per_link"] == 1500 + 1500 + 3840 + 26
    assert tailback("headroom", "--rate", "400Gbit/s", "--delay", "1us").code == 2


def test_the_short_formula_is_refused_at_rates_whose_response_time_it_does_not_cover(tailback: Cli) -> None:
    # The short formula has 60 quanta, the maximum response time at 10 Gbit/s; at 25 Gbit/s the maximum is 80 quanta.
    assert tailback("headroom", "--rate", "10Gbit/s", "--delay", "1us", "--pfc").code == 0
    refused = tailback("headroom", "--rate", "25Gbit/s", "--delay", "1us", "--pfc")
    assert refused.code == 2
    assert "10 Gbit/s" in refused.err


def test_bench_reports_the_documented_fields(tailback: Cli) -> None:
    found = tailback("bench", "lan-a1", "--json").json
    assert set(found) == {"workload", "packet_hops", "events", "cpu_s", "wall_s", "rss_mb"}
    assert found["packet_hops"] > 100_000
    assert found["cpu_s"] > 0


def test_plot_writes_png_and_svg_and_refuses_other_formats(tailback: Cli, merge: Path, tmp_path: Path) -> None:
    tailback("run", merge, "--out", tmp_path / "run", "--set", "run.sample=10ms")
    assert tailback("plot", tmp_path / "run").out.strip().endswith("plot.png")
    assert (tmp_path / "run" / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert tailback("plot", tmp_path / "run", "--out", tmp_path / "x.svg").code == 0
    assert tailback("plot", tmp_path / "run", "--out", tmp_path / "x.doc").code == 2


def test_completion_scripts_exist_for_four_shells_and_bash_completes_a_command(tailback: Cli) -> None:
    for shell in ("bash", "zsh", "fish", "powershell"):
        assert "_TAILBACK_COMPLETE" in tailback("completion", shell).out
    environment = {**os.environ, "_TAILBACK_COMPLETE": "bash_complete", "COMP_WORDS": "tailback rep", "COMP_CWORD": "1"}
    code = "from tailback.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "reproduce" in done.stdout


def test_a_pipe_that_is_closed_after_the_first_line_is_no_error() -> None:
    command = f"{sys.executable} -m tailback schema | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "{\n"


def test_a_pipe_that_is_closed_before_the_output_is_no_error(merge: Path) -> None:
    for command in (["run", str(merge), "-q"], ["list"], ["run", str(merge), "-q", "--json"]):
        read, write = os.pipe()
        os.close(read)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "tailback", *command],
                stdout=write,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        finally:
            os.close(write)
        assert (done.returncode, done.stderr) == (0, ""), command
    table = Path(__file__).resolve().parents[2].joinpath("docs", "cli.md").read_text()
    assert re.search(r"^\| 0 \|.*`head`", table, re.MULTILINE)


def test_help_loads_few_modules_and_no_heavy_library() -> None:
    """The time of `--help` is that of the modules that it loads: 231 when this was written, in about 0.2 s."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "from tailback.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*set(sys.modules) - before, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    packages = {name.split(".")[0] for name in loaded} - sys.stdlib_module_names - {"__mp_main__"}
    assert packages == {"tailback", "click"}
    assert len(loaded) < 300


def test_quiet_hides_progress_and_no_color_disables_colour(merge: Path) -> None:
    def stderr_of(environment: dict[str, str], *arguments: str) -> str:
        reader, writer = pty.openpty()
        command = [sys.executable, "-m", "tailback", *arguments]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=writer, env={**os.environ, **environment})
        os.close(writer)
        text = b""
        try:
            while chunk := os.read(reader, 4096):
                text += chunk
        except OSError:
            pass
        os.close(reader)
        child.wait()
        return text.decode()

    run = ("run", str(merge), "--set", "run.duration=200s")
    assert "merge.toml" in stderr_of({}, *run)
    assert stderr_of({}, *run, "--quiet") == ""
    assert "\x1b[31m" in stderr_of({"NO_COLOR": ""}, "explain", "nonsense")
    assert "\x1b[31m" not in stderr_of({"NO_COLOR": "1"}, "explain", "nonsense")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see that a child is at work")
@pytest.mark.parametrize("command", ["run", "sweep"])
def test_ctrl_c_keeps_finished_replications_and_points(command: str, tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    # The first replications and points take seconds; the whole would take hours and is never finished.
    path.write_text(MERGE)
    if command == "run":
        out = tmp_path / "run"
        arguments = ["--reps", "100000", "--threads", "2"]
    else:
        out = tmp_path / "sweep.parquet"
        arguments = ["--reps", "1", "--threads", "1", "--set", "run.duration=[1s, 2s, 1000000s]"]
    child = subprocess.Popen(
        [sys.executable, "-m", "tailback", command, str(path), "--out", str(out), *arguments, "-q"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    wait_until_busy(child.pid, 1.5)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "interrupted" in err
    assert "Traceback" not in err
    if command == "run":
        manifest = json.loads((out / "manifest.json").read_text())
        assert manifest["state"] == "interrupted"
        assert len(manifest["replications"]) > 0
    else:
        import polars as pl

        frame = pl.read_parquet(out)
        assert set(frame["run.duration"]) == {"1s", "2s"}
        assert json.loads(pl.read_parquet_metadata(out)["tailback"])["state"] == "interrupted"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--seed", str(2**63 - 1), "--reps", "2"),
            "the base seed is 9223372036854775807; write 0 to 9223372036854775806",
        ),
        (("--seed", str(2**64)), "; write 0 to "),
        (("--reps", "99999999999"), "write 1 to 100000"),
        (("--parallel", "99999999999999999999"), "write 1 to 1024 threads"),
    ],
)
def test_numbers_beyond_their_range_are_refused_before_anything_runs(
    tailback: Cli, merge: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = tailback("run", merge, *arguments, "--out", tmp_path / "out")
    assert (done.code, message in done.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_sweep_whose_last_seed_is_out_of_range_is_refused(tailback: Cli, merge: Path) -> None:
    done = tailback("sweep", merge, "--set", "network.buffer=[10kB]", "--seed", str(2**63 - 2), "--reps", "3", "-q")
    assert (done.code, "the base seed" in done.err) == (2, True)


def test_a_trace_next_to_the_scenario_is_found_with_settings_too(
    tailback: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    for place, size in ((folder, 500), (elsewhere, 900)):
        place.mkdir()
        (place / "t.txt").write_text(f"{size}\n" * 40)
    (folder / "x.toml").write_text(
        """
tailback = 1
run = { duration = "2s", replications = 1 }
hosts = { a = {}, b = {} }
switches = { s = {} }
links = [{ between = ["[ab]", "s"], rate = "10Mbit/s" }]
flows = [{ name = "v", from = "a", to = "b", source = { kind = "trace", file = "t.txt", format = "terse-bytes" } }]
"""
    )
    # The working directory has another file of this name, which must not be read.
    monkeypatch.chdir(elsewhere)
    done = tailback("run", folder / "x.toml", "--set", "run.seed=5", "--out", tmp_path / "out", "--json")
    assert done.code == 0
    assert (tmp_path / "out" / "t.txt").read_text() == (folder / "t.txt").read_text()
    again = tailback("run", tmp_path / "out" / "scenario.toml", "--json")
    assert again.json["digest"] == done.json["digest"]


def test_a_document_can_come_through_a_pipe(merge: Path) -> None:
    for command in ("validate", "run"):
        call = [sys.executable, "-m", "tailback", command, "-"]
        done = subprocess.run(call, input=merge.read_text(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        whole = f"{sys.executable} -m tailback {command} <(cat {merge})"
        done = subprocess.run(["bash", "-c", whole], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--rate", "5", "--length", "10m"),
        ("--rate", "1Gbit/s", "--delay", "1"),
        ("--rate", "1Gbit/s", "--length", "10"),
    ],
)
def test_a_quantity_without_a_unit_is_a_usage_error(tailback: Cli, arguments: tuple[str, ...]) -> None:
    done = tailback("headroom", *arguments)
    assert done.code == 2
    assert "TAILBACK_DEBUG" not in done.err
    assert re.search(r"no unit|not a length", done.err)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (MERGE.encode("utf-16"), "PowerShell"),
        (MERGE.encode("utf-16-le"), "PowerShell"),
        (MERGE.replace("Two into one", "Zwei f\xfcr eins").encode("latin-1"), "byte 0xfc"),
    ],
)
def test_a_file_that_is_not_utf_8_is_an_invalid_scenario(
    tailback: Cli, tmp_path: Path, data: bytes, message: str
) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(data)
    for command in ("run", "validate", "sweep"):
        done = tailback(command, path)
        assert done.code == 3
        assert message in done.err
        assert str(path) in done.err
    (problem,) = tailback("validate", path, "--json").json["errors"]
    assert "UTF-8" in problem["message"]
    assert problem["suggestion"]


def test_a_study_whose_scenario_is_a_study_is_refused_with_its_place(tailback: Cli, merge: Path) -> None:
    inner, outer = merge.with_name("inner.toml"), merge.with_name("outer.toml")
    inner.write_text('study = 1\nscenario = "merge.toml"\n')
    outer.write_text('study = 1\nscenario = "inner.toml"\n')
    done = tailback("validate", outer, "--json")
    assert done.code == 3
    (problem,) = done.json["errors"]
    assert problem["message"].endswith("inner.toml is a study, not a scenario")
    assert (problem["path"], problem["line"]) == ("scenario", 2)


def test_an_uncaught_panic_is_an_error_message_and_exit_code_4(
    tailback: Cli, merge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pyo3's exception for a panic is not an `Exception`, and cannot be constructed in Python.
    class PanicException(BaseException):
        pass

    PanicException.__module__ = "pyo3_runtime"

    def panic(*_: object, **__: object) -> None:
        raise PanicException("index out of bounds")

    monkeypatch.setattr("tailback.scenario.load", panic)
    monkeypatch.delenv("TAILBACK_DEBUG", raising=False)
    done = tailback("run", merge)
    assert done.code == 4
    assert done.err.startswith("error: this is a bug of Tailback: index out of bounds")
