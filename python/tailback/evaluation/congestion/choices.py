"""Choices of the evaluation of congestion controls, with the sections of the guides or as chosen here."""

from __future__ import annotations

from tailback.evaluation.choice import HERE, SHARED, Choice, Choices, Length

__all__ = ["CHOICES", "by_length"]

_OWN = Choices()

CAPACITY = _OWN.add("capacity of the bottleneck of RFC 9743 and RFC 5166 rows", 10, "Mbit/s", HERE)
RTT = _OWN.add("round-trip time without queueing", 100, "ms", f"{HERE}; mean of tcpeval section 4.1")
BUFFER = _OWN.add("buffer, in bandwidth-delay products", 1.0, "", f"{HERE}; tcpeval section 4.4.2")
DISCIPLINE = _OWN.add("discipline of the bottleneck", "drop-tail", "", "RFC 9743 section 6.1")
SINGLE, FLOWS, MANY = (
    _OWN.add(f"number of {name} long flows", count, "", HERE)
    for name, count in (("few", 2), ("several", 4), ("many", 16))
)
OVERLOAD_CAPACITY = _OWN.add("persistent overload: capacity", 1, "Mbit/s", HERE)
OVERLOAD_FLOWS = _OWN.add(
    "persistent overload: flows", 33, "", f"{HERE}: a fair share of a quarter of a packet per round-trip time"
)
SENDING_LIMIT = _OWN.add(
    "limit: packets per round-trip time of a flow in persistent congestion",
    1.0,
    "",
    "RFC 9743 section 5.1.1: full backoff to one packet per round-trip time, and below",
)
OUTAGE = _OWN.add("outage of the link", 30, "s", f"{HERE}: five doublings of the timeout of 1 s")
DEEP = _OWN.add("deep buffer, in bandwidth-delay products", 8.0, "", f"{HERE}; RFC 9743 section 5.1.2 has no number")
DEEP_LIMIT = _OWN.add(
    "limit: mean queueing delay in the deep buffer",
    200,
    "ms",
    f"{HERE}: a quarter of the buffer; senders that fill it before they halve use more than half of it",
)
SHALLOW = _OWN.add(
    "shallow buffers, in bandwidth-delay products",
    (0.25, 0.5, 1.0),
    "",
    "RFC 9743 section 5.1.3: BBRv1 had sustained loss below about 1.5; the numbers are chosen here",
)
LOSS_FLOWS = _OWN.add("flows in shallow buffers", 5, "", f"{HERE}; RFC 9743 section 5.1.3: multiple flows")
LOSS_LIMIT = _OWN.add("limit: packet loss in a shallow buffer", 5.0, "%", f"{HERE}; RFC 9743 has no number")
RANDOM_LOSS = _OWN.add("high random loss", 10, "%", HERE)
FAIR_LIMIT = _OWN.add("limit: Jain's index of equal flows", 0.9, "", f"{HERE}; RFC 9743 has no number")
STANDARDS = _OWN.add(
    "existing congestion controls",
    ("reno", "cubic", "bbr"),
    "",
    "RFC 9743 section 5.2.1: RFC 5681, RFC 9438, and a non-standard one that is widely deployed",
)
STARVED = _OWN.add(
    "limit: goodput of existing flows, as a share of the fair share",
    10,
    "%",
    f"{HERE}: below it they count as starved; RFC 9743 section 5.2 requires to assess starvation",
)
SHORT_SIZE = _OWN.add("short flows: mean size, exponential", "30kB", "", HERE)
SHORT_RATE = _OWN.add("short flows: mean payload rate, Poisson arrivals", 2, "Mbit/s", HERE)
VOICE = _OWN.add("packet of a call each 20 ms, with RTP, UDP and IP headers", 200, "B", f"{HERE}: G.711")
MEDIA = _OWN.add("video at constant quality, 30 frames per second, each a burst", 1.5, "Mbit/s", HERE)
RATES = _OWN.add("capacities", (1, 100), "Mbit/s", f"{HERE}; RFC 9743 section 6: a representative range")
DELAYS = _OWN.add("round-trip times", (10, 300), "ms", f"{HERE}; RFC 9743 section 6: a representative range")
DEPTHS = _OWN.add("buffers, in BDP", (0.25, 4.0), "", f"{HERE}; RFC 9743 section 6: a representative range")
CORRUPTION = _OWN.add("random loss of wireless paths", (0.1, 1.0), "%", f"{HERE}; RFC 9743 section 6.4 has no number")
FADING = _OWN.add("varying capacity: rates in turn, 2 s each", (10, 4, 7, 2), "Mbit/s", HERE)
ACCESS_JITTER = _OWN.add("media access delay, uniform up to", 20, "ms", f"{HERE}: added by the link, in order")
DELAY_STEP = _OWN.add("change of the minimum round-trip time", 100, "ms", f"{HERE}; RFC 9743 section 7.3")
DELAY_PERIOD = _OWN.add("interval between changes of the round-trip time", 5, "s", HERE)
THING_RATE = _OWN.add("constrained node: capacity", 50, "kbit/s", HERE)
THING_PACKET = _OWN.add("constrained node: packet", 128, "B", f"{HERE}: one frame of IEEE 802.15.4")
THING_RTT = _OWN.add("constrained node: round-trip time", 200, "ms", HERE)
HIGH_DELAY = _OWN.add("round-trip time of a satellite path", 600, "ms", "tcpeval section 4.4.4: 300 ms one way")
UNRESPONSIVE = _OWN.add("rate of an unresponsive flow", 7.5, "Mbit/s", HERE)
REORDERING = _OWN.add("extreme reordering: random delay of each packet, uniform up to", 40, "ms", HERE)
BREAK = _OWN.add("short outage of the link", 2, "s", HERE)
OTHER_RATE = _OWN.add("path after a change: capacity", 2.5, "Mbit/s", HERE)
OTHER_DELAY = _OWN.add("path after a change: additional round-trip time", 50, "ms", HERE)
RESPONDERS = _OWN.add("incast: responders with a response of 64 kB each", 16, "", HERE)
INCAST_BUFFER = _OWN.add("incast: buffer", 100, "packets", HERE)
INCAST_THRESHOLD = _OWN.add(
    "incast: threshold of the marking switch", 20, "packets", f"{HERE}: K of DCTCP at 1 Gbit/s (SIGCOMM 2010)"
)
THINK = _OWN.add("incast: mean time to the next request, exponential", 5, "ms", HERE)
DELTA = _OWN.add(
    "delta of the convergence time",
    0.2,
    "",
    "RFC 5166 section 2.3.3: shares of (1 + delta)/2 and (1 - delta)/2; the number is chosen here",
)
SETTLED = _OWN.add("averaging interval of shares", 1, "s", HERE)

