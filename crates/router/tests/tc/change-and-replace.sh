tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit ceil 1mbit
tc class change dev eth0 parent 1: classid 1:10 htb rate 2mbit ceil 4mbit
tc qdisc add dev eth0 parent 1:10 handle 10: pfifo limit 10
tc qdisc replace dev eth0 parent 1:10 handle 10: sfq perturb 10
tc qdisc change dev eth0 handle 10: root sfq perturb 20
