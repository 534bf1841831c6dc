"""Names of the configurations, of the values of the other axes, and of the classes, as edge-configs uses them."""

from __future__ import annotations

FIFO, WFQ, CBWFQ, LLQ, WRED = "i FIFO", "ii WFQ", "iii CBWFQ", "iv LLQ", "v WRED"
VPN = {CBWFQ: "iii VPN", LLQ: "iv VPN", WRED: "v VPN"}
# Discipline within a class; "-" if the configuration has only one.
NONE, FLAT, FAIR, CODES = "-", "FIFO", "fair queue", "limits by code point"
# Length of the transmit ring at most points, and the lengths of the sensitivity S1, frames.
RING, RINGS = 15, (1, 5, 10, 20, 30)
DATA = ("AF3x", "AF2x", "AF1x")
# Columns of Table 1 in the classes that exceed their plan.
CONGESTED = ("af31", "af32", "af33", "af21", "af22", "af23")
# Intervals between the frames of a flow.
JITTER, PERIODIC, POISSON = "within 10 %", "periodic", "Poisson"
# All configurations, in the order of the figures' columns, and those with classes.
COLUMNS = (FIFO, WFQ, CBWFQ, LLQ, WRED, *VPN.values())
CLASSFUL = (CBWFQ, LLQ, WRED, *VPN.values())
