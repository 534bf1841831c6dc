tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit
tc filter add dev eth0 parent 1: protocol ip prio 1 matchall flowid 1:99
tc filter add dev eth0 parent 7: protocol ip prio 1 matchall flowid 7:1
