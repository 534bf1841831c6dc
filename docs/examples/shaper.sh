#!/bin/sh
# Calls first, the rest in fq_codel, below the modem's rate
UP=4800
tc qdisc add dev eth1 root handle 1: htb default 20
tc class add dev eth1 parent 1: classid 1:1 htb rate ${UP}kbit
tc class add dev eth1 parent 1:1 classid 1:10 htb rate $((UP * 30 / 100))kbit ceil ${UP}kbit prio 0
tc class add dev eth1 parent 1:1 classid 1:20 htb rate $((UP * 70 / 100))kbit ceil ${UP}kbit prio 1
tc qdisc add dev eth1 parent 1:20 fq_codel target 5ms
tc filter add dev eth1 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10
