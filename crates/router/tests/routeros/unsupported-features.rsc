/queue type
add kind=cake name=c cake-bandwidth=10M cake-diffserv=diffserv4
add kind=pcq name=p pcq-rate=512k pcq-burst-rate=1M pcq-dst-address-mask=24
add kind=newest name=n
/queue tree
add name=up parent=ether1 max-limit=10M burst-limit=20M burst-threshold=8M burst-time=10s
add name=a parent=up packet-mark=a limit-at=8M max-limit=10M queue=c priority=2
add name=b parent=up packet-mark=b limit-at=4M max-limit=10M queue=p priority=2
add name=in parent=global max-limit=50M queue=n
set up max-limit=5M
/queue simple
add name=s target=ether2 max-limit=1M/2M time=8h-17h,mon,tue total-max-limit=2M
/queue interface
set ether1 queue=wireless-default
set ether2 queue=only-hardware-queue
/ip firewall mangle
add chain=forward packet-size=0-600 protocol=udp action=mark-packet new-packet-mark=a passthrough=no
add chain=forward in-interface-list=WAN action=mark-packet new-packet-mark=a
add chain=forward layer7-protocol=youtube action=mark-connection new-connection-mark=yt
add chain=forward src-address-list=hosts action=mark-packet new-packet-mark=b
add chain=output action=mark-packet new-packet-mark=b
add chain=postrouting action=change-dscp new-dscp=10 protocol=icmp
add chain=postrouting action=sniff-what protocol=icmp
/ip firewall address-list add list=hosts address=www.example.com
/ip firewall filter add chain=forward action=fasttrack-connection connection-state=established,related
:foreach i in=[/queue tree find] do={ /queue tree set $i max-limit=1M }
/mystery menu add x=y
/queue tree print
