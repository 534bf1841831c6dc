# After tc-tbf(8), "a sustained maximum rate of 0.5 Mbit/s, a peak rate of 1.0 Mbit/s, a 5 kilobyte buffer".
tc qdisc add dev eth0 handle 10: root tbf rate 0.5mbit \
  burst 5kb latency 70ms peakrate 1mbit       \
  minburst 1540
