"""lan-headroom, overshoot of a queue above its high threshold by cable length and response time, and the formula."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tailback.bounds.headroom import NS_PER_M, headroom
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.scenario import Table
from tailback.study.experiment import (
    Axis,
    AxisValue,
    Claim,
    Condition,
    Experiment,
    Figure,
    Observable,
    Point,
    Profile,
    ProfileName,
    Quantity,
    Results,
    Settings,
    grid,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Rate of the link that feeds the slow port, bit/s.
RATE = 1e9
# Largest payload of a frame, bytes.
MTU = 1500
HIGH_KB, LOW_KB = 40, 35
"""Thresholds, kB; in the small buffer they are the 80 and 70 % of the slides."""
SMALL, LARGE = 50, 200
"""Buffers, kB: one that can overflow, and one that never limits the overshoot."""
# Space above the high threshold in the small buffer, kB.
ROOM_KB = SMALL - HIGH_KB
SHORT_KM, STANDARD_US = 0.2, 1.024
"""Cable length, km, while the response time is varied, and response time, µs, while the length is varied.
 The response time is the standard's limit of 2 quanta at 1 Gbit/s. """
# Cable lengths, km, and response times, µs, of the full profile.
LENGTHS = (0.2, 1, 2, 3, 4, 6, 8, 10)
RESPONSES = (0, 1.024, 10, 20, 30, 40, 60, 80, 100)


def needed_kb(length_km: AxisValue, response_us: AxisValue) -> float:
    """Return the headroom by the formula, kB, for the link of rate `RATE`."""
    delay_s, response_s = float(length_km) * 1e3 * NS_PER_M * 1e-9, float(response_us) * 1e-6
    return headroom(RATE, MTU, delay_s, response_s).bytes / 1e3


def _overshoot(report: Report) -> float:
    """Return the maximum of the slow port's queue minus the high threshold, kB; negative if it was never reached."""
    return 1e-3 * report.max_queue_bytes("sw2->d") - HIGH_KB


