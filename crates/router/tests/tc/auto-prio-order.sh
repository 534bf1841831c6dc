# The kernel puts a filter without prio in front of those that are there
tc qdisc add dev eth0 root handle 1: htb default 30
tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit
tc class add dev eth0 parent 1: classid 1:30 htb rate 1mbit
tc filter add dev eth0 parent 1: protocol ip u32 match ip src 10.0.0.0/8 flowid 1:10
tc filter add dev eth0 parent 1: protocol ip u32 match ip src 10.1.0.0/16 flowid 1:30
