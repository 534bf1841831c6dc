"""The headlines of the thesis, each as a condition on the runs of one cell of the matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_

from tailback.gallery.internet.shared.senders import (
    BSD,
    NONE,
    NS2,
    ON_OFF,
    PERSISTENT,
    RFC,
    THESIS,
    WORKLOADS,
    equivalent,
)
from tailback.gallery.internet.thesis_headlines_1999.arms import STEPS
from tailback.study.experiment.claims import Condition
from tailback.study.experiment.results import Results

__all__ = ["HEADLINES", "LATE", "Headline", "MatrixCell"]

MatrixCell = Callable[[str], Results]
"""Function from the name of an arm to its results in one cell."""
LATE = tuple(range(5, STEPS + 1))
"""Steps of internet-e13 with 250 to 500 connections."""
_SIMULATED = frozenset({(NS2, THESIS)})
_TESTBED = frozenset({(RFC, BSD), (NONE, BSD)})
_TEN = "300 connections on a T1 link, adaptive RED with ECN"


@dataclass(frozen=True)
class Headline:
    """A sentence of the thesis with the condition that decides it; a row of the figures."""

    id: str
    chapter: str
    """Name of the figure that shows the headline, a key of `CHAPTERS`."""
    label: str
    """Name of the row's number, with its unit."""
    # The headline as a statement that can be true or false.
    sentence: str
    source: str
    # Names of the arms that the condition compares.
    arms: tuple[str, ...]
    condition: Callable[[MatrixCell], Condition]
    own: frozenset[tuple[str, str]] = _SIMULATED
    """Pairs of rule and timers that are nearest to the source's: ns's sender with the calibrated timers for
    simulations, BSD's timers with two rules for the testbeds, whose kernel's rule is not known."""
    workloads: tuple[str, ...] = WORKLOADS
    left_out: str = ""
    """Reason for which on/off sources are not run; empty if they are."""

    sources: int = 0
    """Number of persistent connections of a row that shows the number of its on/off sources; 0 for others."""

    @property
    def experiment(self) -> str:
        """The experiment that has the slide, such as `e12`."""
        return self.id.partition("-")[0]

    @property
    def published(self) -> tuple[str, ...]:
        """The workloads that the source had; others are sensitivities."""
        return WORKLOADS if self.experiment == "e12" else (PERSISTENT,)


def _less(metric: str, small: str, large: str) -> Callable[[MatrixCell], Condition]:
    """Return the condition that `small` has less of a quantity than `large`; the difference is shown in its unit."""
    # Compared as a difference, two zeros fail; `<` of two quantities would leave them undecided.
    return lambda cell: cell(large)[metric] - cell(small)[metric] > 0


def _steps(metric: str) -> Callable[[MatrixCell], Condition]:
    conditions = [_less(f"{metric}_{step}", "e13 Blue", "e13 RED") for step in LATE]
    return lambda cell: reduce(and_, (condition(cell) for condition in conditions))


def _adaptive(id: str, words: str, suffix: str) -> tuple[Headline, ...]:  # noqa: A002
    """Return the headlines of the slide's two panels (E8) with one freeze time."""
    quiet = "20 sources of 1 Mbit/s that are on 40 % of the time offer 8 of 10 Mbit/s: there is no congestion to detect"
    return (
        Headline(
            f"e08-used{id}",
            "adaptive",
            f"E8 utilisation, 8 connections, {words}:\nadaptive minus aggressive (points)",
            f"With 8 connections and a round trip of 100 ms Adaptive RED ({words}) has a higher utilisation than "
            "aggressive detection.",
            "slide Adaptive RED Performance, Link utilization; the path reconstructed",
            (f"e08 adaptive, 8{suffix}", "e08 aggressive, 8"),
            _less("utilisation", "e08 aggressive, 8", f"e08 adaptive, 8{suffix}"),
            _TESTBED,
            (PERSISTENT,),
            quiet,
        ),
        Headline(
            f"e08-loss{id}",
            "adaptive",
            f"E8 loss, 64 connections, {words}:\nconservative minus adaptive (points)",
            f"With 64 connections and a round trip of 100 ms Adaptive RED ({words}) loses less than conservative "
            "detection.",
            "slide Adaptive RED Performance, Loss rates; the path reconstructed",
            (f"e08 adaptive, 64{suffix}", "e08 conservative, 64"),
            _less("loss", f"e08 adaptive, 64{suffix}", "e08 conservative, 64"),
            _TESTBED,
            (PERSISTENT,),
            quiet,
        ),
    )


