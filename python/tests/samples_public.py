"""Configurations after public documents, in `router/public`: traffic, simulated parts, and results by hand.

`tools/router_examples.py` writes docs/router-examples.md from this table and from the importer's remarks.
"""

from dataclasses import dataclass

from judging import KBIT, MBIT, Case, Refused, on_atm, on_ethernet, on_serial, shaped

__all__ = ["PUBLIC", "Public"]


@dataclass(frozen=True)
class Public:
    """A configuration after a public document."""

    platform: str
    simulated: str
    """Text for the page: what is simulated."""
    by_hand: str
    """Text for the page: computation of the expected results."""
    case: Case | Refused


# 256 kbit/s minus the call and its set-up, shared by 64, 32 and the unreserved 120 kbit/s.
BRANCH = on_serial(256 * KBIT - 24 * KBIT * 67 / 60 - 7 * KBIT * 107 / 100, 500) / (64 + 32 + 120)
# 10 Gbit/s minus 900 Mbit/s of packets of 1000 B, shared 18 : 18 : 52.
CAMPUS = on_ethernet(10_000 * MBIT - 900 * MBIT * 1038 / 1000, 9000) / 88
# 1 Gbit/s minus 80 Mbit/s of packets of 1000 B, shared 40 : 20 : 30.
UPLINK = on_ethernet(1000 * MBIT - 80 * MBIT * 1038 / 1000) / 90
# Layer 3 rate of a full link of 10 Gbit/s with packets of 9000 B.
TENGIG = on_ethernet(10_000 * MBIT, 9000)

