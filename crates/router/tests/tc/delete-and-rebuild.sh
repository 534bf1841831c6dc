tc qdisc add dev eth0 root handle 1: prio
tc qdisc add dev eth0 parent 1:1 handle 10: sfq
tc qdisc del dev eth0 root
tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit
tc class add dev eth0 parent 1: classid 1:20 htb rate 1mbit
tc class del dev eth0 classid 1:20
tc filter add dev eth0 parent 1: protocol ip prio 5 matchall flowid 1:10
tc filter del dev eth0 parent 1: prio 5
