"""Verdicts on policies: delay, variation and loss of each group of flows, compared with its targets.

    found = import_configuration("mqc", policy, traffic=table)
    verdict = judge(found, network_delay="30ms")
    print(verdict.survives, [row.misses for row in verdict.rows])

The targets of a group are those of the traffic table. Without these, they follow from the code point of its packets, as
`tailback.router.objectives` defines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from tailback import _native
from tailback.bounds.worst_case import Bound, worst_case
from tailback.errors import OutputError
from tailback.results import quality
from tailback.results.intervals import Interval, mean_interval
from tailback.results.report import Report
from tailback.router.objectives import Bounds, Objective, objective_of
from tailback.router.policy import Imported, Notice
from tailback.run.pool import Progress
from tailback.run.result import Result
from tailback.run.simulate import run

__all__ = ["Outcome", "PolicyVerdict", "Row", "draw", "judge"]

Outcome: TypeAlias = Literal["survives", "fails", "as-far-as-understood"]
"""Outcome of a judgement.

`fails`: a group misses a target. `survives`: no group misses one, and all of the policy is simulated.
`as-far-as-understood`: no group misses one, but a part of the policy is not simulated.
"""

_TERMINAL_S = 0.05
"""Delay of coding and packetisation in the terminals, in addition to the network and the play-out buffer, s."""


@dataclass(frozen=True, slots=True)
class Row:
    """Results of a group of flows over all replications.

    Each delay includes `network_delay` of `judge`, the delay of the rest of the path.
    """

    group: str
    """Name of the group."""
    policy_class: str
    """Class of the policy that handles the group; empty if unknown."""
    code_point: int
    """Code point (DSCP) of the packets, 0 to 63."""
    objective: Objective | None
    """Targets of the group; `None`: it has none."""
    offered: Interval
    """Offered load, bit/s."""
    delay: Interval
    """Mean one-way delay, s."""
    delay_p99: Interval
    """99th percentile of the one-way delay, s."""
    variation: Interval
    """99.9th percentile of the delay variation (RFC 5481), s."""
    loss: Interval
    """Lost packets per packet sent, 0 to 1."""
    mos: Interval | None
    """Mean opinion score, 1 to 4.5; `None`: the targets have none."""
    misses: tuple[str, ...]
    """Those of `delay`, `variation`, `loss` and `MOS` whose whole interval misses the target.

    A single replication misses a target with its value. If no packet arrived, the entries are `nothing arrived` and all
    quantities with a target.
    """
    doubts: tuple[str, ...]
    """Those of `delay`, `variation`, `loss` and `MOS` whose interval contains the target: more replications are needed.

    If no packet was sent and the group has a target, the only entry is `nothing was sent`.
    """
    longest_s: float
    """Maximum delay of a packet over all replications, s; NaN: no packet arrived."""
    bound: Bound
    """Upper bound of the delay by network calculus."""

    @property
    def is_voice(self) -> bool:
        """`True` if the targets include a mean opinion score."""
        return self.objective is not None and self.objective.mos is not None

    def cells(self) -> list[str]:
        """Return the cells of the row as text.

        They are group, class, offered load, mean delay, 99th percentile of the delay, delay variation, loss, MOS, name
        of the target, and result.
        """
        target = "none" if self.objective is None else self.objective.name
        if self.misses:
            kept = "NO: " + ", ".join(self.misses)
        elif self.doubts:
            kept = "unsure: " + ", ".join(self.doubts)
        else:
            kept = "-" if self.objective is None else "yes"
        return [
            self.group,
            self.policy_class,
            f"{self.offered.mean / 1e6:.4g} Mbit/s",
            _ms(self.delay),
            _ms(self.delay_p99),
            _ms(self.variation),
            f"{self.loss.mean * 100:.3g} %",
            "" if self.mos is None or self.mos.n == 0 else f"{self.mos.mean:.2f}",
            target,
            kept,
        ]

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        measured = {
            "offered": self.offered.as_json("bit/s"),
            "delay": self.delay.as_json("s"),
            "delay_p99": self.delay_p99.as_json("s"),
            "variation": self.variation.as_json("s"),
            "loss": self.loss.as_json("1"),
            "mos": None if self.mos is None else self.mos.as_json("1"),
        }
        head = {"group": self.group, "class": self.policy_class, "dscp": self.code_point}
        targets = self.objective
        head |= {
            "y1541": None if targets is None else targets.y1541,
            "target": None if targets is None else targets.as_json(),
        }
        longest = None if math.isnan(self.longest_s) else self.longest_s
        worst = {"longest_s": longest, "bound_s": self.bound.seconds, "bound": self.bound.reason}
        return {**head, **measured, "misses": list(self.misses), "doubts": list(self.doubts), **worst}


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """Judgement of a policy by its groups of flows."""

    title: str
    """Interface, rate of its link, and the bytes that rates include."""
    rows: Sequence[Row]
    """Results of each group of flows, in the order of the scenario's groups."""
    result: Result
    """Result of the simulation."""
    least_mos: float
    """Lower limit of the mean opinion score of voice."""
    assumptions: Sequence[Notice] = ()
    """Remarks on assumed values that can change the results."""
    not_simulated: Sequence[Notice] = ()
    """Remarks on parts of the judged policy that are not simulated."""

    @property
    def outcome(self) -> Outcome:
        """Outcome of the judgement; undecided targets do not count as missed."""
        if any(row.misses for row in self.rows):
            return "fails"
        return "as-far-as-understood" if self.not_simulated else "survives"

    @property
    def survives(self) -> bool:
        """`True` if no group misses a target, and all of the policy is simulated; targets may be undecided."""
        return self.outcome == "survives"

    def sentences(self) -> list[str]:
        """Return the outcome in sentences, the first about voice, the last about the simulation."""
        voice = [row for row in self.rows if row.is_voice]
        if not voice:
            said = ["There is no voice in the traffic table: no row has dscp ef, va or cs5, or the target voice."]
        elif any(row.misses for row in voice):
            bad = ", ".join(f"{row.group} ({', '.join(row.misses)})" for row in voice if row.misses)
            said = [f"Voice does not survive: {bad}."]
        elif any(row.doubts for row in voice):
            said = ["Voice is undecided: an interval contains its target; raise --reps or --duration."]
        elif self.not_simulated:
            said = ["Voice survives as far as the configuration is understood."]
        else:
            said = ["Voice survives."]
        others = [row for row in self.rows if row.misses and not row.is_voice]
        if others:
            missed = ", ".join(f"{row.group} ({', '.join(row.misses)})" for row in others)
            said.append(f"Other groups miss their targets: {missed}.")
        if self.not_simulated:
            lines = sorted({notice.line for notice in self.not_simulated if notice.line})
            named = f" (lines {', '.join(map(str, lines))})" if lines else ""
            said.append(
                f"{len(self.not_simulated)} parts of this policy are not simulated{named}: "
                "the router may behave differently."
            )
        bounded = [row for row in self.rows if row.bound.seconds is not None]
        if bounded:
            worst = ", ".join(
                f"{row.group} {_span(row.bound.seconds or 0)} (simulated maximum {_span(row.longest_s)})"
                for row in bounded
            )
            said.append(f"Worst case by network calculus: {worst}.")
        confidence = self.result.confidence
        said.append(
            f"{len(self.result.reports)} replications of {self.result.scenario.run_config['duration']}, "
            f"{confidence:.0%} intervals, digest {self.result.digest}."
        )
        return said

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "survives": self.survives,
            "outcome": self.outcome,
            "assumptions": [notice.as_json() for notice in self.assumptions],
            "not_simulated": [notice.as_json() for notice in self.not_simulated],
            "rows": [row.as_json() for row in self.rows],
            "sentences": self.sentences(),
            "digest": self.result.digest,
        }


