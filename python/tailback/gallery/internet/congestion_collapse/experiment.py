"""internet-collapse, congestion collapse: goodput against offered load, of senders without back-off and of TCP."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, fsum, sqrt
from typing import TYPE_CHECKING, Any

from tailback.gallery.internet.shared import tcpmodel
from tailback.results.report import Report
from tailback.study.experiment import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Observable,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

RETRANSMIT, TIMER, HOPS, SHARES = "retransmission", "timer", "two hops", "narrow last hop"
FILES = {RETRANSMIT: "scenario.toml", TIMER: "scenario.toml", HOPS: "hops.toml", SHARES: "shares.toml"}
FIXED, TIMED, TCP = "fixed window and timer", "fixed window, adaptive timer", "TCP"
DATAGRAMS = "datagrams"
FIFO, FAIR = "drop-tail", "drr"
RING = 5
"""Number of routers, and of flows, in the ring; each flow consists of `SPLIT` equal ones."""
SPLIT = 4
# Rates of the ring's links, of the bottleneck, of the shared link and of the narrow last hop behind it.
RING_BPS, DUMBBELL_BPS, SHARED_BPS, LAST_BPS = 2e6, 10e6, 1.5e6, 128e3
SHARES_S = 27e-3
"""Round trip of TCP behind the narrow last hop without a queue, s: 20 ms of delay, 7 ms of transmission."""
PACKET_BITS = 8000
PAYLOAD = 0.96
"""Payload of a TCP packet as a share of its size."""
CONNECTIONS = (2, 4, 8, 16, 32, 64)
FITTING = 40
"""Number of connections whose windows, 640 segments in total, just fit into buffer and path, which hold 651."""
SHORTEST_MS = 100
TIMERS_MS = (SHORTEST_MS, 200, 300, 400, 600)
FULL_MS = 521
"""Round trip with a full buffer, ms: 40 of delay, 1 of transmission, 480 in the queue. With 640 segments alone it is
512."""
LOADS = (0.25, 0.5, 1, 2, 4)
"""Offered load of each flow in the ring, as a multiple of a link's capacity."""
SHARE = (0.1, 0.5, 1, 1.5, 2)
"""Rate of the unresponsive flow, as a multiple of the shared link's capacity."""


def copies(round_trip_ms: float, timer_ms: float) -> tuple[int, int]:
    """Return the minimum and maximum number of copies of a segment that a fixed timer sends until it is acknowledged.

    A connection's timer restarts with each acknowledgement, which may save one copy.
    """
    periods = round_trip_ms / timer_ms
    return max(floor(periods), 1), ceil(periods)


def _carried_bps(report: Report) -> float:
    """Return the rate at which new data is delivered, in bit/s, headers included, so that TCP and datagrams compare."""
    rows = report.data["flows"]
    if _case(report) == SHARES:
        # The throughput of the narrow last link: packets that wait before it at the end of the run are not lost.
        datagrams = [report.utilisation("r2->d2") * LAST_BPS / 8 * report.measured_s]
    else:
        datagrams = [flow["delivered"]["bytes"] for flow in rows if not flow["transport"]]
    segments = (row["goodput_bytes"] / PAYLOAD for flow in rows if (row := flow["transport"]))
    return 8 * fsum([*segments, *datagrams]) / report.measured_s


def _case(report: Report) -> str:
    groups = {row["group"] for row in report.data["flows"]}
    return HOPS if "f1" in groups else SHARES if "udp" in groups else RETRANSMIT


def _useful(report: Report) -> float:
    """Return the goodput in percent of what the network can carry to its destinations."""
    most = {RETRANSMIT: DUMBBELL_BPS, HOPS: RING * RING_BPS / 2, SHARES: SHARED_BPS}
    return 100 * _carried_bps(report) / most[_case(report)]


def _busy(report: Report) -> float:
    """Return the mean utilisation of the shared links in percent."""
    ports = {RETRANSMIT: ["a->b"], HOPS: [f"r{i}->r{i % RING + 1}" for i in range(1, RING + 1)], SHARES: ["r1->r2"]}
    names = ports[_case(report)]
    return 100 * fsum(report.utilisation(name) for name in names) / len(names)


