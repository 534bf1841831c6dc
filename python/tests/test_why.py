"""Explanations on the command line and in Python; `crates/trace/tests/why.rs` tests their content."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tailback as package
from tailback.errors import RunError, UsageError

Cli = Callable[..., Any]
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "why.toml"


def test_the_example_is_explained_by_the_storm_behind_two_switches() -> None:
    story = package.why(EXAMPLE, flow="web")
    # The only storm of the scenario is that of the host `faulty`, to which `web` sends nothing.
    assert (story.culprit["kind"], story.culprit["actor"]) == ("storm", "faulty")
    assert [hop["port"] for hop in story.hops] == ["client2->s1", "s1->s2", "s2->server"]
    assert story.verdict == str(story).splitlines()[0]
    delay = story.stories[0]["until_ps"] - story.stories[0]["from_ps"]
    assert delay == sum(sum(hop["waits"].values()) for hop in story.hops)
    # The storm lasts 70 ms.
    assert 0 < delay < 90e9


def test_a_run_directory_is_repeated_with_its_digest(tmp_path: Path) -> None:
    result = package.run(EXAMPLE, replications=2)
    directory = result.write(tmp_path / "run")
    story = package.why(directory, flow="web", seed=3)
    assert (story.seed, story.digest) == (3, result.reports[1].digest)
    with pytest.raises(UsageError, match="no replication with seed 9"):
        package.why(directory, flow="web", seed=9)
    manifest = json.loads((directory / "manifest.json").read_text())
    manifest["replications"][0]["digest"] = "tb2:0"
    del manifest["check"]
    (directory / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError, match="has the digest"):
        package.why(directory, flow="web")


def test_the_command_writes_text_json_and_a_figure(tailback: Cli, tmp_path: Path) -> None:
    figure = tmp_path / "why.svg"
    text = tailback("why", EXAMPLE, "--flow", "web", "--out", figure)
    assert (text.code, text.out.startswith("web packet ")) == (0, True)
    assert figure.read_text().startswith("<?xml")
    found = tailback("why", EXAMPLE, "--flow", "web", "--packet", "7", "--json").json
    assert set(found) == {"why", "seed", "digest", "stories"}
    assert found["stories"][0]["packet"] == 7
    queue = tailback("why", EXAMPLE, "--port", "s2->faulty", "--worst", "queue", "--json").json
    assert sum(row["share"] for row in queue["stories"][0]["blame"]) == pytest.approx(1)
    shares = queue["stories"][0]["worst"]["shares"]
    assert sum(share["bytes"] for share in shares) == queue["stories"][0]["worst"]["bytes"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--flow", "wbe"], "there is no flow 'wbe'; did you mean web?"),
        (["--port", "s2->fautly"], "there is no port 's2->fautly'; did you mean s2->faulty"),
        ([], "state either a flow or a port"),
        (["--flow", "web", "--at", "1ms", "--packet", "1"], "state one of packet and at"),
        (["--flow", "web", "--at", "soon"], "soon"),
        (["--flow", "web", "--packet", "100000"], "web sent no packet 100000"),
        (["--flow", "web", "--drop", "1"], "web has 0 dropped packets"),
        (["--flow", "web", "--worst", "queue"], "worst queue needs a port"),
        (["--port", "s2->faulty", "--packet", "1"], "packet selects a packet and needs a flow"),
        (["--flow", "web", "--out", "why.txt"], "does not end in .png, .svg or .pdf"),
    ],
)
def test_a_wrong_choice_is_refused_with_advice(tailback: Cli, arguments: list[str], message: str) -> None:
    done = tailback("why", EXAMPLE, *arguments)
    assert done.code == 2
    assert message in " ".join(done.err.split())
