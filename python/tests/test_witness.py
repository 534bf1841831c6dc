"""Scenarios as cases of a Linux kernel: disciplines in the syntax of tc, networks, verdicts. No kernel is needed."""

from __future__ import annotations

import importlib
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import tailback as tb
from tailback.results.intervals import Interval
from tailback.witness.comparison import Line, lines
from tailback.witness.disciplines import Refused, burst, command
from tailback.witness.kernel import GUEST, Kernel
from tailback.witness.network import case
from tailback.witness.outcome import METRICS, Outcome, _counters

RATE = 10_000_000


def dumbbell(buffer: str = "60packets", **options: object) -> tb.Scenario:
    discipline = options.pop("discipline", {"kind": "drop-tail"})
    link = options.pop("link", {})
    transport = options.pop("transport", {"segment": "1448B", "header": "52B"})
    assert not options
    return (
        tb.Scenario(duration="30s", warmup="10s", framing="none", buffer="unlimited")
        .host("s", count=2)
        .host("t", count=2)
        .switch("r0", ports={"r1": {"buffer": buffer, "discipline": discipline}})
        .switch("r1")
        .link(["r0", "r1"], rate="10Mbit/s", delay="10ms", **link)
        .link(["s*", "r0"], rate="100Mbit/s", delay=["5ms", "20ms"])
        .link(["r1", "t*"], rate="100Mbit/s", delay="1ms")
        .flow("tcp", "s*", "t*", tb.source("bulk"), pair="zip", start_spread="1s", transport=tb.tcp(**transport))
    )


def tc(kind: str, buffer: str = "100packets", **parameters: object) -> str:
    """Return a discipline with Tailback's defaults in the syntax of tc."""
    scenario = dumbbell(buffer, discipline=tb.discipline(kind, **parameters))
    return case(scenario).links[0].disciplines[0]


RED = {"byte_mode": False, "gentle": False, "wait": False, "mean_packet": "1500B", "weight": 2.0**-9}


@pytest.mark.parametrize(
    ("kind", "parameters", "expected"),
    [
        ("drop-tail", {}, "pfifo limit 100"),
        ("codel", {}, "codel limit 100 target 5000us interval 100000us noecn"),
        (
            "codel",
            {"ecn": True, "ce_threshold": "1ms"},
            "codel limit 100 target 5000us interval 100000us ecn ce_threshold 1000us",
        ),
        # tc takes alpha and beta in sixteenths: 0.125 = 2/16 and 1.25 = 20/16, the defaults of sch_pie.
        (
            "pie",
            {},
            "pie limit 100 target 15000us tupdate 10000us alpha 2 beta 20 noecn nobytemode no_dq_rate_estimator",
        ),
        ("sfq", {"quantum": "1514B"}, "sfq limit 100 depth 100 flows 100 divisor 1024 quantum 1514"),
    ],
)
def test_disciplines_have_the_parameters_of_tc(kind: str, parameters: dict[str, object], expected: str) -> None:
    assert tc(kind, **parameters) == expected


def test_red_has_the_thresholds_in_bytes_and_the_weight_by_its_burst() -> None:
    text = tc("red", min="20packets", max="60packets", ecn=True, above_max="mark", **RED)
    assert text.startswith("red limit 150000 min 30000 max 90000 avpkt 1500 bandwidth 10000000bit burst ")
    assert text.endswith(" probability 0.100000 ecn")
    assert tc("red", min="20packets", max="60packets", ecn=True, above_max="drop", **RED).endswith(" ecn harddrop")


def wlog(packets: int, minimum: float) -> int:
    """The rule of tc_red_eval_ewma in iproute2's tc/tc_red.c, written from its text: the first n that satisfies it."""
    w = 0.5
    for n in range(1, 32):
        if packets + 1 - minimum <= (1 - (1 - w) ** packets) / w:
            return n
        w /= 2
    return -1


