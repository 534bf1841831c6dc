"""Scenarios as cases of a Linux kernel: disciplines in the syntax of tc, networks, verdicts. No kernel is needed."""

from __future__ import annotations

import importlib
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import tailback as tb
from tailback.results.intervals import Interval
from tailback.witness.comparison import Line, lines
from tailback.witness.disciplines import Refused, burst, command
from tailback.witness.kernel import GUEST, GuestError, Kernel
from tailback.witness.network import case
from tailback.witness.outcome import METRICS, Outcome, _counters

RATE = 10_000_000


def dumbbell(buffer: str = "60packets", **options: object) -> tb.Scenario:
    discipline = options.pop("discipline", {"kind": "drop-tail"})
    link: dict[str, object] = {"rate": "10Mbit/s"} | options.pop("link", {})
    transport = options.pop("transport", {"segment": "1448B", "header": "52B"})
    assert not options
    return (
        tb.Scenario(duration="30s", warmup="10s", framing="none", buffer="unlimited")
        .host("s", count=2)
        .host("t", count=2)
        .switch("r0", ports={"r1": {"buffer": buffer, "discipline": discipline}})
        .switch("r1")
        .link(["r0", "r1"], delay="10ms", **link)
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
        ("sfq", {"quantum": "1514B"}, "sfq limit 100 depth 100 flows 101 divisor 1024 quantum 1514"),
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
        "flows.tcp: the guest's receive buffers, which grow from 128 KiB, may limit the window (`receive-buffer`)",
    )
    linux = dumbbell(discipline=tb.discipline("codel", form="linux")).set({"flows[tcp].transport.preset": "linux-6.1"})
    assert case(linux).notes == (
        transport,
        "flows.tcp: the guest's receive buffers have 131072 B, and at most 64000000 B, "
        "instead of 131072 B, and at most 6291456 B",
    )
    equal = linux.set({"flows[tcp].transport.receive-buffer": {"max": "64MB"}})
    assert case(equal).notes == (transport,)
    two = dumbbell().flow("a", "s1", "t1", tb.source("poisson", packet="100B", rate="8kbit/s"))
    two = two.flow("b", "s2", "t2", tb.source("poisson", packet="100B", rate="8kbit/s"))
    assert case(two).notes[-1].startswith("delays are not compared")


def below(discipline: dict[str, object], buffer: str = "unlimited") -> tuple[str, ...]:
    """Return a discipline with classes, and the commands below it."""
    link = case(dumbbell(buffer, discipline=discipline)).links[0]
    return link.disciplines[0], *link.below[0]


def htb(*leaves: dict[str, object], **parameters: object) -> dict[str, object]:
    """Return HTB with leaves below a class of 10 Mbit/s."""
    classes = [{"name": "all", "rate": "10Mbit/s"}, *({"parent": "all", **leaf} for leaf in leaves)]
    return tb.discipline("htb", classes=classes, **parameters)


VOICE = {"name": "voice", "match": {"dscp": "ef"}, "rate": "1Mbit/s"}
REST = {"name": "rest", "rate": "4Mbit/s", "ceil": "10Mbit/s"}


def test_htb_has_classes_filters_and_disciplines_of_its_leaves() -> None:
    voice = VOICE | {"burst": "8000B", "cburst": "16ms", "limit": "20packets"}
    rest = REST | {"prio": 3, "quantum": "3000B", "limit": "500packets", "discipline": tb.discipline("codel", ecn=True)}
    assert below(htb(voice, rest, default="rest", r2q=5)) == (
        "htb default 3 r2q 5 direct_qlen 1000",
        # 1 ms at 10 Mbit/s has 1250 B.
        "class parent 10: classid 10:1 htb rate 10000000bit ceil 10000000bit burst 2850 cburst 2850",
        # 16 ms at 1 Mbit/s have 2000 B.
        "class parent 10:1 classid 10:2 htb rate 1000000bit ceil 1000000bit burst 8000 cburst 2000 prio 0",
        # 1 ms at 4 Mbit/s has 500 B; without a match the class is that of packets without a filter.
        "class parent 10:1 classid 10:3 htb rate 4000000bit ceil 10000000bit burst 2100 cburst 2850 prio 3 "
        "quantum 3000",
        # ef is 46, which the upper six bits of the field hold: 0xb8.
        "filter parent 10: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 10:2",
        "qdisc parent 10:2 handle 11: pfifo limit 20",
        "qdisc parent 10:3 handle 12: codel limit 500 target 5000us interval 100000us ecn",
    )


