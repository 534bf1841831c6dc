tc qdisc add dev eth0 root handle 1: htb
tc qdisc add dev eth0 root handle 2: prio
tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit
tc class add dev eth0 parent 1: classid 1:10 htb rate 2mbit
