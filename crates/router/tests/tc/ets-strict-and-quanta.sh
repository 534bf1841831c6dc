tc qdisc add dev eth0 root handle 1: ets strict 2 quanta 4500 3000 2500
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:1
tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip dsfield 0x88 0xfc flowid 1:2
tc filter add dev eth0 parent 1: protocol ip prio 3 u32 match ip dsfield 0x68 0xfc flowid 1:3