def test_priority_has_a_band_for_each_level_and_all_other_packets_in_the_default_one() -> None:
    levels = [
        {"name": "first", "match": {"dscp": ["ef", "va"]}, "limit": "20packets"},
        {"name": "normal", "match": {"precedence": 1}, "discipline": tb.discipline("pie", update="20ms")},
        {"name": "last", "limit": "9000B"},
    ]
    assert below(tb.discipline("priority", levels=levels)) == (
        # The default level is the one of this name, the second.
        "prio bands 3 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "filter parent 10: protocol ip prio 1 u32 match ip dsfield 0xb0 0xfc flowid 10:1",
        "filter parent 10: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 10:1",
        "filter parent 10: protocol ip prio 1 u32 match ip dsfield 0x20 0xe0 flowid 10:2",
        "qdisc parent 10:1 handle 11: pfifo limit 20",
        "qdisc parent 10:2 handle 12: pie limit 64 target 15000us tupdate 10000us alpha 2 beta 20 noecn nobytemode "
        "no_dq_rate_estimator",
        "qdisc parent 10:3 handle 13: bfifo limit 9000",
    )
    named = below(tb.discipline("priority", levels=levels, default="last"))
    assert named[0] == "prio bands 3 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2"
    # The four levels of a discipline without any, of which `normal` is the third.
    assert below(tb.discipline("priority")) == (
        "prio bands 4 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2",
        *(f"qdisc parent 10:{band} handle 1{band}: pfifo limit {20 * band}" for band in range(1, 5)),
    )


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # A packet belongs to the first class that matches: code point 8 to the first, 9 to 15 to the second.
        ({"dscp": 8}, {"precedence": 1}, ("0x20 0xfc 1", "0x24 0xfc 2", "0x28 0xf8 2", "0x30 0xf0 2")),
        ([{"dscp": 1}, {"exp": 7}], {"dscp": 1}, ("0x04 0xfc 1", "0xe0 0xe0 1")),
        (
            {"precedence": 0, "dscp": [0, 8]},
            {},
            ("0x00 0xfc 1", "0x04 0xfc 2", "0x08 0xf8 2", "0x10 0xf0 2", "0x20 0xe0 2", "0x40 0xc0 2", "0x80 0x80 2"),
        ),
        ({"not": {"any": [{"precedence": [0, 1, 2, 3]}, {"precedence": 5}]}}, None, ("0x80 0xe0 1", "0xc0 0xc0 1")),
        ({"all": [{"precedence": 4}, {"dscp": ["cs4", "cs5"]}]}, None, ("0x80 0xfc 1",)),
    ],
)
def test_filters_have_the_code_points_of_which_a_match_is_the_first(
    first: object, second: object, expected: tuple[str, ...]
) -> None:
    levels = [{"match": first}, *([{"match": second}] if second is not None else []), {"name": "rest"}]
    filters = [one.split() for one in below(tb.discipline("priority", levels=levels)) if one.startswith("filter")]
    assert tuple(f"{words[-4]} {words[-3]} {words[-1].removeprefix('10:')}" for words in filters) == expected


