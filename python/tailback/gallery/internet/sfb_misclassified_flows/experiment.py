"""E16, misclassification by SFB: TCP flows that share both bins with flows that do not respond."""

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
"""Rate of the one other flow in the case without non-responsive flows: a packet per second."""
MANY = (4, 8)
"""The slides' numbers of non-responsive flows."""
BINS, DRAWS = 46, 20
"""Bins on all levels together where L and N are chosen, and draws of the hashes for each choice."""
HASHES = 10_000
"""Draws of the hashes for each run, over which the number of covered flows is compared with the formula."""
POINTS_ALLOWED = 0.1 * TCP
"""Permitted number of additional flows that starve for other reasons."""


def _others(report: Report) -> int:
    """Number of flows that do not respond."""
    return sum(1 for flow in report.flows("cbr") if flow["offered"]["packets"] > 10 * report.measured_s)


def _covered(report: Report) -> set[int]:
    others = _others(report)
    return covered_flows(report, others) if others else set()


def _starved_share(report: Report) -> float:
    covered = _covered(report)
    return 100 * len(covered & starved_flows(report)) / len(covered) if covered else float("nan")


def deviation(m: float, bins: int = 23) -> float:
    """Standard deviation of the number of covered flows with m others, on two levels.

    It is more than binomial, for all flows share one hash: with D1 and D2 bins taken, D1·D2/N² of the flows are covered
    on average, and D1 and D2 vary (occupancy of N bins by M balls).
    """
    free, two_free = (1 - 1 / bins) ** m, (1 - 2 / bins) ** m
    mean = bins * (1 - free)
    square = mean + bins * (bins - 1) * (1 - 2 * free + two_free)
    share, share_square = (mean / bins) ** 2, (square / bins**2) ** 2
    return float((TCP * (share - share_square) + TCP**2 * (share_square - share**2)) ** 0.5)


def _by_binomial(report: Report) -> tuple[int, int]:
    """1 if the number of covered flows is more than 3 binomial deviations from the mean, else 0; of 400 flows."""
    p = formula(_others(report))
    return int(abs(len(_covered(report)) - TCP * p) > 3 * (TCP * p * (1 - p)) ** 0.5), TCP


def _expected(report: Report) -> float:
    """Mean number of covered flows over many hashes, of which the run's own are the first."""
    others = _others(report)
    if others not in MANY:
        return float("nan")
    return mean_covered(draws(report.seed, BOTTLENECK, HASHES), TCP, others)


def _off(report: Report) -> float:
    """Deviation of the run's number of covered flows from the formula, in standard deviations."""
    others = _others(report)
    return (len(_covered(report)) - TCP * formula(others)) / deviation(others) if others else float("nan")


