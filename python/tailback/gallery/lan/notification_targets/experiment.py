"""lan-notify, two choices of the slides: the neighbours that are notified, and the source of the list of addresses."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.study.experiment import (
    Axis,
    AxisValue,
    Claim,
    Experiment,
    Figure,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)

ALL, FEEDING = "plain, all neighbours", "plain, feeding ports"
DATABASE, BUFFER = "destination, filtering database", "destination, buffer"
EDGE, LARGE_EDGE = 50, 500
"""Buffer of the edge switches, kB, and the larger buffer of comparisons R1 to R4."""
BACKPRESSURE: dict[AxisValue, Settings] = {
    "none": {"backpressure.scope": "none"},
    ALL: {"backpressure.scope": "plain", "backpressure.notify": "all"},
    FEEDING: {"backpressure.scope": "plain", "backpressure.notify": "feeding"},
    DATABASE: {"backpressure.scope": "destination", "backpressure.addresses": "filtering-database"},
    BUFFER: {"backpressure.scope": "destination", "backpressure.addresses": "buffer"},
}


class WhomToNotify(Experiment):
    """One congested destination and two bystanders at different distances from it."""

    id = "lan-notify"
    title = "Whom to notify, and of which addresses"
    reference = "Tobagi, Fraleigh and Noureddine, slides Congestion Control Mechanism and Notification Information"
    axes = (
        Axis("mechanism", "mechanism"),
        Axis("rate", "S1 data rate", "Mbit/s"),
        Axis("edge", "buffer of the edge switches", "kB"),
    )
    quick = Profile(duration="40s", warmup="5s", replications=5, max_replications=20, cpu_s=8)
    full = Profile(duration="220s", warmup="20s", replications=10, max_replications=80, cpu_s=110)
    metrics = (
        m.loss("s1", "s1_loss", "S1 packet loss"),
        m.loss("s2", "s2_loss", "S2 packet loss"),
        m.loss("s3", "s3_loss", "S3 packet loss"),
        m.mean_delay("s2", "s2_delay", "S2 mean delay"),
        m.mean_delay("s3", "s3_delay", "S3 mean delay"),
        m.drops_at("sw3->*", name="drops_sw3", label="packets lost at sw3"),
        m.stopped("sw4->sw2", name="stopped_sw4", label="time sw4 is stopped"),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: each mechanism at several rates, at 8 Mbit/s also with large buffers."""
        rates = (4, 6, 8, 9) if profile == "full" else (4, 6, 8)
        small = grid(mechanism=BACKPRESSURE, rate=rates, edge=[EDGE])
        return small + grid(mechanism=BACKPRESSURE, rate=[8], edge=[LARGE_EDGE])

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the mechanism, the rate of S1 and the buffers of the edge switches."""
        del profile  # only the length differs between the profiles
        edge = f"{point['edge']}kB"
        return {
            **BACKPRESSURE[point["mechanism"]],
            "flows[s1].source.rate": f"{point['rate']}Mbit/s",
            "switches.sw1.buffer": edge,
            "switches.sw4.buffer": edge,
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the effect of each choice on the bystanders S2 and S3."""
        larger = results.where(edge=LARGE_EDGE, rate=8)
        none, everyone, feeding, database, buffer = (results.where(mechanism=name, edge=EDGE) for name in BACKPRESSURE)
        return [
            Claim(
                "N1",
                "If all neighbours are notified, packets of S3 are lost at 8 Mbit/s, though S3 sends none to the "
                "congested buffer.",
                "derived; the slides list the choice",
                everyone.where(rate=8)["s3_loss"] > 0,
            ),
            Claim(
                "N2",
                "If only feeding ports are notified, no packet of S3 is lost and sw4, its switch, is never stopped.",
                "derived; the slides list the choice",
                feeding["s3_loss"].is_zero() & (feeding["stopped_sw4"] <= 0),
            ),
            Claim(
                "N3",
                "Nothing is lost at the congested buffer, whether all neighbours or only feeding ports are notified.",
                "derived from the headroom: a port that begins to feed the buffer is notified at its first frame",
                (everyone["drops_sw3"].is_zero()) & (feeding["drops_sw3"].is_zero()),
            ),
            Claim(
                "N4",
                "If only feeding ports are notified, S2, which feeds the congested backbone port, still loses packets "
                "at 8 Mbit/s, and its mean delay is more than five times that without control at every rate.",
                "derived: sw1, which forwards the packets of S1 and S2, is stopped",
                (feeding.where(rate=8)["s2_loss"] > 0) & (feeding["s2_delay"] > 5 * none["s2_delay"]),
            ),
            Claim(
                "A1",
                "With addresses from the filtering database, S2 loses packets at 8 Mbit/s: the notification of the "
                "congested backbone port lists all addresses behind the port, that of d2 included.",
                "derived; the slides list both sources of addresses",
                database.where(rate=8)["s2_loss"] > 0,
            ),
            Claim(
                "A2",
                "With addresses from the packets in the buffer, S2 loses nothing, and its mean delay is at most 10 % "
                "longer than without control.",
                "derived: the packets in the congested buffers are to d1 only",
                buffer["s2_loss"].is_zero() & (buffer["s2_delay"] <= 1.1 * none["s2_delay"]),
            ),
            Claim(
                "A3",
                "With addresses from the filtering database or from the buffer, S3, whose destination is not behind "
                "the congested port, loses nothing.",
                "derived: no list contains the address of d3",
                database["s3_loss"].is_zero() & buffer["s3_loss"].is_zero(),
            ),
            *(
                Claim.comparison(
                    name,
                    f"{text} at 8 Mbit/s if the edge switches have 500 kB.",
                    "sensitivity",
                    larger.where(mechanism=mechanism)[metric],
                    "the small edge buffers are a calibrated choice: this is the value with large ones",
                )
                for name, text, mechanism, metric in (
                    ("R1", "Loss of S3 with all neighbours notified", ALL, "s3_loss"),
                    ("R2", "Mean delay of S3 with all neighbours notified", ALL, "s3_delay"),
                    ("R3", "Loss of S2 with the filtering database", DATABASE, "s2_loss"),
                    ("R4", "Mean delay of S2 with the filtering database", DATABASE, "s2_delay"),
                )
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss and delay of the bystanders S2 and S3, and loss of S1."""
        at = {str(name): results.where(mechanism=name, edge=EDGE) for name in BACKPRESSURE}
        caption = (
            "S2 shares the backbone link with S1; S3 shares only the switch sw2. Both send 10 Mbit/s. Some curves "
            "coincide."
        )
        loss = {name: found["s2_loss"] for name, found in at.items()}
        yield fig.compare(loss, "s2-loss", "S2 packet loss", caption, x="rate", claims=("A1", "A2", "R3"))
        loss = {name: found["s3_loss"] for name, found in at.items()}
        yield fig.compare(loss, "s3-loss", "S3 packet loss", caption, x="rate", claims=("N1", "N2", "A3", "R1"))
        delay = {name: found["s2_delay"] for name, found in at.items()}
        yield fig.compare(delay, "s2-delay", "S2 mean delay", caption, x="rate", y_scale="log", claims=("N4", "R4"))
        delay = {name: found["s3_delay"] for name, found in at.items()}
        yield fig.compare(delay, "s3-delay", "S3 mean delay", caption, x="rate", claims=("R2",))
        loss = {name: found["s1_loss"] for name, found in at.items()}
        yield fig.compare(loss, "s1-loss", "S1 packet loss", caption, x="rate", claims=("N3",))
