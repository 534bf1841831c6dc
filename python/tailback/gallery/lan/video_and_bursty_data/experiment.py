"""lan-b1, video and bursty data: experiment B.1, effect of back-pressure on a class that is not congested."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tailback.plotting import experiment as fig
from tailback.plotting.slides import Slide, on_one_scale
from tailback.results import observables as m
from tailback.scenario import Table
from tailback.study.experiment import (
    Axis,
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
from tailback.study.experiment.quantity import Selector

MECHANISMS = ("none", "plain", "class")
RESOLUTION = 0.05
"""Largest difference of losses that counts as equal, percentage points: a packet lost once in many minutes is no
evidence."""

OVERLOAD = 7
"""Data rate at which data and video together exceed the slow link's capacity, Mbit/s."""

# Reasons of claims that are not asserted.
CALIBRATED = "the topology was chosen so that video is lost with XON/XOFF, as the slides report"
TURNED_DOWN = "a topology that was not chosen"


@dataclass(frozen=True)
class Layout:
    """A topology: attachment of the hosts, and buffers of the switches."""

    # Description, in the text of a claim.
    words: str
    # File with the attachment of the hosts.
    scenario: str = "scenario.toml"
    settings: Settings = field(default_factory=dict)


def _shared(memory: str) -> Table:
    # A large alpha shares the memory completely: any queue may take all that is free.
    return {"buffer": memory, "model": {"kind": "shared-memory", "memory": memory, "alpha": 1024}}


CHOSEN = "chosen"
LAYOUTS = {
    CHOSEN: Layout("video behind a 50 kB switch, data host at the 500 kB switch after it"),
    "swapped": Layout(
        "the large and the small buffer swapped",
        settings={"switches.sw1": {"buffer": "500kB"}, "switches.sw2": {"buffer": "50kB"}},
    ),
    "one 500 kB switch": Layout("all hosts at one switch with 500 kB", "same_switch.toml"),
    "one 50 kB switch": Layout(
        "all hosts at one switch with 50 kB", "same_switch.toml", {"switches.sw1": {"buffer": "50kB"}}
    ),
    "shared memory": Layout(
        "as chosen, but both classes share each switch's buffer",
        settings={
            "switches.sw1": _shared("50kB"),
            "switches.sw2": _shared("500kB"),
            "switches.sw3": _shared("50kB"),
        },
    ),
}
# Id, topology and mechanism of the comparisons.
SENSITIVITY = [
    (f"S{number}{mechanism[0]}", layout, mechanism)
    for number, layout in enumerate(LAYOUTS)
    if layout != CHOSEN
    for mechanism in ("plain", "class")
]
SHOWN = [(layout, "plain") for layout in LAYOUTS] + [("shared memory", "class")]
"""Topologies and mechanisms in the figure "sensitivity"; the other curves would be zero."""


