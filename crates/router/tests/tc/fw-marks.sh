iptables -t mangle -A POSTROUTING -p udp --dport 5060 -j MARK --set-mark 10
tc qdisc add dev eth0 root handle 1: htb default 20
tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit ceil 10mbit
tc class add dev eth0 parent 1: classid 1:20 htb rate 9mbit ceil 10mbit
tc filter add dev eth0 parent 1: protocol ip prio 1 handle 10 fw flowid 1:10