def left_over(load: float) -> float:
    """Return the goodput in % of the shared link if TCP gets only what an unresponsive flow without losses leaves.

    `load` is the unresponsive flow's rate relative to the link's.
    """
    return 100 * max(1 - load, 0) + 100 * min(load, LAST_BPS / SHARED_BPS)


def most_given(load: float, queue_s: float) -> float:
    """Return the goodput in % of the shared link if all packets have the loss that three TCP connections need.

    The loss follows from the square-root law, which has no timeouts and so overestimates TCP. `load` is the
    unresponsive flow's rate relative to the link's, `queue_s` the mean queueing delay in s.
    """
    capacity = SHARED_BPS / PACKET_BITS
    loss = tcpmodel.loss_needed(tcpmodel.square_root, 3 * [SHARES_S + queue_s], capacity, load * capacity)
    carried = load * (1 - loss)
    return 100 * (1 - carried) + 100 * min(carried, LAST_BPS / SHARED_BPS)


def _beside(report: Report) -> tuple[float, float]:
    """Return the unresponsive flow's rate relative to the shared link's, and the link's mean queueing delay, s."""
    rate = report.offered_bps("udp") / SHARED_BPS
    return rate, 8 * report.mean_queue_bytes("r1->r2") / SHARED_BPS


def _above_least(report: Report) -> float:
    return _useful(report) - left_over(_beside(report)[0]) if _case(report) == SHARES else float("nan")


def _above_most(report: Report) -> float:
    return _useful(report) - most_given(*_beside(report)) if _case(report) == SHARES else float("nan")


def fluid_bps(offered_bps: float, capacity_bps: float) -> float:
    """Return the goodput in bit/s of a flow over two equal hops of a ring, each shared with a flow of the same rate.

    Each hop drops the packets of its two flows with equal probability. The rate x after a first hop solves
    x = C·r/(r + x); the second passes the share C/(r + x) of it. As r grows without bound x tends to C, and the goodput
    to 0 as C²/r.
    """
    r, c = offered_bps, capacity_bps
    if r <= c / 2:
        return r
    x = (sqrt(r * r + 4 * c * r) - r) / 2
    return c * x / (r + x)


def _against_fluid(report: Report) -> float:
    if _case(report) != HOPS or any(row["transport"] for row in report.data["flows"]):
        return float("nan")
    return 100 * _carried_bps(report) / RING / fluid_bps(report.offered_bps() / RING, RING_BPS)


