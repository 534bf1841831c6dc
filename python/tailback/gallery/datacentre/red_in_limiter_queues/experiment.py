"""RED in the rate limiters' queues against the simple queue management of the slides."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery.datacentre.shared.network import (
    WAITS_US,
    edge_settings,
    idle,
    latency,
    mean_limited,
    policy,
    tps,
)
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.scenario import Value
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

MANAGEMENTS = ("none", "simple", "RED", "RED, adapted")
PAIR = ("simple", "RED")
FLOORS_MS = (20, 50)
"""Least timeouts of 2 to 5 ticks of a clock of 10 ms; at 1 ms, which is swept too, a timeout costs next to nothing."""
RECOVERIES: dict[AxisValue, Value] = {
    "NewReno": {"kind": "newreno"},
    "SACK": {"kind": "sack", "prr": False, "rack": False, "tlp": False},
}


def _management(name: str, *, mark: bool) -> dict[str, Value]:
    """Discipline of each limiter's queue: RED as for the Internet, or with thresholds and weight for a short queue."""
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
    axes = (
        Axis("management", "queue management"),
        Axis("signal", "signal"),
        Axis("recovery", "recovery"),
        Axis("floor", "least timeout", "ms"),
    )
    quick = Profile(duration="400ms", warmup="100ms", replications=4, max_replications=12, cpu_s=60)
    full = Profile(duration="1200ms", warmup="200ms", replications=4, max_replications=40, cpu_s=550)
    metrics = (
        *(tps(group) for group in ("bulk", "on/off", "ref1", "ref2")),
        *(latency(group) for group in ("bulk", "on/off")),
        mean_limited(),
        m.drops_at("es*->core", name="edge_drops", label="frames lost at the edges"),
        m.marks("es*->core", name="marks", label="frames marked at the edges"),
        m.stopped("st*->es*", name="stopped", label="hosts stopped"),
        idle(),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Managements by the least timeout; with `quick` SACK and marks only for the two that are compared."""
        if profile == "quick":
            return (
                grid(management=PAIR, signal=("drop",), recovery=("NewReno",), floor=(1, *FLOORS_MS))
                + grid(management=("none", "RED, adapted"), signal=("drop",), recovery=("NewReno",), floor=FLOORS_MS)
                + grid(management=PAIR, signal=("drop",), recovery=("SACK",), floor=FLOORS_MS)
                + grid(management=PAIR, signal=("mark",), recovery=("NewReno",), floor=FLOORS_MS)
            )
        floors = (1, 10, *FLOORS_MS)
        return grid(management=("none",), signal=("drop",), recovery=RECOVERIES, floor=floors) + grid(
            management=MANAGEMENTS[1:], signal=("drop", "mark"), recovery=RECOVERIES, floor=floors
        )

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Flow control with one management, and TCP's recovery and least timeout."""
        del profile
        mark = point["signal"] == "mark"
        ecn: Settings = {f"flows[{flow}].transport.ecn": "classic" for flow in WAITS_US}
        tcp: Settings = {
            f"flows[{flow}].transport.{key}": value
            for flow in WAITS_US
            for key, value in (
                ("recovery", RECOVERIES[str(point["recovery"])]),
                ("timers.min-rto", f"{point['floor']}ms"),
            )
        }
        chosen = _management(str(point["management"]), mark=mark)
        return {**policy("flow control"), **tcp, **chosen, **(ecn if mark else {})}

    def claims(self, results: Results) -> Iterable[Claim]:
        """The slides' statements on RED with usual least timeouts, and the case of a timeout that costs nothing."""
        long = results.where(floor=list(FLOORS_MS))
        dropping, marking = long.where(signal="drop"), long.where(signal="mark")
        simple, red = (dropping.where(management=name) for name in PAIR)
        longest = results.where(floor=FLOORS_MS[-1], signal="drop", recovery="NewReno")
        none_longest, simple_longest, red_longest = (
            longest.where(management=name) for name in ("none", "simple", "RED")
        )
        by_floor = results.where(signal="drop", recovery="NewReno")
        slide = "slide 7: RED does not work well in these queues (stated); the measure is ours"
        return [
            Claim(
                "R1",
                "Dropping, RED gives on/off connections less than the simple management does.",
                slide,
                red["onoff_tps"] < simple["onoff_tps"],
                headline="RED does not work well in limiters' queues",
            ),
            Claim.calibrated(
                "R2",
                "Dropping, with a least timeout of 50 ms it gives them less than no management at all.",
                slide,
                red_longest["onoff_tps"] < none_longest["onoff_tps"],
                "the timeout was chosen after the result: with 20 ms it is undecided",
            ),
            Claim.calibrated(
                "R3",
                "There it leaves the bottleneck idle for longer than the simple management does.",
                slide,
                red_longest["idle"] > simple_longest["idle"],
                "the timeout was chosen after the result: with 20 ms it is undecided",
            ),
            Claim.unasserted(
                "R4",
                "Marking, RED gives on/off connections less than the simple management does.",
                "slide 7: RED (mark/drop), stated; the measure is ours",
                marking.where(management="RED")["onoff_tps"] < marking.where(management="simple")["onoff_tps"],
                "a mark costs no timeout: the difference is some 2.5 Tps, a third of that with drops, which few "
                "replications may or may not tell from none",
            ),
            Claim.comparison(
                "R5",
                "On/off throughput with RED that drops, less that with the simple management, by the least timeout.",
                "sensitivity: the slides do not give it",
                by_floor.where(management="RED")["onoff_tps"] - by_floor.where(management="simple")["onoff_tps"],
                "with timeouts of 1 ms losses cost next to nothing, and RED with them",
            ),
            Claim.comparison("R6", "On/off throughput.", "slide 7", results["onoff_tps"], "slide 7 has no figures"),
            Claim.comparison("R7", "Bulk throughput.", "slide 7", results["bulk_tps"], "slide 7 has no figures"),
            Claim.comparison("R8", "The limiters' queues.", "slide 7", results["limited"], "slide 7 has no figures"),
            Claim.comparison(
                "R9",
                "Frames lost at the edges.",
                "slide 7: buffer too small, very few flows",
                dropping["edge_drops"],
                "RED raises its probability until its average is within its thresholds; the simple one stays at 1 %",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Throughput, line and queue over the least timeout."""
        shown = results.where(signal="drop", recovery="NewReno")
        for name, title, y, claims in (
            ("onoff_tps", "On/off connections, dropping", "", ("R1", "R2", "R5", "R6")),
            ("idle", "The bottleneck, dropping", "", ("R3",)),
            ("limited", "Queue of the limiters, dropping", "mean queue at an edge", ("R8",)),
        ):
            curves = {str(kind): shown[name].where(management=kind) for kind in shown[name].values_of("management")}
            yield fig.compare(curves, name, title, "NewReno.", x="floor", y=y, claims=claims)
        marks = results.where(signal="mark", recovery="NewReno")["onoff_tps"]
        curves = {str(kind): marks.where(management=kind) for kind in marks.values_of("management")}
        yield fig.compare(curves, "marking", "On/off connections, marking", "NewReno.", x="floor", claims=("R4",))
