tc qdisc add dev eth0 root sfq perturb 10 quantum 1514 limit 127
