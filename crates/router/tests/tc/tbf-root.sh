# A modem of 1 Mbit/s
tc qdisc add dev ppp0 root tbf rate 900kbit burst 5kb latency 70ms
