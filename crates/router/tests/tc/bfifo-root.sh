tc qdisc replace dev eth1 root bfifo limit 64kb
