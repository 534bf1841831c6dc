"""Drawings of networks: positions of nodes, hosts that are drawn as one, and a drawing for every experiment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailback import Scenario
from tailback.gallery.registry import EXPERIMENTS, experiment
from tailback.plotting.network import MOST_ALIKE, MOST_DRAWN, draw, lay_out, network_of
from tailback.reproduction.networks import networks
from tailback.scenario import source


def merging(sources: int) -> Scenario:
    """Return a scenario in which hosts h behind one switch send over a slow link to d1, and d2 sends to h1."""
    return (
        Scenario(duration="1s")
        .host("h", count=sources)
        .host("d", count=2)
        .switch("sw", count=2, buffer="50kB")
        .link(["h*", "sw1"], rate="100Mbit/s", delay="1us")
        .link(["sw1", "sw2"], rate="10Mbit/s", delay="2ms")
        .link(["sw2", "d*"], rate="1Gbit/s", delay="1us")
        .flow("data", "h*", "d1", source("poisson", rate="1Mbit/s", packet="1500B"))
        .flow("back", "d2", "h1", source("poisson", rate="1kbit/s", packet="64B"))
    )


def test_a_network_has_its_nodes_links_and_ends_of_flows() -> None:
    found = network_of(merging(3))
    assert dict(found.nodes) == dict.fromkeys(("h1", "h2", "h3", "d1", "d2"), "host") | {
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
    assert found.way("h1", "d1") == ["h1", "sw1", "sw2", "d1"]
    assert sorted(found.flows)[-1] == ("h3", "d1", "data")
    assert len(found.flows) == 4


def test_columns_follow_the_flows_and_senders_are_on_the_left() -> None:
    column = {name: part.x for part in lay_out(network_of(merging(3))) for name in part.names}
    assert [column[name] for name in ("h1", "h2", "h3")] == [0, 0, 0]
    assert (column["sw1"], column["sw2"], column["d1"]) == (1, 2, 3)
    rows = [part.y for part in lay_out(network_of(merging(3))) if part.names[0].startswith("h")]
    assert len(set(rows)) == 3, "nodes overlap"


@pytest.mark.parametrize("sources", [MOST_ALIKE, MOST_ALIKE + 2, 200])
def test_many_hosts_with_the_same_role_are_drawn_as_one(sources: int) -> None:
    hosts = [part.names for part in lay_out(network_of(merging(sources))) if part.names[0].startswith("h")]
    assert sorted(name for names in hosts for name in names) == sorted(f"h{k}" for k in range(1, sources + 1))
    # h1 also receives, so that it has another role.
    assert len(hosts) == (sources if sources - 1 <= MOST_ALIKE else 2)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_drawings_with_labels(name: str) -> None:
    drawn = networks(experiment(name), "quick")
    assert drawn
    assert len({figure.name for figure in drawn}) == len(drawn)
    for figure in drawn:
        picture = figure.draw()
        words = [text.get_text() for text in picture.axes[0].texts]
        assert words, "there are no labels"


def test_a_network_too_large_to_draw_is_described_in_words() -> None:
    scenario = merging(4)
    for k in range(MOST_DRAWN):
        # Each host has another rate, so that no two have the same role.
        scenario = scenario.host(f"x{k}").link([f"x{k}", "sw1"], rate=f"{k + 1}Mbit/s", delay="1us")
    (axes,) = draw(scenario).axes
    (text,) = axes.texts
    assert f"{MOST_DRAWN + 6} hosts, 2 switches" in text.get_text()


def test_plot_draws_the_network_of_a_scenario_file(tailback: Callable[..., Any], merge: Path) -> None:
    found = tailback("plot", merge)
    drawing = merge.with_suffix(".png")
    assert (found.code, found.out.strip()) == (0, str(drawing))
    assert drawing.read_bytes().startswith(b"\x89PNG")
