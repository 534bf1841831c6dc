# jan/02/2024 10:00:00 by RouterOS 7.13
# software id = ABCD-1234
#
/interface bridge
add name=bridge
/interface ethernet
set [ find default-name=ether1 ] comment="to the provider" name=wan speed=100Mbps
/interface pppoe-client
add add-default-route=yes interface=wan name=pppoe-out1 user=office
/interface list
add name=LAN
/queue type
set 0 kind=pfifo name=default pfifo-limit=50
add fq-codel-limit=1000 fq-codel-quantum=300 kind=fq-codel name=fq
add kind=bfifo name=small bfifo-limit=30000
add kind=red name=early red-limit=60 red-min-threshold=10 red-max-threshold=50 \
    red-burst=20 red-avg-packet=1000
/queue tree
add max-limit=9500k name="TOTAL UPLOAD" parent=pppoe-out1
add limit-at=1M max-limit=9500k name=VOIP packet-mark=voip parent=\
    "TOTAL UPLOAD" priority=1 queue=small
add limit-at=2M max-limit=9500k name=WEB packet-mark=web parent="TOTAL UPLOAD" \
    priority=4 queue=early
add disabled=yes limit-at=1M max-limit=2M name=GUEST packet-mark=guest parent=\
    "TOTAL UPLOAD"
add max-limit=9M name=REST packet-mark=no-mark parent="TOTAL UPLOAD" queue=fq
/interface list member
add interface=bridge list=LAN
/ip address
add address=192.168.88.1/24 interface=bridge network=192.168.88.0
/ip firewall address-list
add address=192.168.88.16/28 list=phones
add address=192.168.88.40-192.168.88.47 list=phones
/ip firewall filter
add action=accept chain=forward connection-state=established,related
/ip firewall mangle
add action=mark-connection chain=prerouting comment="phones, by list" \
    connection-mark=no-mark in-interface-list=LAN new-connection-mark=\
    voip-conn passthrough=yes protocol=udp src-address-list=phones
add action=mark-connection chain=prerouting connection-mark=no-mark dst-port=\
    80,443 new-connection-mark=web-conn passthrough=yes protocol=tcp
add action=mark-packet chain=prerouting connection-mark=voip-conn \
    new-packet-mark=voip passthrough=no
add action=jump chain=prerouting connection-mark=web-conn jump-target=web
add action=return chain=web dst-address=203.0.113.0/24
add action=mark-packet chain=web new-packet-mark=web passthrough=no
add action=change-mss chain=forward new-mss=clamp-to-pmtu passthrough=yes \
    protocol=tcp tcp-flags=syn
/system identity
set name=office