def _subtcp(id: str, words: str, suffix: str, workloads: tuple[str, ...], left_out: str) -> tuple[Headline, ...]:  # noqa: A002
    """Return the headlines of E10 and E11 with one form of adaptive RED."""
    tcp, sub = f"e10 adaptive{suffix}", f"e10 SubTCP, adaptive{suffix}"
    return (
        Headline(
            f"e10{id}",
            "subtcp",
            f"E10 loss, {words}:\nTCP minus SubTCP (points)",
            f"SubTCP loses less than TCP with {_TEN} ({words}).",
            "slide SubTCP Evaluation, Loss rates",
            (tcp, sub),
            _less("loss", sub, tcp),
            workloads=workloads,
            left_out=left_out,
        ),
        Headline(
            f"e11{id}",
            "subtcp",
            f"E11 loss, {words}:\nadaptive RED / RED (ratio)",
            f"With 300 connections on a T1 link adaptive RED ({words}) loses at most a fifth of what RED loses, both "
            "with ECN.",
            "slide Comparison of Approaches; the order from memory, a fifth reconstructed",
            (tcp, "e10 RED"),
            lambda cell: cell(tcp)["loss"] <= 0.2 * cell("e10 RED")["loss"],
            workloads=workloads,
            left_out=left_out,
        ),
    )


def _buffers(sources: int, workloads: tuple[str, ...] = WORKLOADS, left_out: str = "") -> Headline:
    stated = sources in (400, 1600)
    small, large = f"e12 B4, 100 kB, {sources}", f"e12 R2, 1000 kB, {sources}"
    return Headline(
        f"e12-{sources}",
        "blue",
        f"E12 loss, {sources} connections:\nRED 1000 kB minus Blue 100 kB (points)",
        f"Blue with 100 kB loses less than RED with 1000 kB, with {sources} connections"
        + (f" or {equivalent(sources, ON_OFF)} on/off sources." if ON_OFF in workloads else "."),
        "slides Blue Evaluation; published claim, from memory; both workloads published"
        if stated
        else "slides Blue Evaluation; reconstructed: more connections than on the slides",
        (small, large),
        _less("loss", small, large),
        _SIMULATED if stated else frozenset(),
        workloads,
        left_out,
        sources,
    )


