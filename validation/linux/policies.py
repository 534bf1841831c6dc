"""Policies of the comparison, each with its traffic."""

from __future__ import annotations

from dataclasses import dataclass

from tailback.router.policy import Language


@dataclass(frozen=True)
class Policy:
    """A configuration and the traffic through it."""

    name: str
    about: str
    """Subject of the comparison, as a noun phrase."""
    language: Language
    text: str
    traffic: str
    """Traffic table as CSV, for `tailback import`."""
    known: frozenset[str] = frozenset()
    """Metrics outside the tolerances, as `group metric`; docs/validation-linux.md gives the reasons."""


WAIT = frozenset({"voice mean_s", "voice p99_s"})
"""Known differences in the delay of a priority packet at a token bucket, of at most about one packet time."""
# Rows and columns of the traffic tables.
VOICE = "voice,ef,80kbit/s,200,10,cbr\n"
COLUMNS = "name,dscp,rate,packet,count,model\n"

LLQ = """\
class-map match-any VOICE
 match dscp ef
class-map match-any GOLD
 match dscp af31
policy-map LLQ
 class VOICE
  priority 1000
 class GOLD
  bandwidth 4000
 class class-default
policy-map SHAPE
 class class-default
  shape average 10000000
  service-policy LLQ
interface GigabitEthernet0/0
 service-policy output SHAPE
"""

HTB_LLQ = """\
tc qdisc add dev eth1 root handle 1: htb default 30
tc class add dev eth1 parent 1: classid 1:1 htb rate 10mbit ceil 10mbit
tc class add dev eth1 parent 1:1 classid 1:10 htb rate 1mbit ceil 10mbit prio 0
tc class add dev eth1 parent 1:1 classid 1:20 htb rate 4mbit ceil 10mbit prio 1
tc class add dev eth1 parent 1:1 classid 1:30 htb rate 5mbit ceil 10mbit prio 1
tc filter add dev eth1 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc \
police rate 1mbit burst 25000 conform-exceed drop/pass flowid 1:10
tc filter add dev eth1 parent 1: protocol ip prio 2 u32 match ip dsfield 0x68 0xfc flowid 1:20
tc qdisc add dev eth1 parent 1:10 pfifo limit 64
tc qdisc add dev eth1 parent 1:20 pfifo limit 64
tc qdisc add dev eth1 parent 1:30 pfifo limit 64
"""

HUB = """\
tc qdisc add dev eth1 root handle 1: htb default 30
tc class add dev eth1 parent 1: classid 1:1 htb rate 12mbit ceil 12mbit
tc class add dev eth1 parent 1:1 classid 1:2 htb rate 6mbit ceil 10mbit
tc class add dev eth1 parent 1:1 classid 1:3 htb rate 6mbit ceil 10mbit
tc class add dev eth1 parent 1:2 classid 1:10 htb rate 1mbit ceil 10mbit prio 0
tc class add dev eth1 parent 1:2 classid 1:20 htb rate 5mbit ceil 10mbit prio 2
tc class add dev eth1 parent 1:3 classid 1:30 htb rate 5mbit ceil 10mbit prio 2
tc class add dev eth1 parent 1:3 classid 1:40 htb rate 1mbit ceil 10mbit prio 0
tc filter add dev eth1 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10
tc filter add dev eth1 parent 1: protocol ip prio 2 u32 match ip dsfield 0x48 0xfc flowid 1:20
tc filter add dev eth1 parent 1: protocol ip prio 3 u32 match ip dsfield 0xa0 0xfc flowid 1:40
tc qdisc add dev eth1 parent 1:10 pfifo limit 64
tc qdisc add dev eth1 parent 1:20 pfifo limit 64
tc qdisc add dev eth1 parent 1:30 pfifo limit 64
tc qdisc add dev eth1 parent 1:40 pfifo limit 64
"""

