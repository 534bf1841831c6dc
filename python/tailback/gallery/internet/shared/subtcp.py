"""Parts that the SubTCP experiments share: settings of disciplines and hosts, by name."""

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
"""The thesis and its code in ns-2.35 have no upper bound of max_p (`ADAPTIVE`). With a bound of 1, RED marks all
packets only when its average reaches the upper threshold, above which it drops them all."""
BACKOFF = "TCP, RFC 3168, doubled"
TCP, RULE, NS2, SUBTCP = "TCP", "TCP, RFC 3168", "TCP, ns-2.35", "SubTCP"
"""`TCP` has no rule for an echo at a small window, `RULE` has that of RFC 3168, `NS2` that of ns-2.35. `SUBTCP` backs
off by intervals and needs no such rule. `BACKOFF` doubles the timeout with each consecutive echo, which RFC 3168 does
not require."""
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
"""Congestion control and `ecn-floor` of each kind of host. `SUBTCP` has no `ecn-floor`, because it backs off by its own
intervals; `SUBTCP_RULE` backs off by RFC 3168's rule instead, and `SUBTCP_PLAIN` does not back off."""

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
"""Settings of ns-2.35's `Sack1` other than its rule for echoes, see docs/validation.md."""


def of_ns2(flow: str) -> Settings:
    """Return the settings of `OF_NS2` for the group `flow` instead of `tcp`."""
    return {path.replace("flows[tcp]", f"flows[{flow}]"): value for path, value in OF_NS2.items()}


def settings(hosts: str, discipline: str, buffer_kb: float = 100, x: float = 0.1) -> Settings:
    """Return the settings of hosts and bottleneck.

    `x` is SubTCP's growth per round trip as a share of the window (0.1: 10 %), and has no effect on TCP. Raises
    KeyError for unknown hosts; any unknown discipline is RED without ECN.
    """
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
