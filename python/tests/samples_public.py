"""Configurations after public documents, in `router/public`: traffic, simulated lines, and the outcome by hand.

`tools/router_examples.py` makes docs/router-examples.md from this and from the importer's remarks.
"""

from dataclasses import dataclass

from judging import KBIT, MBIT, Case, Refused, on_atm, on_ethernet, on_serial, shaped

__all__ = ["PUBLIC", "Public"]


@dataclass(frozen=True)
class Public:
    """A configuration after a public document."""

    platform: str
    simulated: str
    """The simulated counterpart of each of its lines, in words."""
    by_hand: str
    """Computation of the outcome."""
    case: Case | Refused


# What the calls and their set-up leave of 256 kbit/s, for 64, 32 and the 120 that nothing reserves.
BRANCH = on_serial(256 * KBIT - 24 * KBIT * 67 / 60 - 7 * KBIT * 107 / 100, 500) / (64 + 32 + 120)
# 10 Gbit/s less 900 Mbit/s of 1000 B, for 18, 18 and 52 of what remains.
CAMPUS = on_ethernet(10_000 * MBIT - 900 * MBIT * 1038 / 1000, 9000) / 88
# 1 Gbit/s less 80 Mbit/s of 1000 B, for 40, 20 and 30 %.
UPLINK = on_ethernet(1000 * MBIT - 80 * MBIT * 1038 / 1000) / 90
TENGIG = on_ethernet(10_000 * MBIT, 9000)