@pytest.mark.parametrize("exponent", range(3, 13))
@pytest.mark.parametrize("minimum", [5.0, 20.0, 33.3])
def test_tc_derives_the_weight_from_the_burst(exponent: int, minimum: float) -> None:
    assert wlog(burst(2.0**-exponent, minimum), minimum) == exponent


def test_a_weight_that_is_no_power_of_two_is_refused_with_the_nearest() -> None:
    with pytest.raises(Refused, match=r"powers of two; the nearest to `weight = 0.002` is 0.001953125"):
        burst(0.002, 20)


@pytest.mark.parametrize(
    ("kind", "buffer", "parameters", "message"),
    [
        ("blue", "100packets", {}, "no discipline such as `blue`"),
        ("codel", "90000B", {}, "in packets"),
        ("sfq", "200packets", {}, "at most 127 packets"),
        ("red", "100packets", {"min": "5packets", "max": "15packets"}, "`byte-mode = true` is not in Linux"),
        ("red", "100packets", RED | {"min": "5packets", "max": "15packets", "gentle": True}, "`gentle = true`"),
        (
            "red",
            "100packets",
            RED | {"min": "5packets", "max": "15packets", "adaptive": tb.kind("feng")},
            "not as Feng",
        ),
        ("pie", "100packets", {"burst": "10ms"}, "`burst = '10ms'`"),
        ("pie", "100packets", {"alpha": 0.1}, "sixteenths"),
        ("fq-codel", "100packets", {"buckets": "per-flow"}, "by a hash"),
        ("sfb", "100packets", {}, "`form = 'thesis'`"),
    ],
)
def test_what_the_kernel_does_not_have_is_refused(
    kind: str, buffer: str, parameters: dict[str, object], message: str
) -> None:
    with pytest.raises(Refused, match=message.replace("(", r"\(")):
        tc(kind, buffer, **parameters)


def test_a_parameter_that_is_not_translated_is_refused() -> None:
    with pytest.raises(Refused, match="no parameter such as `surprise`"):
        command({"kind": "drop-tail", "surprise": 1}, "unlimited", RATE)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (dumbbell(transport={"congestion_control": tb.kind("bbr3")}), "no congestion control such as `bbr3`"),
        (dumbbell(transport={"recovery": tb.kind("tahoe")}), "no recovery such as `tahoe`"),
        (dumbbell(transport={"receive_window": 20}), "no receive window"),
        (dumbbell(transport={"segment": "1460B", "header": "52B"}), "at most 1500 B"),
        (dumbbell().flow("x", "s1", "t1", tb.source("bulk", size="1MB"), transport=tb.tcp()), "without a size"),
        (dumbbell().set(warmup="auto"), "stated warm-up"),
        (dumbbell().with_texts([("switches.r1.latency", "1us")]), "`latency = '0s'`"),
    ],
)
def test_scenarios_that_the_guest_cannot_run_are_refused(made: tb.Scenario, message: str) -> None:
    with pytest.raises(Refused, match=message):
        case(made)


def test_what_the_kernel_does_otherwise_is_noted() -> None:
    codel = case(dumbbell(discipline=tb.discipline("codel"))).notes
    assert "codel: Linux 6.1 computes the root by Newton's method, whatever `root` says" in codel
    newton = case(dumbbell(discipline=tb.discipline("codel", root="newton"))).notes
    transport = (
        "flows.tcp: TCP has Linux's own parameters, apart from congestion control, ECN, SACK, timestamps and sizes"
    )
    preset = 'flows.tcp: `preset = "linux-6.1"` selects those of Linux\'s parameters that Tailback has'
    assert newton == (
        "codel: Linux 6.1 has a clock of 1.024 us and other rules, as with `form = linux`",
        transport,
        preset,
    )
    linux = dumbbell(discipline=tb.discipline("codel", form="linux")).set({"flows[tcp].transport.preset": "linux-6.1"})
    assert case(linux).notes == (transport,)
    two = dumbbell().flow("a", "s1", "t1", tb.source("poisson", packet="100B", rate="8kbit/s"))
    two = two.flow("b", "s2", "t2", tb.source("poisson", packet="100B", rate="8kbit/s"))
    assert case(two).notes[-1].startswith("delays are not compared")


