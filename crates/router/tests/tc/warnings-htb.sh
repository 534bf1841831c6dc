tc qdisc add dev eth0 root handle 1: htb
tc class add dev eth0 parent 1: classid 1:1 htb rate 10mbit
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 8mbit ceil 4mbit
tc class add dev eth0 parent 1:1 classid 1:20 htb rate 8mbit
tc filter add dev eth0 parent 1: protocol ip prio 1 matchall flowid 1:1
