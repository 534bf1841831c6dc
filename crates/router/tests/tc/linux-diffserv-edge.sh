# Voice policed and first, assured classes by their rates
tc qdisc add dev eth0 root handle 1: htb default 40
tc class add dev eth0 parent 1: classid 1:1 htb rate 10mbit ceil 10mbit
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 1500kbit ceil 10mbit prio 0
tc class add dev eth0 parent 1:1 classid 1:20 htb rate 3500kbit ceil 10mbit prio 1
tc class add dev eth0 parent 1:1 classid 1:30 htb rate 2mbit ceil 10mbit prio 1
tc class add dev eth0 parent 1:1 classid 1:40 htb rate 3mbit ceil 10mbit prio 1
tc qdisc add dev eth0 parent 1:10 pfifo limit 64
tc qdisc add dev eth0 parent 1:20 pfifo limit 64
tc qdisc add dev eth0 parent 1:30 red limit 96k min 39k max 63k avpkt 1500 burst 32 probability 0.1
tc qdisc add dev eth0 parent 1:40 sfq
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc police rate 1500kbit burst 37500 drop flowid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 2 u32 match ip dsfield 0x88 0xfc flowid 1:20
tc filter add dev eth0 parent 1: protocol ip prio 3 u32 match ip dsfield 0x68 0xfc flowid 1:30
tc filter add dev eth0 parent 1: protocol ip prio 3 u32 match ip dsfield 0x70 0xfc flowid 1:30
tc filter add dev eth0 parent 1: protocol ip prio 3 u32 match ip dsfield 0x78 0xfc flowid 1:30