def test_sfb_has_the_increments_of_the_kernel_instead_of_those_of_tc() -> None:
    # sfb_default_ops in sch_sfb.c, in units of 1/65535: (65535 + 500) / 1000 = 66 and (65535 + 3000) / 6000 = 11.
    expected = f"sfb limit 100 max 25 target 20 increment {66 / 65535:.9f} decrement {11 / 65535:.9f}"
    assert tc("sfb", form="linux", ecn=True) == expected


def test_the_unit_of_an_average_and_the_interval_of_pie_in_the_guest_are_noted() -> None:
    red = {key.replace("_", "-"): value for key, value in RED.items()} | {"min": "20packets", "max": "60packets"}
    # choke_enqueue averages qlen, a number of packets.
    for count, noted in (("bytes", True), ("packets", False)):
        made = case(dumbbell("100packets", discipline=tb.discipline("choke", red=red | {"count": count})))
        assert any("averages the queue in packets" in note for note in made.notes) == noted
    # A jiffy is 10 ms, and the timer wheel adds one to those of `tupdate`.
    pie = case(dumbbell("100packets", discipline=tb.discipline("pie"))).notes
    assert any("every 20 ms in the guest, not every 15ms" in note for note in pie)
    assert " tupdate 10000us " in tc("pie")
    assert " tupdate 40000us " in tc("pie", update="50ms")
    exact = case(dumbbell("100packets", discipline=tb.discipline("pie", update="20ms"))).notes
    assert not any("in the guest, not every" in note for note in exact)


def test_moving_hashes_and_penalty_boxes_of_sfb_are_refused() -> None:
    with pytest.raises(Refused, match="no parameter such as `rehash`"):
        tc("sfb", form="linux", ecn=True, rehash={"interval": "1s"})
    with pytest.raises(Refused, match="penalty-box"):
        tc("sfb", form="linux", ecn=True, penalty_box={"burst": 10})


def test_headers_of_another_length_are_noted() -> None:
    made = case(dumbbell(transport={"segment": "1460B", "header": "40B", "timestamps": True}))
    assert made.notes[-1:] == (
        "flows.tcp: headers of 52 B instead of 40 B; packets have 1500 B in both programs, and their payload is 1448 B "
        "instead of 1460 B",
    )


def test_the_network_has_the_rates_delays_and_losses_of_the_scenario() -> None:
    script = case(dumbbell(link={"loss": 0.01})).script(1)
    # The slowest link: from the switch, 10 Mbit/s behind the queue, and 10 ms with a loss of 1 % before the receiver.
    assert "htb rate 10000000bit ceil 10000000bit burst 1 cburst 1" in script
    assert "root netem limit 1000000 delay 10000.000us rate 10000000bit -14 loss 1%" in script
    # The links of the first and the last sender.
    assert "delay 5000.000us rate 100000000bit -14" in script
    assert "delay 20000.000us rate 100000000bit -14" in script
    assert script.count(" tcp 10.") == 2
    # 1448 B of payload and 12 B of timestamps.
    assert script.count(" reno 1460 1 ") == 2


def test_the_port_with_the_slowest_link_is_measured() -> None:
    assert case(dumbbell()).port == ("r0", "r1")
    assert case(dumbbell(), ("s1", "r0")).watched()[0].ends == ("s1", "r0")
    with pytest.raises(Refused, match="no link between t1 and s1"):
        case(dumbbell(), ("t1", "s1"))


def test_counters_are_read_in_pairs_of_lines() -> None:
    text = """\
counters warm TcpExt: SyncookiesSent TCPTimeouts
counters warm TcpExt: 0 3
counters end TcpExt: SyncookiesSent TCPTimeouts
counters end TcpExt: 0 10
counters end IpExt: InCEPkts
counters end IpExt: 7"""
    assert _counters(text.splitlines(), "warm") == {"SyncookiesSent": 0, "TCPTimeouts": 3}
    assert _counters(text.splitlines(), "end") == {"SyncookiesSent": 0, "TCPTimeouts": 10, "InCEPkts": 7}


