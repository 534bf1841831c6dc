tc qdisc add dev eth0 root handle 1: drr
tc class add dev eth0 parent 1: classid 1:1 drr quantum 1500
tc class add dev eth0 parent 1: classid 1:2 drr quantum 3000
tc class add dev eth0 parent 1: classid 1:3 drr
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0x28 0xfc flowid 1:1
tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip dsfield 0x48 0xfc flowid 1:2
tc filter add dev eth0 parent 1: protocol ip prio 3 matchall flowid 1:3
tc qdisc add dev eth0 parent 1:1 pfifo limit 100