class Headroom(Experiment):
    """One gigabit link into a 10 Mbit/s port."""

    id = "lan-headroom"
    title = "Headroom above the high threshold"
    reference = "IEEE 802.3 Annex 31B; Tobagi, Fraleigh and Noureddine, slide Congestion Detection"
    axes = (
        Axis("buffer", "buffer", "kB"),
        Axis("length", "cable length", "km"),
        Axis("response", "response time", "µs"),
    )
    quick = Profile(duration="5s", warmup="500ms", replications=5, max_replications=12, cpu_s=8)
    full = Profile(duration="10s", warmup="500ms", replications=10, max_replications=60, cpu_s=70)
    metrics = (
        m.drops_at("sw2->d", flows="data", name="drops", label="packets lost at the slow port"),
        m.loss("data"),
        Observable("overshoot", "overshoot of the high threshold", "kB", _overshoot, lowest=None),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: a sweep of the cable length and one of the response time, each with both buffers."""
        lengths = LENGTHS if profile == "full" else (0.2, 2, 4, 6, 10)
        responses = RESPONSES if profile == "full" else (1.024, 20, 40, 60, 100)
        by_length = grid(buffer=(SMALL, LARGE), length=lengths, response=[STANDARD_US])
        return by_length + grid(buffer=(SMALL, LARGE), length=[SHORT_KM], response=responses)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of buffer, notifications and cable; both buffers have the same thresholds in bytes."""
        del profile  # only the length differs between the profiles
        buffer = float(point["buffer"])
        detection: Table = {"kind": "watermark", "high": HIGH_KB / buffer, "low": LOW_KB / buffer}
        return {
            "switches.sw2.buffer": f"{point['buffer']}kB",
            "switches.sw2.backpressure": {
                "scope": "plain",
                "detection": detection,
                "signal": {"kind": "mac", "quanta": 65535},
                "response-time": f"{float(point['response']):g}us",
            },
            "links[1].length": f"{float(point['length']) * 1e3:g}m",
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: the formula is a tight bound of the overshoot, and predicts where loss begins."""
        small = results.where(buffer=SMALL)
        return [
            Claim(
                "H1",
                "Nothing is lost if the headroom by the formula is at most the 10 kB above the high threshold.",
                "derived: the headroom formula counts all bytes that can arrive",
                _each(small["drops"], lambda needed: needed <= ROOM_KB, lambda drops, _: drops.is_zero()),
            ),
            Claim(
                "H2",
                "Packets are lost if the headroom by the formula exceeds the 10 kB above the high threshold by a "
                "fifth or more.",
                "derived: all terms of the formula are reached, though not to their last byte",
                _each(small["drops"], lambda needed: needed >= 1.2 * ROOM_KB, lambda drops, _: drops > 0),
            ),
            Claim(
                "H3",
                "In a buffer of 200 kB the overshoot of the high threshold never exceeds the headroom by the formula.",
                "derived: the headroom formula counts all bytes that can arrive",
                _each(_over(results), lambda _: True, lambda over, needed: over <= needed),
            ),
            Claim(
                "H4",
                "In a buffer of 200 kB the overshoot of the high threshold is at least three quarters of the headroom "
                "by the formula.",
                "derived: all terms of the formula are reached, though not to their last byte; the bound reconstructed",
                _each(_over(results), lambda _: True, lambda over, needed: over >= 0.75 * needed),
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield overshoot and loss over both sweeps, with the formula."""
        caption = "Dashed: the formula. Buffer of 200 kB with the thresholds of the small one, so that nothing is lost."
        yield Figure(
            "overshoot",
            "Overshoot of the high threshold",
            caption,
            lambda: _draw(_over(results), formula=True),
            claims=("H3", "H4"),
        )
        caption = "Buffer of 50 kB. Shaded: the formula requires more than the 10 kB above the high threshold."
        small = results.where(buffer=SMALL)["loss"]
        yield Figure("loss", "Packet loss", caption, lambda: _draw(small, formula=False), claims=("H1", "H2"))


def _over(results: Results) -> Quantity:
    """Return the overshoot in the large buffer, which does not limit it."""
    return results.where(buffer=LARGE)["overshoot"]


def _each(
    quantity: Quantity,
    wanted: Callable[[float], bool],
    condition: Callable[[Quantity, float], Condition],
) -> Condition:
    """Return the conjunction of `condition` over the points for which `wanted` holds.

    Both functions get the point's headroom by the formula in kB.
    """
    joined: Condition | None = None
    for point, _ in quantity.intervals():
        needed = needed_kb(point["length"], point["response"])
        if wanted(needed):
            # Lists of one value keep both axes free, so that a check names its point.
            one = condition(quantity.where(length=[point["length"]], response=[point["response"]]), needed)
            joined = one if joined is None else Condition(joined.expected, joined.checks + one.checks)
    assert joined is not None, "there is a point to judge"
    return joined


def _draw(quantity: Quantity, formula: bool) -> Drawing:
    """Draw a quantity over both sweeps, one panel each, with the formula, or shaded where it exceeds the room."""
    from tailback.plotting import plot

    figure = plot.new(2, sharey=True)
    sweeps = (("length", {"response": STANDARD_US}), ("response", {"length": SHORT_KM}))
    for axes, (x, fixed) in zip(figure.axes, sweeps, strict=True):
        along, intervals = quantity.where(**fixed).curve(x)
        values = [float(value) for value in along]
        needed = [needed_kb(value, STANDARD_US) if x == "length" else needed_kb(SHORT_KM, value) for value in values]
        with plot.style():
            plot.curve(axes, along, intervals, label="measured")
            if formula:
                axes.plot(values, needed, linestyle="--", color="#666666", label="formula")
            else:
                # The formula is linear along each sweep, so its crossing of the room is found by interpolation.
                slope = (needed[-1] - needed[0]) / (values[-1] - values[0])
                axes.axvspan(values[0] + (ROOM_KB - needed[0]) / slope, values[-1], color="#f3e3d3", zorder=0)
            axis = quantity.axis(x)
            label = f"{quantity.label.split(' [')[0]} ({quantity.unit})" if axes is figure.axes[0] else ""
            plot.finish(axes, title=f"against {axis.label}", x=axis.title, y=label, ticks=values)
    return figure