HEADLINES: tuple[Headline, ...] = (
    Headline(
        "e04",
        "adaptive",
        "E4 loss, 64 connections, RED with ECN (%)",
        "With 64 connections and RED with ECN more than 1 % of the packets are lost.",
        'slide RED and Packet Loss: "Even with ECN, RED does not eliminate packet loss"; the bound reconstructed',
        ("e04 RED, ECN",),
        lambda cell: cell("e04 RED, ECN")["loss"] > 1,
    ),
    *_adaptive("", "no freeze", ""),
    *_adaptive("-frozen", "freeze 5 s", ", frozen"),
    *_subtcp("", "max_p without bound", "", WORKLOADS, ""),
    *_subtcp("-bound", "max_p of at most 1", ", bound", (PERSISTENT,), "the bound is tried with one workload only"),
    *_subtcp("-frozen", "freeze 5 s", ", frozen", (PERSISTENT,), "the freeze is tried with one workload only"),
    _buffers(400),
    _buffers(1600),
    _buffers(3200, (PERSISTENT,), "4000 on/off sources are in the row above"),
    Headline(
        "e13-queue",
        "understanding",
        "E13 deviation of the queue, worst step:\nRED minus Blue (kB)",
        "The standard deviation of the queue is lower with Blue than with RED, in each step from 250 to 500 "
        "connections.",
        "slides Understanding Blue, queue length plots",
        ("e13 RED", "e13 Blue"),
        _steps("q_sd"),
    ),
    Headline(
        "e13-marking",
        "understanding",
        "E13 deviation of the probability, worst step:\nRED minus Blue",
        "The standard deviation of the marking probability is lower with Blue than with RED, in each step from 250 to "
        "500 connections.",
        "slides Understanding Blue, marking behavior",
        ("e13 RED", "e13 Blue"),
        _steps("p_sd"),
    ),
    Headline(
        "e14-loss",
        "understanding",
        "E14 loss, 100 connections:\nRED minus Blue (points)",
        "On the testbed, with 100 connections, Blue loses less than RED.",
        "slide Blue Evaluation (testbed), Loss rates; the number of connections reconstructed",
        ("e14 RED", "e14 Blue"),
        _less("loss", "e14 Blue", "e14 RED"),
        _TESTBED,
    ),
    Headline(
        "e14-used",
        "understanding",
        "E14 utilisation with Blue,\n100 connections (%)",
        "On the testbed, with 100 connections, the link's utilisation with Blue is at least 95 %.",
        "slide Blue Evaluation (testbed), Link utilization; the bound reconstructed",
        ("e14 Blue",),
        lambda cell: cell("e14 Blue")["utilisation"] >= 95,
        _TESTBED,
    ),
    Headline(
        "e15-red",
        "sfb",
        "E15 RED without ECN:\nnon-responsive flow loses (Mbit/s)",
        "With RED without ECN the non-responsive flow of 45 Mbit/s loses 8 to 12.5 Mbit/s (slide: 10.32).",
        "slide SFB Evaluation, RED: 10.32 Mbit/s stated, the tolerance reconstructed",
        ("e15 RED",),
        lambda cell: cell("e15 RED")["cbr_lost"].within(8, 12.5),
        frozenset({(NS2, THESIS)}),
    ),
    Headline(
        "e15-held",
        "sfb",
        "E15 SFB: non-responsive flow\nloses (Mbit/s)",
        "With SFB the non-responsive flow of 45 Mbit/s loses 44.7 Mbit/s or more (slide: 44.84).",
        "slide SFB Evaluation: 44.84 Mbit/s stated, the tolerance reconstructed",
        ("e15 SFB",),
        lambda cell: cell("e15 SFB")["cbr_lost"] >= 44.7,
    ),
    Headline(
        "e15-held-mostly",
        "sfb",
        "E15 SFB: non-responsive flow loses\nat least 43 Mbit/s",
        "With SFB the non-responsive flow of 45 Mbit/s loses 43 Mbit/s or more (slide: 44.84).",
        "slide SFB Evaluation: 44.84 Mbit/s stated, the weaker bound reconstructed",
        ("e15 SFB",),
        lambda cell: cell("e15 SFB")["cbr_lost"] >= 43,
    ),
    Headline(
        "e15-tcp",
        "sfb",
        "E15 SFB: TCP loses (Mbit/s)",
        "With SFB and a non-responsive flow of 45 Mbit/s TCP loses 0.1 Mbit/s or less (slide: 0.01).",
        "slide SFB Evaluation: 0.01 Mbit/s stated, the tolerance reconstructed",
        ("e15 SFB",),
        lambda cell: cell("e15 SFB")["tcp_lost"] <= 0.1,
    ),
    Headline(
        "e16",
        "sfb",
        "E16 covered flows that are starved (%)",
        "With SFB and 8 non-responsive flows at least 95 % of the TCP flows that share both bins with them starve.",
        "slides SFB and Misclassification, 8 non-responsive flows; the bound reconstructed",
        ("e17 static",),
        lambda cell: cell("e17 static")["covered_starved"] >= 95,
        workloads=(PERSISTENT,),
        left_out="a source that is off for long has little goodput and would count as starved",
    ),
    Headline(
        "e17",
        "sfb",
        "E17 starved flows:\nmoving / static hashes (ratio)",
        "With SFB and 8 non-responsive flows moving hashes starve at most a quarter as many TCP flows as static ones.",
        "slide SFB with Moving Hash Functions; the bound reconstructed",
        ("e17 static", "e17 moving"),
        lambda cell: cell("e17 moving")["starved"] <= 0.25 * cell("e17 static")["starved"],
        workloads=(PERSISTENT,),
        left_out="a source that is off for long has little goodput and would count as starved",
    ),
)
"""All headlines, in the order of the slides."""
assert all(ON_OFF in headline.workloads or headline.left_out for headline in HEADLINES)
