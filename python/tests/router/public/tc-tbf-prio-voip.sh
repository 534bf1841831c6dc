#!/bin/bash
# After C. Schroder, "Giving VoIP Traffic the Green Light, Part 3" (LinuxPlanet, 2006): a token bucket for the modem, priorities within.
DEV=eth0
RATE=768
TC=/sbin/tc
$TC qdisc del dev $DEV root 2>/dev/null
$TC qdisc add dev ${DEV} root handle 1: tbf rate ${RATE}kbit burst 4k latency 30ms
$TC qdisc add dev ${DEV} parent 1:1 handle 10: prio bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1
# The telephone adapter marks its packets so
$TC filter add dev ${DEV} parent 10:0 prio 3 protocol ip u32  \
    match ip tos 0x68 0xff  \
    flowid 10:1
$TC filter add dev ${DEV} parent 10:0 prio 4 protocol ip u32  \
    match ip tos 0xb8 0xff  \
    flowid 10:1