def judge(
    found: Imported,
    *,
    network_delay: str = "0s",
    codec: str = "g.711-plc",
    least_mos: float = 3.6,
    bounds: Bounds = "y.1541",
    duration: str | None = None,
    seed: int | None = None,
    replications: int | None = None,
    progress: Progress | None = None,
) -> PolicyVerdict:
    """Run the imported scenario and compare each group of flows with its targets.

    Args:
        found: An imported configuration.
        network_delay: One-way delay of the rest of the path, such as "30ms"; it is added to all delays.
        codec: Codec of the calls; see `tailback.results.quality.call`.
        least_mos: Lower limit of the mean opinion score, 1 to 4.5; below 3.6 many users are dissatisfied (ITU-T G.109).
        bounds: Source of the limit of one-way delay for voice: "y.1541" (100 ms) or "g.114" (150 ms).
        duration: Length of a run, such as "60s". Default: that of the imported scenario.
        seed: Base seed. Default: that of the scenario.
        replications: Number of replications; intervals need at least 2. Default: that of the scenario.
        progress: Called repeatedly with the number of replications done, which may be a fraction, and that of all.

    Raises:
        ConfigurationError: `found` has errors.
        UsageError: A target in the traffic table is invalid, or a number is out of range.
        ValueError: `network_delay` is not a duration.

    """
    scenario = found.check()
    if duration is not None:
        scenario = scenario.set(duration=duration)
    result = run(scenario, seed, replications, progress=progress)
    further_s = _native.parse_duration(network_delay) * 1e-12
    classes = {group: name for name, groups in found.classes.items() for group in groups}
    groups = dict.fromkeys(flow["group"] for flow in result.reports[0].data["flows"])
    bounds_of = worst_case(scenario, "ce", "sink")
    rows = []
    for group in groups:
        code_point = result.reports[0].flows(group)[0].get("dscp", 0)
        objective = objective_of(code_point, found.targets.get(group), bounds=bounds, least_mos=least_mos)
        rows.append(_row(result, group, classes.get(group, ""), code_point, objective, bounds_of, further_s, codec))
    return PolicyVerdict(_title(found), rows, result, least_mos, found.assumptions, found.not_simulated)