def test_trees_nest_and_numbers_of_disciplines_and_classes_are_hexadecimal() -> None:
    inner = tb.discipline("priority", levels=[{"match": {"dscp": "ef"}}, {"name": "other"}])
    leaves = [{"name": f"c{i}", "match": {"dscp": i}, "rate": "1Mbit/s"} for i in range(1, 9)]
    leaves.append({"name": "two", "match": {"dscp": ["ef", "cs2"]}, "rate": "1Mbit/s", "discipline": inner})
    found = below(htb(*leaves, default="two"))
    assert found[0] == "htb default a r2q 10 direct_qlen 1000"
    # The leaves have the handles 11: to 18: and 19:, the levels of the last one 1a: and 1b:.
    assert found[-4:] == (
        "qdisc parent 10:a handle 19: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "filter parent 19: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 19:1",
        "qdisc parent 19:1 handle 1a: pfifo limit 64",
        "qdisc parent 19:2 handle 1b: pfifo limit 64",
    )


def test_commands_of_a_tree_are_those_of_the_device() -> None:
    script = case(dumbbell("unlimited", discipline=htb(VOICE, REST, default="rest"))).script(1)
    lines = [line for line in script.splitlines() if " l0 parent 10:" in line]
    assert [line.split()[:6] for line in lines] == [
        *[["class", "add", "dev", "l0", "parent", parent] for parent in ("10:", "10:1", "10:1")],
        ["filter", "add", "dev", "l0", "parent", "10:"],
        *[["qdisc", "add", "dev", "l0", "parent", parent] for parent in ("10:2", "10:3")],
    ]
    # Below the shaper of the link.
    assert "qdisc add dev l0 parent 1:1 handle 10: htb default 3 r2q 10 direct_qlen 1000\nclass add" in script


def test_adaptive_red_adapts_below_a_class_too() -> None:
    red = tb.discipline("red", min="20packets", max="60packets", adaptive=tb.kind("floyd"), **RED)
    made = case(dumbbell("unlimited", discipline=htb(VOICE, REST | {"discipline": red}, default="rest")))
    assert [line for line in made.script(1).splitlines() if " adapt " in line] == [
        f"inside n{made.nodes.index('r0')} $traffic adapt l0 12 || failed 'the adaptation of RED at r0'"
    ]


def test_buckets_of_htb_count_what_the_scenario_says() -> None:
    def counted(**accounting: object) -> list[str]:
        """Return the parameters of the two leaves after `prio 0`."""
        leaves = (VOICE | {"accounting": {"bytes": "44B", "least": "64B", "cells": True}}, REST)
        made = below(htb(*leaves, default="rest", **accounting))
        return [one.partition(" prio 0")[2] for one in made[2:4]]

    assert counted() == [" overhead 44 mpu 64 linklayer atm", ""]
    assert counted(accounting="18B") == [" overhead 44 mpu 64 linklayer atm", " overhead 18"]
    # Frames have 18 B in buffers and 38 B in the guest.
    framed = dumbbell("unlimited", discipline=htb(VOICE, REST, default="rest", accounting="24B")).set(
        {"network.framing": "ethernet"}
    )
    assert case(framed).links[0].below[0][1].endswith(" prio 0 overhead 4")


def test_a_bucket_that_tc_rounds_down_is_noted() -> None:
    # 36 B take 9.6 us at 30 Mbit/s; 9 us are 140 ticks of 64 ns, in which 33.6 B are sent.
    rounded = htb(VOICE | {"ceil": "30Mbit/s", "cburst": "36B"}, REST, default="rest")
    assert case(dumbbell("unlimited", discipline=rounded)).notes[0] == (
        "htb: the cburst of `voice` has 34 B in Linux 6.1, not 36 B (ticks of 64 ns, of which tc takes those in whole "
        "microseconds)"
    )
    exact = case(dumbbell("unlimited", discipline=htb(VOICE, REST, default="rest"))).notes
    assert not any(note.startswith("htb") for note in exact)


def test_htb_without_a_default_class_has_none_on_linux() -> None:
    assert below(htb(VOICE, REST))[0] == "htb r2q 10 direct_qlen 1000"
    assert below(tb.discipline("htb")) == ("htb r2q 10 direct_qlen 1000",)


