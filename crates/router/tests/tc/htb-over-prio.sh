tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:10 htb rate 20mbit
tc qdisc add dev eth0 parent 1:10 handle 2: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
tc qdisc add dev eth0 parent 2:1 handle 3: pfifo limit 20
tc qdisc add dev eth0 parent 2:2 handle 4: red limit 200k min 20k max 60k avpkt 1000 burst 30 probability 0.1
tc filter add dev eth0 parent 2: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 2:1
