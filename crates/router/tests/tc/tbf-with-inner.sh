tc qdisc add dev eth0 root handle 1: tbf rate 10mbit burst 32kbit limit 60kb
tc qdisc add dev eth0 parent 1:1 handle 10: sfq perturb 10
