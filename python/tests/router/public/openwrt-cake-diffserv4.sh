# After public notes on OpenWrt's SQM with cake: classes by DSCP, addresses before translation, DSCP cleared.
tc qdisc del dev eth1 root 2>/dev/null
tc qdisc add dev eth1 root cake bandwidth 20mbit diffserv4 nat wash dual-srchost overhead 34 mpu 64
