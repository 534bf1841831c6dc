# MikroTik's manual of PCQ: all packets are marked, two queue types share by address.
/ip firewall mangle add chain=prerouting action=mark-packet new-packet-mark=all passthrough=no
/queue type add name="PCQ_download" kind=pcq pcq-rate=64000 pcq-classifier=dst-address
/queue type add name="PCQ_upload" kind=pcq pcq-rate=0 pcq-classifier=src-address,dst-address,src-port,dst-port
/queue tree add parent=lan queue=PCQ_download packet-mark=all
/queue tree add parent=public queue=PCQ_upload packet-mark=all max-limit=6M
