"""Congestion collapse: goodput against offered load, of senders that do not back off and of TCP."""

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
"""Routers and flows in the ring; each flow is made of `SPLIT` equal ones."""
SPLIT = 4
RING_BPS, DUMBBELL_BPS, SHARED_BPS, LAST_BPS = 2e6, 10e6, 1.5e6, 128e3
SHARES_S = 27e-3
"""Round trip of TCP there without a queue: 20 ms of delay, 7 ms to send."""
PACKET_BITS = 8000
PAYLOAD = 0.96
"""Share of a TCP packet that is payload."""
CONNECTIONS = (2, 4, 8, 16, 32, 64)
FITTING = 40
"""Connections whose windows, 640 segments, just fit into buffer and path, 651: no loss is necessary."""
SHORTEST_MS = 100
TIMERS_MS = (SHORTEST_MS, 200, 300, 400, 600)
FULL_MS = 521
"""Round trip with a full buffer: 40 ms of delay, 1 ms to send, 480 ms in the queue. 640 segments alone make 512."""
LOADS = (0.25, 0.5, 1, 2, 4)
"""Of each flow in the ring, per capacity of a link."""
SHARE = (0.1, 0.5, 1, 1.5, 2)
"""Rate of the flow that does not respond, per capacity of the shared link."""


def copies(round_trip_ms: float, timer_ms: float) -> tuple[int, int]:
    """Return the least and the largest number of copies of a segment if a fixed timer expires until it is acknowledged.

    The timer of a connection starts again with each acknowledgement, so that a segment may have lost up to one period.
    """
    periods = round_trip_ms / timer_ms
    return max(floor(periods), 1), ceil(periods)


def _carried_bps(report: Report) -> float:
    """Return the rate of useful deliveries, headers included so that TCP and datagrams compare."""
    rows = report.data["flows"]
    if _case(report) == SHARES:
        # Packets that wait before the narrow last link have already crossed the shared one.
        datagrams = [report.utilisation("r2->d2") * LAST_BPS / 8 * report.measured_s]
    else:
        datagrams = [flow["delivered"]["bytes"] for flow in rows if not flow["transport"]]
    segments = (row["goodput_bytes"] / PAYLOAD for flow in rows if (row := flow["transport"]))
    return 8 * fsum([*segments, *datagrams]) / report.measured_s


def _case(report: Report) -> str:
    groups = {row["group"] for row in report.data["flows"]}
    return HOPS if "f1" in groups else SHARES if "udp" in groups else RETRANSMIT


def _useful(report: Report) -> float:
    """Goodput in percent of the network's capacity to destinations."""
    most = {RETRANSMIT: DUMBBELL_BPS, HOPS: RING * RING_BPS / 2, SHARES: SHARED_BPS}
    return 100 * _carried_bps(report) / most[_case(report)]


def _busy(report: Report) -> float:
    """Mean utilisation of the shared links in percent."""
    ports = {RETRANSMIT: ["a->b"], HOPS: [f"r{i}->r{i % RING + 1}" for i in range(1, RING + 1)], SHARES: ["r1->r2"]}
    names = ports[_case(report)]
    return 100 * fsum(report.utilisation(name) for name in names) / len(names)


def left_over(load: float) -> float:
    """Return the goodput in % of the shared link if TCP has only the rest that a lossless other flow leaves."""
    return 100 * max(1 - load, 0) + 100 * min(load, LAST_BPS / SHARED_BPS)


def most_given(load: float, queue_s: float) -> float:
    """Return the same if all lose alike, and three TCP connections need that loss by the square-root law.

    The law has no time-outs, so it overestimates TCP.
    """
    capacity = SHARED_BPS / PACKET_BITS
    loss = tcpmodel.loss_needed(tcpmodel.square_root, 3 * [SHARES_S + queue_s], capacity, load * capacity)
    carried = load * (1 - loss)
    return 100 * (1 - carried) + 100 * min(carried, LAST_BPS / SHARED_BPS)


def _beside(report: Report) -> tuple[float, float]:
    """Rate of the other flow per capacity of the shared link, and mean time in its queue in s."""
    rate = report.offered_bps("udp") / SHARED_BPS
    return rate, 8 * report.mean_queue_bytes("r1->r2") / SHARED_BPS


def _above_least(report: Report) -> float:
    return _useful(report) - left_over(_beside(report)[0]) if _case(report) == SHARES else float("nan")


def _above_most(report: Report) -> float:
    return _useful(report) - most_given(*_beside(report)) if _case(report) == SHARES else float("nan")