PUBLIC: dict[str, Public] = {
    "ios-serial-256k.txt": Public(
        "IOS",
        "Access lists choose the classes by protocol and port; `priority 32` is strict priority, policed at 32 "
        "kbit/s under congestion; `bandwidth` 8, 64 and 32 kbit/s are shares; class-default is a fair queue with the "
        "unreserved 120 kbit/s.",
        "A call of G.729 counts as 24 · 64/60 = 25.6 of 32 kbit/s. The call and its set-up leave 221.7 of 256 "
        "kbit/s, shared 64 : 32 : 120.",
        Case(
            rows="""\
                call  0 24k 60 protocol=udp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=16400
                setup 0 7k 100 protocol=tcp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=1720
                web   0 500k 500 protocol=tcp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=80
                term  0 200k 500 protocol=tcp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=23
                other 0 400k 500 protocol=udp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=9""",
            gets={"web": 64 * BRANCH, "term": 32 * BRANCH, "other": 120 * BRANCH},
            whole="call setup",
            duration="60s",
        ),
    ),
    "ios-atm-bandwidths.txt": Public(
        "IOS",
        "Three classes with 300, 100 and 50 kbit/s; the link is assumed to have the rate of `bandwidth`, and carries "
        "whole ATM cells.",
        "All three classes are overloaded, so they share in the ratio of their guarantees, 300 : 100 : 50, what 1 "
        "Mbit/s of cells carries; a packet of 1500 B takes 32 cells of 53 B.",
        Case(
            rows="zero 0 1M 1500\ntwo cs2 1M 1500\nother af31 1M 1500",
            gets={"zero": on_atm(MBIT) * 300 / 450, "two": on_atm(MBIT) * 100 / 450, "other": on_atm(MBIT) * 50 / 450},
        ),
    ),
    "ios-switch-proportional.txt": Public(
        "IOS (switch)",
        "A session log with prompts: four classes with 40, 20, 10 and 10 Mbit/s on a link of 1 Gbit/s.",
        "The reference says that excess bandwidth is shared in proportion to the rates: 4 : 2 : 1 : 1 of 975.3 Mbit/s.",
        Case(
            rows="a af31 600M 1500\nb af21 600M 1500\nc af11 600M 1500\nd 0 600M 1500",
            gets={
                "a": on_ethernet(500 * MBIT),
                "b": on_ethernet(250 * MBIT),
                "c": on_ethernet(125 * MBIT),
                "d": on_ethernet(125 * MBIT),
            },
            duration="250ms",
        ),
    ),
    "ios-marking-to-core.txt": Public(
        "IOS",
        "The input policy of the LAN marks packets by access list; the classes towards the core match these marks; "
        "`police cir 8000` with a burst of 1500 B drops packets before the queue.",
        "Echo requests of 200 B at 64 kbit/s count 214 B each: 8 · 200/214 = 7.48 kbit/s conform.",
        Case(
            rows="""\
                ping 0 64k 200 protocol=icmp src=10.10.1.5 dst=10.9.9.9 match=icmp
                web 0 1M 1500 protocol=tcp src=10.10.1.6 dst=10.9.9.9 sport=9 dport=80 match=http""",
            gets={"ping": shaped(8 * KBIT, 200)},
            whole="web",
            duration="200s",
        ),
    ),
    "xe-campus-2p6q3t.txt": Public(
        "IOS XE",
        "Two levels of strict priority with 10 % and 33 %, policed under congestion; 12, 18, 18 and 52 % of what "
        "remains. Buffer sizes (`queue-buffers`) are not simulated.",
        "Voice of 900 Mbit/s is within its 1 Gbit/s and leaves 9,066 Mbit/s, shared 18 : 18 : 52.",
        Case(
            rows="voice ef 900M 1000\nvideo af31 4000M 9000\norders af21 4000M 9000\nweb 0 8000M 9000",
            gets={"video": 18 * CAMPUS, "orders": 18 * CAMPUS, "web": 52 * CAMPUS},
            whole="voice",
            open=("`queue-buffers` in a class",) * 6,
            duration="80ms",
            exact=0.03,
        ),
    ),
    "xe-pseudowire-shaper.txt": Public(
        "IOS XE",
        "A shaper of 1 Mbit/s around three classes: strict priority with 100 kbit/s, a class with half of the "
        "shaper's rate, and a class with a policer of 8 kbit/s in the queue of class-default.",
        "Voice counts as 64 · 214/200 = 68.5 of 100 kbit/s, and the policer passes 8 kbit/s: 923.5 kbit/s are left "
        "for the class with the guarantee.",
        Case(
            rows="voice cs5 64k 200\ngold cs3 2M 1500\nlimited cs1 64k 500",
            gets={
                "gold": shaped(1000 * KBIT - 64 * KBIT * 214 / 200 - 8 * KBIT),
                "limited": shaped(8 * KBIT, 500),
            },
            whole="voice",
            duration="200s",
        ),
    ),
    "xr-eight-ratios.txt": Public(
        "IOS XR",
        "The input policy sets the traffic class, which the classes of the output policy match: ratios 20, 10, 10, "
        "30 and 5.",
        "Four of the five classes are overloaded: 20 : 10 : 30 : 5 of 9,958 Mbit/s with packets of 9000 B.",
        Case(
            rows="a af11 8000M 9000\nb af21 8000M 9000\nd af41 8000M 9000\nother 0 8000M 9000",
            gets={
                "a": TENGIG * 20 / 65,
                "b": TENGIG * 10 / 65,
                "d": TENGIG * 30 / 65,
                "other": TENGIG * 5 / 65,
            },
            duration="80ms",
        ),
    ),
    "xr-llq-levels.txt": Public(
        "IOS XR",
        "Two levels of strict priority, each behind a policer that acts with and without congestion (5 % and 20 %, "
        "250 ms of burst); 60 % for bulk. The equal division of the remaining rate by IOS XR is not simulated, which "
        "is reported.",
        "On a link of 10 Mbit/s, 0.5 and 2 Mbit/s of the priority classes pass, and the 5 Mbit/s of bulk are within "
        "its 6 Mbit/s; 2.33 Mbit/s of the link are left for class-default.",
        Case(
            rows="voice ef 1M 1000\nvideo af41 4M 1500\nbulk af11 5M 1500\nweb 0 12M 1500",
            gets={
                "voice": shaped(0.5 * MBIT, 1000),
                "video": shaped(2 * MBIT),
                "bulk": 5 * MBIT,
                "web": on_ethernet(
                    10 * MBIT - shaped(0.5 * MBIT, 1000) * 1.038 - (shaped(2 * MBIT) + 5 * MBIT) * 1538 / 1500
                ),
            },
            open=("divide the excess bandwidth equally",),
            duration="60s",
            options={"rate": "10Mbit/s"},
        ),
    ),
    "xr-shape-kbps.txt": Public(
        "IOS XR",
        "A shaper of 5,000,000 kbit/s for `class1`, and one of 20 % of 10 Gbit/s for class-default.",
        "Packets of 9000 B count 9014 B: 4,992 and 1,997 Mbit/s pass.",
        Case(
            rows="a cs3 8000M 9000\nweb 0 8000M 9000",
            gets={"a": shaped(5000 * MBIT, 9000), "web": shaped(2000 * MBIT, 9000)},
            duration="400ms",
        ),
    ),
    "nxos-rdma-nexus3132.txt": Public(
        "NX-OS",
        "The policies of `system qos` apply to the port that is simulated: class of service 3 becomes QoS group 3, "
        "which has half of the link. That the class is lossless (`pause no-drop`) is not simulated.",
        "Both halves of a link of 10 Gbit/s are overloaded: 4,979 Mbit/s each.",
        Case(
            rows="rdma 0 8000M 9000 cos=3 vlan=99\nweb 0 8000M 9000 cos=0 vlan=99",
            gets={"rdma": TENGIG / 2, "web": TENGIG / 2},
            open=(
                "`class-map type network-qos` sets buffers and pause frames",
                "the command `match` is not known",
                "`policy-map type network-qos` sets buffers and pause frames",
                *("a class of type `network-qos`",) * 2,
                *("the command `mtu` is not known",) * 2,
                "the command `pause` is not known",
                "of type `network-qos` for all interfaces",
            ),
            duration="80ms",
            options={"rate": "10Gbit/s"},
        ),
    ),
    "nxos-egress-8q.txt": Public(
        "NX-OS",
        "The queues of a port by QoS group: 50 and 48 % of what remains, 1 % for group 7, nothing for the other "
        "groups while these are busy. Thresholds in bytes are converted to packets of the size in the table. The "
        "average of ECN has no memory (`weight 0`): it is simulated with the exponent 1, which is reported.",
        "The text does not set QoS groups, so all packets are in the default queue, which has the whole link while "
        "the other queues are idle.",
        Case(
            rows="web 0 8000M 9000 vlan=7\nfiles af11 8000M 9000 vlan=7",
            gets={"web+files": TENGIG},
            open=("the exponent 0, which means",),
            duration="80ms",
            options={"rate": "10Gbit/s"},
        ),
    ),
    "nxos-uplink-groups.txt": Public(
        "NX-OS",
        "`system qos` sets QoS groups by code point; the queues of the port are one with strict priority and three "
        "with 40, 20 and 30 %. The bandwidth that is also given to the priority class is not simulated.",
        "80 Mbit/s in the priority class leave 917.0 of 1,000 Mbit/s, shared 40 : 20 : 30.",
        Case(
            rows="voice ef 80M 1000\ngold af31 600M 1500\nbronze af11 400M 1500\nweb 0 400M 1500",
            gets={"gold": 40 * UPLINK, "bronze": 20 * UPLINK, "web": 30 * UPLINK},
            whole="voice",
            open=("has both bandwidth and priority",),
            duration="250ms",
        ),
    ),
    "eos-profile.txt": Public(
        "Arista EOS",
        "Nothing is simulated: transmit queues by number have no counterpart, which is reported.",
        "No scenario is made.",
        Refused(("no interface has an output policy",)),
    ),
    "eos-port-queues.txt": Public(
        "Arista EOS",
        "Nothing is simulated: transmit queues by number have no counterpart, which is reported.",
        "No scenario is made.",
        Refused(("no interface has an output policy",)),
    ),
    "tc-ppp0-four-classes.sh": Public(
        "Linux",
        "Four leaves of HTB with guaranteed rates of 126, 96, 64 and 126 kbit/s, each with an sfq. The 128 kbit/s of "
        "their parent limit the borrowed rate, not the guaranteed one.",
        "The shell has its 40, the web class 64 and the rest 126 kbit/s: 230 kbit/s in total, more than the 128 of "
        "the parent, as in the kernel.",
        Case(
            rows="""\
                shell 0 40k 200 protocol=tcp sport=9 dport=22
                web 0 100k 1000 protocol=tcp sport=9 dport=80
                other 0 300k 1000 protocol=tcp sport=9 dport=9""",
            gets={"web": 64 * KBIT, "other": 126 * KBIT},
            whole="shell",
            duration="120s",
            options={"overhead": "none"},
        ),
    ),
    "tc-tbf-prio-voip.sh": Public(
        "Linux",
        "A token bucket of 768 kbit/s around three strict bands by the kernel's priomap; filters put TOS 0x68 and "
        "0xb8 into the first band.",
        "Four calls count as 342.4 kbit/s and leave 425.6 kbit/s for packets of 1514 B, 421.7 kbit/s at layer 3.",
        Case(
            rows="calls ef 80k 200 count=4\nweb 0 2M 1500",
            gets={"web": shaped(768 * KBIT - 320 * KBIT * 214 / 200)},
            whole="calls",
            duration="60s",
        ),
    ),
    "tc-ets-manual.sh": Public(
        "Linux",
        "Six bands, three of them strict. The kernel derives a priority from the DS field, and the priority chooses "
        "the band: best effort is in the first band, TOS 0x08 in the second, EF in the third, TOS 0x10 in the second "
        "of the bands that share by quantum.",
        "The strict bands take 6 Mbit/s; the sharing band has the rest of 9.753 Mbit/s.",
        Case(
            rows="web 0 3M 1500\nfiles 2 2M 1500\nvoice ef 1M 1500\nkeys 4 8M 1500",
            gets={"keys": on_ethernet(10 * MBIT) - 6 * MBIT},
            whole="web files voice",
            options={"rate": "10Mbit/s"},
        ),
    ),
    "tc-tbf-peak.sh": Public(
        "Linux",
        "A token bucket of 0.5 Mbit/s and 5 KiB with a peak rate of 1 Mbit/s and 1540 B, behind a queue of 9495 B "
        "(70 ms at the rate, plus the burst).",
        "A packet of 1000 B counts 1014 B: 493.1 kbit/s pass, and no packet waits longer than 9495 B take at 0.5 "
        "Mbit/s, 152 ms.",
        Case(
            rows="a 0 500k 1000 model=poisson\nb 0 500k 1000 model=poisson",
            gets={"a+b": shaped(500 * KBIT, 1000)},
            within={"a": 9495 * 8 / 500e3 + 0.003},
            duration="60s",
        ),
    ),
    "openwrt-cake-diffserv4.sh": Public(
        "OpenWrt",
        "A shaper of 20 Mbit/s that counts 34 B per packet in addition to layer 3; four tins by code point with the "
        "kernel's thresholds, each a fair queue with CoDel. Code points are cleared after all queues.",
        "Voice counts as 2 · 234/200 = 2.34 and video as 4 · 1034/1000 = 4.14 Mbit/s, each below the threshold of "
        "its tin; the bulk tin has 1.02 Mbit/s below its 1.25. 12.5 Mbit/s are left for best effort, in packets of "
        "1534 B.",
        Case(
            rows="voice ef 2M 200\nvideo af41 4M 1000\nbulk cs1 1M 1500\nweb 0 30M 1500",
            gets={
                "web": shaped(20 * MBIT - 2.34 * MBIT - 4.136 * MBIT - 1 * MBIT * 1534 / 1500, 1500, 34),
            },
            whole="voice video bulk",
        ),
    ),
    "openwrt-simple-qos.sh": Public(
        "OpenWrt",
        "Marks of the firewall by code point choose one of three HTB classes, in the order of their priority: 128 to "
        "2000 kbit/s; 1000 to 5984 kbit/s for best effort; 1000 to 5984 kbit/s for background traffic. Each class "
        "has an fq_codel.",
        "Background traffic has its guaranteed 1000 kbit/s, 0.8 Mbit/s of EF are served first, and best effort "
        "borrows all that is left of 6000 kbit/s: 4200 kbit/s in total.",
        Case(
            rows="voice ef 80k 200 count=10\nweb 0 8M 1500\nbackup cs1 8M 1500",
            gets={"web": 4200 * KBIT, "backup": 1000 * KBIT},
            whole="voice",
            duration="60s",
            options={"overhead": "none"},
        ),
    ),
    "tc-ifb-prio-bands.sh": Public(
        "Linux",
        "HTB of 10 Mbit/s around eight strict bands by class selector. Arriving packets are redirected to ifb0, "
        "which has no queue.",
        "CS7 and CS5 are served first with 5 of 10 Mbit/s; CS3 has the rest, best effort nothing.",
        Case(
            rows="net cs7 2M 1500\ncalls cs5 3M 1500\nsignals cs3 8M 1500\nweb 0 3M 1500",
            gets={"signals": shaped(10 * MBIT) - 5 * MBIT, "web": 0},
            whole="net calls",
            duration="120s",
        ),
    ),
}
"""Configurations by the name of the file."""
