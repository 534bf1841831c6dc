# After a public note on tc for a line of 128 kbit/s (ppp0): four classes of HTB by priority, sfq within each. The filters are completed.
tc qdisc add dev ppp0 root handle 2: htb default 40
tc class add dev ppp0 parent 2: classid 2:1 htb rate 128kbit ceil 128kbit
tc class add dev ppp0 parent 2:1 classid 2:10 htb rate 126kbit prio 1
tc class add dev ppp0 parent 2:1 classid 2:20 htb rate 96kbit prio 2
tc class add dev ppp0 parent 2:1 classid 2:30 htb rate 64kbit prio 3
tc class add dev ppp0 parent 2:1 classid 2:40 htb rate 126kbit prio 4
tc qdisc add dev ppp0 parent 2:10 handle 10: sfq perturb 10
tc qdisc add dev ppp0 parent 2:20 handle 20: sfq perturb 10
tc qdisc add dev ppp0 parent 2:30 handle 30: sfq perturb 10
tc qdisc add dev ppp0 parent 2:40 handle 40: sfq perturb 10
tc filter add dev ppp0 parent 2:0 protocol ip prio 10 u32 match ip dport 22 0xffff flowid 2:10
tc filter add dev ppp0 parent 2:0 protocol ip prio 20 u32 match ip dport 53 0xffff flowid 2:20
tc filter add dev ppp0 parent 2:0 protocol ip prio 30 u32 match ip dport 80 0xffff flowid 2:30
