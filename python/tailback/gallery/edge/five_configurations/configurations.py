"""Names of the configurations, of the values of the other axes, and of the classes."""

from __future__ import annotations

FIFO, WFQ, CBWFQ, LLQ, WRED = "i FIFO", "ii WFQ", "iii CBWFQ", "iv LLQ", "v WRED"
VPN = {CBWFQ: "iii VPN", LLQ: "iv VPN", WRED: "v VPN"}
NONE, FLAT, FAIR, CODES = "-", "FIFO", "fair queue", "limits by code point"
RING, RINGS = 15, (1, 5, 10, 20, 30)
DATA = ("AF3x", "AF2x", "AF1x")
CONGESTED = ("af31", "af32", "af33", "af21", "af22", "af23")
JITTER, PERIODIC, POISSON = "within 10 %", "periodic", "Poisson"
COLUMNS = (FIFO, WFQ, CBWFQ, LLQ, WRED, *VPN.values())
CLASSFUL = (CBWFQ, LLQ, WRED, *VPN.values())