class Collapse(Experiment):
    """Networks that do useless work: needless retransmissions, and packets that are dropped after their first hop."""

    id = "internet-collapse"
    title = "Congestion collapse"
    reference = "Nagle, RFC 896; Jacobson, SIGCOMM 1988; Floyd and Fall, IEEE/ACM Transactions on Networking 7(4), 1999"
    axes = (
        Axis("case", "case"),
        Axis("sender", "sender or discipline"),
        Axis("load", "connections, timer in ms, or offered load in link capacities"),
    )
    quick = Profile(duration="40s", warmup="10s", replications=3, max_replications=9, cpu_s=8)
    full = Profile(duration="220s", warmup="20s", replications=5, max_replications=20, cpu_s=120)
    metrics = (
        Observable("useful", "goodput", "% of capacity", _useful, precision=(0.05, 0.5)),
        Observable("busy", "utilisation of the shared links", "%", _busy),
        Observable("needless", "utilisation minus goodput", "points", lambda r: _busy(r) - _useful(r), lowest=None),
        Observable(
            "waiting",
            "mean queueing delay at the shared link",
            "ms",
            lambda r: 1e3 * _beside(r)[1] if _case(r) == SHARES else float("nan"),
        ),
        Observable("above", "goodput minus what the unresponsive flow leaves", "points", _above_least, lowest=None),
        Observable(
            "below", "goodput minus the most that the square-root law gives", "points", _above_most, lowest=None
        ),
        Observable("fluid", "goodput, relative to the fluid model", "%", _against_fluid),
        Observable(
            "again",
            "segments retransmitted",
            "%",
            lambda report: (
                100 * sum(row["retransmissions"] for row in rows) / max(sum(row["segments"] for row in rows), 1)
                if (rows := report.transports())
                else float("nan")
            ),
        ),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: each case with its senders or disciplines and its own axis of load."""
        del profile
        return (
            grid(case=[RETRANSMIT], sender=(FIXED, TIMED, TCP), load=CONNECTIONS)
            + grid(case=[TIMER], sender=[FIXED], load=TIMERS_MS)
            + grid(case=[HOPS], sender=(DATAGRAMS, TCP), load=LOADS)
            + grid(case=[SHARES], sender=(FIFO, FAIR), load=SHARE)
        )

    def scenario(self, point: Point) -> str:
        """Return the scenario of the point's case."""
        return FILES[str(point["case"])]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the load, and of the senders' timers and congestion control."""
        del profile
        sender, load = str(point["sender"]), float(point["load"])
        if point["case"] == RETRANSMIT:
            settings: Settings = {"flows[tcp].count": int(load)}
            if sender != FIXED:
                settings["flows[tcp].transport.timers"] = {}
            if sender == TCP:
                settings["flows[tcp].transport"] = {"kind": "tcp", "segment": "960B"}
            return settings
        if point["case"] == TIMER:
            timer = f"{load:g}ms"
            timers: Settings = {"min-rto": timer, "initial-rto": timer, "max-rto": timer}
            return {"flows[tcp].count": FITTING, "flows[tcp].transport.timers": timers}
        if point["case"] == SHARES:
            return {
                "switches.r1.ports.r2.discipline": {"kind": sender},
                "flows[udp].source.rate": f"{load * SHARED_BPS / 1e6:g}Mbit/s",
            }
        settings = {}
        for flow in range(1, RING + 1):
            settings[f"flows[f{flow}].source.rate"] = f"{load * RING_BPS / SPLIT / 1e3:g}kbit/s"
            if sender == TCP:
                settings[f"flows[f{flow}].source.packet"] = "960B"
                settings[f"flows[f{flow}].source.sizes"] = "fixed"
                settings[f"flows[f{flow}].transport"] = {"kind": "tcp", "segment": "960B"}
        return settings

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the cases that collapse, how far they do, and the cases that do not."""
        again, timer, hops, last = (results.where(case=case) for case in (RETRANSMIT, TIMER, HOPS, SHARES))
        fixed, tcp = again.where(sender=FIXED), again.where(sender=TCP)
        datagrams, ring_tcp = hops.where(sender=DATAGRAMS), hops.where(sender=TCP)
        fifo, fair = last.where(sender=FIFO), last.where(sender=FAIR)
        under = fifo.where(load=lambda load: float(load) < 1)
        overload = lambda load: float(load) >= 1  # noqa: E731
        return [
            Claim(
                "C1",
                "With a fixed window and a fixed timer of 200 ms, the goodput of 64 connections is less than half of "
                "that of 8.",
                "RFC 896; derived: the full buffer takes longer to drain than the timer, so that every segment is "
                "sent at least twice",
                fixed.where(load=64)["useful"] < 0.5 * fixed.where(load=8)["useful"],
            ),
            Claim(
                "C1-before",
                "With a fixed window and a fixed timer of 200 ms, before the collapse, the goodput of 2 connections "
                "is 46.9 to 62.4 % of the link, and that of 4 and of 8 is more than 99 %.",
                "derived: 2 windows of 16 segments per round trip of 41 ms, or of 54.6 ms if one always waits for the "
                "other; 4 windows are more than the path holds, and the round trip of 8 is still shorter than the "
                "timer",
                fixed.where(load=2)["useful"].within(46.9, 62.4) & (fixed.where(load=[4, 8])["useful"] > 99),
            ),
            Claim(
                "C1-32",
                "With a fixed window and a fixed timer of 200 ms, the goodput of 32 connections, whose windows fit "
                "into the buffer, is a third to a half of the link.",
                "derived: copies lengthen the round trip to 410 to 521 ms, in which the timer of 200 ms sends each "
                "segment two or three times",
                fixed.where(load=32)["useful"].within(100 / 3, 50),
            ),
            Claim(
                "C2",
                "With a fixed window and a fixed timer, and 4 or more connections, the link is busy for more than 99 "
                "% of the time.",
                "definition of collapse: the link is busy with useless packets; derived: 4 windows are more than the "
                "path holds",
                fixed.where(load=lambda load: float(load) >= 4)["busy"] > 99,
            ),
            Claim(
                "C3",
                "With TCP and any number of connections, utilisation exceeds goodput by at most 1 % of the link.",
                "Jacobson 1988; derived: with selective acknowledgements only lost segments are sent again",
                tcp["needless"] <= 1,
            ),
            Claim.comparison(
                "C4",
                "Goodput of 64 connections with a fixed window and an adaptive timer.",
                "Jacobson 1988, who considers the timer the more urgent of the two",
                again.where(sender=TIMED, load=64)["useful"],
                "not judged: the papers do not say how much the timer alone saves",
            ),
            *(_timer_claim(timer, ms) for ms in TIMERS_MS),
            Claim(
                "C5",
                "The goodput of datagrams over two hops is that of the fluid model, within 5 %, at offered loads per "
                "flow of a link's rate or more.",
                "derived: equal drop probability at both hops; see the page",
                datagrams.where(load=overload)["fluid"].within(95, 105),
            ),
            Claim(
                "C6",
                "From an offered load per flow of half a link's rate up to four times a link's rate, the goodput of "
                "datagrams over two hops falls with each doubling.",
                "Floyd and Fall 1999; derived from the fluid model: 100, 76, 54 and 34 % of capacity",
                (datagrams.where(load=1)["useful"] < datagrams.where(load=0.5)["useful"])
                & (datagrams.where(load=2)["useful"] < datagrams.where(load=1)["useful"])
                & (datagrams.where(load=4)["useful"] < datagrams.where(load=2)["useful"]),
            ),
            Claim(
                "C7",
                "The goodput of TCP over two hops is at least 98 % of capacity, at offered loads per flow of a link's "
                "rate or more.",
                "derived: windows of 12 segments correspond to a loss of 1 %, half of it at the second hop; the bound "
                "allows 2 %",
                ring_tcp.where(load=overload)["useful"] >= 98,
            ),
            Claim(
                "C8",
                "With one queue, and an unresponsive flow of the link's rate or more, TCP gets at least what that "
                "flow leaves, and at most what the square-root law gives it at the same loss: at twice the link's "
                "rate the goodput is 8.5 to 13 % of the link.",
                "Floyd and Fall 1999; derived: 128 of 1500 kbit/s reach the end; a margin of 1 percentage point for "
                "the ends of the run",
                (fifo.where(load=overload)["above"] >= -1) & (fifo.where(load=overload)["below"] <= 0),
            ),
            Claim.calibrated(
                "C8-below",
                "With one queue, and an unresponsive flow of a tenth or half of the link's rate, TCP gets at least "
                "what that flow leaves, and at most what the square-root law gives it at the same loss, within 1 "
                "percentage point.",
                "derived, as C8",
                (under["above"] >= -1) & (under["below"] <= 1),
                "the two bounds are only 0.1 and 1.1 percentage points apart, which a run hardly decides: the margin "
                "at the upper one was added when that was seen",
            ),
            Claim(
                "C9",
                "With a queue for each flow, and an unresponsive flow of half the link's rate or more, that flow has "
                "its quarter of the link and the rest is useful: the goodput is 83.5 % of the link, within 1 "
                "percentage point.",
                "Floyd and Fall 1999; derived: three of the four flows are TCP; 128 kbit/s of the fourth reach the end",
                fair.where(load=lambda load: float(load) >= 0.5)["useful"].within(82.5, 84.5),
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield one figure, with a panel for each case."""
        yield Figure(
            "collapse",
            "Goodput against offered load",
            "Top left: connections with windows of 16 segments; the fixed timer is 200 ms. Top right: 40 such "
            "connections with other fixed timers; grey: the share of the link that is left for new segments if each "
            "segment is sent as often as the timer expires in a round trip. Bottom left: two hops of a ring; dashed: "
            "the fluid model. Bottom right: a narrow last hop behind a shared link; grey: from what the unresponsive "
            "flow leaves to what the square-root law gives TCP; dashed: three quarters of the link for TCP, plus the "
            "last hop's rate.",
            lambda: _draw(results),
            claims=tuple(claim.id for claim in self.claims(results) if claim.id != "C2"),
        )


def _timer_claim(timer: Results, ms: int) -> Claim:
    """Return the claim on the goodput of 40 connections with one fixed timer."""
    few, many = copies(FULL_MS, ms)
    useful = timer.where(sender=FIXED, load=ms)["useful"]
    source = (
        "derived: number of copies sent until the acknowledgement arrives after 512 to 521 ms; a margin of 1 "
        "percentage point for the ends of the run"
    )
    if many == 1:
        return Claim(
            f"C10-{ms}",
            f"With a fixed timer of {ms} ms, 40 connections retransmit nothing needlessly: the goodput is more "
            "than 99 % of the link.",
            source,
            useful > 99,
        )
    claim = Claim(
        f"C10-{ms}",
        f"With a fixed timer of {ms} ms, each segment of 40 connections is carried {few} to {many} times, so that the "
        f"goodput is {100 / many:.3g} to {100 / few:.3g} % of the link.",
        source,
        useful.within(100 / many - 1, 100 / few + 1),
    )
    if ms == SHORTEST_MS:
        return Claim.unasserted(
            claim.id,
            claim.text,
            source,
            claim.condition,
            "the buffer has no room for five copies of every segment: most are lost, so that segments are carried "
            "less often than they are sent",
        )
    return claim


def _draw(results: Results) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(2, 2, width=4.8, height=3.5, sharey=True)
    panels = (
        (RETRANSMIT, (FIXED, TIMED, TCP), "connections"),
        (TIMER, (FIXED,), "fixed timer (ms)"),
        (HOPS, (DATAGRAMS, TCP), "offered load of each flow (link capacities)"),
        (SHARES, (FIFO, FAIR), "rate of the unresponsive flow (link capacities)"),
    )
    for axes, (case, senders, label) in zip(figure.axes, panels, strict=True):
        _panel(axes, results, case, senders, label)
    for axes in figure.axes[::2]:
        axes.set_ylabel("goodput (% of capacity)")
    return figure


def _panel(axes: Axes, results: Results, case: str, senders: tuple[str, ...], label: str) -> None:
    from tailback.plotting import plot

    words = {FIFO: "one queue", FAIR: "a queue for each flow"}
    for index, sender in enumerate(senders):
        along, intervals = results.where(case=case, sender=sender)["useful"].curve("load")
        plot.curve(axes, along, intervals, label=words.get(sender, sender), index=index)
    with plot.style():
        if case == RETRANSMIT:
            axes.set_xscale("log", base=2)
            axes.set_xticks(CONNECTIONS, [str(count) for count in CONNECTIONS])
        elif case == TIMER:
            axes.containers[-1][0].set_linestyle("none")
            _band(axes, [(ms, *copies(FULL_MS, ms)) for ms in range(90, 620, 2)])
            axes.set_xlim(70, 630)
        elif case == HOPS:
            loads = [0.25 + 0.05 * step for step in range(76)]
            axes.plot(loads, [200 * fluid_bps(load, 1.0) for load in loads], **_DERIVED)
        else:
            found = results.where(case=SHARES, sender=FIFO)["waiting"].curve("load")
            loads = [float(load) for load in found[0]]
            most = [most_given(load, 1e-3 * waits.mean) for load, waits in zip(loads, found[1], strict=True)]
            axes.fill_between(loads, [left_over(load) for load in loads], most, color="#d9d9d9", linewidth=0, zorder=0)
            fine = [0.1 + 0.01 * step for step in range(191)]
            axes.plot(
                fine,
                [100 - 100 * min(load, 0.25) + 100 * min(load, LAST_BPS / SHARED_BPS) for load in fine],
                **_DERIVED,
            )
        axes.set_xlabel(label)
        axes.set_title(case)
        axes.set_ylim(0, 105)
        if len(senders) > 1:
            axes.legend(fontsize=8)


_DERIVED: dict[str, Any] = {"color": "#666666", "linestyle": "--", "linewidth": 0.9, "zorder": 0}


def _band(axes: Axes, rows: list[tuple[int, int, int]]) -> None:
    """Shade the share of the link that copies leave to new segments.

    Rows: timer in ms, minimum and maximum number of copies.
    """
    axes.fill_between(
        [ms for ms, _, _ in rows],
        [100 / many for _, _, many in rows],
        [100 / few for _, few, _ in rows],
        color="#d9d9d9",
        linewidth=0,
        zorder=0,
    )
