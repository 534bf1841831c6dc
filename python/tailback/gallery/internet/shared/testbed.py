"""The hosts of the thesis' testbeds (internet-e08, internet-e14): FreeBSD 2.2 of 1998, as far as it is known.

The slides name FreeBSD 2.2.6 and 2.2.7 with ALTQ as the routers, and say nothing of the hosts. Both experiments take
them to run the same system, with its defaults. Other choices are sensitivities in each of them.
"""

from __future__ import annotations

from tailback.study.experiment.points import Settings

__all__ = ["FREEBSD", "HEARTBEAT", "LARGE_SOCKETS"]

FREEBSD: Settings = {
    # 4.4BSD's tcp_mss(): a window of one segment at first. RFC 2581 of April 1999 permits two.
    "flows[tcp].transport.initial-window": 1,
    # net.inet.tcp.recvspace of 16384 B, which tcp_mss() rounds up to whole segments: 12 of 1460 B.
    "flows[tcp].transport.receive-window": 12,
    # Every second segment is acknowledged at once, others after 200 ms. `HEARTBEAT` describes what is left out.
    "flows[tcp].transport.delayed-ack": {"every": 2, "timeout": "200ms"},
    # tcp_slowtimo() runs every 500 ms; TCPTV_MIN is two of its ticks, TCPTV_SRTTDFLT gives 3 s.
    "flows[tcp].transport.timers": {"clock": "coarse", "granularity": "500ms", "min-rto": "1s", "initial-rto": "3s"},
    # Round trips of one segment at a time (Karn): the options of RFC 1323 would leave ticks of 500 ms as they are.
    "flows[tcp].transport.timestamps": False,
    # Reno; SACK came with FreeBSD 5, NewReno with FreeBSD 4.
    "flows[tcp].transport.recovery": {"kind": "reno"},
    # A loss halves the smaller of both windows, acknowledgements are counted and not bytes: tcp_input.c.
    "flows[tcp].transport.congestion-control": {"kind": "reno", "byte-counting": 1, "reduction": "window"},
    # RFC 3042 is of January 2001.
    "flows[tcp].transport.limited-transmit": False,
    # The kernels had ECN of RFC 2481 patched in. That retransmissions must not be ECN-capable, and the rule for an
    # echo at a window of one segment, are in RFC 3168 of September 2001.
    "flows[tcp].transport.ecn": "classic",
    "flows[tcp].transport.ecn-retransmissions": True,
    "flows[tcp].transport.ecn-floor": "none",
    # Later than 1998: F-RTO and Eifel.
    "flows[tcp].transport.spurious-timeout": "off",
}
"""Settings of the transport that differ between experiments. Sizes and times are defaults of that system."""

HEARTBEAT: Settings = {
    "flows[tcp].transport.delayed-ack": {"every": 2, "timeout": "200ms", "clock": "heartbeat"},
}
"""tcp_fasttimo() releases the acknowledgements of all connections of a host together, every 200 ms (Wright and Stevens,
TCP/IP Illustrated 2, section 25.4).

Not in `FREEBSD`, because here the timers of all hosts coincide and never drift: connections synchronise with
them much more than on machines whose clocks and interrupts differ.
"""

LARGE_SOCKETS: Settings = {"flows[tcp].transport.receive-window": 44}
"""Sockets of 64 kB, the most that a window without RFC 1323's scaling can offer: 44 segments of 1460 B.

For a path of 100 ms: with the default eight connections could just fill it, and their windows would decide, not the
queue.
"""
