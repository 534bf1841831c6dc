"""datacentre-red: RED in the rate limiters' queues, compared with the simple queue management of the slides."""

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
# The managements that the slide compares.
PAIR = ("simple", "RED")
FLOORS_MS = (20, 50)
"""Minimum RTOs, ms: 2 and 5 ticks of a kernel's clock of 10 ms, while the scenario's granularity is 100 us. 1 ms is
run, too."""
RECOVERIES: dict[AxisValue, Value] = {
    "NewReno": {"kind": "newreno"},
    "SACK": {"kind": "sack", "prr": False, "rack": False, "tlp": False},
}


def _management(name: str, *, mark: bool) -> dict[str, Value]:
    """Return the settings of the limiters' queue: none, simple, RED as for the Internet, or RED for a short queue."""
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
    """The network of the slides with flow control: no queue management, the simple one, and RED with two settings."""

    id = "datacentre-red"
    title = "RED in the rate limiters' queues"
    reference = "Bergamasco, IEEE 802 Plenary, July 2005, slide 7"
    axes = (
        Axis("management", "queue management"),
        Axis("signal", "drop or mark"),
        Axis("recovery", "loss recovery"),
        Axis("floor", "minimum RTO", "ms"),
    )
    quick = Profile(duration="400ms", warmup="100ms", replications=4, max_replications=12, cpu_s=60)
    full = Profile(duration="1200ms", warmup="200ms", replications=4, max_replications=40, cpu_s=550)
    metrics = (
        *(tps(group) for group in ("bulk", "on/off", "ref1", "ref2")),
        *(latency(group) for group in ("bulk", "on/off")),
        mean_limited(),
        m.drops_at("es*->core", name="edge_drops", label="frames lost at the edges"),
        m.marks("es*->core", name="marks", label="frames marked at the edges"),
        m.stopped("st*->es*", name="stopped", label="time hosts are stopped by flow control"),
        idle(),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: managements by minimum RTO, in quick with SACK and marks only for `PAIR`."""
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
        """Return the settings of flow control, queue management, drops or marks, and TCP's recovery and minimum RTO."""
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
        """Return the claims on RED at a minimum RTO of 20 and 50 ms, and the sensitivity to the minimum RTO."""
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
                "With drops and a minimum RTO of 20 or 50 ms, on/off connections complete fewer transactions under "
                "RED than under the simple management.",
                slide,
                red["onoff_tps"] < simple["onoff_tps"],
                headline="RED does not work well in limiters' queues",
            ),
            Claim.calibrated(
                "R2",
                "With drops and a minimum RTO of 50 ms, on/off connections complete fewer transactions under RED than "
                "with no queue management.",
                slide,
                red_longest["onoff_tps"] < none_longest["onoff_tps"],
                "the minimum RTO was chosen after the result: with 20 ms the claim is undecided",
            ),
            Claim.calibrated(
                "R3",
                "With drops and a minimum RTO of 50 ms, the bottleneck is idle for longer under RED than under the "
                "simple management.",
                slide,
                red_longest["idle"] > simple_longest["idle"],
                "the minimum RTO was chosen after the result: with 20 ms the claim is undecided",
            ),
            Claim.unasserted(
                "R4",
                "With marks and a minimum RTO of 20 or 50 ms, on/off connections complete fewer transactions under "
                "RED than under the simple management.",
                "slide 7: RED (mark/drop), stated; the measure is ours",
                marking.where(management="RED")["onoff_tps"] < marking.where(management="simple")["onoff_tps"],
                "a mark causes no timeout: the difference is about 2.5 Tps, a third of that with drops, and may be "
                "undecided with few replications",
            ),
            Claim.comparison(
                "R5",
                "With drops, on/off throughput under RED minus that under the simple management, by minimum RTO.",
                "sensitivity: the slides do not give the minimum RTO",
                by_floor.where(management="RED")["onoff_tps"] - by_floor.where(management="simple")["onoff_tps"],
                "with a minimum RTO of 1 ms losses cost almost no time, and so RED hardly differs",
            ),
            Claim.comparison(
                "R6",
                "Throughput of on/off connections by queue management.",
                "slide 7",
                results["onoff_tps"],
                "slide 7 has no figures",
            ),
            Claim.comparison(
                "R7",
                "Throughput of bulk connections by queue management.",
                "slide 7",
                results["bulk_tps"],
                "slide 7 has no figures",
            ),
            Claim.comparison(
                "R8",
                "Mean queue of the limiters at an edge by queue management.",
                "slide 7",
                results["limited"],
                "slide 7 has no figures",
            ),
            Claim.comparison(
                "R9",
                "Frames lost at the edges with drops, at a minimum RTO of 20 and 50 ms.",
                "slide 7: buffer too small, very few flows",
                dropping["edge_drops"],
                "RED raises its probability until its average queue is within its thresholds; that of the simple "
                "management stays at 1 %",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield on/off throughput, idle time of the bottleneck and limiters' queue by minimum RTO."""
        shown = results.where(signal="drop", recovery="NewReno")
        for name, title, y, claims in (
            ("onoff_tps", "Throughput of on/off connections, with drops", "", ("R1", "R2", "R5", "R6")),
            ("idle", "Idle time of the bottleneck, with drops", "", ("R3",)),
            ("limited", "Mean queue of the limiters, with drops", "mean queue at an edge", ("R8",)),
        ):
            curves = {str(kind): shown[name].where(management=kind) for kind in shown[name].values_of("management")}
            yield fig.compare(curves, name, title, "NewReno.", x="floor", y=y, claims=claims)
        marks = results.where(signal="mark", recovery="NewReno")["onoff_tps"]
        curves = {str(kind): marks.where(management=kind) for kind in marks.values_of("management")}
        yield fig.compare(
            curves, "marking", "Throughput of on/off connections, with marks", "NewReno.", x="floor", claims=("R4",)
        )
