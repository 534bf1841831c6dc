tc qdisc add dev eth0 root handle 1: htb default 1
tc class add dev eth0 parent 1: classid 1:1 htb rate 1mbps ceil 16000000bit burst 10kb cburst 1600b
tc class add dev eth0 parent 1: classid 1:2 htb rate 1.5mbit ceil 2mibit burst 15k/8
tc class add dev eth0 parent 1: classid 1:3 htb rate 500 ceil 1kbps
