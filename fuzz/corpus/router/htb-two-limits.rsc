# The structure of MikroTik's page "HTB (Hierarchical Token Bucket)", example 2: queues 03, 04 and 05 get 2, 6 and 2 Mbit/s.
/interface ethernet
set [ find default-name=ether1 ] speed=10Mbps
/ip firewall mangle
add chain=forward protocol=udp dst-port=3003 action=mark-packet new-packet-mark=q03 passthrough=no
add chain=forward protocol=udp dst-port=3004 action=mark-packet new-packet-mark=q04 passthrough=no
add chain=forward protocol=udp dst-port=3005 action=mark-packet new-packet-mark=q05 passthrough=no
/queue tree
add name=Queue01 parent=ether1 limit-at=0 max-limit=10M
add name=Queue02 parent=Queue01 limit-at=4M max-limit=10M
add name=Queue03 parent=Queue01 packet-mark=q03 limit-at=2M max-limit=10M priority=3
add name=Queue04 parent=Queue02 packet-mark=q04 limit-at=2M max-limit=10M priority=1
add name=Queue05 parent=Queue02 packet-mark=q05 limit-at=2M max-limit=10M priority=5