PRIO = """\
tc qdisc add dev eth1 root handle 1: tbf rate 8mbit burst 6000 limit 1000000
tc qdisc add dev eth1 parent 1:1 handle 2: prio bands 3 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
tc filter add dev eth1 parent 2: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 2:1
tc filter add dev eth1 parent 2: protocol ip prio 2 u32 match ip dsfield 0x20 0xfc flowid 2:3
tc qdisc add dev eth1 parent 2:1 pfifo limit 50
tc qdisc add dev eth1 parent 2:2 sfq limit 100 quantum 1514
tc qdisc add dev eth1 parent 2:3 pfifo limit 50
"""

HTB_FQ_CODEL = """\
tc qdisc add dev eth1 root handle 1: htb default 20
tc class add dev eth1 parent 1: classid 1:1 htb rate 10mbit ceil 10mbit
tc class add dev eth1 parent 1:1 classid 1:10 htb rate 1mbit ceil 10mbit prio 0
tc class add dev eth1 parent 1:1 classid 1:20 htb rate 6mbit ceil 10mbit prio 1
tc class add dev eth1 parent 1:1 classid 1:30 htb rate 3mbit ceil 10mbit prio 1
tc filter add dev eth1 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10
tc filter add dev eth1 parent 1: protocol ip prio 2 u32 match ip dsfield 0x20 0xfc flowid 1:30
tc qdisc add dev eth1 parent 1:10 pfifo limit 64
tc qdisc add dev eth1 parent 1:20 fq_codel
tc qdisc add dev eth1 parent 1:30 pfifo limit 100
"""

BORROW = """\
tc qdisc add dev eth1 root handle 1: htb default 30
tc class add dev eth1 parent 1: classid 1:1 htb rate 12mbit ceil 12mbit
tc class add dev eth1 parent 1:1 classid 1:10 htb rate 1mbit ceil 12mbit quantum {q1}
tc class add dev eth1 parent 1:1 classid 1:20 htb rate 1mbit ceil 12mbit quantum {q2}
tc class add dev eth1 parent 1:1 classid 1:30 htb rate 1mbit ceil 12mbit quantum {q3}
tc filter add dev eth1 parent 1: protocol ip prio 1 u32 match ip dsfield 0x48 0xfc flowid 1:10
tc filter add dev eth1 parent 1: protocol ip prio 2 u32 match ip dsfield 0x68 0xfc flowid 1:20
tc qdisc add dev eth1 parent 1:10 pfifo limit 50
tc qdisc add dev eth1 parent 1:20 pfifo limit 50
tc qdisc add dev eth1 parent 1:30 pfifo limit 50
"""
THREE = "one,af21,10Mbit/s,1500,1,poisson\ntwo,af31,10Mbit/s,1500,1,poisson\nthree,0,10Mbit/s,1500,1,poisson\n"

BORROWED_VOICE = """\
tc qdisc add dev eth1 root handle 1: htb default 20
tc class add dev eth1 parent 1: classid 1:1 htb rate 4mbit ceil 4mbit
tc class add dev eth1 parent 1:1 classid 1:10 htb rate 200kbit ceil 4mbit prio 0
tc class add dev eth1 parent 1:1 classid 1:20 htb rate 1mbit ceil 4mbit prio 1
tc filter add dev eth1 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10
tc qdisc add dev eth1 parent 1:10 pfifo limit 64
tc qdisc add dev eth1 parent 1:20 bfifo limit 60000
"""

SMALL = """\
tc qdisc add dev eth1 root handle 1: htb default 20
tc class add dev eth1 parent 1: classid 1:10 htb rate 1mbit ceil 1mbit
tc class add dev eth1 parent 1: classid 1:20 htb rate 1mbit ceil 1mbit
tc filter add dev eth1 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10
tc qdisc add dev eth1 parent 1:10 pfifo limit 64
tc qdisc add dev eth1 parent 1:20 pfifo limit 64
"""

