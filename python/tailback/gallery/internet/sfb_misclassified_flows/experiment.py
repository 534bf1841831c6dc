"""internet-e16, misclassification by SFB: TCP flows that share both bins with flows that do not respond."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from tailback.gallery.internet.shared.fairness import (
    BACKOFF,
    BOTTLENECK,
    NS2,
    RFC3168,
    STARVED,
    TCP,
    Y1999,
    carried_rate,
    covered_flows,
    lost_rate,
    sender,
    starved_flows,
)
from tailback.gallery.internet.shared.hashes import draws, formula, mean_covered, place
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
from tailback.study.experiment.quantity import Selector

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

QUIET = "8kbit/s"
"""Rate of the flow `cbr` at points without non-responsive flows: one packet per second."""
MANY = (4, 8)
"""The slides' numbers of non-responsive flows."""
BINS, DRAWS = 46, 20
"""Total number of bins for the figure of levels, and sets of hashes drawn for each number of levels."""
HASHES = 10_000
"""Sets of hash functions drawn for each run; over them the number of covered flows is compared with the formula."""
POINTS_ALLOWED = 0.1 * TCP
"""Largest increase of the number of starved flows that are not covered, flows, that claim M3 permits."""


def _others(report: Report) -> int:
    """Return the number of non-responsive flows, without the slow flow of `QUIET`."""
    return sum(1 for flow in report.flows("cbr") if flow["offered"]["packets"] > 10 * report.measured_s)


def _covered(report: Report) -> set[int]:
    others = _others(report)
    return covered_flows(report, others) if others else set()


def _starved_share(report: Report) -> float:
    covered = _covered(report)
    return 100 * len(covered & starved_flows(report)) / len(covered) if covered else float("nan")


def deviation(m: float, bins: int = 23) -> float:
    """Return the standard deviation of the number of covered flows with m non-responsive ones, on two levels.

    It exceeds that of a binomial distribution, because all flows share one set of hashes: if the non-responsive flows
    occupy D1 and D2 of N bins, D1·D2/N² of the TCP flows are covered on average, and D1 and D2 vary.
    """
    free, two_free = (1 - 1 / bins) ** m, (1 - 2 / bins) ** m
    mean = bins * (1 - free)
    square = mean + bins * (bins - 1) * (1 - 2 * free + two_free)
    share, share_square = (mean / bins) ** 2, (square / bins**2) ** 2
    return float((TCP * (share - share_square) + TCP**2 * (share_square - share**2)) ** 0.5)


def _by_binomial(report: Report) -> tuple[int, int]:
    """Return 1 if the number of covered flows is more than 3 binomial deviations from its mean, else 0; and `TCP`."""
    p = formula(_others(report))
    return int(abs(len(_covered(report)) - TCP * p) > 3 * (TCP * p * (1 - p)) ** 0.5), TCP


def _expected(report: Report) -> float:
    """Return the mean number of covered flows over `HASHES` sets of hashes, the run's own first; NaN outside `MANY`."""
    others = _others(report)
    if others not in MANY:
        return float("nan")
    return mean_covered(draws(report.seed, BOTTLENECK, HASHES), TCP, others)


def _off(report: Report) -> float:
    """Return the number of covered flows minus that of the formula, in standard deviations; NaN without `others`."""
    others = _others(report)
    return (len(_covered(report)) - TCP * formula(others)) / deviation(others) if others else float("nan")