def _title(found: Imported) -> str:
    link = found.link
    if link is None:
        return found.interface
    counted = f", {link.overhead_bytes} B of {link.overhead} counted" if link.overhead_bytes else ", layer 3 counted"
    return f"{found.interface}, {link.rate_bps / 1e6:.6g} Mbit/s {link.origin}{counted}"


def _row(
    result: Result,
    group: str,
    class_: str,
    code_point: int,
    objective: Objective | None,
    bounds_of: Mapping[str, Bound],
    further_s: float,
    codec: str,
) -> Row:
    """Return the results of a group; `further_s` is the delay of the rest of the path, in seconds."""

    def over_reports(figure: Callable[[Report], float]) -> Interval:
        values = [figure(report) for report in result.reports]
        return mean_interval([value for value in values if not math.isnan(value)], result.confidence)

    def later(figure: Interval) -> Interval:
        return replace(figure, mean=figure.mean + further_s, lo=figure.lo + further_s, hi=figure.hi + further_s)

    def measured(figure: Callable[[Report], float]) -> Interval:
        # Replications in which no packet of the group arrived have no delay.
        return over_reports(lambda report: figure(report) if group in report.data["variation"] else math.nan)

    def p99(report: Report) -> float:
        return report.variation(group)["delay"].get("p99_s") or math.nan

    delay = later(over_reports(lambda report: report.mean_delay_s(group)))
    variation = measured(lambda report: report.variation(group)["pdv_p999_s"])
    loss = over_reports(lambda report: report.loss(group)).clipped(0.0)
    mos = None
    if objective is not None and objective.mos is not None:
        terminal_s = _TERMINAL_S + further_s
        mos = measured(lambda report: quality.speech(report, group, terminal_s=terminal_s, codec=codec).mos)
    bound = bounds_of.get(group, Bound(None, "no bound: the group does not leave by the judged port"))
    if bound.seconds is not None:
        bound = replace(bound, seconds=bound.seconds + further_s)
    misses, doubts = _judged(objective, delay, variation, loss, mos)
    offered = over_reports(lambda report: report.offered_bps(group))
    if offered.mean == 0 and objective is not None:
        misses, doubts = (), ("nothing was sent",)
    return Row(
        group=group,
        policy_class=class_,
        code_point=code_point,
        objective=objective,
        offered=offered,
        delay=delay,
        delay_p99=later(measured(p99)),
        variation=variation,
        loss=loss,
        mos=mos,
        misses=misses,
        doubts=doubts,
        longest_s=max((report.max_delay_s(group) for report in result.reports), default=math.nan) + further_s,
        bound=bound,
    )


