"""lan-extended: a LAN of four buildings, 300 hosts, three rates and three classes, by scope of notification."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tailback.plotting import experiment as fig
from tailback.results import observables as m
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
    from matplotlib.figure import Figure as Drawing

    from tailback.plotting.plot import Scale

MECHANISMS = ("none", "plain", "class", "destination", "class-destination")
KINDS = {"voice": 0, "video": 1, "bursts": 2, "web": 2, "upload": 2}
"""Traffic class of each type of traffic; 0 is the highest."""
# Class of data.
DATA = 2
LOAD = 7
"""Rate of each burst source, Mbit/s: with 1.5 Mbit/s of video to the same client it nearly fills the client's link."""


def _data(report: Report) -> tuple[int, int]:
    """Return the numbers of lost and of offered packets of class 2."""
    row = report.data["classes"][DATA]
    return row["dropped"]["packets"], row["offered"]["packets"]


def _unaccounted(report: Report) -> tuple[int, int]:
    """Return the number of packets that are unaccounted for or reordered, and that of offered packets.

    A packet is unaccounted for if it is not delivered, dropped or in the network.
    """
    rows = report.flows()
    missing = sum(
        abs(
            row["offered"]["packets"]
            - row["delivered"]["packets"]
            - row["dropped"]["packets"]
            - row["in_network"]["packets"]
        )
        for row in rows
    )
    return missing + sum(row["reordered"] for row in rows), report.offered_packets()


