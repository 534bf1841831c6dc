tc qdisc add dev eth0 root handle 1: htb default zz
tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:10 htb rate 1furlong
tc class add dev eth0 parent 1: classid 1:11 htb ceil 1mbit
tc class add dev eth0 parent 1: classid one htb rate 1mbit
tc qdisc add dev eth1 root tbf rate 1mbit
tc qdisc add dev eth2 root red limit 10k min 90k max 30k avpkt 1000
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip src 10.0.0/8 flowid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport http 0xffff flowid 1:10
