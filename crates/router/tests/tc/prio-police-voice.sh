tc qdisc add dev eth0 root handle 1: prio bands 3 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc police rate 1mbit burst 20k drop flowid 1:1
tc filter add dev eth0 parent 1: protocol ip prio 2 matchall flowid 1:3
