"""edge-configs: configurations i to v and the VPN variants of iii to v, with the traffic of Table 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tailback.gallery.edge.five_configurations.claims import at, claims_of
from tailback.gallery.edge.five_configurations.configurations import (
    CBWFQ,
    CODES,
    COLUMNS,
    CONGESTED,
    DATA,
    FAIR,
    FIFO,
    FLAT,
    JITTER,
    LLQ,
    NONE,
    PERIODIC,
    POISSON,
    RING,
    RINGS,
    VPN,
    WFQ,
    WRED,
)
from tailback.gallery.edge.shared import customer_edge as ce
from tailback.plotting import experiment as fig
from tailback.plotting import grouped_bars
from tailback.results import observables as m
from tailback.results.intervals import Interval
from tailback.study.experiment import (
    Axis,
    AxisValue,
    Claim,
    Figure,
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


def _policy(configuration: str, inside: str) -> Settings:
    within = {FAIR: ce.fair_inside, CODES: ce.limits_inside}
    fair = within[inside]() if inside in within else None
    if configuration == FIFO:
        return ce.drop_tail()
    if configuration == WFQ:
        return {ce.DISCIPLINE: {"kind": "fair-queue", "key": "one", "hold": "40packets"}}
    plain = next((name for name, vpn in VPN.items() if vpn == configuration), configuration)
    by_exp = plain != configuration
    labels = ce.labelled() if by_exp else {}
    if plain == WRED:
        fair = ce.wred_by_exp() if by_exp else ce.wred_inside()
    return ce.policy(low_latency=plain != CBWFQ, inside=fair, by_exp=by_exp) | labels


class Configurations(ce.AtTheEdge):
    """Table 1 and figures 6 to 10 of the paper."""

    id = "edge-configs"
    title = "The five configurations and their VPN variants"
    reference = "Mitroi and Stroescu, Table 1 and figures 6 to 10"
    axes = (
        Axis("configuration", "configuration"),
        Axis("inside", "within a class"),
        Axis("ring", "transmit ring", "frames"),
        Axis("overhead", "bytes that the shaper adds to a frame", "B"),
        Axis("source", "sources"),
    )
    quick = Profile(duration="12s", warmup="2s", replications=3, max_replications=12, cpu_s=15)
    full = Profile(duration="122s", warmup="2s", replications=5, max_replications=30, cpu_s=150)
    metrics = (
        *(ce.group_loss(group) for group in ce.GROUPS),
        *(ce.class_loss(name) for name in DATA),
        *(ce.group_delay(group) for group in ("ef", "af41")),
        *(ce.class_delay(name) for name in DATA),
        *(ce.group_jitter(group) for group in ("ef", "af41")),
        *(ce.group_pdv(group) for group in ("ef", "af41")),
        *(m.offered(group, f"offered_{group}", f"offered by {group.upper()}") for group in ce.GROUPS),
        ce.LEVELS,
        m.offered(),
        m.throughput(),
        m.mos("ef", "mos", "MOS of voice"),
        m.video_score("af41", "video", "score of video"),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: every configuration; FIFO and LLQ with other rings and sources; FIFO with overheads."""
        del profile
        usual: dict[str, list[AxisValue]] = {"ring": [RING], "overhead": [0], "source": [JITTER]}
        return [
            *grid(configuration=[FIFO, WFQ, WRED, VPN[WRED]], inside=[NONE], **usual),
            *grid(configuration=[CBWFQ, LLQ, VPN[CBWFQ], VPN[LLQ]], inside=[FLAT, FAIR], **usual),
            *grid(configuration=[LLQ], inside=[CODES], **usual),
            *grid(configuration=[FIFO], inside=[NONE], ring=RINGS, overhead=[0], source=[JITTER]),
            *grid(configuration=[LLQ], inside=[FLAT], ring=RINGS, overhead=[0], source=[JITTER]),
            *grid(configuration=[FIFO], inside=[NONE], ring=[RING], overhead=[18, 38], source=[JITTER]),
            *grid(configuration=[FIFO], inside=[NONE], ring=[RING], overhead=[0], source=[PERIODIC, POISSON]),
            *grid(configuration=[LLQ], inside=[FLAT], ring=[RING], overhead=[0], source=[PERIODIC, POISSON]),
        ]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of policy, ring, bytes that the shaper counts, and sources."""
        del profile
        made = {f"{ce.PORT}.ring": point["ring"], **_policy(str(point["configuration"]), str(point["inside"]))}
        if point["overhead"]:
            made[f"{ce.PORT}.shaper.accounting"] = f"{point['overhead']}B"
        if point["source"] == PERIODIC:
            made |= {f"flows[{group}].source.wander": 0 for group in ce.GROUPS}
        elif point["source"] == POISSON:
            made |= {
                f"flows[{group}].source": {"kind": "poisson", "packet": "1500B", "rate": f"{row.rate}Mbit/s"}
                for group, row in ce.TABLE_1.items()
            }
        return made

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on Table 1, figures 6 to 10 and the fluid model, and the sensitivities."""
        return claims_of(results)

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield Table 1, figures 6 to 10, and the delay of voice against the length of the transmit ring."""
        usual = results.where(ring=RING, overhead=0, source=JITTER)
        real_time = {"EF": "ef", "AF41": "af41"}
        data = dict(zip(DATA, DATA, strict=True))
        yield Figure(
            "table-1",
            "Table 1: offered rate of each flow",
            "Bars: measured with configuration v; the lighter part is the supplementary traffic.",
            lambda: _draw_table(usual),
            claims=("T1", "T2"),
        )
        every = {group.upper(): group for group in (*CONGESTED, *ce.CLASSES["AF1x"])}
        least = "Figure 10 by another measure: 99.9th percentile of the delay minus the minimum delay"
        for name, title, y, what, claims in (
            ("figure-6", "Figure 6: delay of voice and video", "delay", real_time, ("D1", "D2", "D3", "D4")),
            ("figure-7", "Figure 7: delay of data", "delay", data, ("D5", "D5-wfq", "D6", "D7", "D8")),
            (
                "figure-8",
                "Figure 8: loss of voice and video",
                "loss",
                real_time,
                ("L1", "L1-wfq", "L2", "L2-wfq", "L3"),
            ),
            ("figure-9", "Figure 9: loss of data", "loss", every, ("L4", "L5", "L6", "L7", "L8", "L9", "L10", "L11")),
            ("figure-10", "Figure 10: delay variation of voice and video", "jitter", real_time, ("J1", "J2", "J4")),
            ("figure-10-pdv", least, "pdv", real_time, ("J1", "J5")),
        ):
            unit = "%" if y == "loss" else "ms"
            # Voice and video are within their plan, so the discipline within a class has no effect on them.
            insides = (FLAT,) if what is real_time else (FLAT, FAIR)
            sides = (
                ""
                if what is real_time
                else "Left: one queue within a class of iii and iv; right: a queue for each flow. "
            )
            yield Figure(
                name,
                title,
                f"{sides}Error bars: 99 % intervals.",
                partial(_draw, usual, {label: f"{y}_{key}" for label, key in what.items()}, f"{y} ({unit})", insides),
                claims=claims,
            )
        ring = results.where(overhead=0, source=JITTER)
        yield fig.compare(
            {
                "i FIFO": ring.where(configuration=FIFO, inside=NONE)["delay_ef"],
                "iv LLQ": ring.where(configuration=LLQ, inside=FLAT)["delay_ef"],
            },
            "ring",
            "Delay of voice against the length of the transmit ring",
            "The paper's factor of 3.5 between FIFO and LLQ needs a ring of about 15 frames.",
            x="ring",
            claims=("D1", "S1-1"),
        )


def _only(quantity: Quantity) -> Interval:
    return grouped_bars.only(list(quantity.intervals()))


def _draw(usual: Results, metrics: Mapping[str, str], y: str, insides: Sequence[str]) -> Drawing:
    """Draw the eight configurations, in a panel for each discipline within a class."""
    panels = {}
    for inside in insides:
        chosen = {c: at(usual, c, inside if c in {CBWFQ, LLQ, VPN[CBWFQ], VPN[LLQ]} else None) for c in COLUMNS}
        panels[f"within a class: {inside}" if len(insides) > 1 else ""] = {
            label: {c: _only(found[metric]) for c, found in chosen.items()} for label, metric in metrics.items()
        }
    return grouped_bars.columns(panels, y=y)


def _draw_table(usual: Results) -> Drawing:
    from tailback.plotting import plot

    v = usual.where(configuration=WRED, inside=NONE)
    figure = plot.new(width=7.0)
    (axes,) = figure.axes
    with plot.style():
        measured = [_only(v[f"offered_{group}"]).mean / ce.TABLE_1[group].flows for group in ce.GROUPS]
        extra = [ce.TABLE_1[group].extra for group in ce.GROUPS]
        base = [total - more for total, more in zip(measured, extra, strict=True)]
        axes.bar(range(len(base)), base, color=plot.COLOURS[0], label="planned")
        axes.bar(range(len(base)), extra, bottom=base, color=plot.COLOURS[0], alpha=0.4, label="supplementary")
        stated = [ce.TABLE_1[group].rate for group in ce.GROUPS]
        axes.plot(range(len(base)), stated, "D", color="#333333", fillstyle="none", label="Table 1")
        names = [f"{ce.TABLE_1[group].flows} x {group.upper()}" for group in ce.GROUPS]
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right")
        plot.finish(axes, y="each flow (Mbit/s)")
        axes.legend()
    return figure
