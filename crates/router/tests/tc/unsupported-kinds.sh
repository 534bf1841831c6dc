tc qdisc add dev eth0 root cake bandwidth 20mbit
tc qdisc add dev eth1 root netem delay 100ms loss 1%
tc qdisc add dev eth2 root handle 1: hfsc default 1
tc class add dev eth2 parent 1: classid 1:1 hfsc sc rate 1mbit ul rate 1mbit
tc qdisc add dev eth3 root handle 1: prio
tc filter add dev eth3 parent 1: protocol ip prio 1 basic match 'meta(priority eq 1)' flowid 1:1
tc filter add dev eth3 parent 1: protocol ipv6 prio 1 u32 match ip6 dport 80 0xffff flowid 1:1
tc -s qdisc show dev eth3
ip link set dev eth3 txqueuelen 100
ethtool -K eth3 tso off
