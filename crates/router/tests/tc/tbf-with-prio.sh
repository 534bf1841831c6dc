tc qdisc add dev eth0 root handle 1: tbf rate 2mbit burst 10kb latency 50ms
tc qdisc add dev eth0 parent 1: handle 10: prio bands 3
tc filter add dev eth0 parent 10: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 10:1
