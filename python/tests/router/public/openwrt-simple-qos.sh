#!/bin/sh
# After simple.qos of OpenWrt's sqm-scripts, egress half: its shell functions written out for an uplink of 6000 kbit/s.
TC=tc
IFACE=pppoe-wan
UPLINK=6000
CEIL=${UPLINK}
PRIO_RATE=`expr $CEIL / 3`
BE_RATE=`expr $CEIL / 6`
BK_RATE=`expr $CEIL / 6`
BE_CEIL=`expr $CEIL - 16`
iptables -t mangle -N QOS_MARK_${IFACE}
iptables -t mangle -A QOS_MARK_${IFACE} -j MARK --set-mark 0x2/0xff
iptables -t mangle -A QOS_MARK_${IFACE} -m dscp --dscp-class CS1 -j MARK --set-mark 0x3/0xff
iptables -t mangle -A QOS_MARK_${IFACE} -m dscp --dscp-class CS6 -j MARK --set-mark 0x1/0xff
iptables -t mangle -A QOS_MARK_${IFACE} -m dscp --dscp-class EF -j MARK --set-mark 0x1/0xff
iptables -t mangle -A POSTROUTING -o $IFACE -m mark --mark 0x00/0xff -g QOS_MARK_${IFACE}
$TC qdisc del dev $IFACE root 2> /dev/null
$TC qdisc add dev $IFACE root handle 1: htb default 12
$TC class add dev $IFACE parent 1: classid 1:1 htb quantum 1500 rate ${CEIL}kbit ceil ${CEIL}kbit
$TC class add dev $IFACE parent 1:1 classid 1:10 htb quantum 1500 rate ${CEIL}kbit ceil ${CEIL}kbit prio 0
$TC class add dev $IFACE parent 1:1 classid 1:11 htb quantum 1500 rate 128kbit ceil ${PRIO_RATE}kbit prio 1
$TC class add dev $IFACE parent 1:1 classid 1:12 htb quantum 1500 rate ${BE_RATE}kbit ceil ${BE_CEIL}kbit prio 2
$TC class add dev $IFACE parent 1:1 classid 1:13 htb quantum 1500 rate ${BK_RATE}kbit ceil ${BE_CEIL}kbit prio 3
$TC qdisc add dev $IFACE parent 1:11 handle 110: fq_codel limit 1001 target 5ms noecn quantum 300
$TC qdisc add dev $IFACE parent 1:12 handle 120: fq_codel limit 1001 target 5ms noecn quantum 300
$TC qdisc add dev $IFACE parent 1:13 handle 130: fq_codel limit 1001 target 5ms noecn quantum 300
$TC filter add dev $IFACE parent 1:0 protocol all prio 999 u32 match ip protocol 0 0x00 flowid 1:12
$TC filter add dev $IFACE parent 1:0 protocol ip prio 1 handle 1 fw classid 1:11
$TC filter add dev $IFACE parent 1:0 protocol ip prio 2 handle 2 fw classid 1:12
$TC filter add dev $IFACE parent 1:0 protocol ip prio 3 handle 3 fw classid 1:13
$TC filter add dev $IFACE parent 1:0 protocol arp prio 7 handle 1 fw classid 1:11
$TC filter add dev $IFACE parent 1:0 protocol ip prio 8 u32 match ip protocol 1 0xff flowid 1:13
