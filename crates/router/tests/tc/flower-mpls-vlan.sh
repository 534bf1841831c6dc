tc qdisc add dev eth0 root handle 1: prio bands 3 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2
tc filter add dev eth0 parent 1: protocol mpls_uc prio 1 flower mpls_tc 5 flowid 1:1
tc filter add dev eth0 parent 1: protocol 802.1q prio 2 flower vlan_prio 4 flowid 1:2
