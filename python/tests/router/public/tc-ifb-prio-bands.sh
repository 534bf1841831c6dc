#!/bin/bash
# After a public testbed's script: what arrives goes around by ifb0, what is sent has eight bands by class selector, shortened from 16.
modprobe ifb numifbs=1
ip link set dev ifb0 up
tc qdisc del dev ens3 ingress
tc qdisc add dev ens3 handle ffff: ingress
tc filter add dev ens3 protocol ip parent ffff: u32 match u32 0 0 action mirred egress redirect dev ifb0
tc qdisc del dev ens3 root
tc qdisc add dev ens3 root handle 1: htb default 1
tc class add dev ens3 parent 1: classid 1:1 htb rate 10Mbit burst 10Mbit
tc qdisc add dev ens3 parent 1:1 handle 2: prio bands 8
tc filter add dev ens3 protocol ip parent 2: prio 1 u32 match ip tos 0xe0 0xff flowid 2:1
tc filter add dev ens3 protocol ip parent 2: prio 1 u32 match ip tos 0xc0 0xff flowid 2:2
tc filter add dev ens3 protocol ip parent 2: prio 1 u32 match ip tos 0xa0 0xff flowid 2:3
tc filter add dev ens3 protocol ip parent 2: prio 1 u32 match ip tos 0x80 0xff flowid 2:4
tc filter add dev ens3 protocol ip parent 2: prio 1 u32 match ip tos 0x60 0xff flowid 2:5
tc filter add dev ens3 protocol ip parent 2: prio 1 u32 match ip tos 0x40 0xff flowid 2:6
tc filter add dev ens3 protocol ip parent 2: prio 1 u32 match ip tos 0x20 0xff flowid 2:7
tc filter add dev ens3 protocol ip parent 2: prio 1 u32 match ip tos 0x00 0xff flowid 2:8
