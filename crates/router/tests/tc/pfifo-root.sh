#!/bin/sh
tc qdisc add dev eth0 root pfifo limit 40
