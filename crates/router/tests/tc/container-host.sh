# Two containers behind a bridge, told by address
DEV="veth0"
tc qdisc add dev $DEV root handle 1: htb default 99
tc class add dev $DEV parent 1: classid 1:1 htb rate 1gbit
tc class add dev $DEV parent 1:1 classid 1:10 htb rate 200mbit ceil 500mbit
tc class add dev $DEV parent 1:1 classid 1:20 htb rate 300mbit ceil 1gbit
tc class add dev $DEV parent 1:1 classid 1:99 htb rate 100mbit ceil 1gbit
tc filter add dev $DEV parent 1: protocol ip prio 1 u32 match ip dst 172.17.0.2/32 flowid 1:10
tc filter add dev $DEV parent 1: protocol ip prio 1 u32 match ip dst 172.17.1.0/24 flowid 1:20
tc qdisc add dev $DEV parent 1:10 fq_codel
tc qdisc add dev $DEV parent 1:20 fq_codel