def levels(*matches: object, limit: str = "64packets") -> dict[str, object]:
    """Return priority queueing with levels of these matches, and a level for other packets."""
    entries = [*({"match": match, "limit": limit} for match in matches), {"name": "rest", "limit": limit}]
    return tb.discipline("priority", levels=entries)


@pytest.mark.parametrize(
    ("discipline", "buffer", "message"),
    [
        (levels({"flows": "tcp"}), "unlimited", "priority: the guest finds classes by code points, not by `flow"),
        (levels({"class": 1}), "unlimited", "by code points, not by `class`"),
        (levels({"not": {"colour": "red"}}), "unlimited", "by code points, not by `colour`"),
        (levels(), "unlimited", r"2 to 16 bands \(prio_tune\), not 1"),
        (levels(*({"dscp": i} for i in range(16))), "unlimited", "not 17"),
        (levels({"dscp": 1}), "127packets", "priority: Linux 6.1 has no limit of all classes together"),
        (levels({"dscp": 1}), "1MB", "a sum of at most 1MB"),
        (htb(VOICE, REST, default="rest"), "1999packets", "htb: Linux 6.1 has no limit of all classes together"),
        (htb(VOICE, REST), "2999packets", "a sum of at most 2999packets"),
        (
            htb(VOICE | {"limit": "60packets", "discipline": levels({"dscp": 1})}, REST),
            "unlimited",
            "priority: .* 60packets",
        ),
        (htb(VOICE, REST, accounting="-8B"), "unlimited", "`accounting` must be at least 0B"),
        (htb(VOICE | {"discipline": tb.discipline("blue")}, REST), "unlimited", "no discipline such as `blue`"),
        (
            htb(VOICE | {"limit": "9kB", "discipline": tb.discipline("codel")}, REST),
            "unlimited",
            "codel: .* in packets",
        ),
        (htb(VOICE | {"discipline": tb.discipline("red", weight=0.002)}, REST), "unlimited", "red: `byte-mode = true`"),
    ],
)
def test_what_classes_of_the_kernel_do_not_have_is_refused(
    discipline: dict[str, object], buffer: str, message: str
) -> None:
    with pytest.raises(Refused, match=message):
        case(dumbbell(buffer, discipline=discipline))


def test_a_common_limit_that_the_classes_cannot_reach_is_accepted() -> None:
    assert below(levels({"dscp": 1}), "128packets") == below(levels({"dscp": 1}))
    assert below(htb(VOICE, REST), "3000packets") == below(htb(VOICE, REST))


def test_frames_that_the_guest_counts_longer_than_buffers_need_an_accounting() -> None:
    framed = dumbbell("unlimited", discipline=htb(VOICE, REST, default="rest")).set({"network.framing": "ethernet"})
    with pytest.raises(Refused, match="the guest counts 20 B more than buffers do"):
        case(framed)


def test_acknowledgements_whose_class_the_guest_would_not_find_are_refused() -> None:
    def made(port: str, dscp: str) -> tb.Scenario:
        tree = {"buffer": "unlimited", "discipline": levels({"dscp": "ef"})}
        return dumbbell().set(
            {f"switches.{port}.ports": {"r0" if port == "r1" else "r1": tree}, "flows[tcp].dscp": dscp}
        )

    # The tree is on the path of data packets, which have their code point; on that of acknowledgements, which have 0.
    assert case(made("r0", "ef")).flows[0].code_point == 46
    with pytest.raises(Refused, match=r"flows\.tcp: its acknowledgements have the code point 0 .* not 46, .* r1->r0"):
        case(made("r1", "ef"))
    assert case(made("r1", "cs0")).flows[0].code_point == 0


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
    # q_choke.c: tc's mean packet has 1000 B.
    for mean, words in (("1000B", "max 60 bandwidth"), ("1500B", "max 60 avpkt 1500 bandwidth")):
        assert words in tc("choke", red=red | {"count": "packets", "mean-packet": mean})
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