class Misclassification(Experiment):
    """Number of TCP flows that SFB treats as non-responsive, and their goodput."""

    id = "internet-e16"
    title = "SFB: misclassified flows"
    reference = "Feng, thesis defence 1999, slides SFB misclassification"
    axes = (
        Axis("others", "number of non-responsive flows"),
        Axis("sender", "TCP sender"),
    )
    quick = Profile(duration="100s", warmup="20s", replications=3, max_replications=12, cpu_s=36)
    full = Profile(duration="200s", warmup="20s", replications=6, max_replications=40, cpu_s=260)
    metrics = (
        Observable(
            "covered", "covered TCP flows", "flows", lambda report: float(len(_covered(report))), precision=(0.2, 2)
        ),
        Observable(
            "expected",
            f"covered TCP flows, mean over {HASHES} sets of hashes",
            "flows",
            _expected,
            precision=(0.02, 0.0),
        ),
        Observable("off", "covered flows minus those of the formula", "standard deviations", _off, lowest=None),
        Observable(
            "beyond_binomial",
            "share of runs more than 3 binomial standard deviations from the formula",
            "",
            lambda report: float(_by_binomial(report)[0]),
            _by_binomial,
        ),
        Observable(
            "spared",
            "covered flows that are not starved",
            "flows",
            lambda report: float(len(_covered(report) - starved_flows(report))),
        ),
        Observable("covered_starved", "share of covered flows that is starved", "%", _starved_share),
        Observable(
            "starved_others",
            "starved flows that are not covered",
            "flows",
            lambda report: float(len(starved_flows(report) - _covered(report))),
        ),
        carried_rate("cbr", "cbr_carried", "non-responsive carried"),
        lost_rate("tcp", "tcp_lost", "TCP lost"),
        m.jain("tcp"),
    )
    traces = {  # noqa: RUF012
        "goodputs": lambda report: ([1e-6 * rate for rate in report.goodputs_bps("tcp")], sorted(_covered(report)))
    }

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: 0 to 8 non-responsive flows, in `full` up to 16, with several senders."""
        counts = (0, 1, 2, 4, 8, 12, 16) if profile == "full" else (0, 1, 4, 8)
        others = counts if profile == "full" else (0, *MANY)
        points = grid(others=counts, sender=[RFC3168]) + grid(others=others, sender=(NS2, Y1999))
        return points + grid(others=(0, *MANY) if profile == "full" else [0], sender=[BACKOFF])

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the non-responsive flows, or of one slow flow in their place, and of the sender."""
        del profile
        count = int(point["others"])
        rate = QUIET if not count else "5Mbit/s"
        return {
            "flows[cbr].count": max(count, 1),
            "flows[cbr].source.rate": rate,
            **sender(point["sender"]),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the number of covered flows, and on the flows that starve."""
        rfc, old = results.where(sender=RFC3168), results.where(sender=Y1999)
        ns2, waiting = results.where(sender=NS2), results.where(sender=[RFC3168, NS2])
        some: dict[str, Selector] = {"others": list(MANY)}
        none = waiting.where(others=0)["starved_others"]
        return [
            Claim(
                "M1",
                f"Over {HASHES} sets of hashes for each run, the mean number of covered flows (TCP flows that share "
                "both bins with non-responsive flows) is 400 [1 - (1 - 1/23)^M]^2 within 2 %: 10.6 ± 0.2 for M = 4, "
                "35.8 ± 0.7 for M = 8.",
                "slide SFB: probability of misclassification; the numbers derived, the tolerance reconstructed",
                rfc.where(others=[4])["expected"].within(0.98 * TCP * formula(4), 1.02 * TCP * formula(4))
                & rfc.where(others=[8])["expected"].within(0.98 * TCP * formula(8), 1.02 * TCP * formula(8)),
                headline="SFB: 400 [1 - (1 - 1/23)^M]^2 flows are misclassified, 10.6 with 4 and 35.8 with 8",
            ),
            Claim.comparison(
                "M1-runs",
                "Number of covered flows in a run minus that of the formula, in standard deviations of one run.",
                "derived: 0 ± 3/√n over n runs",
                rfc.where(**some)["off"],
                "a run has one set of hashes, so that the mean of a few runs is weak evidence; M1 has many sets",
            ),
            Claim.comparison(
                "M1b",
                "Share of runs whose number of covered flows is more than 3 binomial standard deviations from the "
                "formula.",
                "derived: all flows of a run share its hashes",
                rfc.where(**some)["beyond_binomial"],
                "the number of bins that the M flows occupy differs from run to run, so that the number of covered "
                "flows varies more than a binomial one; figure Covered and starved flows includes this variation",
            ),
            Claim(
                "M2",
                "With ns-2's sender, at most 5 % of the covered flows, with 4 and with 8 non-responsive flows "
                "together, get a quarter of the median goodput or more.",
                "slides SFB misclassification, 4 and 8 non-responsive flows; the bound reconstructed",
                (ns2.where(others=4)["spared"] + ns2.where(others=8)["spared"])
                <= 0.05 * (ns2.where(others=4)["covered"] + ns2.where(others=8)["covered"]),
                headline="SFB: TCP flows that share both bins with non-responsive ones are starved, with 4 and with 8",
            ),
            Claim.unasserted(
                "M2-rule",
                "With a sender that obeys RFC 3168 and does not lengthen its timeout, at most 5 % of the covered flows "
                "get a quarter of the median goodput or more.",
                "slides SFB misclassification, 4 and 8 non-responsive flows; the bound reconstructed",
                (rfc.where(others=4)["spared"] + rfc.where(others=8)["spared"])
                <= 0.05 * (rfc.where(others=4)["covered"] + rfc.where(others=8)["covered"]),
                "a covered flow sends a segment per timeout of 0.5 s, more than half of the bound, and more of its "
                "segments pass whenever one of its bins has been lowered (M7)",
            ),
            Claim(
                "M3",
                "With 4 and with 8 non-responsive flows, the number of starved flows that are not covered exceeds the "
                "number of starved flows without non-responsive flows by at most a tenth of all flows (40).",
                "derived: a flow with one bin that no non-responsive flow shares is not limited",
                (waiting.where(**some)["starved_others"] - none) <= POINTS_ALLOWED,
            ),
            Claim(
                "M4",
                "With 8 non-responsive flows at least 20 more TCP flows are covered than with 4, over the sets of "
                "hashes of M1.",
                "derived: 35.8 and 10.6 are expected",
                (rfc.where(others=8)["expected"] - rfc.where(others=4)["expected"]) >= 20,
            ),
            Claim.comparison(
                "M5",
                "Starved flows without any non-responsive flow, by the senders' rule for a window of one segment.",
                "prototype: 15 to 43",
                results.where(others=0)["starved_others"],
                "the cause is the senders' rule, not SFB's hashes: a flow whose bins are crowded waits for its timer "
                "while others send a segment per round trip; if each further mark doubles the timeout, up to 60 s, the "
                "flow hardly sends again",
            ),
            Claim(
                "M5-back-off",
                "Without non-responsive flows, more flows starve if each consecutive echo doubles the timeout than "
                "with RFC 3168's rule alone.",
                "derived: a sender that waits longer is marked less often, but only an unmarked segment ends its wait",
                results.where(others=0, sender=BACKOFF)["starved_others"]
                > results.where(others=0, sender=RFC3168)["starved_others"],
            ),
            Claim.comparison(
                "M5-rule",
                "Starved flows that are not covered, with 1, 4 and 8 non-responsive flows and RFC 3168.",
                "prototype: 15 to 43",
                rfc.where(others=[1, *MANY])["starved_others"],
                "a sensitivity; M3 judges the difference",
            ),
            Claim.comparison(
                "M6",
                "Share of the covered flows that starves with the sender of 1999.",
                "not in the slides",
                old.where(**some)["covered_starved"],
                "such senders keep all probabilities near 1, so that the covered flows differ little from the others",
            ),
            Claim.comparison(
                "M7",
                "Delivered rate of all non-responsive flows together, with RFC 3168.",
                "prototype: 8.2 Mbit/s for M = 8; fair share: 0.9 Mbit/s",
                rfc.where(**some)["cbr_carried"],
                "as in E15, packets of each non-responsive flow pass whenever one of its bins has been lowered",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the slides' two panels, the number of covered flows with the formula, and the choice of L and N."""
        kept = {
            f"{count} non-responsive flows, {how}": cast(
                tuple[list[float], list[int]], results.trace("goodputs", others=count, sender=how)
            )
            for how in (NS2, RFC3168)
            for count in MANY
        }
        yield Figure(
            "flows",
            "Goodput of each TCP flow",
            "First replication. Crosses: flows whose two bins are also those of non-responsive flows, computed "
            "from the run's hashes. Dashed: a quarter of the median goodput.",
            lambda: _draw_flows(kept),
            claims=("M2", "M2-rule"),
        )
        yield Figure(
            "formula",
            "Covered and starved flows",
            "A covered TCP flow shares both bins with non-responsive flows; a starved one has less than a quarter of "
            "the median goodput. Dashed: 400 [1 - (1 - 1/23)^M]^2; shaded: 3 standard deviations of the mean over the "
            "runs. RFC 3168.",
            lambda: _draw_formula(results.where(sender=RFC3168)),
            claims=("M1", "M3", "M4", "M5-rule"),
        )
        yield Figure(
            "levels",
            "Misclassified flows by the number of levels, 46 bins in total",
            f"Lines: [1 - (1 - 1/N)^M]^L for L levels of N = 46/L bins, rounded down, and M non-responsive flows. "
            f"Points: share of {TCP} TCP flows over {DRAWS} sets of SFB's own hashes.",
            _draw_levels,
        )


def _draw_flows(kept: dict[str, tuple[list[float], list[int]]]) -> Drawing:
    from statistics import median

    from tailback.plotting import plot

    figure = plot.new(2, 2, sharey=True, sharex=True, width=5.2, height=2.7)
    for index, (axes, (title, (rates, covered))) in enumerate(zip(figure.axes, kept.items(), strict=True)):
        with plot.style():
            others = [flow for flow in range(len(rates)) if flow not in set(covered)]
            axes.plot(
                [f + 1 for f in others], [rates[f] for f in others], ".", markersize=3, color=plot.COLOURS[0],
                label="others",
            )  # fmt: skip
            axes.plot(
                [f + 1 for f in covered], [rates[f] for f in covered], "x", markersize=5, color=plot.COLOURS[1],
                label="covered", clip_on=False, zorder=4,
            )  # fmt: skip
            axes.axhline(STARVED * median(rates), color="#666666", linestyle="--", linewidth=0.9)
            x, y = "TCP flow" if index > 1 else "", "goodput (Mbit/s)" if index % 2 == 0 else ""
            plot.finish(axes, title=title, x=x, y=y)
            legend = axes.get_legend()
            if index and legend is not None:
                legend.remove()
            elif legend is not None:
                axes.legend(loc="upper right", ncols=2, borderpad=0, handletextpad=0.1)
            axes.set_xlim(0, TCP + 1)
            axes.set_ylim(0, 0.4)
    return figure


def polluted(levels: int, others: Iterable[int]) -> dict[int, float]:
    """Return the share (0 to 1) of misclassified TCP flows by number of non-responsive ones, for one number of levels.

    The shares are means over `DRAWS` sets of SFB's hashes.
    """
    bins, most = BINS // levels, max(others)
    hit = dict.fromkeys(others, 0)
    for draw in range(DRAWS):
        at = [[place(draw + 1, flow, level, bins) for flow in range(TCP + most)] for level in range(levels)]
        for m_others in hit:
            taken = [set(row[TCP : TCP + m_others]) for row in at]
            hit[m_others] += sum(all(row[f] in t for row, t in zip(at, taken, strict=True)) for f in range(TCP))
    return {m_others: count / (TCP * DRAWS) for m_others, count in hit.items()}


def _draw_levels() -> Drawing:
    from tailback.plotting import plot

    numbers, levels = (1, 4, 8, 16, 32), range(1, 9)
    drawn = {count: polluted(count, numbers) for count in levels}
    figure = plot.new()
    (axes,) = figure.axes
    with plot.style():
        for index, others in enumerate(numbers):
            colour = plot.COLOURS[index % len(plot.COLOURS)]
            axes.plot(
                levels, [100 * formula(others, n, BINS // n) for n in levels], color=colour, label=f"M = {others}"
            )
            found = [(n, 100 * drawn[n][others]) for n in levels if drawn[n][others] > 0]
            axes.plot([n for n, _ in found], [share for _, share in found], "o", markersize=4, color=colour)
        axes.set_ylim(1e-3, 100)
        plot.finish(axes, x="levels L", y="misclassified TCP flows (%)", y_scale="log")
        axes.set_ylim(1e-3, 100)
    return figure


def _draw_formula(rfc: Results) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new()
    (axes,) = figure.axes
    counts, found = rfc["covered"].curve("others")
    last = int(max(float(count) for count in counts))
    fine = [0.1 * step for step in range(10 * last + 1)]
    p = [(1 - (1 - 1 / 23) ** x) ** 2 for x in fine]
    runs = min(len(samples) for samples in rfc.samples.values())
    reach = [3 * min(x, 1) * deviation(max(x, 1)) / runs**0.5 for x in fine]
    with plot.style():
        axes.fill_between(
            fine,
            [max(TCP * q - r, 0) for q, r in zip(p, reach, strict=True)],
            [TCP * q + r for q, r in zip(p, reach, strict=True)],
            color="#e8eef4",
        )
        axes.plot(fine, [TCP * q for q in p], "--", color="#666666", label="formula")
        plot.curve(axes, counts, found, label="covered")
        along, others = rfc["starved_others"].curve("others")
        plot.curve(axes, along, others, label="starved and not covered", index=1)
        ticks = [float(count) for count in counts]
        plot.finish(axes, x="non-responsive flows of 5 Mbit/s", y="TCP flows", ticks=ticks)
        axes.set_ylim(0, None)
    return figure
