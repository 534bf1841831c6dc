# MikroTik's page "Queues": limits of subnets; the first number is of what the target sends.
/queue simple
add name=private target=10.1.1.0/24 max-limit=256K/512K dst=0.0.0.0/0
add name=office target=10.1.2.0/24 max-limit=10M/20M queue=default/pcq-download-default
add name=phones parent=office target=10.1.2.16/28 limit-at=1M/1M max-limit=10M/20M priority=1/1
add name=desks parent=office target=10.1.2.128/25 max-limit=10M/20M
