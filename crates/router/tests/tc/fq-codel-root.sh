sudo tc qdisc replace dev wlan0 root fq_codel limit 1000 target 5ms interval 100ms noecn
