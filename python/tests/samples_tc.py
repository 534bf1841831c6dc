"""A traffic table for each sample script of `crates/router/tests/tc`, and its results computed by hand.

Linux counts 14 B of Ethernet header in `skb->len`; the link carries 38 B per packet in addition to layer 3. The rate of
an HTB leaf is guaranteed even if its parent has none left. Borrowed rate goes to the class with the smallest prio, and
is shared among classes of equal prio by their quanta (q_htb.c: rate in B/s divided by r2q, from 1000 B to 200,000 B).
"""

from judging import KBIT, MBIT, Case, Refused, on_ethernet, shaped

__all__ = ["TC"]

SLOW = {"rate": "10Mbit/s"}
"""Options of a script that does not state the rate of the link."""
LINE = on_ethernet(10 * MBIT)
"""Layer 3 rate of a full link of 10 Mbit/s with packets of 1500 B, bit/s."""
PACKET = 1538 * 8 / 10e6
"""Transmission time of a packet of 1500 B on a link of 10 Mbit/s, s."""
TWO = "a 0 8M 1500 model=poisson\nb 0 8M 1500 model=poisson"
"""Rows of two Poisson flows of 8 Mbit/s each, which overload a link of 10 Mbit/s."""

TC: dict[str, tuple[Case | Refused, ...]] = {
    "auto-prio-order": (
        # The filter that was added later is tested first, so packets from 10.1.0.0/16 are in 1:30. In the opposite
        # order both rows would be in 1:10.
        Case(
            rows="a 0 3M 1500 src=10.1.0.1\nb 0 900k 1500 src=10.2.0.1",
            gets={"a": shaped(1 * MBIT)},
            whole="b",
            options=SLOW,
        ),
    ),
    "batch-file": (Case(rows=TWO, gets={"a+b": shaped(1 * MBIT)}),),
    "bfifo-root": (
        # 65,536 B hold 43 packets of 1514 B.
        Case(
            rows=TWO,
            gets={"a+b": LINE},
            waits={"a": (41.5 * PACKET, 44 * PACKET)},
            options=SLOW,
        ),
    ),
    "change-and-replace": (
        # The class has no parent to borrow from and never reaches its ceiling. sfq shares its 2 Mbit/s equally.
        Case(
            rows="a 0 4M 1500\nb 0 2M 1500",
            gets={"a": shaped(2 * MBIT) / 2, "b": shaped(2 * MBIT) / 2},
            exact=0.03,
        ),
    ),
    "codel-and-pie": (
        Case(rows=TWO, gets={"a+b": LINE}, options={"rate": "10Mbit/s", "interface": "eth0"}),
        # PIE's drop probability settles where the remaining load fits the link: the delay is then the target of 15 ms.
        Case(
            rows="a 0 6M 1500 model=poisson\nb 0 6M 1500 model=poisson",
            gets={"a+b": LINE},
            waits={"a": (0.013, 0.019)},
            duration="25s",
            options={"rate": "10Mbit/s", "interface": "eth1"},
        ),
        Case(
            rows="a 0 2M 1500\nb 0 12M 1500",
            gets={"b": LINE - 2 * MBIT},
            whole="a",
            options={"rate": "10Mbit/s", "interface": "eth2"},
        ),
    ),
    "container-host": (
        # The first container needs 151 of its 200 Mbit/s. The others have 300 and 100 Mbit/s guaranteed; both quanta
        # are limited to 200,000 B, so that they share the remaining 449 Mbit/s equally.
        Case(
            rows="""\
                one 0 150M 1500 dst=172.17.0.2
                two 0 800M 1500 dst=172.17.1.9
                other 0 800M 1500 dst=172.18.0.1""",
            gets={
                "two": shaped((300 + (600 - 150 * 1514 / 1500) / 2) * MBIT),
                "other": shaped((100 + (600 - 150 * 1514 / 1500) / 2) * MBIT),
            },
            whole="one",
            duration="400ms",
            exact=0.03,
        ),
    ),
    "continuation-lines": (Case(rows=TWO, gets={"a+b": shaped(1 * MBIT)}),),
    "crlf-lines": (
        Case(
            rows="voice ef 2M 200\nbulk 0 12M 1500",
            gets={"bulk": on_ethernet(10 * MBIT - 2 * MBIT * 238 / 200)},
            whole="voice",
            within={"voice": PACKET + 2 * 238 * 8 / 10e6 + 1e-4},
            options=SLOW,
        ),
    ),
    "delete-and-rebuild": (Case(rows=TWO, gets={"a+b": shaped(1 * MBIT)}),),
    "drr-three-classes": (
        # Quanta of 1500 B, 3000 B and, by default, one frame of the device: 1514 B.
        Case(
            rows="a af11 8M 1500\nb af21 8M 1500\nc 0 8M 1500",
            gets={"a": LINE * 1500 / 6014, "b": LINE * 3000 / 6014, "c": LINE * 1514 / 6014},
            exact=0.01,
            options=SLOW,
        ),
    ),
    "error-no-parent": (Refused(("no htb with the handle 1:", "no class 1:10 on eth0", "no discipline 1: on eth0")),),
    "error-quantities": (
        Refused(
            (
                "`zz` is not a valid class number",
                "`1furlong` is not a valid rate",
                "an htb class needs a rate",
                "`one` is not a valid handle",
                "tbf needs a burst",
                "min 92160 is not below max 30720",
                "`10.0.0/8` is not an IPv4 network",
                "`http` is not a value up to 0xffff",
            )
        ),
    ),
    "error-target": (Refused(("no class 1:99 on eth0", "no discipline 7: on eth0")),),
    "error-twice": (Refused(("there is already a discipline at that parent", "there is a class 1:10 already")),),
    "ets-strict-and-quanta": (
        # Two strict bands; AF31 is in the band with a quantum of 4500 B, and packets that no filter matches are in the
        # last band, with 2500 B.
        Case(
            rows="voice ef 2M 1500\nvideo af41 1M 1500\norders af31 9M 1500\nweb 0 9M 1500",
            gets={"orders": (LINE - 3 * MBIT) * 45 / 70, "web": (LINE - 3 * MBIT) * 25 / 70},
            whole="voice video",
            options=SLOW,
        ),
    ),
    "filter-actions": (
        # Mail is in 1:10 and the rest in 1:30, whose ceilings are their rates. Expedited forwarding passes its policer
        # of 1 Mbit/s before 1:20. The policer of port 53 is the remark.
        Case(
            rows="mail 0 8M 1500 protocol=tcp sport=9 dport=25\nvoice ef 4M 1500\nrest 0 8M 1500",
            gets={"mail": shaped(5 * MBIT), "voice": shaped(1 * MBIT), "rest": shaped(2 * MBIT)},
            open=("a policer before `continue`",),
            options={"rate": "100Mbit/s"},
        ),
    ),
    "flower-mpls-vlan": (
        Case(
            rows="voice 0 3M 1000 exp=5\nvideo 0 4M 1000 cos=4 vlan=7\nweb 0 10M 1500",
            gets={"web": on_ethernet(10 * MBIT - 7 * MBIT * 1038 / 1000)},
            whole="voice video",
            options={"rate": "10Mbit/s", "overhead": "ethernet"},
        ),
    ),
    "flower-ports": (
        # Three classes without a parent have their rates of 10, 20 and 5 Mbit/s; no ceiling is reached.
        Case(
            rows="""\
                sip 0 6M 1000 protocol=udp sport=9 dport=5060 dst=10.1.1.1
                rtp 0 12M 1000 protocol=udp sport=9 dport=20000 dst=10.1.1.1
                https 0 30M 1500 protocol=tcp sport=443 dport=9 dst=10.1.1.1
                video af41 10M 1500 protocol=udp sport=9 dport=9 dst=11.1.1.1
                web 0 10M 1500 protocol=tcp sport=443 dport=9 dst=11.1.1.1""",
            gets={"sip+rtp": shaped(10 * MBIT, 1000), "https+video": shaped(20 * MBIT), "web": shaped(5 * MBIT)},
            options={"rate": "100Mbit/s"},
        ),
    ),
    "fq-codel-root": (
        Case(
            rows="a 0 2M 1500\nb 0 12M 1500",
            gets={"b": LINE - 2 * MBIT},
            whole="a",
            options=SLOW,
        ),
    ),
    "fw-marks": (
        Case(
            rows="""\
                sip 0 3M 1500 protocol=udp dport=5060
                web 0 20M 1500 protocol=tcp dport=443""",
            gets={"sip": shaped(1 * MBIT), "web": shaped(9 * MBIT)},
            options={"rate": "100Mbit/s"},
        ),
    ),
    "gaming-router": (
        # CS1 has 480 kbit/s guaranteed. The rate that the games do not use is borrowed by the class with the smallest
        # prio that needs it, the default class.
        Case(
            rows="""\
                games 0 1M 200 protocol=udp dport=3074
                web 0 6M 1500 protocol=tcp dport=443
                backup cs1 3M 1500 protocol=tcp dport=443""",
            gets={
                "web": shaped(4800 * KBIT - 480 * KBIT - 1000 * KBIT * 214 / 200),
                "backup": shaped(480 * KBIT),
            },
            whole="games",
        ),
    ),
    "gred-setup": (
        # The default profile has thresholds of 5 and 15 KiB; the overload drives the average to the upper threshold.
        Case(
            rows=TWO,
            gets={"a+b": LINE},
            waits={"a": (5 * PACKET, 13 * PACKET)},
            options=SLOW,
        ),
    ),
    "hierarchical-departments": (
        # The rates of the leaves fill the link: each leaf has its own rate, and nothing is left to borrow.
        Case(
            rows="""\
                voice-1 ef 40M 1500 src=10.1.0.1
                data-1 0 80M 1500 src=10.1.0.1
                voice-2 ef 40M 1500 src=10.2.0.1
                data-2 0 80M 1500 src=10.2.0.1
                other ef 40M 1500 src=10.3.0.1""",
            gets={
                "voice-1": shaped(20 * MBIT),
                "data-1": shaped(40 * MBIT),
                "voice-2": shaped(10 * MBIT),
                "data-2": shaped(20 * MBIT),
                "other": shaped(10 * MBIT),
            },
            duration="1200ms",
        ),
    ),
    "htb-howto": (
        # While all send, each class has its rate: 30, 10 and 60 kB/s.
        Case(
            rows="""\
                a 0 900k 1500 src=1.2.3.4 dport=80
                b 0 900k 1500 src=1.2.3.4 dport=25
                c 0 900k 1500 src=1.2.3.5 dport=80""",
            gets={"a": shaped(240 * KBIT), "b": shaped(80 * KBIT), "c": shaped(480 * KBIT)},
            duration="60s",
        ),
        # Without the third class the others borrow its 60 kB/s in the ratio 3 : 1 of their quanta, 3000 and 1000 B (HTB
        # user guide), provided that packets are shorter than the quanta.
        Case(
            rows="""\
                a 0 900k 500 src=1.2.3.4 dport=80
                b 0 900k 500 src=1.2.3.4 dport=25""",
            gets={"a": shaped(600 * KBIT, 500), "b": shaped(200 * KBIT, 500)},
            duration="60s",
        ),
    ),
    "htb-over-prio": (
        Case(
            rows="voice ef 5M 1000\nbulk 0 30M 1500",
            gets={"bulk": shaped(20 * MBIT - 5 * MBIT * 1014 / 1000)},
            whole="voice",
        ),
    ),
    "htb-prio-burst": (
        # 5 and 3 Mbit/s are guaranteed although the parent has 6: HTB does not check a guarantee against the parent.
        # The default class has 1 kbit/s.
        Case(
            rows="""\
                web 0 7M 1500 sport=9 dport=80
                mail 0 7M 1500 sport=25 dport=9
                other 0 1M 1500 sport=9 dport=9""",
            gets={"web": shaped(5 * MBIT), "mail": shaped(3 * MBIT), "other": 0},
        ),
    ),
    "ingress-policing": (
        Case(
            rows="a 0 2M 1500\nb 0 12M 1500",
            gets={"b": LINE - 2 * MBIT},
            whole="a",
            open=("a filter of received packets that does not redirect them",),
            options=SLOW,
        ),
    ),
    "linux-diffserv-edge": (
        # The filter polices EF at 1.5 Mbit/s; the other classes have their rates.
        Case(
            rows="voice ef 3M 1000\nvideo af41 6M 1500\norders af31 4M 1500\nweb 0 6M 1500",
            gets={
                "voice": shaped(1.5 * MBIT, 1000),
                "video": shaped(3.5 * MBIT),
                "orders": shaped(2 * MBIT),
                "web": shaped(3 * MBIT),
            },
        ),
    ),
    "pfifo-root": (Case(rows=TWO, gets={"a+b": LINE}, waits={"a": (38.5 * PACKET, 41 * PACKET)}, options=SLOW),),
    "prio-by-dscp": (
        Case(
            rows="voice ef 2M 1500\nvideo af41 3M 1500\norders af31 8M 1500\nweb 0 5M 1500",
            gets={"orders": LINE - 5 * MBIT, "web": 0},
            whole="voice video",
            options=SLOW,
        ),
    ),
    "prio-default-map": (
        # TOS 0x10 is interactive, 0x08 is bulk; EF (0xb8) has both bits set and is in the band of best effort.
        Case(
            rows="keys 4 3M 1500\nef ef 2M 1500\nweb 0 12M 1500\nfiles 2 3M 1500",
            gets={"web": LINE - 5 * MBIT, "files": 0},
            whole="keys ef",
            options=SLOW,
        ),
    ),
    "prio-police-voice": (
        Case(
            rows="voice ef 2M 1000\nbulk 0 12M 1500",
            gets={"voice": shaped(1 * MBIT, 1000), "bulk": on_ethernet(10 * MBIT - shaped(1 * MBIT, 1000) * 1.038)},
            options=SLOW,
        ),
    ),
    "red-root": (
        # The overload drives the average to the upper threshold: 90 KiB are 61 packets of 1514 B, 30 KiB are 20.
        Case(rows=TWO, gets={"a+b": LINE}, waits={"a": (30 * PACKET, 63 * PACKET)}, options=SLOW),
    ),
    "sfq-root": (
        Case(
            rows="a 0 2M 1500\nb 0 12M 1500",
            gets={"b": LINE - 2 * MBIT},
            whole="a",
            options=SLOW,
        ),
    ),
    "tbf-root": (
        # The limit is 70 ms at 900 kbit/s plus the burst, 12,995 B: 8 packets of 1500 B.
        Case(
            rows="a 0 1M 1500 model=poisson\nb 0 1M 1500 model=poisson",
            gets={"a+b": 900 * KBIT},
            within={"a": 12_995 * 8 / 900e3 + 2e-3},
            waits={"a": (7 * 12_000 / 900e3, 12_995 * 8 / 900e3)},
            duration="20s",
            options={"overhead": "none"},
        ),
    ),
    "tbf-with-inner": (
        Case(
            rows="a 0 2M 1500\nb 0 12M 1500",
            gets={"b": shaped(10 * MBIT) - 2 * MBIT},
            whole="a",
        ),
    ),
    "tbf-with-prio": (
        Case(
            rows="voice ef 500k 200\nbulk 0 4M 1500",
            gets={"bulk": shaped(2 * MBIT - 500 * KBIT * 214 / 200)},
            whole="voice",
        ),
    ),
    "tos-precedence": (
        # Precedence 5 and AF31 are in the class of 3 Mbit/s. The mask 0x1e tests a bit of the ECN field, which no row
        # of the traffic table states.
        Case(
            rows="ef ef 2M 1500\nkeys 4 2M 1500\norders af31 2M 1500\nweb 0 10M 1500",
            gets={"ef+orders": shaped(3 * MBIT), "keys+web": shaped(7 * MBIT)},
            open=("a condition on the ECN bits",),
            options={"rate": "100Mbit/s"},
        ),
    ),
    "two-devices": (
        Case(rows=TWO, gets={"a+b": shaped(5 * MBIT)}, options={"interface": "eth0", "rate": "100Mbit/s"}),
        Case(
            rows="a 0 16M 1500 model=poisson\nb 0 16M 1500 model=poisson",
            gets={"a+b": shaped(20 * MBIT)},
            options={"interface": "ifb0", "rate": "100Mbit/s"},
        ),
    ),
    "units-of-tc": (
        # In tc `1mbps` is one megabyte per second; a class without a parent never reaches its ceiling.
        Case(rows=TWO, gets={"a+b": shaped(8 * MBIT)}, options={"rate": "100Mbit/s"}),
    ),
    "unsupported-kinds": (
        Case(
            rows="a 0 5M 1500\nb 0 30M 1500",
            gets={"b": shaped(20 * MBIT) - 5 * MBIT},
            whole="a",
            options={"interface": "eth0", "rate": "100Mbit/s"},
        ),
        # 1 % of packets is lost, all others are delayed by 100 ms.
        Case(
            rows="a 0 2M 1500\nb 0 2M 1500",
            gets={"a+b": 0.99 * 4 * MBIT},
            waits={"a": (0.1, 0.104)},
            exact=0.01,
            options={"interface": "eth1", "rate": "10Mbit/s"},
        ),
        # The throughput is that of the upper-limit curve.
        Case(
            rows=TWO,
            gets={"a+b": shaped(MBIT)},
            options={"interface": "eth2", "rate": "10Mbit/s"},
        ),
        Case(
            rows="keys 4 3M 1500\nweb 0 12M 1500",
            gets={"web": LINE - 3 * MBIT},
            whole="keys",
            open=("this ematch", "the queue length of a device"),
            options={"interface": "eth3", "rate": "10Mbit/s"},
        ),
    ),
    "warnings-htb": (
        # Packets that belong to no leaf bypass the token buckets.
        Case(rows=TWO, gets={"a+b": LINE}, open=("selects no class",), options=SLOW),
    ),
    "wondershaper": (
        # 800 and 720 kbit/s are guaranteed: the shell has all that it sends and the default class its 720 kbit/s,
        # together more than the rate of the parent.
        Case(
            rows="shell 4 200k 500 protocol=tcp\nping 0 8k 100 protocol=icmp\nweb 0 2M 1500 protocol=tcp",
            gets={"web": 720 * KBIT},
            whole="shell ping",
            open=("the outcome of a condition", "the variable `1`", "bytes of the packet other than DS field"),
            duration="20s",
            options={"overhead": "none"},
        ),
    ),
}
"""Cases by the name of the script."""
