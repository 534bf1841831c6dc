# After tc-ets(8), examples: three strict bands, and three that share by 35, 30 and 25.
tc qdisc add dev eth0 root handle 1: ets strict 3 quanta 3500 3000 2500 priomap 0 1 1 1 2 3 4 5
