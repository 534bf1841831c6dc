"""RED in the rate limiters' queues against the simple queue management of the slides."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery import Axis, Claim, Experiment, Figure, Point, Profile, ProfileName, Results, Settings, grid
from tailback.gallery import figures as fig
from tailback.gallery import metrics as m
from tailback.gallery.datacentre.network import BOTTLENECK, edge_settings, latency, mean_limited, policy, tps
from tailback.scenario import Value

MANAGEMENTS = ("none", "simple", "RED", "RED, adapted")


def _management(name: str, *, mark: bool) -> dict[str, Value]:
    """What stands in each limiter's queue: RED as for the Internet, or with thresholds and weight for a short queue."""
    if name == "none":
        return {}
    if name == "simple":
        return dict(policy("mark" if mark else "drop"))
    red: dict[str, Value] = {"kind": "red", "ecn": mark, "gentle": True, "max-p": 0.1}
    red |= (
        {"min": "15kB", "max": "45kB", "weight": 0.002}
        if name == "RED"
        else {"min": "15kB", "max": "150kB", "weight": 0.1, "max-p": 0.03}
    )
    return edge_settings("rate-limiters.discipline", red)


class Red(Experiment):
    """The network of the slides with link-level flow control and four kinds of queue management."""

    id = "datacentre-red"
    title = "RED in the rate limiters' queues"
    reference = "Bergamasco, IEEE 802 Plenary, July 2005, slide 7"
    axes = (Axis("management", "queue management"), Axis("signal", "signal"))
    quick = Profile(duration="350ms", warmup="50ms", replications=4, max_replications=12, cpu_s=35)
    full = Profile(duration="1050ms", warmup="50ms", replications=10, max_replications=40, cpu_s=500)
    metrics = (
        *(tps(group) for group in ("bulk", "on/off", "ref1", "ref2")),
        *(latency(group) for group in ("bulk", "on/off")),
        mean_limited(),
        m.drops_at("es*->core", name="edge_drops", label="frames lost at the edges"),
        m.marks("es*->core", name="marks", label="frames marked at the edges"),
        m.stopped("st*->es*", name="stopped", label="hosts stopped"),
        m.utilisation(BOTTLENECK),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """All, dropping and marking."""
        del profile
        return grid(management=MANAGEMENTS[:1], signal=("drop",)) + grid(
            management=MANAGEMENTS[1:], signal=("drop", "mark")
        )

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Flow control with one management."""
        del profile
        mark = point["signal"] == "mark"
        ecn: dict[str, Value] = {f"flows[{f}].transport.ecn": "classic" for f in ("bulk", "on/off", "ref1", "ref2")}
        return {**policy("flow control"), **_management(str(point["management"]), mark=mark), **(ecn if mark else {})}

    def claims(self, results: Results) -> Iterable[Claim]:
        """What the slides say of RED, as far as it can be counted."""
        simple, red = results.where(management="simple"), results.where(management="RED")
        adapted = results.where(management="RED, adapted")
        return [
            Claim(
                "R1",
                "RED gives on/off connections what the simple management gives them, within 10 %.",
                "ours: slide 7 says that RED does not work well here, and names no measure",
                red["onoff_tps"].close_to(simple["onoff_tps"], relative=0.1),
            ),
            Claim(
                "R2",
                "Dropping, RED loses more frames than the simple management.",
                "slide 7: very few flows, small buffer",
                red.where(signal="drop")["edge_drops"] > simple.where(signal="drop")["edge_drops"],
            ),
            Claim(
                "R3",
                "Neither costs the bottleneck any throughput: it carries more than 99 % with both.",
                "derived",
                (simple["utilisation"] > 99) & (red["utilisation"] > 99),
            ),
            Claim.comparison("R4", "On/off throughput.", "slide 7", results["onoff_tps"], "slide 7 has no figures"),
            Claim.comparison("R5", "Bulk throughput.", "slide 7", results["bulk_tps"], "slide 7 has no figures"),
            Claim.comparison("R6", "The limiters' queues.", "slide 7", results["limited"], "slide 7 has no figures"),
            Claim.comparison(
                "R7",
                "On/off throughput with RED of thresholds and weight for a short queue.",
                "not in the slides",
                adapted["onoff_tps"],
                "RED as a competent operator would set it here",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Throughput and queue."""
        for name, title in (
            ("onoff_tps", "On/off connections"),
            ("bulk_tps", "Bulk connections"),
            ("limited", "Queue of the limiters"),
        ):
            shown = results[name]
            curves = {signal: shown.where(signal=signal) for signal in ("drop", "mark")}
            claims = ("R1", "R4") if name == "onoff_tps" else ()
            y = "mean queue at an edge" if name == "limited" else ""
            yield fig.compare(curves, name, title, x="management", y=y, claims=claims)
