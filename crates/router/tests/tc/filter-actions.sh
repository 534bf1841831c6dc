tc qdisc add dev eth0 root handle 1: htb default 30
tc class add dev eth0 parent 1: classid 1:10 htb rate 5mbit
tc class add dev eth0 parent 1: classid 1:20 htb rate 3mbit
tc class add dev eth0 parent 1: classid 1:30 htb rate 2mbit
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 25 0xffff action skbedit mark 2 ok action skbedit mark 1 flowid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip dsfield 0xb8 0xfc police rate 1mbit burst 10k flowid 1:20
tc filter add dev eth0 parent 1: protocol ip prio 3 u32 match ip dport 53 0xffff action police rate 1mbit burst 10k conform-exceed drop/pipe action continue
tc filter add dev eth0 parent 1: protocol ip prio 4 u32 match ip dport 53 0xffff action drop flowid 1:20
