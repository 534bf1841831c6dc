/queue type
add name=x
add name=r kind=red red-min-threshold=50 red-max-threshold=10 red-limit=many
/queue tree
add name=a parent=b max-limit=fast
add name=b parent=a priority=9
add name=c max-limit=1M
add name=d parent=ether1 queue=nowhere bucket-size=11
/ip firewall mangle
add chain=forward action=mark-packet
add chain=forward action=change-dscp new-dscp=64
