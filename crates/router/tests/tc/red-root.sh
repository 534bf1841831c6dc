tc qdisc add dev eth0 root red limit 400kb min 30kb max 90kb avpkt 1000 burst 55 probability 0.02 bandwidth 10mbit ecn