def test_a_fast_measured_port_has_a_bucket_of_four_steps_of_the_clock() -> None:
    """A step of 256 ns is 0.2 % of the 1500 B at 93.75 Mbit/s; at 96.4 Mbit/s four steps are 12.3 B."""
    for rate, bucket in (("93.7Mbit/s", 1), ("96.4Mbit/s", 13), ("1Gbit/s", 128)):
        made = case(dumbbell(link={"rate": rate}), ("r0", "r1"))
        lines = [line for line in made.script(1).splitlines() if " classid 1:1 htb rate" in line]
        buckets = [line.split("burst ")[1].split()[0] for line in lines]
        # The other direction and the links of the hosts have one byte.
        assert sorted(buckets) == sorted([str(bucket), *["1"] * (len(lines) - 1)])
        assert f"burst {bucket} cburst {bucket} " in next(line for line in lines if f"burst {bucket} " in line)


def test_connections_of_long_runs_do_not_give_up() -> None:
    """After timeouts of a SYN of 1, 2, 4 to 64 s, 127 s together, Linux gives up by default."""
    for duration, kept in (("126s", 0), ("127s", 4)):
        script = case(dumbbell().set(duration=duration)).script(1)
        lines = [line for line in script.splitlines() if line.startswith("settings ")]
        # Four hosts have connections, and two switches have none.
        assert len(lines) == 6
        assert sum("tcp_syn_retries=127 tcp_retries2=255" in line for line in lines) == kept


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


def test_counters_that_the_guest_has_not_written_are_an_error() -> None:
    with pytest.raises(GuestError, match=r"has not written the counters .*end"):
        _counters(["counters warm IpExt: InCEPkts", "counters warm IpExt: 7"], "end")


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
    listed = set(json.loads(comparison.KNOWN.read_text(encoding="utf-8")))
    assert listed <= set(record["cases"]) == set(record["keys"]) <= set(known)
    assert len(record["cases"]) >= comparison.SAMPLE
    # Evenly spread over the record: the others are compared by `make validate`.
    for case_ in comparison.sample([known[name] for name in record["cases"]]):
        assert comparison.unexpected(comparison.recorded(case_, record)) is None


def test_recorded_results_are_used_again_only_for_the_same_guest(comparison: ModuleType) -> None:
    """Seeds of the record are not run again, unless the key of the guest is another one."""
    record = comparison.read_record()
    known = [*comparison.cases.CASES, *comparison.cases.TREES, *comparison.cases.drawn()]
    chosen = next(one for one in known if one.name in record["cases"])
    runs = [comparison.outcome(one) for one in record["cases"][chosen.name]]

    class Guest:
        def __init__(self, key: str) -> None:
            self.asked: list[int] = []
            self._key = key

        def key(self, _case: object, _seed: int) -> str:
            return self._key

        def of(self, _case: object, seed: int) -> object:
            self.asked.append(seed)
            return runs[seed - 1]

    for key, asked in ((record["keys"][chosen.name], []), ("another", list(range(1, len(runs) + 1)))):
        guest = Guest(key)
        scenario = comparison.cases.scenario(chosen)
        row = comparison.measured(chosen, scenario, guest, record, len(runs), len(runs))
        assert len(row.kernel) == len(runs)
        assert sorted(guest.asked) == asked


