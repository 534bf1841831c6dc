"""Drawings of networks: who stands where, who is drawn as one, and that every experiment has one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tailback import Scenario
from tailback.cli import main
from tailback.gallery.networks import networks
from tailback.gallery.registry import EXPERIMENTS, experiment
from tailback.scenario import source
from tailback.topology import MOST_ALIKE, MOST_DRAWN, draw, lay_out, network_of


def merging(sources: int) -> Scenario:
    """Sources s behind one switch send to d behind another, over a slow link; d2 answers them."""
    return (
        Scenario()
        .host("s", count=sources)
        .host("d", count=2)
        .switch("sw", count=2, buffer="50kB")
        .link(["s*", "sw1"], rate="100Mbit/s", delay="1us")
        .link(["sw1", "sw2"], rate="10Mbit/s", delay="2ms")
        .link(["sw2", "d*"], rate="1Gbit/s", delay="1us")
        .flow("data", "s*", "d1", source("poisson", rate="1Mbit/s", packet="1500B"))
        .flow("back", "d2", "s1", source("poisson", rate="1kbit/s", packet="64B"))
    )


def test_a_network_has_its_nodes_links_and_ends_of_flows() -> None:
    found = network_of(merging(3))
    assert dict(found.nodes) == dict.fromkeys(("s1", "s2", "s3", "d1", "d2"), "host") | {
        "sw1": "switch",
        "sw2": "switch",
    }
    backbone = next(link for link in found.links if link["ends"] == ["sw1", "sw2"])
    assert backbone == {
        "ends": ["sw1", "sw2"],
        "rate_bps": [10_000_000] * 2,
        "delay_s": 0.002,
        "buffer_bytes": [50_000] * 2,
    }
    assert found.way("s1", "d1") == ["s1", "sw1", "sw2", "d1"]
    assert sorted(found.flows)[-1] == ("s3", "d1", "data")
    assert len(found.flows) == 4


def test_columns_follow_the_flows_and_senders_stand_on_the_left() -> None:
    column = {name: part.x for part in lay_out(network_of(merging(3))) for name in part.names}
    assert [column[name] for name in ("s1", "s2", "s3")] == [0, 0, 0]
    assert (column["sw1"], column["sw2"], column["d1"]) == (1, 2, 3)
    rows = [part.y for part in lay_out(network_of(merging(3))) if part.names[0].startswith("s") and part.x == 0]
    assert len(set(rows)) == 3, "nodes do not lie upon each other"


@pytest.mark.parametrize("sources", [MOST_ALIKE, MOST_ALIKE + 2, 200])
def test_many_hosts_that_play_the_same_part_are_drawn_as_one(sources: int) -> None:
    parts = [part.names for part in lay_out(network_of(merging(sources))) if part.names[0].startswith("s")]
    hosts = [names for names in parts if not names[0].startswith("sw")]
    assert sorted(name for names in hosts for name in names) == sorted(f"s{k}" for k in range(1, sources + 1))
    # s1 also receives, and so is none of the others.
    assert len(hosts) == (sources if sources - 1 <= MOST_ALIKE else 2)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_a_drawing_or_words(name: str) -> None:
    drawn = networks(experiment(name), "quick")
    assert drawn
    assert len({figure.name for figure in drawn}) == len(drawn)
    for figure in drawn:
        picture = figure.draw()
        words = [text.get_text() for text in picture.axes[0].texts]
        assert words, "nodes and rates have names"


def test_a_network_too_large_to_draw_is_told_in_words() -> None:
    scenario = merging(4)
    for k in range(MOST_DRAWN):
        # Each with another rate, so that none is like another.
        scenario = scenario.host(f"x{k}").link([f"x{k}", "sw1"], rate=f"{k + 1}Mbit/s", delay="1us")
    (axes,) = draw(scenario).axes
    (text,) = axes.texts
    assert f"{MOST_DRAWN + 6} hosts, 2 switches" in text.get_text()


def test_plot_draws_the_network_of_a_scenario_file(tmp_path: Path) -> None:
    file = tmp_path / "merging.toml"
    file.write_text(merging(3).to_toml(), encoding="utf-8")
    result = CliRunner().invoke(main, ["plot", str(file)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "merging.png").read_bytes().startswith(b"\x89PNG")