POLICIES = [
    Policy(
        "llq",
        "a Cisco policy with a priority class, exported to tc; one class above its share",
        "mqc",
        LLQ,
        COLUMNS + VOICE + "gold,af31,600kbit/s,1000,10,cbr\nbulk,0,1Mbit/s,1500,8,cbr\n",
        WAIT,
    ),
    Policy(
        "llq, too many calls",
        "the Cisco policy with more calls than the policer of the priority class admits",
        "mqc",
        LLQ,
        COLUMNS + "voice,ef,80kbit/s,200,15,cbr\ngold,af31,600kbit/s,1000,10,cbr\nbulk,0,1Mbit/s,1500,8,cbr\n",
        WAIT,
    ),
    Policy(
        "htb llq",
        "a similar policy written for tc: prio 0 behind a policer, two classes that borrow",
        "tc",
        HTB_LLQ,
        COLUMNS + "voice,ef,80kbit/s,200,15,cbr\ngold,af31,300kbit/s,1000,10,poisson\nbulk,0,1Mbit/s,1500,10,poisson\n",
    ),
    Policy(
        "htb llq, tcp",
        "the policy written for tc, with endless transfers in the default class",
        "tc",
        HTB_LLQ,
        "name,dscp,rate,packet,count,model,rtt\nvoice,ef,80kbit/s,200,10,cbr,\ngold,af31,300kbit/s,1000,10,poisson,\n"
        "bulk,0,,1500,4,tcp,40ms\n",
    ),
    Policy(
        "hub",
        "a shaper for the link, a shaper for each of two sites, priority within each site",
        "tc",
        HUB,
        COLUMNS + "voice-a,ef,80kbit/s,200,20,cbr\nbulk-a,af21,4Mbit/s,1500,2,poisson\n"
        "voice-b,cs5,80kbit/s,200,10,cbr\nbulk-b,0,9Mbit/s,1500,1,poisson\n",
    ),
    Policy(
        "prio",
        "three bands behind tbf: fair queueing in the middle band, and a last band that is starved",
        "tc",
        PRIO,
        COLUMNS
        + VOICE
        + "even,0,700kbit/s,1000,6,poisson\nheavy,0,4Mbit/s,1500,1,poisson\nlow,cs1,2Mbit/s,1500,1,poisson\n",
        WAIT,
    ),
    Policy(
        "fq_codel",
        "fq_codel in the default class of htb, with transfers and calls in that class",
        "tc",
        HTB_FQ_CODEL,
        "name,dscp,rate,packet,count,model,rtt\nvoice,ef,80kbit/s,200,10,cbr,\nother-voice,0,80kbit/s,200,5,cbr,\n"
        "web,0,,1500,4,tcp,40ms\nlow,cs1,8Mbit/s,1500,1,poisson,\n",
        frozenset({"web loss", "other-voice loss", "other-voice mean_s", "other-voice p99_s"}),
    ),
    Policy(
        "borrow 1:2:3",
        "three classes of equal rates that borrow in turns, with quanta of 3028, 6056 and 9084 B",
        "tc",
        BORROW.format(q1=3028, q2=6056, q3=9084),
        COLUMNS + THREE,
    ),
    Policy(
        "borrow, small quanta",
        "three classes of equal rates that borrow in turns, with quanta below two packets: 1000, 1514 and 2000 B",
        "tc",
        BORROW.format(q1=1000, q2=1514, q3=2000),
        COLUMNS + THREE,
    ),
    Policy(
        "borrowed voice",
        "calls above the rate of their class, which borrows before all others: they wait for one packet at most",
        "tc",
        BORROWED_VOICE,
        COLUMNS + VOICE + "bulk,0,6Mbit/s,1500,1,poisson\n",
    ),
    Policy(
        "small packets",
        "packets shorter than the minimum Ethernet frame, and the bytes that a shaper counts for them",
        "tc",
        SMALL,
        COLUMNS + "small,ef,100kbit/s,40,15,cbr\nlarge,0,100kbit/s,1500,15,cbr\n",
    ),
]
