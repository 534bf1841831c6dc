"""Hosts of the thesis' testbeds (internet-e08, internet-e14): FreeBSD 2.2 of 1998, as far as it is known.

The slides name FreeBSD 2.2.6 and 2.2.7 with ALTQ for the routers, and do not describe the hosts. Both experiments
assume that hosts run the same system with its defaults, and test other hosts as sensitivities.
"""

from __future__ import annotations

from tailback.study.experiment.points import Settings

__all__ = ["FREEBSD", "HEARTBEAT", "LARGE_SOCKETS"]

FREEBSD: Settings = {
    # 4.4BSD's tcp_mss(): an initial window of one segment. RFC 2581 of April 1999 permits two.
    "flows[tcp].transport.initial-window": 1,
    # net.inet.tcp.recvspace of 16384 B, which tcp_mss() rounds up to whole segments: 12 of 1460 B.
    "flows[tcp].transport.receive-window": 12,
    # Every second segment is acknowledged at once, others after at most 200 ms; `HEARTBEAT` describes BSD's own timer.
    "flows[tcp].transport.delayed-ack": {"every": 2, "timeout": "200ms"},
    # tcp_slowtimo() runs every 500 ms; TCPTV_MIN is two of its ticks; TCPTV_SRTTDFLT gives an initial RTO of 3 s.
    "flows[tcp].transport.timers": {"clock": "coarse", "granularity": "500ms", "min-rto": "1s", "initial-rto": "3s"},
    # One segment at a time is timed (Karn); the timestamps of RFC 1323 would not refine the ticks of 500 ms.
    "flows[tcp].transport.timestamps": False,
    # Reno; SACK came with FreeBSD 5, NewReno with FreeBSD 4.
    "flows[tcp].transport.recovery": {"kind": "reno"},
    # A loss halves the smaller of congestion and receive window, and windows grow per acknowledgement: tcp_input.c.
    "flows[tcp].transport.congestion-control": {"kind": "reno", "byte-counting": 1, "reduction": "window"},
    # RFC 3042 is of January 2001.
    "flows[tcp].transport.limited-transmit": False,
    # The kernels were patched with ECN of RFC 2481. RFC 3168 of September 2001 first forbids ECN-capable
    # retransmissions, and has the rule for an echo at a window of one segment.
    "flows[tcp].transport.ecn": "classic",
    "flows[tcp].transport.ecn-retransmissions": True,
    "flows[tcp].transport.ecn-floor": "none",
    # Later than 1998: F-RTO and Eifel.
    "flows[tcp].transport.spurious-timeout": "off",
}
"""Transport settings of FreeBSD 2.2: the defaults of that system."""

HEARTBEAT: Settings = {
    "flows[tcp].transport.delayed-ack": {"every": 2, "timeout": "200ms", "clock": "heartbeat"},
}
"""Delayed acknowledgements as BSD has them: tcp_fasttimo() releases those of all connections of a host together, every
200 ms (Wright and Stevens, TCP/IP Illustrated 2, section 25.4).

Not in `FREEBSD`, because in a simulation the timers of all hosts coincide and never drift: connections synchronise with
them much more than on machines whose clocks and interrupts differ.
"""

LARGE_SOCKETS: Settings = {"flows[tcp].transport.receive-window": 44}
"""Receive windows of 64 kB, the maximum without RFC 1323's window scaling: 44 segments of 1460 B.

They are used with a path of 100 ms: with the default of 16 kB eight connections could just fill it, and their receive
windows, not the queue, would limit their rate.
"""
