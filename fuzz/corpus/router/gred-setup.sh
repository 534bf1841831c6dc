tc qdisc add dev eth0 root gred setup DPs 3 default 2 grio
tc qdisc change dev eth0 root gred limit 60kb min 15kb max 25kb burst 20 avpkt 1000 bandwidth 10mbit DP 0 probability 0.02 prio 2
tc qdisc change dev eth0 root gred limit 60kb min 10kb max 20kb burst 15 avpkt 1000 bandwidth 10mbit DP 1 probability 0.04 prio 3
tc qdisc change dev eth0 root gred limit 60kb min 5kb max 15kb burst 10 avpkt 1000 bandwidth 10mbit DP 2 probability 0.08 prio 4
