"""Parts that the SubTCP experiments share: disciplines and hosts by name."""

from __future__ import annotations

from tailback.gallery.internet.shared import dumbbell
from tailback.scenario import Table
from tailback.study.experiment.points import Settings

__all__ = [
    "ADAPTIVE",
    "BACKOFF",
    "BOUNDED",
    "DROP_TAIL",
    "HOSTS",
    "NS2",
    "OF_NS2",
    "RED",
    "RED_ECN",
    "RULE",
    "SUBTCP",
    "SUBTCP_PLAIN",
    "SUBTCP_RULE",
    "TCP",
    "of_ns2",
    "settings",
]

DROP_TAIL, RED, RED_ECN, ADAPTIVE = "drop-tail", "RED", "RED, ECN", "adaptive RED, ECN"
BOUNDED = "adaptive RED, ECN, max_p at most 1"
"""The thesis and its code in ns-2.35 have no upper bound of max_p (`ADAPTIVE`); with this one, RED marks less than all
packets up to the upper threshold, above which it drops them."""
BACKOFF = "TCP, RFC 3168, doubled"
TCP, RULE, NS2, SUBTCP = "TCP", "TCP, RFC 3168", "TCP, ns-2.35", "SubTCP"
"""TCP without, with RFC 3168's and with ns-2.35's rule for an echo at a small window; SubTCP with intervals, which
need no such rule. `BACKOFF` doubles the timeout with each echo in a row, which RFC 3168 does not require."""
SUBTCP_RULE, SUBTCP_PLAIN = "SubTCP, RFC 3168", "SubTCP, plain timer"
HOSTS: dict[str, tuple[Table, str]] = {
    TCP: ({"kind": "reno"}, "none"),
    RULE: ({"kind": "reno"}, "rfc3168"),
    BACKOFF: ({"kind": "reno"}, "backoff"),
    NS2: ({"kind": "reno"}, "ns-2"),
    SUBTCP: ({"kind": "subtcp", "back-off": "interval"}, "none"),
    SUBTCP_RULE: ({"kind": "subtcp", "back-off": "rfc3168"}, "rfc3168"),
    SUBTCP_PLAIN: ({"kind": "subtcp", "back-off": "none"}, "none"),
}
"""Congestion control, and `ecn-floor`. SubTCP has its own back-off."""

OF_NS2: Settings = {
    "flows[tcp].transport.recovery": {
        "kind": "sack",
        "prr": False,
        "rack": False,
        "tlp": False,
        "pipe": "count",
        "forget": True,
    },
    "flows[tcp].transport.limited-transmit": "always",
    "flows[tcp].transport.congestion-control": {"kind": "reno", "byte-counting": 1, "reduction": "window"},
}
"""Other settings of ns-2.35's `Sack1`, see docs/validation.md."""


def of_ns2(flow: str) -> Settings:
    """`OF_NS2` for a group of connections by another name than `tcp`."""
    return {path.replace("flows[tcp]", f"flows[{flow}]"): value for path, value in OF_NS2.items()}


def settings(hosts: str, discipline: str, buffer_kb: float = 100, x: float = 0.1) -> Settings:
    """Hosts and bottleneck; X only matters to SubTCP."""
    control, floor = HOSTS[hosts]
    ecn = discipline in (RED_ECN, ADAPTIVE, BOUNDED)
    if discipline == DROP_TAIL:
        queue = dumbbell.bottleneck(buffer_kb, {"kind": "drop-tail"})
    elif discipline in (ADAPTIVE, BOUNDED):
        bound = {"top": 1.0} if discipline == BOUNDED else {}
        queue = dumbbell.red(buffer_kb, 0.1, ecn=True, adaptive={"kind": "feng", **bound})
    else:
        queue = dumbbell.red(buffer_kb, 0.1, ecn=ecn)
    return {
        **queue,
        "flows[tcp].transport.ecn": "classic" if ecn else "off",
        "flows[tcp].transport.ecn-floor": floor,
        "flows[tcp].transport.congestion-control": {**control, "x": x} if control["kind"] == "subtcp" else control,
        **(OF_NS2 if hosts == NS2 else {}),
    }
