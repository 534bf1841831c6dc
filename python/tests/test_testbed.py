"""The hosts of the thesis' testbeds have the same settings in the shared table and in the scenario files."""

from __future__ import annotations

import pytest

from tailback.gallery.internet.shared.testbed import FREEBSD, HEARTBEAT
from tailback.gallery.registry import experiment
from tailback.scenario import Scenario


@pytest.mark.parametrize("name", ["internet-e08", "internet-e14"])
def test_the_scenario_file_has_the_hosts_of_the_table(name: str) -> None:
    base = Scenario.from_toml(experiment(name).read("scenario.toml"))
    assert base.set(FREEBSD).hash == base.hash
    assert base.set(HEARTBEAT).hash != base.hash
