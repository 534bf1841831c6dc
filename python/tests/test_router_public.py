"""Configurations after public documents: the results of flows, and the page about the configurations."""

import subprocess
import sys
from pathlib import Path

import pytest
from judging import check
from samples_public import PUBLIC

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "router/public"


@pytest.mark.parametrize("name", PUBLIC)
def test_flows_behind_a_public_configuration_have_the_results_computed_by_hand(name):
    check("tc" if name.endswith(".sh") else "mqc", (FOLDER / name).read_text(), PUBLIC[name].case)


def test_at_least_20_configurations_of_seven_platforms_name_their_source_document():
    assert {path.name for path in FOLDER.iterdir()} == set(PUBLIC)
    assert len(PUBLIC) >= 20
    platforms = {"IOS", "IOS XE", "IOS XR", "NX-OS", "Arista EOS", "Linux", "OpenWrt"}
    assert platforms <= {public.platform for public in PUBLIC.values()}
    for path in FOLDER.iterdir():
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#!")]
        assert lines[0].lstrip("!# ").startswith("After "), path.name


def test_the_page_of_public_configurations_is_current():
    done = subprocess.run(
        [sys.executable, ROOT / "tools/router_examples.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
