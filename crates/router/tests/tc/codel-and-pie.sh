tc qdisc add dev eth0 root codel limit 500 target 10ms interval 200ms ecn
tc qdisc add dev eth1 root pie limit 1000 target 15ms tupdate 16ms
tc qdisc add dev eth2 root fq_pie
