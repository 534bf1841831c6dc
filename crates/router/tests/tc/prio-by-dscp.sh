tc qdisc add dev eth0 root handle 1: prio bands 4 priomap 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3
tc filter add dev eth0 parent 1:0 protocol ip prio 10 u32 match ip tos 0xb8 0xff flowid 1:1
tc filter add dev eth0 parent 1:0 protocol ip prio 20 u32 match ip tos 0x88 0xfc flowid 1:2
tc filter add dev eth0 parent 1:0 protocol ip prio 30 u32 match ip tos 0x68 0xfc flowid 1:3
