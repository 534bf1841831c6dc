"""lan-c3, controlling the source: experiment C.3, merging over the backbone with hosts that obey the notifications."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.plotting import experiment as fig
from tailback.plotting.slides import Slide, on_one_scale
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.study.experiment import (
    Axis,
    AxisValue,
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
from tailback.study.experiment.quantity import Selector

MECHANISMS = ("none", "plain", "destination")
UNLIMITED = "none, unlimited buffers"
"""Name of the reference for delays: buffers so large that nothing is lost, without control."""
PLAIN_ALL, DESTINATION_ALL = "plain, all notified", "destination, all notified"
"""Names of the mechanisms of comparisons A1 to A4: destinations are notified, too."""
BACKPRESSURE: dict[AxisValue, Settings] = {
    **{name: {"backpressure.scope": name} for name in MECHANISMS},
    UNLIMITED: {"backpressure.scope": "none", "network.buffer": "10GB", "switches.sw2.buffer": "10GB"},
    PLAIN_ALL: {"backpressure.scope": "plain", "backpressure.notify": "all"},
    DESTINATION_ALL: {"backpressure.scope": "destination", "backpressure.notify": "all"},
}
QUICK_RATES = (2, 6, 9, 10)
"""Rates at which the quick profile has all burst sizes."""
TOP = 9
"""Highest data rate per source that the slow links can carry, Mbit/s."""
WIRE_EXTRA = 20
"""Preamble, start delimiter and inter-frame gap of each frame on the wire, bytes."""


def control_share(ports: str, name: str, label: str) -> Observable:
    """Return the observable of the largest share of a matching link's time that notifications take, in %.

    The share is the port's sending time minus the time of data frames with their preambles and gaps.
    """

    def value(report: Report) -> float:
        shares = []
        for row in report.ports(ports):
            data = sum(c["sent"]["bytes"] + WIRE_EXTRA * c["sent"]["packets"] for c in row["classes"])
            shares.append(row["utilisation"] - 8 * data / row["rate_bps"] / report.measured_s)
        # A frame in transmission when counting begins or ends may make the difference slightly negative.
        return 100 * max(0.0, *shares)

    return Observable(name, label, "%", value)


def notifications(ports: str, name: str, label: str) -> Observable:
    """Return the observable of the number of notifications that the matching ports sent."""

    def count(report: Report) -> int:
        return sum(row["notifications_sent"] for row in report.ports(ports))

    return Observable(
        name,
        label,
        "frames",
        lambda report: float(count(report)),
        lambda report: (count(report), report.offered_packets("*")),
    )


class ControllingTheSource(Experiment):
    """Three sources to a 10 Mbit/s destination each; notifications reach the hosts."""

    id = "lan-c3"
    title = "Controlling the source"
    reference = "Tobagi, Fraleigh and Noureddine, experiment C.3"
    axes = (
        Axis("mechanism", "mechanism"),
        Axis("rate", "data rate per source", "Mbit/s"),
        Axis("burst", "mean burst size", "kB"),
    )
    quick = Profile(duration="60s", warmup="20s", replications=5, max_replications=30, cpu_s=24)
    full = Profile(duration="260s", warmup="60s", replications=5, max_replications=100, cpu_s=220)
    metrics = (
        m.loss(),
        m.mean_delay(),
        m.throughput(label="throughput of all sources"),
        m.mean_queue("s?->sw1", name="host_queue", label="mean queue [sum over the hosts]"),
        m.mean_queue("sw*->*", name="switch_queue", label="mean queue [sum over both switches]"),
        control_share("sw2->d*", "control_d", "largest share of a destination's link that control frames take"),
        control_share("sw2->sw1", "control_backbone", "share of the backbone that control frames take"),
        control_share("sw1->s?", "control_s", "largest share of a source's link that control frames take"),
        notifications("sw2->d*", "to_receivers", "notifications to destinations"),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the ranges of the slides; bursts of 48 kB, those of the delay figure, at more rates."""
        others = grid(mechanism=[UNLIMITED], rate=(2, 4, 6, 7, 8, TOP), burst=[48])
        others += grid(mechanism=[PLAIN_ALL, DESTINATION_ALL], rate=(2, 6, 8, TOP), burst=[48])
        if profile == "full":
            return grid(mechanism=MECHANISMS, rate=(2, 4, 6, 7, 8, 9, 10), burst=(6, 12, 24, 48, 96)) + others
        every = grid(mechanism=MECHANISMS, rate=(2, 4, 6, 7, 8, 9, 10), burst=(6, 24, 48, 96))
        return [point for point in every if point["burst"] == 48 or point["rate"] in QUICK_RATES] + others

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of notifications and sources.

        Runs near the limit of the slow links, where delays vary slowly, are longer.
        """
        longer: Settings = {}
        if profile == "quick" and (point["rate"], point["burst"]) == (TOP, 48):
            longer = {"run.duration": "140s"}
        return {
            **longer,
            **BACKPRESSURE[point["mechanism"]],
            "flows[data].source.rate": f"{point['rate']}Mbit/s",
            "flows[data].source.burst": f"{point['burst']}kB",
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: loss and delay by mechanism, unlimited buffers, and the notifications' share of links."""
        none, plain, destination = (results.where(mechanism=name) for name in MECHANISMS)
        ideal = results.where(mechanism=UNLIMITED)
        plain_all, destination_all = (results.where(mechanism=name) for name in (PLAIN_ALL, DESTINATION_ALL))
        controlled = results.where(mechanism=["plain", "destination"])
        top: dict[str, Selector] = {"rate": TOP, "burst": 48}
        to_nine: dict[str, Selector] = {"rate": lambda g: 2 <= float(g) <= 9, "burst": 48}
        middle: dict[str, Selector] = {"rate": [6, 7, 8], "burst": 48}
        return [
            Claim(
                "C1",
                "If XON/XOFF also stops the hosts, nothing is lost at any rate and burst size.",
                "slide Packet Loss Using Xon/Xoff (extra buffers eliminate loss); stated",
                plain["loss"].is_zero(),
                headline="XON/XOFF down to the source: extra buffers eliminate loss",
            ),
            Claim(
                "C2",
                "If switches and hosts stop packets to congested destinations, nothing is lost at any rate and burst "
                "size.",
                "slide Packet Loss using Xon/Xoff with Destination (packet loss is eliminated); stated",
                destination["loss"].is_zero(),
            ),
            Claim(
                "C3a",
                "From 2 to 9 Mbit/s, the mean delay of the packets that arrive is shorter without control, when "
                "packets are lost, than if congested destinations are stopped.",
                "slide Packet Delay; derived",
                none.where(**to_nine)["delay"] < destination.where(**to_nine)["delay"],
            ),
            Claim(
                "C3b",
                "The mean delay is shorter if only congested destinations are stopped than with XON/XOFF, from 2 to 9 "
                "Mbit/s.",
                "slide Packet Delay (smaller increase in delay); stated",
                destination.where(**to_nine)["delay"] < plain.where(**to_nine)["delay"],
                headline="48 kB bursts: stopping destinations eliminates loss for a smaller increase in delay",
            ),
            Claim(
                "C3c",
                "If switches and hosts stop packets to congested destinations, the mean delay is within 5 % of that "
                "with unlimited buffers and no control, from 2 to 9 Mbit/s.",
                "derived: sw1 forwards packets to any destination that is not congested, so no slow link idles while "
                "packets for it wait; the backlog of a work-conserving link does not depend on the place where "
                "packets wait",
                destination.where(**to_nine)["delay"].close_to(ideal.where(**to_nine)["delay"], relative=0.05),
            ),
            Claim(
                "C4",
                "From 6 to 8 Mbit/s, the mean delay with XON/XOFF, which stops everything, is at least twice that if "
                "only congested destinations are stopped.",
                "slide Packet Delay; the bound from a prototype",
                plain.where(**middle)["delay"] >= 2 * destination.where(**middle)["delay"],
            ),
            Claim.calibrated(
                "C4b",
                "At 9 Mbit/s, the mean delay with XON/XOFF, which stops everything, is at least 1.3 times that if "
                "only congested destinations are stopped.",
                "slide Packet Delay (smaller increase in delay), whose curves are lost",
                plain.where(**top)["delay"] >= 1.3 * destination.where(**top)["delay"],
                "the factor was chosen after the result had been seen; the order without a factor is C3b",
            ),
            Claim(
                "C6a",
                "No notification goes to a destination of the traffic.",
                "slide Congestion Control Mechanism (switches that are currently sending packets to the congested "
                "buffer); derived: the destinations send nothing",
                controlled["to_receivers"].is_zero(),
            ),
            Claim(
                "C6b",
                "Notifications take at most 1 % of the backbone.",
                "derived: a 50 kB queue needs 4 ms to fall by 10 % of its size at 10 Mbit/s, so three of them send at "
                "most six frames of 84 B on the wire in 4 ms, which is 1 % of 100 Mbit/s",
                controlled["control_backbone"] <= 1.0,
            ),
            Claim(
                "C6c",
                "Notifications take at most 0.5 % of a source's link.",
                "derived: a 500 kB queue needs 4 ms to fall by 10 % of its size at 100 Mbit/s; two frames of 84 B on "
                "the wire in 4 ms take 0.34 %",
                controlled["control_s"] <= 0.5,
            ),
            *(
                Claim.comparison(
                    name,
                    f"{words} at 9 Mbit/s in bursts of 48 kB if sources and destinations are notified.",
                    "sensitivity: slide Congestion Control Mechanism (1), all neighbouring switches",
                    quantity,
                    "a notification has no effect on a host that sends nothing, but takes time of the congested link "
                    "that carries it",
                )
                for name, words, quantity in (
                    ("A1", "Mean delay when everything is stopped,", plain_all.where(**top)["delay"]),
                    ("A2", "Mean delay when destinations are stopped,", destination_all.where(**top)["delay"]),
                    (
                        "A3",
                        "Share of the slow links that control frames take when everything is stopped,",
                        plain_all.where(**top)["control_d"],
                    ),
                    (
                        "A4",
                        "Share of the slow links that control frames take when destinations are stopped,",
                        destination_all.where(**top)["control_d"],
                    ),
                )
            ),
            *(
                Claim.comparison(
                    name,
                    f"Mean delay at 10 Mbit/s in bursts of 48 kB when {words} stopped.",
                    "slide Packet Delay",
                    at.where(rate=10, burst=48)["delay"],
                    "at 10 Mbit/s the slow links are overloaded (9.753 Mbit/s of payload is their limit): the queues "
                    "in the hosts grow as long as the run lasts, so that either mechanism may have the larger delay",
                )
                for name, words, at in (("C5a", "everything is", plain), ("C5b", "destinations are", destination))
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss, delay, mean queues in hosts and switches, and the effect of notifying destinations."""
        words = {
            "none": ("without congestion control", ()),
            "plain": ("using Xon/Xoff", ("C1",)),
            "destination": ("using Xon/Xoff with destination", ("C2",)),
        }
        rates = results.where(rate=list(QUICK_RATES)) if results.profile == "quick" else results
        yield from on_one_scale(
            [
                Slide(f"loss-{name}", f"Packet loss {text}", rates.where(mechanism=name)["loss"], claims)
                for name, (text, claims) in words.items()
            ]
        )
        below_ten: dict[str, Selector] = {"burst": 48, "rate": lambda g: float(g) < 10}
        delays = {name: results.where(mechanism=name, burst=48)["delay"] for name in MECHANISMS}
        shown = (*MECHANISMS, UNLIMITED)
        below = {name: results.where(mechanism=name, **below_ten)["delay"] for name in shown}
        yield fig.compare(
            below,
            "delay",
            "Packet delay, bursts of 48 kB",
            'Up to 9 Mbit/s, where the slow links are not overloaded. The curves of "destination" and of unlimited '
            "buffers coincide.",
            x="rate",
            claims=("C3a", "C3b", "C3c", "C4", "C4b"),
        )
        caption = (
            "At 10 Mbit/s the slow links are overloaded, and with either mechanism the delay grows with the length of "
            "the run."
        )
        yield fig.compare(
            delays,
            "delay-to-10",
            "Packet delay up to 10 Mbit/s",
            caption,
            x="rate",
            y_scale="log",
            claims=("C5a", "C5b"),
        )
        waits = {
            f"{name}, {where}": results.where(mechanism=name, **below_ten)[metric]
            for name in ("plain", "destination")
            for where, metric in (("hosts", "host_queue"), ("switches", "switch_queue"))
        }
        yield fig.compare(waits, "queues", "Mean queues in the hosts and in the switches, bursts of 48 kB", x="rate")
        at: dict[str, Selector] = {"burst": 48, "rate": [2, 6, 8, TOP]}
        by_notified = {
            name: results.where(mechanism=name, **at) for name in ("plain", PLAIN_ALL, "destination", DESTINATION_ALL)
        }
        yield fig.compare(
            {name: found["delay"] for name, found in by_notified.items()},
            "notified",
            "Packet delay by receivers of notifications, bursts of 48 kB",
            'Notifications go to the sources only, or to the destinations as well ("all notified").',
            x="rate",
            claims=("A1", "A2"),
        )
        links = {
            "backbone, sources notified": ("destination", "control_backbone"),
            "slow links, sources notified": ("destination", "control_d"),
            "slow links, all notified": (DESTINATION_ALL, "control_d"),
        }
        yield fig.compare(
            {words: by_notified[name][metric] for words, (name, metric) in links.items()},
            "control",
            "Share of the links that control frames take when destinations are stopped",
            "Bursts of 48 kB. Of several links, the one with the largest share.",
            x="rate",
            y="share that control frames take",
            claims=("C6a", "C6b", "A3", "A4"),
        )