def _judged(
    objective: Objective | None, delay: Interval, variation: Interval, loss: Interval, mos: Interval | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the missed targets, and those of the undecided ones, as in `Row.misses` and `Row.doubts`."""
    if objective is None:
        return (), ()
    limits = (("delay", delay, objective.delay_s), ("variation", variation, objective.variation_s))
    if delay.n == 0:
        # No packet arrived. Packets that are still queued at the end are not lost, but keep no target.
        kept = (("delay", objective.delay_s), ("variation", objective.variation_s), ("loss", objective.loss))
        given = [name for name, limit in kept if limit is not None]
        return ("nothing arrived", *given, *(["MOS"] if objective.mos is not None else [])), ()
    misses: list[str] = []
    doubts: list[str] = []
    for name, interval, limit in (*limits, ("loss", loss, objective.loss)):
        if limit is not None and interval.mean > limit:
            (misses if interval.lo > limit or interval.n < 2 else doubts).append(name)
        elif limit is not None and interval.n > 1 and interval.hi > limit:
            doubts.append(name)
    if mos is not None and objective.mos is not None:
        if mos.hi < objective.mos or (mos.n < 2 and mos.mean < objective.mos):
            misses.append("MOS")
        elif mos.lo < objective.mos and mos.n > 1:
            doubts.append("MOS")
    return tuple(misses), tuple(doubts)


def draw(made: PolicyVerdict, path: Path) -> None:
    """Draw delay, delay variation and loss of each group with their targets to a file; raises OutputError.

    The format is SVG or PDF if the suffix of the path says so, otherwise PNG.
    """
    from tailback.plotting import plot

    height = 1.2 + 0.32 * len(made.rows)
    figure = plot.new(3, 1, width=3.6, height=height, sharey=True)
    names = [f"{row.group} [{row.policy_class}]" if row.policy_class else row.group for row in made.rows]
    figures: tuple[Callable[[Row], tuple[Interval, ...]], ...] = (
        lambda row: (row.delay, row.delay_p99),
        lambda row: (row.variation,),
        lambda row: (row.loss,),
    )
    labels = ("delay (mean, 99th percentile), ms", "99.9th percentile of PDV, ms", "packet loss, %")
    with plot.style():
        for column, (axes, label, shown) in enumerate(zip(figure.axes, labels, figures, strict=True)):
            scale = 1e2 if column == 2 else 1e3
            for place, row in enumerate(made.rows):
                colour = "#c0392b" if row.misses else "#2c7a4b" if row.objective is not None else "#777777"
                for index, interval in enumerate(shown(row)):
                    if interval.n == 0:
                        continue
                    mean, half = interval.mean * scale, interval.half_width * scale
                    half = half if math.isfinite(half) else 0.0
                    marker = "o" if index == 0 else "|"
                    axes.errorbar(mean, place, xerr=half, fmt=marker, color=colour, markersize=5 if index == 0 else 9)
                limits = row.objective
                target = None if limits is None else (limits.delay_s, limits.variation_s, limits.loss)[column]
                if target is not None:
                    axes.plot(target * scale, place, marker="x", color="black", linestyle="none", markersize=6)
            axes.set_xlabel(label)
            axes.set_xscale("symlog", linthresh=1.0 if scale > 1e2 else 0.1)
            axes.set_xlim(left=0)
            axes.grid(axis="x", alpha=0.3)
        figure.axes[0].set_yticks(range(len(names)), names)
        figure.axes[0].invert_yaxis()
        figure.suptitle(f"{made.sentences()[0]}  (x: target)\n{made.title}", fontsize="medium")
        kind = path.suffix.removeprefix(".").lower()
        try:
            path.write_bytes(plot.to_bytes(figure, "svg" if kind == "svg" else "pdf" if kind == "pdf" else "png"))
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error.strerror}") from None


def _ms(interval: Interval) -> str:
    """Return the mean of an interval of durations as text."""
    return "none" if interval.n == 0 else _span(interval.mean)


def _span(seconds: float) -> str:
    """Return a duration as text, in seconds from 1 s on, else in milliseconds."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
