"""The witness: a scenario on an unmodified Linux kernel in virtual time, beside the simulator.

Layers, each of which imports only those before it: `kernel` (the guest) and `records` (its packets); `disciplines`
and `trees` (disciplines as commands of tc); `network` (a scenario as a case of the guest); `outcome` (results of both
programs); `comparison`.
"""