class VideoAndData(Experiment):
    """Two video streams of 1.5 Mbit/s above a bursty data stream of 1 to 7 Mbit/s, into one 10 Mbit/s link."""

    id = "lan-b1"
    title = "Video and bursty data"
    reference = "Tobagi, Fraleigh and Noureddine, experiment B.1"
    axes = (
        Axis("layout", "topology"),
        Axis("mechanism", "mechanism"),
        Axis("burst", "mean burst size of the data", "kB"),
        Axis("rate", "data rate", "Mbit/s"),
    )
    quick = Profile(duration="80s", warmup="20s", replications=5, max_replications=60, cpu_s=28)
    full = Profile(duration="660s", warmup="60s", replications=5, max_replications=60, cpu_s=260)
    metrics = (
        m.loss("data", "data_loss", "data packet loss"),
        m.loss("video", "video_loss", "video packet loss"),
        m.mean_delay("data", "data_delay", "mean delay of data"),
        m.mean_delay("video", "video_delay", "mean delay of video"),
        m.offered("video", "video_offered", "realised video load"),
        m.stopped("sw1->sw2", label="time the video's switch is stopped"),
        m.drops_outside("sw3->*", name="drops_elsewhere", label="packets lost anywhere but at sw3"),
        m.drops_at("sw1->*", "video", name="video_drops_sw1", label="video packets lost at sw1"),
        m.drops_outside("sw1->*", "video", name="video_drops_elsewhere", label="video packets lost outside sw1"),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the slides' ranges in the chosen topology; others with large bursts and high rates."""
        bursts: tuple[int, ...]
        rates: tuple[int, ...]
        if profile == "full":
            bursts, rates = (6, 12, 24, 48, 96), (1, 2, 3, 4, 5, 6, 7)
        else:
            bursts, rates = (6, 24, 48, 96), (1, 3, 5, 6, 7)
        others = [layout for layout in LAYOUTS if layout != CHOSEN]
        return grid(layout=[CHOSEN], mechanism=MECHANISMS, burst=bursts, rate=rates) + grid(
            layout=others, mechanism=MECHANISMS[1:], burst=[96], rate=(5, 6, 7)
        )

    def scenario(self, point: Point) -> str:
        """Return the file of the topology; the buffers are settings."""
        return LAYOUTS[str(point["layout"])].scenario

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of topology, scope and data source; the video streams are the same at all points."""
        longer: Settings = {}
        if profile == "quick" and point["rate"] == OVERLOAD:
            # 10.0 Mbit/s into 9.75: the excess takes 16 s to fill 500 kB, with random variation up to 32 s.
            longer = {"run.warmup": "40s", "run.duration": "120s"}
        return {
            **longer,
            **LAYOUTS[str(point["layout"])].settings,
            "backpressure.scope": point["mechanism"],
            "flows[data].source.burst": f"{point['burst']}kB",
            "flows[data].source.rate": f"{point['rate']}Mbit/s",
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on loss and delay by mechanism; those for which the topology was chosen are calibrated."""
        chosen = results.where(layout=CHOSEN)
        none, plain, selective = (chosen.where(mechanism=mechanism) for mechanism in MECHANISMS)
        bursty: dict[str, Selector] = {"burst": lambda burst: float(burst) >= 24}
        high: dict[str, Selector] = {**bursty, "rate": [6, 7]}
        large: dict[str, Selector] = {"burst": 96}
        return [
            Claim(
                "C1",
                "If notifications name the class, no video is lost.",
                "slide Video Packet Loss using Xon/Xoff with Class, and its notes; stated",
                selective["video_loss"].is_zero(),
                headline="XON/XOFF with class eliminates the loss of high-priority traffic",
            ),
            Claim(
                "C6",
                "Without control all losses of data and video are at the 50 kB buffer of sw3, where both meet the "
                "slow link.",
                'slides Data Packet Loss and Video Packet Loss without Congestion Control: "losses occur when 50 KB '
                'buffer overflows"; stated',
                none["drops_elsewhere"].is_zero(),
                headline="no control: losses occur when 50 KB buffer overflows",
            ),
            Claim.unasserted(
                "C6b",
                "Without control video is lost at one data rate and burst size at least.",
                'slide Video Packet Loss without Congestion Control: "losses occur when 50 KB buffer overflows"; '
                "stated",
                (none["video_loss"] > 0).somewhere(),
                "two streams of 1.5 Mbit/s overflow 50 kB of their own only when large frames coincide: at most a few "
                "packets in ten thousand are lost, with any load of data. With the slides' film or topology, or a "
                "buffer that the classes share, the loss may have been larger",
            ),
            Claim.calibrated(
                "C7",
                "With XON/XOFF all losses of video are at the 50 kB buffer of sw1, which is stopped though only data "
                "is congested.",
                "notes of the slides; the place of the loss follows from the topology that was chosen",
                plain["video_drops_elsewhere"].is_zero(),
                CALIBRATED,
            ),
            Claim.calibrated(
                "C2a",
                "With XON/XOFF more than 0.5 % of the video is lost at a data rate of 6 Mbit/s in bursts of 96 kB.",
                "slide Video Packet Loss using Xon/Xoff, which states that video is affected; bound from a prototype",
                plain.where(**large, rate=6)["video_loss"] > 0.5,
                CALIBRATED,
            ),
            Claim.calibrated(
                "C2b",
                "With XON/XOFF more than 3 % of the video is lost at a data rate of 7 Mbit/s in bursts of 96 kB.",
                "slide Video Packet Loss using Xon/Xoff, which states that video is affected; bound from a prototype",
                plain.where(**large, rate=7)["video_loss"] > 3,
                CALIBRATED,
            ),
            Claim.calibrated(
                "C3",
                "At 6 and 7 Mbit/s in bursts of 24 kB or more, more video is lost with XON/XOFF than without control.",
                'notes of the slides: "congestion in a low priority class may severely affect high priority traffic"; '
                "stated",
                plain.where(**high)["video_loss"] > none.where(**high)["video_loss"],
                CALIBRATED,
                headline="congestion in a low priority class may severely affect high priority traffic",
            ),
            Claim(
                "C4a",
                "Less data is lost with control by class than without control with bursts of 24 kB or more, of which "
                "packets are lost at every rate; with smaller bursts the loss is at most 0.05 percentage points "
                "higher.",
                "slides Data Packet Loss; derived",
                (selective.where(**bursty)["data_loss"] < none.where(**bursty)["data_loss"])
                & (selective["data_loss"] - none["data_loss"] <= RESOLUTION),
            ),
            Claim(
                "C4b",
                "The loss of data with XON/XOFF exceeds that with control by class by at most 0.05 percentage points: "
                "XON/XOFF also stops the video, which leaves the link to the data.",
                "slides Data Packet Loss; derived",
                plain["data_loss"] - selective["data_loss"] <= RESOLUTION,
            ),
            Claim(
                "C5a",
                "With control by class the mean delay of video is within 10 % of that without control.",
                "derived: a stop of one class does not affect the other; 6.5 and 6.8 ms in a prototype",
                selective["video_delay"].close_to(none["video_delay"], relative=0.1),
            ),
            Claim(
                "C5b",
                "With bursts of 24 kB or more the mean delay of video is longer with XON/XOFF than with control by "
                "class.",
                "derived: video waits while sw1 or sw2 is stopped",
                plain.where(**bursty)["video_delay"] > selective.where(**bursty)["video_delay"],
            ),
            *(
                Claim.comparison(
                    id,
                    f"Sensitivity, {LAYOUTS[layout].words}: video loss at 7 Mbit/s of data in bursts of 96 kB, "
                    f"{'with XON/XOFF' if mechanism == 'plain' else 'with control by class'}.",
                    "reconstructed: the slides' topology is lost",
                    results.where(layout=layout, mechanism=mechanism, rate=7, burst=96)["video_loss"],
                    TURNED_DOWN,
                )
                for id, layout, mechanism in SENSITIVITY  # noqa: A001
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the six slides, against burst size and rate; delay of the video; video loss in other topologies."""
        chosen = results.where(layout=CHOSEN)
        words = {
            "none": "without congestion control",
            "plain": "using Xon/Xoff",
            "class": "using Xon/Xoff with class",
        }
        video_claims = {"none": ("C3", "C6", "C6b"), "plain": ("C2a", "C2b", "C3", "C7"), "class": ("C1",)}
        data_claims = {"none": ("C4a", "C6"), "plain": ("C4b",), "class": ("C4a", "C4b")}
        slides = []
        for mechanism, text in words.items():
            at = chosen.where(mechanism=mechanism)
            data, video = data_claims[mechanism], video_claims[mechanism]
            slides += [
                Slide(f"data-{mechanism}", f"Data packet loss {text}", at["data_loss"], data),
                Slide(f"video-{mechanism}", f"Video packet loss {text}", at["video_loss"], video),
            ]
        yield from on_one_scale(slides)
        delays = {name: chosen.where(mechanism=name).where(burst=[24, 96])["video_delay"] for name in MECHANISMS}
        yield fig.compare(
            delays,
            "video-delay",
            "Mean delay of video by mechanism",
            "Not in the slides, which show losses.",
            x="rate",
            panel="burst",
            claims=("C5a", "C5b"),
        )
        others = {f"{name}, {scope}": results.where(layout=name, mechanism=scope) for name, scope in SHOWN}
        yield fig.compare(
            {name: at.where(burst=96, rate=[5, 6, 7])["video_loss"] for name, at in others.items()},
            "sensitivity",
            "Video packet loss in other topologies",
            "Bursts of 96 kB. With XON/XOFF video is lost only if its switch has a small buffer and the next one a "
            "large buffer; control by class helps only if each class has a buffer of its own.",
            x="rate",
            y_scale="symlog",
            claims=[id for id, _, _ in SENSITIVITY],  # noqa: A001
        )