class ExtendedLan(Experiment):
    """Voice, video and data among 288 clients and 12 servers over a tree of 21 switches."""

    id = "lan-extended"
    title = "An extended LAN of 300 hosts"
    reference = "Tobagi, Fraleigh and Noureddine, slide Introduction (extended LANs)"
    axes = (Axis("mechanism", "mechanism"), Axis("rate", "rate of each burst source", "Mbit/s"))
    quick = Profile(duration="8s", warmup="1s", replications=5, max_replications=10, cpu_s=6)
    full = Profile(duration="30s", warmup="2s", replications=6, max_replications=30, cpu_s=100)
    metrics = (
        *(m.loss(f"{kind}-*", f"{kind}_loss", f"packet loss of {kind}") for kind in KINDS),
        *(m.mean_delay(f"{kind}-*", f"{kind}_delay", f"mean delay of {kind}") for kind in KINDS),
        m.delay_quantile(0, "p99", "voice_p99", "p99 delay of voice"),
        m.delay_quantile(1, "p99", "video_p99", "p99 delay of video"),
        m.delay_quantile(DATA, "p99", "data_p99", "p99 delay of data"),
        Observable("data_loss", "packet loss of all data", "%", lambda r: 100 * _data(r)[0] / _data(r)[1], _data),
        Observable(
            "unaccounted",
            "packets unaccounted for or out of order",
            "packets",
            lambda r: float(_unaccounted(r)[0]),
            _unaccounted,
        ),
        m.throughput(label="payload carried"),
        Observable(
            "hops", "packet-hops per simulated second", "1/s", lambda r: r.data["packet_hops"] / r.data["end_s"]
        ),
        Observable("control", "control frames per second", "1/s", lambda r: r.data["control_frames"] / r.data["end_s"]),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: every scope with one rate of the burst sources, in full with four."""
        return grid(mechanism=MECHANISMS, rate=(1, 3, 5, 7) if profile == "full" else [LOAD])

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the scope and of the rate of the sixteen burst sources."""
        del profile  # only the length differs between the profiles
        rates: Settings = {f"flows[bursts-{building}].source.rate": f"{point['rate']}Mbit/s" for building in "nesw"}
        return {"backpressure.scope": point["mechanism"], **rates}

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: each scope protects the traffic that it distinguishes from the congested traffic.

        All but X9 are about the highest rate of the burst sources.
        """
        load = results.where(rate=LOAD)
        none, plain, by_class, by_destination, both = (load.where(mechanism=name) for name in MECHANISMS)
        conclusions = "conclusions of the slides; derived"
        return [
            Claim(
                "X1",
                "Voice, the highest class, loses nothing except under plain XON/XOFF, which stops whole links.",
                conclusions,
                load.where(mechanism=["none", "class", "destination", "class-destination"])["voice_loss"].is_zero(),
            ),
            Claim(
                "X2",
                "With class information the p99 delay of voice is within 10 % of that without control.",
                conclusions,
                by_class["voice_p99"].close_to(none["voice_p99"], relative=0.1)
                & both["voice_p99"].close_to(none["voice_p99"], relative=0.1),
            ),
            Claim(
                "X3",
                "With plain XON/XOFF the p99 delay of voice is more than ten times that without control.",
                conclusions,
                plain["voice_p99"] > 10 * none["voice_p99"],
            ),
            Claim(
                "X4",
                "With class information no video packet is lost.",
                conclusions,
                load.where(mechanism=["class", "class-destination"])["video_loss"].is_zero(),
            ),
            Claim(
                "X5",
                "The mean delay of video is longer with destination information alone than with class and destination "
                "information: half of the video goes to congested clients.",
                conclusions,
                both["video_delay"] < by_destination["video_delay"],
            ),
            Claim(
                "X6a",
                "With destination information uploads, which share only the backbone with the bursts, lose nothing.",
                conclusions,
                load.where(mechanism=["destination", "class-destination"])["upload_loss"].is_zero(),
            ),
            Claim(
                "X6b",
                "With class and destination information the mean delay of uploads is within 5 % of that without "
                "control.",
                conclusions,
                both["upload_delay"].close_to(none["upload_delay"], relative=0.05),
            ),
            Claim(
                "X7",
                "With plain XON/XOFF and with class information alone packets of uploads are lost.",
                conclusions,
                load.where(mechanism=["plain", "class"])["upload_loss"] > 0,
            ),
            Claim(
                "X8",
                "The loss of all data is lower with class and destination information than with class information "
                "alone, and lower with class information alone than without control.",
                conclusions,
                (both["data_loss"] < by_class["data_loss"]) & (by_class["data_loss"] < none["data_loss"]),
            ),
            Claim(
                "X9",
                "Under every mechanism each packet is delivered, dropped or still in the network at the end, and no "
                "packet overtakes another of its flow.",
                "invariant: packets are conserved, and each flow has one path and one FIFO queue at each port",
                results["unaccounted"].is_zero(),
            ),
            Claim.comparison(
                "X10",
                "Packet-hops per second of simulated time with class and destination information.",
                "not in the slides",
                both["hops"],
                "the size of the simulation, not a claim",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss and delay of each type of traffic by mechanism; in full also loss by rate of the bursts."""
        load = results.where(rate=LOAD)
        yield Figure(
            "loss",
            "Packet loss by type of traffic",
            "Each burst source sends 7 Mbit/s. Voice is class 0, video class 1, the others class 2.",
            lambda: _groups(load, [f"{kind}_loss" for kind in KINDS], list(KINDS), "packet loss (%)", "symlog"),
            claims=("X1", "X4", "X6a", "X7", "X8"),
        )
        yield Figure(
            "delay",
            "Mean delay by type of traffic",
            "Each burst source sends 7 Mbit/s.",
            lambda: _groups(load, [f"{kind}_delay" for kind in KINDS], list(KINDS), "mean delay (ms)", "log"),
            claims=("X5", "X6b"),
        )
        names = ["voice_p99", "video_p99", "data_p99"]
        yield Figure(
            "p99",
            "p99 delay by class",
            "Each burst source sends 7 Mbit/s.",
            lambda: _groups(load, names, ["voice", "video", "data"], "p99 delay (ms)", "log"),
            claims=("X2", "X3"),
        )
        if results.profile == "full":
            for metric, title in (("data_loss", "Packet loss of all data"), ("upload_loss", "Packet loss of uploads")):
                at = {name: results.where(mechanism=name)[metric] for name in MECHANISMS}
                yield fig.compare(
                    at, f"{metric.replace('_', '-')}-by-rate", f"{title}, by the rate of each burst source", x="rate"
                )


def _groups(results: Results, metrics: Sequence[str], labels: Sequence[str], y: str, y_scale: Scale) -> Drawing:
    """Draw a group of marks with intervals for each metric, a mark for each mechanism; `labels` name the groups."""
    from tailback.plotting import plot

    figure = plot.new(width=8.0, height=3.8)
    axes = figure.axes[0]
    step = 0.6 / (len(MECHANISMS) - 1)
    with plot.style():
        for index, mechanism in enumerate(MECHANISMS):
            found = [next(iter(results.where(mechanism=mechanism)[name].intervals()))[1] for name in metrics]
            x = [group + index * step - 0.3 for group in range(len(metrics))]
            bars = [[i.mean - i.lo for i in found], [i.hi - i.mean for i in found]]
            colour, mark = plot.COLOURS[index], "os^Dv"[index]
            axes.errorbar(
                x,
                [i.mean for i in found],
                yerr=bars,
                fmt=mark,
                color=colour,
                elinewidth=1.2,
                clip_on=False,
                label=mechanism,
            )
        axes.set_xticks(range(len(labels)), labels)
        axes.grid(visible=False, axis="x")
        for group in range(1, len(labels)):
            axes.axvline(group - 0.5, color="#e4e4e4", linewidth=0.8)
        plot.finish(axes, y=y, y_scale=y_scale)
        axes.legend(title="mechanism", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