class Misclassification(Experiment):
    """TCP flows that SFB treats as non-responsive, and their number."""

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
        Observable("expected", f"covered TCP flows over {HASHES} hashes", "flows", _expected, precision=(0.02, 0.0)),
        Observable("off", "covered flows beside the formula", "standard deviations", _off, lowest=None),
        Observable(
            "beyond_binomial",
            "runs beyond 3 binomial standard deviations",
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
        """Zero, one, the slides' 4 and 8, and in `full` more non-responsive flows; the senders."""
        counts = (0, 1, 2, 4, 8, 12, 16) if profile == "full" else (0, 1, 4, 8)
        others = counts if profile == "full" else (0, *MANY)
        points = grid(others=counts, sender=[RFC3168]) + grid(others=others, sender=(NS2, Y1999))
        return points + grid(others=(0, *MANY) if profile == "full" else [0], sender=[BACKOFF])

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """The number of flows of 5 Mbit/s, up to the link's rate together; or one that hardly sends."""
        del profile
        count = int(point["others"])
        rate = QUIET if not count else "5Mbit/s"
        return {
            "flows[cbr].count": max(count, 1),
            "flows[cbr].source.rate": rate,
            **sender(point["sender"]),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """The number of covered flows, and that only these are starved."""
        rfc, old = results.where(sender=RFC3168), results.where(sender=Y1999)
        ns2, waiting = results.where(sender=NS2), results.where(sender=[RFC3168, NS2])
        some: dict[str, Selector] = {"others": list(MANY)}
        none = waiting.where(others=0)["starved_others"]
        return [
            Claim(
                "M1",
                f"Over {HASHES} hashes for each run, its own and further ones of its stream, the mean number of TCP "
                "flows that share both bins with non-responsive flows is 400 [1 - (1 - 1/23)^M]^2 within 2 %: "
                "10.6 ± 0.2 for M = 4, 35.8 ± 0.7 for M = 8.",
                "slide SFB: probability of misclassification; the numbers derived, the tolerance reconstructed",
                rfc.where(others=[4])["expected"].within(0.98 * TCP * formula(4), 1.02 * TCP * formula(4))
                & rfc.where(others=[8])["expected"].within(0.98 * TCP * formula(8), 1.02 * TCP * formula(8)),
                headline="SFB: 400 [1 - (1 - 1/23)^M]^2 flows are misclassified, 10.6 with 4 and 35.8 with 8",
            ),
            Claim.comparison(
                "M1-runs",
                "By how many standard deviations of one run the runs' own numbers are beside the formula.",
                "derived: 0 ± 3/√n over n runs",
                rfc.where(**some)["off"],
                "a few runs have a few hashes: their mean decides little, and M1 has many",
            ),
            Claim.comparison(
                "M1b",
                "Single runs are outside of that now and then.",
                "derived: all flows of a run share its hashes",
                rfc.where(**some)["beyond_binomial"],
                "the number varies more than a binomial one, since how many bins the M flows occupy differs from run "
                "to run; figure Covered and starved flows has the deviation with that counted in",
            ),
            Claim(
                "M2",
                "Of all these flows at most 5 % get more than a quarter of the median goodput, with ns-2's sender.",
                "slides SFB misclassification, 4 and 8 non-responsive flows; the bound reconstructed",
                (ns2.where(others=4)["spared"] + ns2.where(others=8)["spared"])
                <= 0.05 * (ns2.where(others=4)["covered"] + ns2.where(others=8)["covered"]),
                headline="SFB: TCP flows that share both bins with non-responsive ones are starved, with 4 and with 8",
            ),
            Claim.unasserted(
                "M2-rule",
                "So it is with a sender that obeys RFC 3168 and does not lengthen its timeout.",
                "slides SFB misclassification, 4 and 8 non-responsive flows; the bound reconstructed",
                (rfc.where(others=4)["spared"] + rfc.where(others=8)["spared"])
                <= 0.05 * (rfc.where(others=4)["covered"] + rfc.where(others=8)["covered"]),
                "a covered flow sends a segment per timeout of 0.5 s, about half of the bound, and whenever its bins "
                "leak (M7) that and more gets through",
            ),
            Claim(
                "M3",
                "Beyond them no more flows are starved than without non-responsive flows, plus a tenth of all.",
                "derived: whoever has one clean bin is not held back",
                (waiting.where(**some)["starved_others"] - none) <= POINTS_ALLOWED,
            ),
            Claim(
                "M4",
                "More non-responsive flows cover more TCP flows: more at 8 than at 4 by at least 20, over the hashes "
                "of M1.",
                "derived: 35.8 against 10.6 expected",
                (rfc.where(others=8)["expected"] - rfc.where(others=4)["expected"]) >= 20,
            ),
            Claim.comparison(
                "M5",
                "Flows starved without any non-responsive flow, by what senders do at a window of one segment.",
                "prototype: 15 to 43",
                results.where(others=0)["starved_others"],
                "not SFB's hashes but the senders: a flow whose bins are crowded waits for its timer while others send "
                "a segment per round trip; where each further mark doubles the timeout, to 60 s, it hardly sends again",
            ),
            Claim(
                "M5-back-off",
                "Where each echo in a row doubles the timeout, more flows are starved so than where it does not.",
                "derived: a doubled wait draws fewer marks, but is left only by a segment that is not marked",
                results.where(others=0, sender=BACKOFF)["starved_others"]
                > results.where(others=0, sender=RFC3168)["starved_others"],
            ),
            Claim.comparison(
                "M5-rule",
                "Flows starved for other reasons with 1, 4 and 8 non-responsive flows, RFC 3168.",
                "prototype: 15 to 43",
                rfc.where(others=[1, *MANY])["starved_others"],
                "a sensitivity; M3 judges the difference",
            ),
            Claim.comparison(
                "M6",
                "With the sender of 1999 fewer of the covered flows are starved.",
                "not in the slides",
                old.where(**some)["covered_starved"],
                "such senders keep all probabilities near 1, so that the covered flows differ little from the others",
            ),
            Claim.comparison(
                "M7",
                "What the non-responsive flows still get together.",
                "prototype: 8.2 Mbit/s for M = 8; fair: 0.9 Mbit/s",
                rfc.where(**some)["cbr_carried"],
                "the leak of E15, for each of them",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """The slides' two panels, and the count against the formula."""
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
            "beforehand from the run's hashes. Dashed: a quarter of the median.",
            lambda: _draw_flows(kept),
            claims=("M2", "M2-rule"),
        )
        yield Figure(
            "formula",
            "Covered and starved flows",
            "Dashed: 400 [1 - (1 - 1/23)^M]^2; shaded: 3 standard deviations of the mean over the runs.",
            lambda: _draw_formula(results.where(sender=RFC3168)),
            claims=("M1", "M3", "M4", "M5-rule"),
        )
        yield Figure(
            "levels",
            "Choice of L and N, 46 bins in all",
            f"Lines: [1 - (1 - 1/N)^M]^L with N = 46/L, rounded down, and M non-responsive flows. Points: the share of "
            f"{TCP} flows under {DRAWS} draws of SFB's own hashes.",
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
                label="both bins polluted", clip_on=False, zorder=4,
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
    """Share of TCP flows that share each bin with one of the others, over draws of SFB's hashes."""
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
        plot.finish(axes, x="levels L", y="flows taken for non-responsive (%)", y_scale="log")
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
        plot.curve(axes, along, others, label="starved, not covered", index=1)
        ticks = [float(count) for count in counts]
        plot.finish(axes, x="non-responsive flows of 5 Mbit/s", y="TCP flows", ticks=ticks)
        axes.set_ylim(0, None)
    return figure