# The TCP evaluation suite.
SIZES = _OWN.add(
    "connection vectors: sizes",
    "Pareto, mean 60 kB, shape 1.2, at most 5 MB",
    "",
    f"{HERE}: synthesised; the Tmix traces of tcpeval section 2.2.1 cannot be redistributed",
)
THINKS = _OWN.add(
    "connection vectors: sessions",
    "a fifth of the load: request 300 B, response Pareto as above, think time Pareto, mean 2 s, shape 1.5",
    "",
    f"{HERE}: synthesised; tcpeval appendix A: heavy-tailed think times and sizes",
)
SMALL = _OWN.add("share of connections with packets of 536 B", 10, "%", "tcpeval section 2.4")
BACK = _OWN.add(
    "load of the opposite direction, as a share of the load", 0.5, "", f"{HERE}; tcpeval section 4.2: lower"
)
LEFT = _OWN.add("one-way delays of the edge links of nodes 1 to 3", (0, 12, 25), "ms", "tcpeval section 4.1")
RIGHT = _OWN.add("one-way delays of the edge links of nodes 4 to 6", (2, 37, 75), "ms", "tcpeval section 4.1")
LOADS = _OWN.add("offered loads", (60, 85, 110), "%", "tcpeval section 4.2; with --quick only 85 %")
EDGE = _OWN.add("edge links of the access link scenario", 100, "Mbit/s", "tcpeval section 4.4.2")
TRANS_RATE = _OWN.add(
    "trans-oceanic link", (1000, 100), "Mbit/s", "tcpeval section 4.4.3: 1 Gbit/s; with --quick a tenth of it"
)
TRADEOFF = _OWN.add(
    "buffers of the delay/throughput tradeoff, in BDP of 100 ms", (0.1, 0.2, 0.5, 1.0, 2.0), "", "tcpeval section 5.1.1"
)
RAMP_RATE = _OWN.add(
    "ramp-up, impact and fairness: central link", 10, "Mbit/s", "tcpeval section 5.2.1, which has 1 Gbit/s as well"
)
RAMP_RTTS = _OWN.add(
    "ramp-up: round-trip times of the existing and the new flow",
    ((80, 80), (120, 30), (30, 120)),
    "ms",
    "tcpeval section 5.2.1",
)
RAMP_BUFFER = _OWN.add("ramp-up: buffer", 80, "ms", "tcpeval section 5.2.1")
BACKGROUND = _OWN.add("ramp-up and fairness: load of the background traffic", 50, "%", "tcpeval section 5.2.1")
RAMP_BYTES = _OWN.add(
    "ramp-up: bytes of the new flow", (15_000, 150_000, 1_500_000, 15_000_000), "B", "tcpeval section 5.2.3"
)
STEP_RATE = _OWN.add("transients: capacity", 100, "Mbit/s", "tcpeval section 5.3.1")
STEP_BUFFER = _OWN.add("transients: buffer", 1024, "packets", "tcpeval section 5.3.1")
STEP = _OWN.add("transients: step of the unresponsive traffic", 75, "Mbit/s", "tcpeval section 5.3.1")
STEPS = _OWN.add("transients: steps of 2.5 Mbit/s at intervals of 1 s", 30, "", "tcpeval section 5.3.1")
STEP_AT = _OWN.add("transients: time of the transient", 20, "s", f"{HERE}: after slow start")
STEP_AFTER = _OWN.add("transients: observed time after it", 100, "s", "tcpeval section 5.3.3; with --quick 40 s")
IMPACT_LOADS = _OWN.add("impact on standard TCP: offered loads", (50, 100), "%", "tcpeval section 6.1.2")
FAIR_RTTS = _OWN.add("fairness: round-trip times", (10, 20, 40, 80, 160), "ms", "tcpeval section 6.2.2")
FAIR_BUFFERS = _OWN.add(
    "fairness: buffers, in BDP of 100 ms", (0.25, 0.5, 1.0, 2.0), "", "tcpeval section 6.2.1; with --quick only 1"
)
SHORTER = _OWN.add("length and warm-up of runs of the suite at 100 Mbit/s and above with --quick", (30, 10), "s", HERE)
PARKING_RATE = _OWN.add("multiple bottlenecks: capacity", 100, "Mbit/s", "tcpeval section 6.3.1")
PARKING_RTT = _OWN.add("multiple bottlenecks: round-trip time", 60, "ms", "tcpeval section 6.3.1")
PARKING_LOADS = _OWN.add(
    "multiple bottlenecks: load of each source", (30, 40, 50), "%", "tcpeval section 6.3.1; with --quick only 50 %"
)
PARKING_BUFFER = _OWN.add("multiple bottlenecks: buffer", 60, "ms", f"{HERE}: tcpeval has no number")

CHOICES: tuple[Choice[object], ...] = (*_OWN.rows, *SHARED.rows)
"""All choices, in the order of the page."""


def by_length(length: Length, full: tuple[int, ...], quick: tuple[int, ...]) -> tuple[int, ...]:
    """Return the values of the profile's effort."""
    return full if length.full else quick
