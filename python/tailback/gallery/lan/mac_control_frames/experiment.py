"""lan-mac: the slides' idealised XON/XOFF compared with the control frames of 802.3x and 802.1Qbb."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.scenario import Value
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

IDEAL, MAC, SHORT = "on-off", "MAC frames", "MAC frames, 128 quanta"
SIGNALS: dict[AxisValue, Value] = {
    IDEAL: {"kind": "on-off"},
    MAC: {"kind": "mac", "quanta": 65535},
    SHORT: {"kind": "mac", "quanta": 128},
}
FILES: dict[AxisValue, str] = {
    "traffic merging": "merging.toml",
    "video and data": "class.toml",
    "independent flows": "independent.toml",
}
CONTROL_WIRE = 84
"""Bytes of a 64 B control frame on the wire, with preamble and gap."""


def _control_frames(report: Report) -> float:
    """Return the number of control frames of all ports per second of the run, warm-up included."""
    return report.data["control_frames"] / report.data["end_s"]


def _control_share(report: Report) -> float:
    """Return the share of a link that control frames take, in percent, on the link where it is largest."""
    shares = (port["notifications_sent"] * CONTROL_WIRE * 8 / port["rate_bps"] for port in report.data["ports"])
    return 100 * max(shares) / report.data["end_s"]


class MacControlFrames(Experiment):
    """Traffic merging, video with data, and independent flows, each with three forms of notification."""

    id = "lan-mac"
    title = "Idealised notifications against MAC control frames"
    reference = "Tobagi, Fraleigh and Noureddine, A.1, B.1 and C.1; IEEE 802.3 Annex 31B; IEEE 802.1Qbb"
    axes = (Axis("case", "case"), Axis("signal", "signal"), Axis("rate", "data rate", "Mbit/s"))
    quick = Profile(duration="45s", warmup="5s", replications=5, max_replications=16, cpu_s=6)
    full = Profile(duration="220s", warmup="20s", replications=10, max_replications=60, cpu_s=70)
    metrics = (
        m.loss(),
        m.throughput(),
        m.mean_delay(),
        Observable("control", "control frames per second", "1/s", _control_frames),
        Observable("share", "largest share of a link that control frames take", "%", _control_share),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: each case and form of notification at rates with many notifications."""
        full = profile == "full"
        merging, video, independent = FILES
        return (
            grid(case=[merging], signal=SIGNALS, rate=(1, 1.5, 2, 2.5, 3) if full else (1, 2, 3))
            + grid(case=[video], signal=SIGNALS, rate=(3, 4, 5, 6, 7) if full else (3, 5, 7))
            + grid(case=[independent], signal=SIGNALS, rate=(2, 4, 6, 8, 9) if full else (2, 5, 8))
        )

    def scenario(self, point: Point) -> str:
        """Return the scenario of the point's case."""
        return FILES[point["case"]]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the form of notification and of the data rate."""
        del profile  # only the length differs between the profiles
        return {"backpressure.signal": SIGNALS[point["signal"]], "flows[data].source.rate": f"{point['rate']}Mbit/s"}

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: all forms of notification stop the same traffic, and take a small share of the links."""
        ideal, mac, short = (results.where(signal=name) for name in SIGNALS)
        return [
            Claim(
                "C1",
                "With PAUSE and PFC frames the loss equals that with idealised notifications, within 0.2 percentage "
                "points.",
                "derived: if pauses are refreshed, frames stop the same traffic as idealised notifications, up to the "
                "time of a frame",
                (mac["loss"] - ideal["loss"]).within(-0.2, 0.2),
            ),
            Claim(
                "C2",
                "With PAUSE and PFC frames the throughput equals that with idealised notifications, within 1 %.",
                "derived as C1",
                mac["throughput"].close_to(ideal["throughput"], relative=0.01),
            ),
            Claim(
                "C3",
                "With pauses of 128 quanta the loss equals that with pauses of 65535 quanta, within 0.2 percentage "
                "points.",
                "derived: a pause is refreshed after half its time, so its length does not matter",
                (short["loss"] - mac["loss"]).within(-0.2, 0.2),
            ),
            Claim(
                "C4",
                "Pauses of 128 quanta need more control frames than pauses of 65535 quanta.",
                "derived: a pause of 128 quanta is refreshed every 64 quanta",
                mac["control"] < short["control"],
            ),
            Claim(
                "C5",
                "Control frames take less than 2.2 % of any link with pauses of 65535 quanta.",
                "derived: between XOFF and XON a queue falls by 5 kB, and rises by as much before the next XOFF",
                mac["share"] < 2.2,
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the loss, and the rate and share of control frames, with a panel per case."""
        rows = (
            ("loss", "Packet loss of all flows", "The three curves coincide.", ("C1", "C2", "C3")),
            ("control", "Control frames per second", "", ("C4",)),
            ("share", "Largest share of a link that control frames take", "", ("C5",)),
        )
        for metric, title, caption, claims in rows:
            at = {str(signal): results.where(signal=signal)[metric] for signal in SIGNALS}
            yield fig.compare(at, metric, title, caption, x="rate", panel="case", claims=claims)