PUBLIC: dict[str, Public] = {
    "ios-serial-256k.txt": Public(
        "IOS",
        "Access lists choose the classes by protocol and port; `priority 32` is strict and policed at 32 kbit/s"
        " while others wait;"
        " `bandwidth` 8, 64 and 32 kbit/s are shares, class-default has the 120 that nothing reserves, as a"
        " fair queue.",
        "A call of G.729 counts 24 · 64/60 = 25.6 of 32 kbit/s. It and the set-up leave 221.7 of 256 kbit/s to"
        " 64 : 32 : 120.",
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
        "Three classes with 300, 100 and 50 kbit/s; the line has the rate of `bandwidth`, which is assumed."
        " The line carries whole cells.",
        "All overloaded, what is left follows the guarantees: 300 : 100 : 50 of what 1 Mbit/s of cells carries, 1500 B"
        " in 32 of 53 B.",
        Case(
            rows="zero 0 1M 1500\ntwo cs2 1M 1500\nother af31 1M 1500",
            gets={"zero": on_atm(MBIT) * 300 / 450, "two": on_atm(MBIT) * 100 / 450, "other": on_atm(MBIT) * 50 / 450},
        ),
    ),
    "ios-switch-proportional.txt": Public(
        "IOS (switch)",
        "A session with prompts: four classes with 40, 20, 10 and 10 Mbit/s of 1 Gbit/s.",
        "The reference says that excess is divided in the proportion of the rates: 4 : 2 : 1 : 1 of 975.3 Mbit/s.",
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
        "The policy for what arrives on the LAN marks by access list; the classes towards the core look at the"
        " marks; `police cir 8000`"
        " drops in front of the queue, burst 1500 B.",
        "64 kbit/s of echo requests of 200 B count 214 B each: 8 · 200/214 = 7.48 kbit/s conform.",
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
        "Two strict levels with 10 % and 33 %, policed while others wait; 12, 18, 18 and 52 of what remains."
        " Buffers are not.",
        "900 Mbit/s of voice are within 1 Gbit/s and leave 9,066 Mbit/s to 18 : 18 : 52.",
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
        "A shaper of 1 Mbit/s; within it 100 kbit/s strict, half of the shaper, and a class with a policer of 8"
        " kbit/s that shares the"
        " queue of class-default.",
        "Voice counts 64 · 214/200 = 68.5 of 100 kbit/s, the policer passes 8 kbit/s: 923.5 kbit/s are left for"
        " the guaranteed class.",
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
        "The policy for what arrives sets the traffic class, the classes towards the line look at it: ratios"
        " 20, 10, 10, 30 and 5.",
        "Four of the five classes are busy: 20 : 10 : 30 : 5 of 9,958 Mbit/s with packets of 9000 B.",
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
        "Two strict levels, each behind a policer that acts always (5 % and 20 %, 250 ms of burst); 60 % for"
        " bulk. How what is left is"
        " shared is not simulated, which is said.",
        "On a line of 10 Mbit/s: 0.5 and 2 Mbit/s of the strict classes pass, 5 of bulk are within its 6; 2.33"
        " are left for the rest.",
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
        "A shaper of 5,000,000 kbit/s around the class, one of 20 % of 10 Gbit/s around class-default.",
        "Packets of 9000 B count 9014: 4,992 and 1,997 Mbit/s.",
        Case(
            rows="a cs3 8000M 9000\nweb 0 8000M 9000",
            gets={"a": shaped(5000 * MBIT, 9000), "web": shaped(2000 * MBIT, 9000)},
            duration="400ms",
        ),
    ),
    "nxos-rdma-nexus3132.txt": Public(
        "NX-OS",
        "The policies of `system qos` hang at the only port that is simulated: class of service 3 becomes QoS"
        " group 3, which has half of"
        " the line. That the class is lossless (`pause no-drop`) is not.",
        "Both halves of a line of 10 Gbit/s are overloaded: 4,979 Mbit/s each.",
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
        "The queues of a port by QoS group: 50 and 48 % of what remains, 1 % for group 7, nothing for the"
        " others while those are busy."
        " Thresholds in bytes are packets of the table's size; that the average of ECN has no memory is said to"
        " be one of little.",
        "The text does not set the groups, so all packets are in the default queue: it has the whole line while"
        " the others idle.",
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
        "`system qos` sets QoS groups by code point; the port's queues: one strict class, 40, 20 and 30 %. That"
        " the strict class has a"
        " bandwidth, too, is not simulated.",
        "80 Mbit/s of the strict class leave 917.0 of 1,000 to 40 : 20 : 30.",
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
        "Nothing: transmission queues by number have no counterpart, so there is nothing to judge, and that is said.",
        "No scenario is made.",
        Refused(("no interface has an output policy",)),
    ),
    "eos-port-queues.txt": Public(
        "Arista EOS",
        "Nothing: transmission queues by number have no counterpart, so there is nothing to judge, and that is said.",
        "No scenario is made.",
        Refused(("no interface has an output policy",)),
    ),
    "tc-ppp0-four-classes.sh": Public(
        "Linux",
        "Four leaves of HTB with 126, 96, 64 and 126 kbit/s by right, each an sfq. Their parent's 128 kbit/s"
        " bind what is borrowed, not"
        " what is sent by right.",
        "The shell has its 40, the web 64, the rest 126 kbit/s: 230 in all, more than the 128 of the parent, as"
        " in the kernel.",
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
        "A token bucket of 768 kbit/s; within it three strict bands by the kernel's priomap, two TOS values in"
        " the first.",
        "Four calls count 342.4 kbit/s and leave 425.6 to the others' packets of 1514 B: 421.7.",
        Case(
            rows="calls ef 80k 200 count=4\nweb 0 2M 1500",
            gets={"web": shaped(768 * KBIT - 320 * KBIT * 214 / 200)},
            whole="calls",
            duration="60s",
        ),
    ),
    "tc-ets-manual.sh": Public(
        "Linux",
        "Six bands, three of them strict; the band by the DS field as the kernel derives a priority: best"
        " effort in the first band, TOS"
        " 0x08 in the second, EF in the third, TOS 0x10 in the second of those that share.",
        "The strict bands take 6 Mbit/s; what shares has the rest of 9.753.",
        Case(
            rows="web 0 3M 1500\nfiles 2 2M 1500\nvoice ef 1M 1500\nkeys 4 8M 1500",
            gets={"keys": on_ethernet(10 * MBIT) - 6 * MBIT},
            whole="web files voice",
            options={"rate": "10Mbit/s"},
        ),
    ),
    "tc-tbf-peak.sh": Public(
        "Linux",
        "A token bucket of 0.5 Mbit/s with 5 KiB within one of 1 Mbit/s with 1540 B, in front of a queue of"
        " 9495 B (70 ms and the burst).",
        "1000 B count 1014: 493.1 kbit/s pass, and none waits longer than 9495 B at 0.5 Mbit/s, 152 ms.",
        Case(
            rows="a 0 500k 1000 model=poisson\nb 0 500k 1000 model=poisson",
            gets={"a+b": shaped(500 * KBIT, 1000)},
            within={"a": 9495 * 8 / 500e3 + 0.003},
            duration="60s",
        ),
    ),
    "openwrt-cake-diffserv4.sh": Public(
        "OpenWrt",
        "A shaper of 20 Mbit/s that counts 34 B more than layer 3, four tins by code point with the kernel's"
        " thresholds, in each a fair"
        " queue under CoDel. Code points are cleared behind all queues.",
        "Voice counts 2 · 234/200 = 2.34 and video 4 · 1034/1000 = 4.14 Mbit/s, each below its tin's threshold,"
        " as do 1.02 of the bulk"
        " tin's 1.25; 12.5 are left for best effort, of 1534 B each.",
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
        "Marks of the firewall by code point choose one of three classes of HTB: 128 to 2000 kbit/s first, then"
        " 1000 to 5984 for best"
        " effort, then the same for the background, each an fq_codel.",
        "Background has its 1000 kbit/s by right, 0.8 Mbit/s of EF go first, and best effort borrows all that"
        " is left of 6000: 4200.",
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
        "HTB of 10 Mbit/s, within it eight strict bands by class selector. What arrives is sent around by ifb0,"
        " which has no queue.",
        "5 of 10 Mbit/s go first; CS3 has what is left, best effort nothing.",
        Case(
            rows="net cs7 2M 1500\ncalls cs5 3M 1500\nsignals cs3 8M 1500\nweb 0 3M 1500",
            gets={"signals": shaped(10 * MBIT) - 5 * MBIT, "web": 0},
            whole="net calls",
            duration="120s",
        ),
    ),
}
"""By the file's name."""