def test_drawn_cases_are_as_long_as_the_first_intervals_need(comparison: ModuleType) -> None:
    """Five seeds have t/sqrt(n) of 2.776/2.236 = 1.2416, 20 seeds 2.093/4.472 = 0.4680: 0.3770 of the width."""

    def line(half: float, ours: float = 0.5) -> Line:
        return Line("jain", Interval(0.5, 0.5 - half, 0.5 + half, 5), Interval(ours, ours, ours, 5))

    # Jain's index has a tolerance of 0.05: 20 seeds are enough up to 0.05 / 0.3770 = 0.1326, and 16 times as long up to
    # four times that.
    for half, factor in ((0.051, 1), (0.132, 1), (0.134, 4), (0.264, 4), (0.266, 16), (0.529, 16), (0.532, 1)):
        assert comparison.enough([line(half)], 20) == factor
    # Without goodput the tolerance is 0, and a single seed has no width.
    none = Line("goodput_bps", Interval(0, 0, 0, 5), Interval(0, 0, 0, 5))
    assert comparison.enough([line(0.1), none], 20) == 1
    one = Line("jain", Interval(0.5, -math.inf, math.inf, 1), Interval(0.5, 0.5, 0.5, 5))
    assert comparison.enough([one], 20) == 1


# The last three: a metric outside beside an undecided one, none undecided, and one that 16 times do not decide.
@pytest.mark.parametrize(
    ("halves", "ours", "longer"),
    [
        ([0.01], 0.5, None),
        ([0.13], 0.5, 1),
        ([0.2], 0.5, 4),
        ([0.13, 0.01], 0.6, 1),
        ([0.01], 0.6, None),
        ([0.6], 0.5, 1),
    ],
)
def test_a_drawn_case_gets_all_seeds_if_it_is_undecided(
    comparison: ModuleType, monkeypatch: pytest.MonkeyPatch, halves: list[float], ours: float, longer: int | None
) -> None:
    found = [Line("jain", Interval(0.5, 0.5 - half, 0.5 + half, 5), Interval(ours, ours, ours, 5)) for half in halves]
    calls: list[tuple[int, int, int]] = []

    def measured(case: object, scenario: object, answers: object, record: object, least: int, most: int) -> object:
        del scenario, answers, record
        calls.append((case.longer, least, most))  # type: ignore[attr-defined]
        return comparison.Row(case, [], found, found)

    monkeypatch.setattr(comparison, "measured", measured)
    comparison.drawn_row(comparison.cases.drawn(1, 5)[0], None, 5, 20)
    assert calls == [(1, 5, 5)] + ([] if longer is None else [(longer, 5, 20)])


def test_a_longer_case_has_the_same_name_and_a_longer_run(
    comparison: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = comparison.cases
    case_ = cases.drawn(1, 5)[0]
    longer = replace(case_, longer=4)
    warmup, end = case_.times_s
    assert longer.name == case_.name
    assert longer.times_s == (warmup, warmup + 4 * (end - warmup))
    monkeypatch.setattr(sys, "argv", ["witness.py", "--draw", "2", "5", "--record"])
    with pytest.raises(SystemExit):
        comparison.main()


def test_few_flows_carry_a_second_transfer_where_a_discipline_hashes_ports(comparison: ModuleType) -> None:
    """4 Mbit/s of 50 kB over 70 s are 700 transfers; a flow in ten carries one then."""
    cases = comparison.cases
    for aqm, count in (("sfb", 7000), ("sfq", 7000), ("fq-codel", 7000), ("fq-pie", 7000), ("red", 100)):
        made = cases.scenario(cases.Dumbbell(1, 10, (20, 20), 50, aqm, short=0.4))
        assert made.document["run"]["duration"] == "70s"
        assert next(flow["count"] for flow in made.document["flows"] if flow["name"] == "short") == count
        # The number of flows is not passed to the guest, whose transfers have a new port each.
        assert [flow.count for flow in case(made).flows if flow.model == "transfers"] == [1]


def test_all_cases_can_be_run_by_the_guest(comparison: ModuleType) -> None:
    cases = comparison.cases
    every = [*cases.CASES, *cases.TREES, *cases.drawn()]
    assert len({one.name for one in every}) == len(every) == 153
    for one in every[::9]:
        case(cases.scenario(one)).script(1)


def test_the_scripts_of_the_guest_are_valid_bash() -> None:
    for name in ("init.sh", "build_kernel.sh"):
        subprocess.run(["bash", "-n", str(GUEST / name)], check=True)
