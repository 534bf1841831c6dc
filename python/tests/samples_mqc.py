"""A traffic table for each Cisco sample of `crates/router/tests/mqc`, and its results computed by hand.

The rate that priority classes leave is shared in proportion to the bandwidths of the classes; a class-default without
a bandwidth counts with the unreserved rate (docs/mechanisms/class-based.md). Shapers, policers and shares count 14 B
of Ethernet header or 4 B of HDLC; the link carries 38 B or 7 B per packet in addition to layer 3.
"""

from judging import KBIT, MBIT, Case, Refused, on_atm, on_ethernet, on_serial, shaped

__all__ = ["MQC"]

# Layer 3 rates in bit/s. All except ABBREVIATED are the rate for one unit of the stated shares or guarantees.
# 1000 Mbit/s minus 90 Mbit/s of packets of 1000 B (1038 B on the wire), shared 9 : 3 : 1 by packets of 1500 B.
RATIO = on_ethernet(1000 * MBIT - 90 * MBIT * 1038 / 1000) / 13
# 1000 Mbit/s minus 150 Mbit/s of packets of 1000 B, shared by guarantees of 5, 40, 1 and 25 %.
CAMPUS = on_ethernet(1000 * MBIT - 150 * MBIT * 1038 / 1000) / 71
# 10 Gbit/s minus 900 Mbit/s in packets of 1000 B and 1200 Mbit/s in 9000 B, shared by guarantees of 4, 10 and 25 %.
TWELVE = on_ethernet(10_000 * MBIT - 900 * MBIT * 1038 / 1000 - 1200 * MBIT * 9038 / 9000, 9000) / 39
# 155 Mbit/s minus 50 Mbit/s of packets of 1000 B (1007 B with HDLC), shared by guarantees of 30, 5 and 25 %.
CORE = on_serial(155 * MBIT - 50 * MBIT * 1007 / 1000) / 60
# 900 kbit/s at layer 3 minus 160 kbit/s of calls, shared by 128 kbit/s and the 900 - 256 - 128 kbit/s of class-default.
DSL = (900 - 160) * KBIT / (128 + 516)
# 768 kbit/s minus a call and the control traffic, shared by 384 kbit/s and the 768 - 128 - 384 - 32 of class-default.
VIDEO = on_serial(768 * KBIT - 80 * KBIT * 207 / 200 - 30 * KBIT * 507 / 500) / (384 + 224)
# The priority class passes 20 % of `bandwidth 10000`, although the link has 100 Mbit/s.
ABBREVIATED = shaped(2 * MBIT, 200)
# 100 Mbit/s minus 8 Mbit/s of packets of 1000 B, shared 40 : 50.
NESTED = on_ethernet(100 * MBIT - 8 * MBIT * 1038 / 1000) / 90
# One percent of 1 Gbit/s.
LIMITS = on_ethernet(1000 * MBIT) / 100
# One percent of 34 Mbit/s of ATM cells.
PRECEDENCE = on_atm(34 * MBIT) / 100

