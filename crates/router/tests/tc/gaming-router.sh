#!/bin/sh
# Upload of 5 Mbit/s: games and calls first, the rest in fq_codel
IF=eth1
UP=4800
TC=/sbin/tc
$TC qdisc del dev $IF root 2>/dev/null
$TC qdisc add dev $IF root handle 1: htb default 20
$TC class add dev $IF parent 1: classid 1:1 htb rate ${UP}kbit ceil ${UP}kbit
$TC class add dev $IF parent 1:1 classid 1:10 htb rate $((UP*30/100))kbit ceil ${UP}kbit prio 0
$TC class add dev $IF parent 1:1 classid 1:20 htb rate $((UP*60/100))kbit ceil ${UP}kbit prio 1
$TC class add dev $IF parent 1:1 classid 1:30 htb rate $((UP - UP*90/100))kbit ceil ${UP}kbit prio 2
for c in 10 20 30; do
	$TC qdisc add dev $IF parent 1:$c handle $c: fq_codel
done
$TC qdisc replace dev $IF parent 1:10 handle 110: fq_codel target 10ms
$TC filter add dev $IF parent 1: protocol ip prio 1 u32 match ip protocol 17 0xff match ip dport 3074 0xffff flowid 1:10
$TC filter add dev $IF parent 1: protocol ip prio 2 u32 match ip dsfield 0xb8 0xfc flowid 1:10
$TC filter add dev $IF parent 1: protocol ip prio 3 u32 match ip dsfield 0x20 0xfc flowid 1:30
