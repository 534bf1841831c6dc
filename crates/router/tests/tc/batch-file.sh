qdisc add dev eth0 root handle 1: htb default 10
class add dev eth0 parent 1: classid 1:10 htb rate 1mbit
filter add dev eth0 parent 1: protocol ip prio 1 matchall flowid 1:10
