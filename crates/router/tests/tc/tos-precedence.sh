tc qdisc add dev eth0 root handle 1: htb default 30
tc class add dev eth0 parent 1: classid 1:10 htb rate 3mbit ceil 10mbit
tc class add dev eth0 parent 1: classid 1:30 htb rate 7mbit ceil 10mbit
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip tos 0xa0 0xe0 flowid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip tos 0x10 0x1e flowid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 3 u32 match u8 0x68 0xfc at 1 flowid 1:10
