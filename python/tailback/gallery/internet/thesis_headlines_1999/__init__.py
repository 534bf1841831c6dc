"""The 1999 matrix: each headline of the thesis with every sender, timer and workload."""