MQC: dict[str, tuple[Case | Refused, ...]] = {
    "abbreviations": (
        # Two flows of different rates in class-default get equal shares, since it is a fair queue.
        Case(
            rows="calls ef 80k 200 count=40\na 0 80M 1500\nb 0 60M 1500",
            gets={
                "calls": ABBREVIATED,
                "a": on_ethernet(100 * MBIT - ABBREVIATED * 238 / 200) / 2,
                "b": on_ethernet(100 * MBIT - ABBREVIATED * 238 / 200) / 2,
            },
        ),
    ),
    "acl-by-name-and-number": (
        # List 150 denies mail before its code point is tested, so mail is in class-default.
        Case(
            rows="""\
                server 0 50M 1500 protocol=tcp src=10.10.0.7 dst=10.9.9.9 sport=445 dport=4000
                app    0 50M 1500 protocol=tcp src=10.8.8.8 dst=10.0.0.5 sport=4000 dport=2000
                mail af21 90M 1500 protocol=tcp src=10.8.8.8 dst=10.0.0.5 sport=4000 dport=25""",
            gets={"server": on_ethernet(20 * MBIT), "app": on_ethernet(20 * MBIT), "mail": on_ethernet(60 * MBIT)},
        ),
    ),
    "acl-sequence-numbers": (
        # The entry for port 2000 is removed again. A call's packet waits for one of 1500 B and for three other calls.
        Case(
            rows="""\
                rtp    0 80k 200 count=4 protocol=udp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=16400
                skinny 0 1M 1500 protocol=tcp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=2000
                web    0 3M 1500 protocol=tcp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=80""",
            gets={"skinny+web": on_serial(2.048 * MBIT - 320 * KBIT * 207 / 200)},
            whole="rtp",
            within={"rtp": (1507 + 4 * 207) * 8 / 2.048e6 + 1e-4},
        ),
    ),
    "branch-hierarchical-shaping": (
        # Calls need 1.027 of the 1.5 Mbit/s of priority; the other classes have 40 and 60 % of the rest of the shaper.
        Case(
            rows="calls ef 80k 200 count=12\norders af31 5M 1500\nweb 0 5M 1500",
            gets={
                "orders": shaped(0.4 * (5 * MBIT - 960 * KBIT * 214 / 200)),
                "web": shaped(0.6 * (5 * MBIT - 960 * KBIT * 214 / 200)),
            },
            whole="calls",
        ),
    ),
    "campus-access-uplink": (
        Case(
            rows="""\
                voice ef 150M 1000
                signals cs3 100M 1500
                orders af21 600M 1500
                play cs1 100M 1500
                web 0 400M 1500""",
            gets={"signals": 5 * CAMPUS, "orders": 40 * CAMPUS, "play": CAMPUS, "web": 25 * CAMPUS},
            whole="voice",
            duration="300ms",
            exact=0.03,
        ),
    ),
    "campus-distribution-12-class": (
        Case(
            rows="""\
                voice ef 900M 1000
                calls cs4 1200M 9000
                bulk af11 2000M 9000
                orders af21 4000M 9000
                web 0 6000M 9000""",
            gets={"bulk": 4 * TWELVE, "orders": 10 * TWELVE, "web": 25 * TWELVE},
            whole="voice calls",
            duration="80ms",
            exact=0.03,
        ),
    ),
    "dsl-upstream-shaping": (
        Case(
            rows="calls ef 80k 200 count=2 match=rtp\nshell 0 500k 1000 match=ssh\nweb 0 2M 1000 match=http",
            gets={"shell": 128 * DSL, "web": 516 * DSL},
            whole="calls",
            options={"overhead": "none"},
        ),
    ),
    "ecn-wred": (
        # Each class has half of the link; packets that are not ECN-capable are dropped instead of marked.
        Case(
            rows="bulk af11 80M 1500\nweb 0 80M 1500",
            gets={"bulk": on_ethernet(50 * MBIT), "web": on_ethernet(50 * MBIT)},
        ),
    ),
    "error-bandwidth-and-priority": (Refused(("class `VOICE` has both bandwidth and priority",)),),
    "error-cycle": (Refused(("class map `A` is in a cycle", "class map `B` is in a cycle")),),
    "error-input-queueing": (Refused(("class `A` has a queueing action, and the policy is attached to input",)),),
    "error-missing-names": (
        Refused(
            (
                "no class map `GHOST`",
                "no policy map `NOWHERE`",
                "no access list `199`",
                "no policy map `Q`",
            )
        ),
    ),
    "error-access-entries": (Refused(("entry 10 already exists and differs", "`ip` is not a known IP protocol")),),
    "error-mixed-units": (
        Refused(("class `B` states bandwidth in percent, and class `A` of the same policy in kbit/s",)),
    ),
    "error-oversubscribed-kbps": (Refused(("reserve 150 % of 2000000 bit/s",)),),
    "error-oversubscribed": (Refused(("reserve 120 % of 100000000 bit/s",)),),
    "error-syntax": (
        Refused(
            (
                "`af99` is not a DSCP",
                "`64` is not a DSCP",
                "`9` is not an IP precedence",
                "code point is missing",
                "`200` is not a valid percentage",
                "percentage is missing",
                "`lots` is not a valid rate in bit/s",
                "a queue limit of 0",
                "name of the class is missing",
                "port is missing",
                "255.0.0.0 looks like a network mask",
                "the first port, 20, is above the second, 10",
                "name of the interface is missing",
            )
        ),
    ),
    "error-too-deep": (Refused(("`L4` is nested more than 3 levels deep",)),),
    "error-wred": (
        Refused(
            (
                "class `A` has random-detect without bandwidth or shape",
                "class `V` has priority and random-detect",
                "the minimum threshold 50 is above the maximum 40",
            )
        ),
    ),
    "flat-indentation": (
        Case(
            rows="calls ef 80k 200 count=20\nweb 0 120M 1500",
            gets={
                "calls": shaped(1 * MBIT, 200),
                "web": on_ethernet(100 * MBIT - shaped(1 * MBIT, 200) * 238 / 200),
            },
        ),
    ),
    "hub-per-branch-shapers": (
        # Branch 1: calls need 428 of the 500 kbit/s of priority. Branch 3: calls need 3.424 Mbit/s, and priority has
        # 2.5. At the 2 Mbit/s of branch 1 a packet of a call waits for one of 1500 B and for four other calls.
        Case(
            rows="""\
                voice-1 ef 80k 200 count=5 dst=10.1.0.9
                bulk-1 0 4M 1500 dst=10.1.0.9
                bulk-2 0 4M 1500 dst=10.2.0.9
                voice-3 ef 80k 200 count=40 dst=10.3.0.9
                bulk-3 0 20M 1500 dst=10.3.0.9""",
            gets={
                "bulk-1": shaped(2 * MBIT - 400 * KBIT * 214 / 200),
                "bulk-2": shaped(2 * MBIT),
                "voice-3": shaped(2.5 * MBIT, 200),
                "bulk-3": shaped(7.5 * MBIT),
            },
            whole="voice-1",
            within={"voice-1": (1514 + 5 * 214) * 8 / 2e6 + 1e-3},
        ),
    ),
    "legacy-fifo": (
        # One queue: both flows have the same loss ratio, and a packet waits for about 60 packets of 1500 B.
        Case(
            rows="a ef 400k 1500 model=poisson\nb 0 800k 1500 model=poisson",
            gets={"a+b": on_serial(512 * KBIT)},
            waits={"a": (58 * 1507 * 8 / 512e3, 61 * 1507 * 8 / 512e3)},
            duration="60s",
        ),
    ),
    "legacy-interface-wred": (
        # The load is 4.7 % above the rate of the link. Precedence 5 has a higher minimum threshold than precedence 0,
        # and a tenth of its drop probability at the maximum threshold.
        Case(
            rows="high cs5 600k 1500 model=poisson\nlow 0 1M 1500 model=poisson",
            gets={"high+low": on_serial(1536 * KBIT)},
            loses_less=(("high", "low", 0.5),),
            duration="100s",
        ),
    ),
    "legacy-priority-list-limits": (
        # A DNS query waits for at most one packet of 500 B.
        Case(
            rows="""\
                dns 0 64k 500 protocol=udp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=53
                web 0 200k 500 protocol=tcp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=80""",
            gets={"web": on_serial(128 * KBIT - 64 * KBIT * 507 / 500, 500)},
            whole="dns",
            within={"dns": 2 * 507 * 8 / 128e3 + 1e-4},
            duration="60s",
        ),
    ),
    "legacy-priority-list": (
        # The queues high and medium lose nothing; normal has the rest of 512 kbit/s; low starves.
        Case(
            rows="""\
                rtp    0 64k 200 count=4 protocol=udp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=16400
                telnet 0 100k 100 protocol=tcp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=23
                web    0 300k 1500 protocol=tcp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=80
                ftp    0 300k 1500 protocol=tcp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=21""",
            gets={"web": on_serial(512 * KBIT - 256 * KBIT * 207 / 200 - 100 * KBIT * 107 / 100), "ftp": 0},
            whole="rtp telnet",
            duration="60s",
        ),
    ),
    "legacy-wfq-ethernet": (
        # The hold queue of 40 packets is full before one conversation has its 64. All arrivals are then dropped, so
        # that both flows have the same loss ratio.
        Case(
            rows="a 0 12M 1500 model=poisson\nb cs5 3M 1500 model=poisson",
            gets={"a": 0.8 * on_ethernet(10 * MBIT), "b": 0.2 * on_ethernet(10 * MBIT)},
            exact=0.03,
            options={"rate": "10Mbit/s"},
        ),
    ),
    "legacy-wfq": (
        # The weight is the precedence plus one: 1 for `a`, 6 for `b`.
        Case(
            rows="a 0 200k 500\nb cs5 400k 500",
            gets={"a": on_serial(256 * KBIT, 500) / 7, "b": on_serial(256 * KBIT, 500) * 6 / 7},
            duration="60s",
        ),
    ),
    "marking-edge": (
        # The policy only marks: there is one queue, in which all flows have the same loss ratio.
        Case(
            rows="""\
                web 0 60M 1500 protocol=tcp dport=80 application=http model=poisson
                mail 0 30M 1500 protocol=tcp dport=25 application=smtp model=poisson
                other af11 40M 1500 protocol=udp dport=9 application=none model=poisson""",
            gets={
                "web": on_ethernet(100 * MBIT) * 6 / 13,
                "mail": on_ethernet(100 * MBIT) * 3 / 13,
                "other": on_ethernet(100 * MBIT) * 4 / 13,
            },
            exact=0.04,
        ),
    ),
    "mpls-pe-core": (
        # The label decides the class: the code point of voice has no effect. For the other rows label and code point
        # agree, so that the profile of random-detect is clear.
        Case(
            rows="""\
                voice 0 50M 1000 exp=5
                orders cs3 100M 1500 exp=3
                control cs6 20M 1500 exp=6
                web 0 60M 1500 exp=0""",
            gets={"orders": 30 * CORE, "control": 5 * CORE, "web": 25 * CORE},
            whole="voice",
            duration="1s",
            exact=0.03,
        ),
    ),
    "mpls-pe-imposition": (Refused(("no interface has an output policy",)),),
    "mpls-vpn-ce-child": (
        Case(
            rows="voice ef 14M 1000\nvideo af41 60M 1500\nbulk 0 80M 1500",
            gets={
                "video": shaped(100 * MBIT - 14 * MBIT * 1014 / 1000) * 35 / 85,
                "bulk": shaped(100 * MBIT - 14 * MBIT * 1014 / 1000) * 50 / 85,
            },
            whole="voice",
        ),
    ),
    "nested-class-maps": (
        # Packets to the ports of RTP are voice with any code point; the rest of AF31 has 40 %, class-default 50 %.
        Case(
            rows="""\
                rtp af31 8M 1000 protocol=udp sport=9 dport=16400
                orders af31 80M 1500 protocol=tcp sport=9 dport=80
                web 0 80M 1500 protocol=tcp sport=9 dport=80""",
            gets={"orders": 40 * NESTED, "web": 50 * NESTED},
            whole="rtp",
        ),
    ),
    "no-forms": (
        # The `no` forms remove AF42 from the class and the shaper from class-default.
        Case(
            rows="a af41 2M 1500\nb af42 2M 1500",
            gets={"a": 0.4 * on_serial(2.048 * MBIT), "b": 0.6 * on_serial(2.048 * MBIT)},
        ),
    ),
    "pasted-policy-without-interface": (
        Case(
            rows="calls ef 80k 200 count=30\nweb 0 12M 1500",
            gets={"calls": 2 * MBIT, "web": 8 * MBIT},
            options={"rate": "10Mbit/s"},
        ),
    ),
    "policer-lines": (
        # AF11 is only marked; of the other packets those above 1 Mbit/s are dropped although the link is nearly idle.
        Case(
            rows="bulk af11 20M 1500\nweb 0 5M 1500",
            gets={"web": shaped(1 * MBIT)},
            whole="bulk",
        ),
    ),
    "policer-two-rates": (
        Case(
            rows="a ef 3M 1500 model=poisson\nb 0 3M 1500 model=poisson",
            gets={"a+b": shaped(4 * MBIT)},
            within={"a": 5e-3},
        ),
    ),
    "precedence-wred": (
        Case(
            rows="gold cs3 30M 1500\nsilver cs1 30M 1500\nweb 0 30M 1500",
            gets={"gold": 40 * PRECEDENCE, "silver": 20 * PRECEDENCE, "web": 40 * PRECEDENCE},
        ),
    ),
    "queue-limits": (
        # Shares of 10, 10, 10 and 70 %. A full queue holds 128 packets in class a; 50 ms at 100 Mbit/s in class b,
        # which are 412 packets of 1514 B; in class c 50 packets of af31, its only traffic, which are below 100,000 B.
        Case(
            rows="a af11 200M 1500\nb af21 200M 1500\nc af31 200M 1500\nweb 0 800M 1500",
            gets={"a": 10 * LIMITS, "b": 10 * LIMITS, "c": 10 * LIMITS, "web": 70 * LIMITS},
            waits={
                "a": (126 * 12000 / (10 * LIMITS), 129 * 12000 / (10 * LIMITS)),
                "b": (408 * 12000 / (10 * LIMITS), 413 * 12000 / (10 * LIMITS)),
                "c": (48 * 12000 / (10 * LIMITS), 51 * 12000 / (10 * LIMITS)),
            },
            duration="250ms",
            settled="150ms",
        ),
    ),
    "reference-v": (
        # Table 1 of the gallery's edge-configs at 100 Mbit/s: EF has 15 %; the rest is shared 35 : 20 : 20 : 10.
        Case(
            rows="voice ef 14M 1500\nvideo af41 40M 1500\ncrit af31 30M 1500\nother af21 30M 1500\nbulk af11 20M 1500",
            gets={
                "video": shaped(100 * MBIT - 14 * MBIT * 1514 / 1500) * 35 / 85,
                "crit": shaped(100 * MBIT - 14 * MBIT * 1514 / 1500) * 20 / 85,
                "other": shaped(100 * MBIT - 14 * MBIT * 1514 / 1500) * 20 / 85,
                "bulk": shaped(100 * MBIT - 14 * MBIT * 1514 / 1500) * 10 / 85,
            },
            whole="voice",
        ),
    ),
    "remaining-ratio": (
        Case(
            rows="voice ef 90M 1000\nvideo af41 800M 1500\norders af31 400M 1500\nweb 0 200M 1500",
            gets={"video": 9 * RATIO, "orders": 3 * RATIO, "web": RATIO},
            whole="voice",
            duration="250ms",
            exact=0.03,
        ),
    ),
    "running-config": (
        # Voice of 81 Mbit/s in a priority class of 33 Mbit/s: the policer drops, because the link is congested.
        Case(
            rows="voice ef 80M 1000\nweb 0 100M 1500",
            gets={
                "voice": shaped(33 * MBIT, 1000),
                "web": on_ethernet(100 * MBIT - shaped(33 * MBIT, 1000) * 1038 / 1000),
            },
        ),
    ),
    "session-log": (
        Case(
            rows="calls ef 80k 200 count=4\na 0 3M 1500\nb 0 2M 1500",
            gets={
                "a": on_serial(2.048 * MBIT - 320 * KBIT * 207 / 200) / 2,
                "b": on_serial(2.048 * MBIT - 320 * KBIT * 207 / 200) / 2,
            },
            whole="calls",
        ),
    ),
    "several-interfaces": (
        # A call needs 81.6 kbit/s: `priority 64` is too little for one, `priority 640` is enough for seven.
        Case(
            rows="call ef 80k 200\nweb 0 500k 1500",
            gets={
                "call": shaped(64 * KBIT, 200, 4),
                "web": on_serial(256 * KBIT - shaped(64 * KBIT, 200, 4) * 207 / 200),
            },
            duration="40s",
            options={"interface": "Serial0/0"},
        ),
        Case(
            rows="calls ef 80k 200 count=7\nweb 0 3M 1500",
            gets={"web": on_serial(2.048 * MBIT - 560 * KBIT * 207 / 200)},
            whole="calls",
            options={"interface": "Serial0/1"},
        ),
    ),
    "shape-peak-and-percent": (
        # Peak shaping without stated bursts has Be = Bc, so twice the rate of 20 % (Cisco IOS QoS Command Reference).
        Case(
            rows="bulk af11 80M 1500\nweb 0 80M 1500",
            gets={"bulk": shaped(40 * MBIT), "web": shaped(50 * MBIT)},
        ),
    ),
    "two-priority-levels": (
        # `police` drops with or without congestion; its 30 % are of `bandwidth 50000`. The link has 1 Gbit/s.
        Case(
            rows="voice ef 2M 200\nvideo af41 30M 1000\nweb 0 100M 1500",
            gets={"voice": shaped(1 * MBIT, 200), "video": shaped(15 * MBIT, 1000)},
            whole="web",
        ),
    ),
    "unsupported-features": (
        Case(
            rows="call ef 80k 200\nweb 0 3M 1500",
            gets={"web": on_serial(1.544 * MBIT - 80 * KBIT * 207 / 200)},
            whole="call",
            open=(
                "`netflow-sampler` in a class",
                "`compress` in a class",
                "`queue-list` has no counterpart",
                "`frame-relay traffic-shaping`",
                "`custom-queue-list`",
                "`rate-limit`",
            ),
        ),
    ),
    "wan-edge-768k-video": (
        Case(
            rows="call ef 80k 200\nvideo af41 1M 1500\ncontrol cs3 30k 500\nweb 0 1M 1500",
            gets={"video": 384 * VIDEO, "web": 224 * VIDEO},
            whole="call control",
            duration="40s",
        ),
    ),
    "wan-edge-t1-voice": (
        # Six calls of G.729, 60 B every 20 ms each: 153.6 of 168 kbit/s. The call set-up needs 7.28 of its 8 kbit/s.
        Case(
            rows="""\
                calls 0 24k 60 count=6 protocol=udp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=16400
                setup 0 7k 100 protocol=tcp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=1720
                web 0 2M 1500 protocol=tcp src=10.0.0.1 dst=10.1.0.1 sport=9 dport=80""",
            gets={"web": on_serial(1.544 * MBIT - 144 * KBIT * 67 / 60 - 7 * KBIT * 107 / 100)},
            whole="calls setup",
            within={"calls": (1507 + 6 * 67) * 8 / 1.544e6 + 1e-4},
            duration="20s",
        ),
    ),
}
"""Cases by the name of the sample."""
