"""Congestion collapse: goodput against offered load, of senders that do not back off and of TCP."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum, sqrt
from typing import TYPE_CHECKING

from tailback.gallery import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Metric,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)
from tailback.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

RETRANSMIT, HOPS, SHARES = "retransmission", "two hops", "narrow last hop"
FILES = {RETRANSMIT: "scenario.toml", HOPS: "hops.toml", SHARES: "shares.toml"}
FIXED, TIMED, TCP = "fixed window and timer", "fixed window, adaptive timer", "TCP"
DATAGRAMS = "datagrams"
FIFO, FAIR = "drop-tail", "drr"
RING = 5
"""Routers and flows in the ring; each flow is made of `SPLIT` equal ones."""
SPLIT = 4
RING_BPS, DUMBBELL_BPS, SHARED_BPS, LAST_BPS = 2e6, 10e6, 1.5e6, 128e3
PAYLOAD = 0.96
"""Share of a TCP packet that is payload."""
CONNECTIONS = (2, 4, 8, 16, 32, 64)
LOADS = (0.25, 0.5, 1, 2, 4)
"""Of each flow in the ring, per capacity of a link."""
SHARE = (0.1, 0.5, 1, 1.5, 2)
"""Rate of the flow that does not respond, per capacity of the shared link."""


def _carried_bps(report: Report) -> float:
    """Return what arrived and was of use, headers included so that TCP and datagrams compare."""
    rows = report.data["flows"]
    rates = (
        row["goodput_bytes"] / PAYLOAD if (row := flow["transport"]) else flow["delivered"]["bytes"] for flow in rows
    )
    return 8 * fsum(rates) / report.measured_s


def _case(report: Report) -> str:
    groups = {row["group"] for row in report.data["flows"]}
    return HOPS if "f1" in groups else SHARES if "udp" in groups else RETRANSMIT


def _useful(report: Report) -> float:
    """Goodput in percent of what the network can carry to destinations."""
    most = {RETRANSMIT: DUMBBELL_BPS, HOPS: RING * RING_BPS / 2, SHARES: SHARED_BPS}
    return 100 * _carried_bps(report) / most[_case(report)]


def _busy(report: Report) -> float:
    """Mean utilisation of the shared links in percent."""
    ports = {RETRANSMIT: ["a->b"], HOPS: [f"r{i}->r{i % RING + 1}" for i in range(1, RING + 1)], SHARES: ["r1->r2"]}
    names = ports[_case(report)]
    return 100 * fsum(report.utilisation(name) for name in names) / len(names)


def fluid_bps(offered_bps: float, capacity_bps: float) -> float:
    """Goodput of a flow over two equal hops of a ring, each shared with another of the same rate.

    Both hops drop what arrives in equal shares. What leaves a first hop, x, solves x = C·r/(r + x); of that the second
    lets C/(r + x) through. When r grows without end x tends to C, and the goodput to 0 as C²/r.
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
    """Three ways in which work done by the network is wasted."""

    id = "internet-collapse"
    title = "Congestion collapse"
    reference = "Nagle, RFC 896; Jacobson, SIGCOMM 1988; Floyd and Fall, IEEE/ACM Transactions on Networking 7(4), 1999"
    axes = (
        Axis("case", "what is wasted"),
        Axis("sender", "sender or discipline"),
        Axis("load", "offered load"),
    )
    quick = Profile(duration="40s", warmup="10s", replications=3, max_replications=9, cpu_s=8)
    full = Profile(duration="220s", warmup="20s", replications=5, max_replications=20, cpu_s=120)
    metrics = (
        Metric("useful", "goodput", "% of capacity", _useful, precision=(0.05, 0.5)),
        Metric("busy", "utilisation of the shared links", "%", _busy),
        Metric("fluid", "goodput per that of the fluid model", "%", _against_fluid),
        Metric(
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
            + grid(case=[HOPS], sender=(DATAGRAMS, TCP), load=LOADS)
            + grid(case=[SHARES], sender=(FIFO, FAIR), load=SHARE)
        )

    def scenario(self, point: Point) -> str:
        """Each case has its network."""
        return FILES[str(point["case"])]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """The load, and who answers it how."""
        del profile
        sender, load = str(point["sender"]), float(point["load"])
        if point["case"] == RETRANSMIT:
            settings: Settings = {"flows[tcp].count": int(load)}
            if sender != FIXED:
                settings["flows[tcp].transport.timers"] = {}
            if sender == TCP:
                settings["flows[tcp].transport"] = {"kind": "tcp", "segment": "960B"}
            return settings
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
        """What collapses, by how much, and what does not."""
        again, hops, last = (results.where(case=case) for case in (RETRANSMIT, HOPS, SHARES))
        fixed, tcp = again.where(sender=FIXED), again.where(sender=TCP)
        datagrams, ring_tcp = hops.where(sender=DATAGRAMS), hops.where(sender=TCP)
        fifo, fair = last.where(sender=FIFO), last.where(sender=FAIR)
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
                "C2",
                "Meanwhile the link is busy for more than 99 % of the time.",
                "definition of collapse: busy with what is of no use",
                fixed.where(load=64)["busy"] > 99,
            ),
            Claim(
                "C3",
                "TCP with 64 connections carries at least 90 % of what it carries with 8.",
                "Jacobson 1988",
                tcp.where(load=64)["useful"] >= 0.9 * tcp.where(load=8)["useful"],
            ),
            Claim.comparison(
                "C4",
                "A fixed window with an adaptive timer, 64 connections.",
                "Jacobson 1988 holds the timer for the more urgent half",
                again.where(sender=TIMED, load=64)["useful"],
                "how much the timer alone saves is not in the papers",
            ),
            Claim(
                "C5",
                "Datagrams over two hops carry what the fluid model says, within 5 %.",
                "derived: equal drop shares at both hops; see the page",
                datagrams.where(load=overload)["fluid"].within(95, 105),
            ),
            Claim(
                "C6",
                "Datagrams at 4 times a link's rate carry less than half of what the network could.",
                "derived from the fluid model: 34.3 %",
                datagrams.where(load=4)["useful"] < 50,
            ),
            Claim(
                "C7",
                "TCP over the same two hops carries at least 85 % at every overload.",
                "derived: it sends into the first hop about what the second lets through",
                ring_tcp.where(load=overload)["useful"] >= 85,
            ),
            Claim(
                "C8",
                "With one queue, a flow that sends at twice the shared link's rate leaves less than a fifth of "
                "its capacity "
                "to any use.",
                "Floyd and Fall 1999; derived: it fills the link, and 128 of 1500 kbit/s reach the end",
                fifo.where(load=2)["useful"] < 20,
            ),
            Claim(
                "C9",
                "With a queue for each flow at least three quarters are of use at every rate.",
                "Floyd and Fall 1999; derived: three of four flows are TCP",
                fair["useful"] >= 75,
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """A panel for each case."""
        yield Figure(
            "collapse",
            "Goodput against offered load",
            "Left: connections with windows of 16 segments. Middle: two hops of a ring; dashed, the fluid model. "
            "Right: a "
            "narrow last hop behind a shared link.",
            lambda: _draw(results),
            claims=("C1", "C3", "C4", "C5", "C6", "C7", "C8", "C9"),
        )


def _draw(results: Results) -> Drawing:
    from tailback import plot

    figure = plot.new(3, width=4.0, height=3.6, sharey=True)
    panels = (
        (RETRANSMIT, (FIXED, TIMED, TCP), "connections"),
        (HOPS, (DATAGRAMS, TCP), "offered load of each flow\n(link capacities)"),
        (SHARES, (FIFO, FAIR), "rate of the unresponsive flow\n(link capacities)"),
    )
    for axes, (case, senders, label) in zip(figure.axes, panels, strict=True):
        _panel(axes, results, case, senders, label)
    figure.axes[0].set_ylabel("goodput (% of capacity)")
    return figure


def _panel(axes: Axes, results: Results, case: str, senders: tuple[str, ...], label: str) -> None:
    from tailback import plot

    words = {FIFO: "one queue", FAIR: "a queue for each flow"}
    for index, sender in enumerate(senders):
        along, intervals = results.where(case=case, sender=sender)["useful"].curve("load")
        plot.curve(axes, along, intervals, label=words.get(sender, sender), index=index)
    with plot.style():
        if case == HOPS:
            loads = [0.25 + 0.05 * step for step in range(76)]
            model = [200 * fluid_bps(load, 1.0) for load in loads]
            axes.plot(loads, model, color="#666666", linestyle="--", linewidth=0.9, zorder=0)
        if case == RETRANSMIT:
            axes.set_xscale("log", base=2)
            axes.set_xticks(CONNECTIONS, [str(count) for count in CONNECTIONS])
        axes.set_xlabel(label)
        axes.set_title(case)
        axes.set_ylim(0, 105)
        axes.legend(fontsize=8)
