# flower matches ports and their ranges, addresses and code points: 5060 is SIP, 16384-32767 RTP, 0x88 AF41
tc qdisc add dev eth0 root handle 1: htb default 30
tc class add dev eth0 parent 1: classid 1:10 htb rate 10mbit
tc class add dev eth0 parent 1: classid 1:20 htb rate 20mbit ceil 50mbit
tc class add dev eth0 parent 1: classid 1:30 htb rate 5mbit ceil 50mbit
tc filter add dev eth0 parent 1: protocol ip prio 1 flower ip_proto udp dst_port 5060 flowid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 2 flower ip_proto udp dst_port 16384-32767 flowid 1:10
tc filter add dev eth0 parent 1: protocol ip prio 3 flower ip_proto tcp src_port 443 dst_ip 10.0.0.0/8 classid 1:20
tc filter add dev eth0 parent 1: protocol ip prio 4 flower ip_tos 0x88/0xfc flowid 1:20
