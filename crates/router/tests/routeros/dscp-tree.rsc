# After the wiki's "DSCP based QoS with HTB": a mark for each code point, children without max-limit.
[admin@MikroTik] > /ip firewall mangle
add action=mark-packet chain=postrouting dscp=46 new-packet-mark=p1 out-interface=ether1-gateway passthrough=no
add action=mark-packet chain=postrouting dscp=26 new-packet-mark=p3 out-interface=ether1-gateway passthrough=no
add action=mark-packet chain=postrouting new-packet-mark=p8 out-interface=ether1-gateway passthrough=no
/queue tree
add limit-at=0 max-limit=5000000 name=ether1 parent=ether1-gateway
add limit-at=0 max-limit=0 name=voice packet-mark=p1 parent=ether1 priority=1
add limit-at=0 max-limit=0 name=signalling packet-mark=p3 parent=ether1 priority=3
add limit-at=0 max-limit=0 name=rest packet-mark=p8 parent=ether1 priority=8
