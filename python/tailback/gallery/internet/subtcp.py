"""What the SubTCP experiments share: disciplines and hosts by name."""

from __future__ import annotations

from tailback.gallery.design import Settings
from tailback.gallery.internet import dumbbell
from tailback.scenario import Table

__all__ = [
    "ADAPTIVE",
    "DROP_TAIL",
    "HOSTS",
    "RED",
    "RED_ECN",
    "RULE",
    "SUBTCP",
    "SUBTCP_PLAIN",
    "SUBTCP_RULE",
    "TCP",
    "settings",
]

DROP_TAIL, RED, RED_ECN, ADAPTIVE = "drop-tail", "RED", "RED, ECN", "adaptive RED, ECN"
TCP, RULE, SUBTCP = "TCP", "TCP, RFC 3168", "SubTCP"
"""TCP without and with the rule for an echo at a window of one; SubTCP with intervals, which need no such rule."""
SUBTCP_RULE, SUBTCP_PLAIN = "SubTCP, RFC 3168", "SubTCP, plain timer"
HOSTS: dict[str, tuple[Table, bool]] = {
    TCP: ({"kind": "reno"}, False),
    RULE: ({"kind": "reno"}, True),
    SUBTCP: ({"kind": "subtcp", "back-off": "interval"}, False),
    SUBTCP_RULE: ({"kind": "subtcp", "back-off": "floor"}, True),
    SUBTCP_PLAIN: ({"kind": "subtcp", "back-off": "none"}, False),
}
"""Congestion control, and whether `ecn-floor` holds. SubTCP's back-off decides for itself."""


def settings(hosts: str, discipline: str, buffer_kb: float = 100, x: float = 0.1) -> Settings:
    """Hosts and bottleneck; X only matters to SubTCP."""
    control, floor = HOSTS[hosts]
    ecn = discipline in (RED_ECN, ADAPTIVE)
    if discipline == DROP_TAIL:
        queue = dumbbell.bottleneck(buffer_kb, {"kind": "drop-tail"})
    elif discipline == ADAPTIVE:
        queue = dumbbell.red(buffer_kb, 0.1, ecn=True, adaptive={"kind": "feng"})
    else:
        queue = dumbbell.red(buffer_kb, 0.1, ecn=ecn)
    return {
        **queue,
        "flows[tcp].transport.ecn": "classic" if ecn else "off",
        "flows[tcp].transport.ecn-floor": floor,
        "flows[tcp].transport.congestion-control": {**control, "x": x} if control["kind"] == "subtcp" else control,
    }
