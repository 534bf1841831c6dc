"""Tests of the lab's server and addresses; the page itself is tested by `make test-web`."""

from __future__ import annotations

import base64
import json
import threading
import urllib.request
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from tailback.cli.lab import lab
from tailback.errors import UsageError
from tailback.web.address import address
from tailback.web.lab import served

SCENARIO = """\
tailback = 1
[run]
duration = "10ms"
seed = 7
[hosts]
a = {}
b = {}
[[links]]
between = ["a", "b"]
rate = "10Mbit/s"
[[flows]]
name = "data"
from = "a"
to = "b"
source = { kind = "cbr", rate = "5Mbit/s", packet = "1000B" }
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of built files whose lab is one short page."""
    place = tmp_path / "lab"
    place.mkdir()
    (place / "index.html").write_text("<title>lab</title>", encoding="utf-8")
    (place / "tailback.wasm").write_bytes(b"\0asm")
    monkeypatch.setattr("tailback.web.lab.folder", lambda: tmp_path)
    return place


def _opened(fragment: str) -> dict[str, object]:
    """Return what an address opens."""
    name, _, text = fragment.partition("=")
    assert name == "#s"
    packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    found: dict[str, object] = json.loads(zlib.decompress(packed, wbits=-15))
    return found


def test_an_address_holds_the_scenario_and_the_seed() -> None:
    found = _opened(address(SCENARIO + "# µ\n", 3))
    assert found["seed"] == "3"
    assert found["variants"] == [{"text": SCENARIO + "# µ\n", "sets": [], "tunable": [], "timeline": []}]


def test_a_large_scenario_gives_an_address_of_url_characters_only() -> None:
    fragment = address(SCENARIO * 50, 1)
    assert set(fragment[3:]) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_the_server_has_the_files_and_answers_on_the_loopback_interface_only(site: Path) -> None:
    with served(0) as server:
        assert server.server_address[0] == "127.0.0.1"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        with urllib.request.urlopen(f"{base}/index.html", timeout=10) as page:
            assert page.read() == (site / "index.html").read_bytes()
        with urllib.request.urlopen(f"{base}/tailback.wasm", timeout=10) as module:
            assert module.headers["Content-Type"] == "application/wasm"
        server.shutdown()


def test_without_the_built_files_and_on_a_used_port_there_is_a_usage_error(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(0) as server, pytest.raises(UsageError, match="cannot be used"), served(server.server_port):
        pass
    monkeypatch.setattr("tailback.web.lab.folder", lambda: site)
    with pytest.raises(UsageError, match="make lab"), served(0):
        pass


@pytest.mark.usefixtures("site")
def test_the_command_serves_the_scenario_with_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("http.server.ThreadingHTTPServer.serve_forever", lambda _: None)
    outcome = CliRunner().invoke(lab, [str(file), "--set", "links[0].rate=20Mbit/s"])
    assert outcome.exit_code == 0, outcome.output
    found = _opened(opened[0][opened[0].index("#") :])
    assert found["seed"] == "7"
    assert "20Mbit/s" in str(found["variants"])
    assert CliRunner().invoke(lab, [str(file), "--seed", "9", "--no-browser"]).exit_code == 0
    assert len(opened) == 1


@pytest.mark.usefixtures("site")
def test_without_settings_the_scenario_is_served_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text("# A comment\n" + SCENARIO, encoding="utf-8")
    monkeypatch.setattr("http.server.ThreadingHTTPServer.serve_forever", lambda _: None)
    outcome = CliRunner().invoke(lab, [str(file), "--seed", "9", "--no-browser"])
    found = _opened(outcome.output[outcome.output.index("#") :].replace("\n", ""))
    assert found["seed"] == "9"
    assert found["variants"] == [{"text": "# A comment\n" + SCENARIO, "sets": [], "tunable": [], "timeline": []}]


@pytest.mark.usefixtures("site")
def test_settings_without_a_scenario_are_refused() -> None:
    outcome = CliRunner().invoke(lab, ["--seed", "3", "--no-browser"])
    assert isinstance(outcome.exception, UsageError)
