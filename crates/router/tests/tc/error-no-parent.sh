tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit
tc qdisc add dev eth0 parent 1:10 handle 10: sfq
tc filter add dev eth0 parent 1: protocol ip prio 1 matchall flowid 1:10
