tc qdisc add dev eth0 root handle 1: htb default 50
tc class add dev eth0 parent 1: classid 1:1 htb rate 100mbit
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 60mbit ceil 100mbit
tc class add dev eth0 parent 1:10 classid 1:11 htb rate 20mbit ceil 60mbit prio 0
tc class add dev eth0 parent 1:10 classid 1:12 htb rate 40mbit ceil 100mbit prio 1
tc class add dev eth0 parent 1:1 classid 1:20 htb rate 30mbit ceil 100mbit
tc class add dev eth0 parent 1:20 classid 1:21 htb rate 10mbit ceil 30mbit
tc class add dev eth0 parent 1:20 classid 1:22 htb rate 20mbit ceil 100mbit
tc class add dev eth0 parent 1:1 classid 1:50 htb rate 10mbit ceil 100mbit
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip src 10.1.0.0/16 match ip dsfield 0xb8 0xfc flowid 1:11
tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip src 10.1.0.0/16 flowid 1:12
tc filter add dev eth0 parent 1: protocol ip prio 3 u32 match ip src 10.2.0.0/16 match ip dsfield 0xb8 0xfc flowid 1:21
tc filter add dev eth0 parent 1: protocol ip prio 4 u32 match ip src 10.2.0.0/16 flowid 1:22