@pytest.mark.parametrize(
    ("kernel", "ours", "half", "verdict"),
    [
        # Loss: 10 % of the kernel's value or 0.002, here 0.005.
        (0.05, 0.054, 0.001, "inside"),
        (0.05, 0.056, 0.001, "outside"),
        (0.05, 0.05, 0.006, "undecided"),
        (0.001, 0.0029, 0.0001, "inside"),
        (math.nan, math.nan, 0.0, "none"),
        (0.05, math.nan, 0.0, "outside"),
    ],
)
def test_a_metric_is_inside_if_the_means_agree_and_the_intervals_are_narrow(
    kernel: float, ours: float, half: float, verdict: str
) -> None:
    line = Line("loss", *(Interval(mean, mean - half, mean + half, 5) for mean in (kernel, ours)))
    assert line.verdict == verdict


def test_no_tolerance_is_above_15_per_cent() -> None:
    assert max(metric.relative for metric in METRICS.values()) <= 0.15


def test_a_metric_without_values_is_not_compared() -> None:
    values = dict.fromkeys(("loss", "marks", "utilisation", "queue_bytes", "goodput_bps", "jain"), 1.0)
    rest = dict.fromkeys(("retransmissions", "timeouts", "p50_s", "p99_s"), math.nan)
    one = Outcome(**values, **rest)
    assert {line.metric for line in lines([one, one], [one, one]) if line.verdict == "none"} == set(rest)


def test_without_a_kernel_the_command_says_how_to_build_it(tmp_path: Path) -> None:
    found = Kernel.found(tmp_path / "linux", tmp_path)
    if shutil.which("gcc") is None or shutil.which("tc", path="/usr/sbin:/sbin:/usr/bin") is None:
        pytest.skip("needs gcc and iproute2")
    assert isinstance(found, str)
    assert "`tailback witness --build` builds" in found


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_program_of_the_guest_compiles_without_warnings(tmp_path: Path) -> None:
    source = GUEST / "traffic.c"
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", str(source), "-o", str(tmp_path / "traffic"), "-lm"]
    subprocess.run(command, check=True)
    made = subprocess.run([str(tmp_path / "traffic"), "nothing"], capture_output=True, text=True, check=False)
    assert made.returncode == 2
    assert "traffic.c" in made.stderr


VALIDATION = Path(__file__).parents[2] / "validation" / "linux"


@pytest.fixture(scope="module")
def comparison() -> Iterator[ModuleType]:
    """Return validation/linux/witness.py."""
    sys.path.insert(0, str(VALIDATION))
    try:
        yield importlib.import_module("witness")
    finally:
        sys.path.remove(str(VALIDATION))
        for name in ("witness", "cases"):
            sys.modules.pop(name, None)


def test_recorded_results_of_the_kernel_are_met_as_documented(comparison: ModuleType) -> None:
    record = comparison.read_record()
    cases = comparison.cases
    known = {case.name: case for case in [*cases.CASES, *cases.TREES, *cases.drawn()]}
    assert set(cases.KNOWN) <= set(record["cases"]) <= set(known)
    assert len(record["cases"]) >= comparison.SAMPLE
    # The first of the record: the others are compared by `make validate`.
    for name in list(record["cases"])[: comparison.SAMPLE]:
        assert comparison.unexpected(comparison.recorded(known[name], record)) is None


def test_all_cases_can_be_run_by_the_guest(comparison: ModuleType) -> None:
    cases = comparison.cases
    every = [*cases.CASES, *cases.TREES, *cases.drawn()]
    assert len({one.name for one in every}) == len(every) == 153
    for one in every[::9]:
        case(cases.scenario(one)).script(1)


def test_the_scripts_of_the_guest_are_valid_bash() -> None:
    for name in ("init.sh", "build_kernel.sh"):
        subprocess.run(["bash", "-n", str(GUEST / name)], check=True)