def fluid_bps(offered_bps: float, capacity_bps: float) -> float:
    """Goodput of a flow over two equal hops of a ring, each shared with another of the same rate.

    Both hops drop all arrivals with equal probability. The rate x out of a first hop solves x = C·r/(r + x); the second
    passes the share C/(r + x) of it. As r grows without bound x tends to C, and the goodput to 0 as C²/r.
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
    """Three kinds of wasted work in a network."""

    id = "internet-collapse"
    title = "Congestion collapse"
    reference = "Nagle, RFC 896; Jacobson, SIGCOMM 1988; Floyd and Fall, IEEE/ACM Transactions on Networking 7(4), 1999"
    axes = (
        Axis("case", "what is wasted"),
        Axis("sender", "sender or discipline"),
        Axis("load", "offered load, or the timer in ms"),
    )
    quick = Profile(duration="40s", warmup="10s", replications=3, max_replications=9, cpu_s=8)
    full = Profile(duration="220s", warmup="20s", replications=5, max_replications=20, cpu_s=120)
    metrics = (
        Observable("useful", "goodput", "% of capacity", _useful, precision=(0.05, 0.5)),
        Observable("busy", "utilisation of the shared links", "%", _busy),
        Observable("needless", "busy with what is of no use", "points", lambda r: _busy(r) - _useful(r), lowest=None),
        Observable(
            "waiting",
            "mean wait for the shared link",
            "ms",
            lambda r: 1e3 * _beside(r)[1] if _case(r) == SHARES else float("nan"),
        ),
        Observable("above", "goodput less what the other flow leaves", "points", _above_least, lowest=None),
        Observable("below", "goodput less the most that TCP can take", "points", _above_most, lowest=None),
        Observable("fluid", "goodput per that of the fluid model", "%", _against_fluid),
        Observable(
            "again",
            "segments sent again",
            "%",
            lambda report: (
                100 * sum(row["retransmissions"] for row in rows) / max(sum(row["segments"] for row in rows), 1)
                if (rows := report.transports())
                else float("nan")
            ),
        ),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Each case with its senders along its own load."""
        del profile
        return (
            grid(case=[RETRANSMIT], sender=(FIXED, TIMED, TCP), load=CONNECTIONS)
            + grid(case=[TIMER], sender=[FIXED], load=TIMERS_MS)
            + grid(case=[HOPS], sender=(DATAGRAMS, TCP), load=LOADS)
            + grid(case=[SHARES], sender=(FIFO, FAIR), load=SHARE)
        )

    def scenario(self, point: Point) -> str:
        """Each case has its network."""
        return FILES[str(point["case"])]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """The load, and the senders' response to congestion."""
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
        """Cases that collapse, the extent, and cases that do not."""
        again, timer, hops, last = (results.where(case=case) for case in (RETRANSMIT, TIMER, HOPS, SHARES))
        fixed, tcp = again.where(sender=FIXED), again.where(sender=TCP)
        datagrams, ring_tcp = hops.where(sender=DATAGRAMS), hops.where(sender=TCP)
        fifo, fair = last.where(sender=FIFO), last.where(sender=FAIR)
        under = fifo.where(load=lambda load: float(load) < 1)
        overload = lambda load: float(load) >= 1  # noqa: E731
        return [
            Claim(
                "C1",
                "With a fixed window and a fixed timer, 64 connections carry less than half of what 8 carry.",
                "RFC 896; derived: the full buffer takes longer to drain than the timer, so that all is sent "
                "twice or more",
                fixed.where(load=64)["useful"] < 0.5 * fixed.where(load=8)["useful"],
            ),
            Claim(
                "C1-before",
                "Before that, 2 connections carry 47 to 62.4 % of the link, and 4 and 8 more than 99 %.",
                "derived: windows of 16 segments per round trip of 41 ms, or of 54.6 ms where one always waits for the "
                "other; 4 windows are more than the path holds, and 8 still wait for less than the timer",
                fixed.where(load=2)["useful"].within(46.9, 62.4) & (fixed.where(load=[4, 8])["useful"] > 99),
            ),
            Claim(
                "C1-32",
                "With 32 connections, whose windows fit into the buffer, a third to a half of the link is of use.",
                "derived: with the copies a round trip takes 410 to 521 ms, in which the timer of 200 ms sends each "
                "segment two or three times",
                fixed.where(load=32)["useful"].within(100 / 3, 50),
            ),
            Claim(
                "C2",
                "From 4 connections on the link is busy for more than 99 % of the time.",
                "definition of collapse: busy with what is of no use; derived: 4 windows are more than the path holds",
                fixed.where(load=lambda load: float(load) >= 4)["busy"] > 99,
            ),
            Claim(
                "C3",
                "TCP keeps the link busy with what is of use: at most 1 % is needless, with any number of connections.",
                "Jacobson 1988; derived: with selective acknowledgements only what was lost is sent again",
                tcp["needless"] <= 1,
            ),
            Claim.comparison(
                "C4",
                "A fixed window with an adaptive timer, 64 connections.",
                "Jacobson 1988 holds the timer for the more urgent half",
                again.where(sender=TIMED, load=64)["useful"],
                "how much the timer alone saves is not in the papers",
            ),
            *(_timer_claim(timer, ms) for ms in TIMERS_MS),
            Claim(
                "C5",
                "Datagrams over two hops carry what the fluid model says, within 5 %.",
                "derived: equal drop shares at both hops; see the page",
                datagrams.where(load=overload)["fluid"].within(95, 105),
            ),
            Claim(
                "C6",
                "The more datagrams are offered the less is carried, from half a link's rate per flow to four times.",
                "Floyd and Fall 1999; derived from the fluid model: 100, 76, 54 and 34 %",
                (datagrams.where(load=1)["useful"] < datagrams.where(load=0.5)["useful"])
                & (datagrams.where(load=2)["useful"] < datagrams.where(load=1)["useful"])
                & (datagrams.where(load=4)["useful"] < datagrams.where(load=2)["useful"]),
            ),
            Claim(
                "C7",
                "TCP over the same two hops carries at least 98 % at every overload.",
                "derived: windows of 12 segments need a loss of 1 %, half of it at the second hop; twice that",
                ring_tcp.where(load=overload)["useful"] >= 98,
            ),
            Claim(
                "C8",
                "With one queue, at every overload, TCP gets what the flow that does not respond leaves, and at most "
                "what the square-root law takes at the same loss: at twice the link's rate 8.5 to 13 % of the link are "
                "of use.",
                "Floyd and Fall 1999; derived: 128 of 1500 kbit/s reach the end; a point for the ends of the run",
                (fifo.where(load=overload)["above"] >= -1) & (fifo.where(load=overload)["below"] <= 0),
            ),
            Claim.calibrated(
                "C8-below",
                "So it is at a tenth and a half of the link's rate, within a point.",
                "derived, as C8",
                (under["above"] >= -1) & (under["below"] <= 1),
                "there the two bounds are 0.1 and 0.8 points apart, which a run hardly decides: the margin at the "
                "upper one was added when that was seen",
            ),
            Claim(
                "C9",
                "With a queue for each flow the other flow has its quarter, and all else is of use: 83.5 % from half "
                "of the link's rate on, within a point.",
                "Floyd and Fall 1999; derived: three of four flows are TCP; 128 kbit/s of the fourth reach the end",
                fair.where(load=lambda load: float(load) >= 0.5)["useful"].within(82.5, 84.5),
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """A panel for each case."""
        yield Figure(
            "collapse",
            "Goodput against offered load",
            "Top left: connections with windows of 16 segments; the fixed timer is 200 ms. Top right: 40 such "
            "connections with other fixed timers; grey, what copies leave of the link if each segment is sent as often "
            "as the timer expires in a round trip. Bottom left: two hops of a ring; dashed, the fluid model. Bottom "
            "right: a narrow last hop behind a shared link; grey, "
            "from what the unresponsive flow leaves to what the square-root law gives TCP; dashed, three quarters for "
            "TCP and the last hop's rate.",
            lambda: _draw(results),
            claims=tuple(claim.id for claim in self.claims(results) if claim.id != "C2"),
        )


def _timer_claim(timer: Results, ms: int) -> Claim:
    """Return the claim on 40 connections with one timer."""
    few, many = copies(FULL_MS, ms)
    useful = timer.where(sender=FIXED, load=ms)["useful"]
    source = (
        "derived: copies sent until the acknowledgement comes, after 512 to 521 ms; a point for the ends of the run"
    )
    if many == 1:
        return Claim(
            f"C10-{ms}", f"With a timer of {ms} ms nothing is needless: more than 99 % is of use.", source, useful > 99
        )
    claim = Claim(
        f"C10-{ms}",
        f"With a timer of {ms} ms a segment is carried {few} to {many} times, so that {100 / many:.3g} to "
        f"{100 / few:.3g} % of the link are of use.",
        source,
        useful.within(100 / many - 1, 100 / few + 1),
    )
    if ms == SHORTEST_MS:
        return Claim.unasserted(
            claim.id,
            claim.text,
            source,
            claim.condition,
            "the buffer has no room for five copies of everything: most are lost, and not each segment is carried as "
            "often as it is sent",
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
    """Shade the capacity that copies leave, from the largest to the least number of them."""
    axes.fill_between(
        [ms for ms, _, _ in rows],
        [100 / many for _, _, many in rows],
        [100 / few for _, few, _ in rows],
        color="#d9d9d9",
        linewidth=0,
        zorder=0,
    )
