"""Comparison with a Linux kernel, as far as it needs no kernel: evaluation of records and preparation of policies."""

from __future__ import annotations

import importlib
import json
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "validation" / "linux"


@pytest.fixture
def guest(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("guest")


@pytest.fixture
def compare(guest):
    del guest
    return importlib.import_module("compare")


@pytest.fixture
def policies(guest):
    del guest
    return importlib.import_module("policies")


def records(guest, *rows):
    """Return records of packets of one source; a row has seconds after the start, number, port, id, bytes, payload."""
    made = [(round((guest.START_S + at) * 1e9), 1, number, port, id_, *rest) for at, number, port, id_, *rest in rows]
    return np.array(made, guest.RECORD)


def test_packets_count_by_their_send_time_and_late_arrivals_are_not_lost(guest):
    # Sent at 0.5 s: warm-up. Sent at 1 s: delay 10 ms. Sent at 2 s: delay 30 ms. Sent at 3 s: lost. Sent at 3.999 s:
    # arrives at 4.5 s, after the end. So 1 of 4 is lost, and 2 packets of 100 B in 3 s are 533.3 bit/s.
    sizes = (100, 72)
    sent = records(guest, *((at, n, 7, 0, *sizes) for n, at in enumerate((0.5, 1, 2, 3, 3.999))))
    arrived = records(guest, *((at, n, 7, 0, *sizes) for n, at in ((0, 0.51), (2, 2.03), (1, 1.01), (4, 4.5))))
    made = guest.outcome(sent, arrived, guest.Group("a", "cbr", 0, 1, 100), 1, 4)
    assert made.offered_bps == pytest.approx(4 * 800 / 3)
    assert made.throughput_bps == pytest.approx(2 * 800 / 3)
    assert made.loss == 0.25
    assert (made.mean_s, made.p99_s) == (pytest.approx(0.02), pytest.approx(0.03))


def test_a_single_seed_gives_means_without_intervals_and_json_without_infinity(compare, guest):
    one = guest.Outcome(offered_bps=2e6, throughput_bps=1e6, loss=0.5, mean_s=0.01, p99_s=math.nan)
    row = compare.compare("p", "script", "a", [one], [one])
    assert "| 1.000 / 1.000 | 50.00 / 50.00 | 10.00 / 10.00 | none / none |" in compare.table([row])
    text = json.dumps(compare.as_json(row), allow_nan=False)
    assert json.loads(text)["kernel"]["loss"] == {"mean": 0.5, "lo": None, "hi": None, "n": 1}


def test_no_seeds_are_a_usage_error(compare, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["compare.py", "--seeds", "0"])
    with pytest.raises(SystemExit):
        compare.main()
    assert "--seeds needs at least 1" in capsys.readouterr().err


def test_a_retransmission_counts_as_a_packet_and_half_of_the_rtt_is_added_to_the_delay(guest):
    # Segment 1000 is lost and sent again after half a second; its delay is 20 ms, to which half of the RTT is added.
    sent = records(guest, (1, 1000, 7, 1, 1500, 1460), (1.5, 1000, 7, 2, 1500, 1460))
    arrived = records(guest, (1.52, 1000, 7, 2, 1500, 1460))
    made = guest.outcome(sent, arrived, guest.Group("a", "tcp", 0, 1, 1500, rtt_s=0.04), 1, 2)
    assert (made.loss, made.mean_s) == (0.5, pytest.approx(0.04))
    assert made.throughput_bps == pytest.approx(1460 * 8)


def test_a_starved_group_has_no_delay(guest):
    group = guest.Group("a", "cbr", 0, 1, 100)
    nothing = records(guest)
    made = guest.outcome(records(guest, (1, 1, 7, 0, 100, 72)), nothing, group, 1, 2)
    assert (made.loss, made.throughput_bps) == (1, 0)
    assert math.isnan(made.mean_s)
    silent = guest.outcome(nothing, nothing, group, 1, 2)
    assert (silent.offered_bps, math.isnan(silent.loss)) == (0, True)


@pytest.mark.parametrize(("text", "number"), [("ef", 46), ("AF31", 26), ("cs5", 40), ("va", 44), ("12", 12), ("0", 0)])
def test_code_points_are_those_of_the_registry(guest, text, number):
    # IANA, Differentiated Services Field Codepoints.
    assert guest.code_point(text) == number


def test_the_guest_is_configured_with_the_traffic_of_the_scenario(compare, policies, guest):
    (policy,) = (one for one in policies.POLICIES if one.name == "htb llq, tcp")
    prepared = compare.prepare(policy)
    assert prepared.groups == [
        guest.Group("voice", "cbr", 46, 10, 200, 80e3, 0.1),
        guest.Group("gold", "poisson", 26, 10, 1000, 300e3),
        guest.Group("bulk", "tcp", 0, 4, 1500, rtt_s=0.04),
    ]
    case = guest.Run(prepared.script, prepared.groups, seed=2, warmup_s=5, duration_s=35).case().splitlines()
    assert case[0] == ". /run/case/network.sh"
    assert case[1:4] == ["source_host 1 0", "source_host 2 0", "source_host 3 40000us"]
    # 46 << 2 = 184; start at 5 s, duration 35 s; segments of bulk have 1500 - 40 B.
    assert "launch source1 udp 10.9.0.2 5001 184 10 200 80000 cbr 0.1 2001 5 40" in case
    assert "launch source3 tcp 10.9.0.2 5001 0 4 reno 1460 1 2003 5 40" in case


def test_each_policy_becomes_a_script_for_the_device_and_nothing_is_left_out(compare, policies):
    for policy in policies.POLICIES:
        prepared = compare.prepare(policy)
        assert all(" dev eth1 " in line for line in prepared.script.splitlines() if line.startswith("tc")), policy.name
        assert ("policy" in prepared.scenarios) == (policy.language != "tc")
        names = {group.name for group in prepared.groups}
        assert all(name.split()[0] in names for name in policy.known), policy.name


def test_values_agree_within_a_tenth_or_within_an_absolute_tolerance(compare):
    assert compare.close("throughput_bps", 1e6, 1.1e6)
    assert not compare.close("throughput_bps", 1e6, 0.89e6)
    assert compare.close("loss", 0.001, 0.0029)
    assert not compare.close("loss", 0.1, 0.111)
    assert compare.close("mean_s", 2e-6, 9e-5)
    assert not compare.close("p99_s", 2e-3, 2.3e-3)
    # If nothing arrived, both sides must be without a delay.
    assert compare.close("mean_s", math.nan, math.nan)
    assert not compare.close("mean_s", math.nan, 1e-6)


def test_rows_have_intervals_over_the_seeds_and_name_deviating_metrics(compare, guest):
    kernel = [guest.Outcome(2e6, 1e6 + d, 0.5, 0.1, 0.12) for d in (-1e4, 0, 1e4)]
    ours = [guest.Outcome(2e6, 1e6, 0.5, 0.115, 0.12)] * 3
    row = compare.compare("p", "script", "g", kernel, ours)
    assert row.outside == ["mean_s"]
    # Student's t for two degrees of freedom is 4.303; the standard error of the mean is 10 kbit/s / sqrt(3).
    assert "| 1.000 ± 0.025 / 1.000 ± 0.000 | 50.00 ± 0.00 / 50.00 ± 0.00 |" in compare.table([row])
    assert "| 100.00 ± 0.00 / 115.00 ± 0.00 | 120.00 ± 0.00 / 120.00 ± 0.00 | mean |" in compare.table([row])


def test_only_the_marked_region_of_a_page_is_replaced(compare, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{compare.BEGIN}\nold\n{compare.END}\nafter\n")
    compare.rewrite(page, (compare.BEGIN, compare.END), "new\n")
    assert page.read_text() == f"before\n{compare.BEGIN}\n\nnew\n\n{compare.END}\nafter\n"


def test_without_a_kernel_the_reason_is_returned(guest, tmp_path):
    assert "needs" in guest.Kernel.found(tmp_path / "linux", tmp_path)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_program_of_the_guest_compiles_and_exits_with_2_without_arguments(tmp_path, guest):
    program = tmp_path / "linux"
    program.write_text("")
    program.chmod(0o755)
    if shutil.which("tc") is None or shutil.which("ip") is None:
        pytest.skip("needs iproute2")
    kernel = guest.Kernel.found(program, tmp_path / "build")
    assert subprocess.run([kernel.traffic], capture_output=True, check=False).returncode == 2


def test_the_script_of_the_network_is_valid_shell(guest):
    subprocess.run(["bash", "-n", str(guest.HERE / "network.sh")], check=True)
