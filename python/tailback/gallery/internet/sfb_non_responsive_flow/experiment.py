"""internet-e15: SFB, RED and SFQ+RED with 400 TCP flows and one of 45 Mbit/s that does not respond."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from tailback.gallery.internet.sfb_non_responsive_flow.drawings import draw_floor, draw_flows, draw_table, draw_variants
from tailback.gallery.internet.shared.fairness import (
    BACKOFF,
    NO_ECN,
    NS2,
    RATE,
    RFC3168,
    Y1999,
    carried_rate,
    covered_flows,
    delivered_rate,
    lost_rate,
    sender,
    starved_flows,
)
from tailback.gallery.internet.shared.queues import (
    ANY,
    DEPART,
    DOWN,
    FLOOR,
    HOLD,
    KEEP,
    PRESSURE,
    RED,
    SFB,
    SFQ_RED,
    SLOW,
    STEEP,
    UNCOUNTED,
    discipline,
)
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


def _share(report: Report) -> float:
    """Return the rate in Mbit/s that TCP would lose if all packets were dropped with the other flow's probability."""
    offered = 8e-3 * report.offered_packets("cbr") / report.measured_s
    lost = 8e-3 * report.dropped_packets("cbr") / report.measured_s
    q = lost / offered
    return q / (1 - q) * _rest(report, offered - lost)


def _rest(report: Report, taken: float) -> float:
    """Return the used capacity that the other flow leaves to TCP, Mbit/s."""
    return RATE * report.utilisation("r0->r1") - taken


class OneAgainstMany(Experiment):
    """A non-responsive flow of the link's rate, and three disciplines that limit it."""

    id = "internet-e15"
    title = "SFB, RED and SFQ+RED with a non-responsive flow"
    reference = "Feng, thesis defence 1999, slides SFB; Feng, Kandlur, Saha and Shin, INFOCOM 2001"
    axes = (
        Axis("queue", "queue discipline"),
        Axis("sender", "TCP sender"),
        Axis("floor", "minimum RTO", "s"),
        Axis("rate", "rate of the non-responsive flow", "Mbit/s"),
    )
    quick = Profile(duration="100s", warmup="20s", replications=3, max_replications=12, cpu_s=60)
    full = Profile(duration="200s", warmup="20s", replications=5, max_replications=40, cpu_s=380)
    metrics = (
        lost_rate("tcp", "tcp_lost", "TCP lost"),
        lost_rate("cbr", "cbr_lost", "non-responsive lost"),
        carried_rate("tcp", "tcp_carried", "TCP carried"),
        carried_rate("cbr", "cbr_carried", "non-responsive carried"),
        Observable(
            "unequal",
            "drop ratio of TCP minus that of the non-responsive flow",
            "points",
            lambda report: 100 * (report.loss("tcp") - report.loss("cbr")),
            lowest=None,
        ),
        Observable("tcp_identity", "TCP lost if all packets had the same drop probability", "Mbit/s", _share),
        Observable(
            "cbr_share",
            "non-responsive delivered, as a multiple of 1/46 of the link's rate",
            "",
            lambda report: delivered_rate(report, "cbr") * 46 / RATE,
        ),
        Observable(
            "spared",
            "covered flows that are not starved",
            "flows",
            lambda report: float(_spared(report)[0]),
            lambda report: _spared(report),
        ),
    )
    traces = {  # noqa: RUF012
        "goodputs": lambda report: (
            [1e-6 * rate for rate in report.goodputs_bps("tcp")],
            1e-6 * report.goodput_bps("cbr"),
        )
    }

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: RED at three minimum RTOs, SFQ+RED and SFB by sender, variants of SFB, a slow flow."""
        table = grid(queue=[RED], sender=[NO_ECN], floor=(0.2, FLOOR, 1.0), rate=[45])
        table += grid(queue=[RED], sender=[Y1999, RFC3168, NS2], floor=[FLOOR], rate=[45])
        table += grid(queue=[SFQ_RED], sender=(NO_ECN, Y1999, RFC3168, NS2), floor=[FLOOR], rate=[45])
        table += grid(queue=[SFB], sender=(Y1999, RFC3168, NS2, BACKOFF), floor=[FLOOR], rate=[45])
        table += grid(queue=[STEEP], sender=[Y1999], floor=[FLOOR], rate=[45])
        table += grid(queue=[KEEP, DEPART], sender=(RFC3168, NS2), floor=[FLOOR], rate=[45])
        table += grid(queue=[ANY], sender=[RFC3168], floor=[FLOOR], rate=[45])
        table += grid(queue=[SFB, KEEP], sender=[RFC3168], floor=[FLOOR], rate=[2])
        if profile == "full":
            table += grid(queue=[STEEP], sender=[RFC3168], floor=[FLOOR], rate=[45])
            table += grid(queue=[KEEP, DEPART], sender=[Y1999], floor=[FLOOR], rate=[45])
            table += grid(
                queue=[UNCOUNTED, PRESSURE, HOLD, SLOW, DOWN], sender=(Y1999, RFC3168, NS2), floor=[FLOOR], rate=[45]
            )
            table += grid(queue=[SFB], sender=(Y1999, RFC3168), floor=(0.2, 1.0), rate=[45])
        return table

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of queue, buffer, sender, minimum RTO, and rate of the non-responsive flow."""
        del profile
        queue, buffer = discipline(point["queue"], point["sender"] != NO_ECN)
        return {
            "switches.r0.ports.r1.discipline": queue,
            "switches.r0.ports.r1.buffer": buffer,
            "flows[tcp].transport.timers.min-rto": f"{float(point['floor']) * 1e3:g}ms",
            "flows[cbr].source.rate": f"{point['rate']}Mbit/s",
            **sender(point["sender"]),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the slide's table, with wide and with narrow bounds, and on SFB's variants."""
        r = results.where(rate=45)
        at = r.where(floor=FLOOR)
        red, sfq, sfb = at.where(queue=RED), at.where(queue=SFQ_RED), at.where(queue=SFB)
        red_drop, alike = red.where(sender=NO_ECN), r.where(queue=RED, sender=NO_ECN)
        sfb_rfc, sfb_1999 = sfb.where(sender=RFC3168), sfb.where(sender=Y1999)
        waiting: dict[str, Selector] = {"sender": [RFC3168, NS2]}
        steep = at.where(queue=STEEP, sender=Y1999)
        keep = at.where(queue=KEEP, **waiting)
        depart = at.where(queue=DEPART, **waiting)
        slow = results.where(sender=RFC3168, floor=FLOOR, rate=2)
        table = "slide SFB: table of losses"
        return [
            Claim(
                "S1",
                "With RED, TCP and the non-responsive flow lose the same share of their packets, within 0.5 percentage "
                "points, at each minimum RTO.",
                f"{table}; derived: 10.32/45 = 3.07/(10.32 + 3.07) = 22.93 %",
                alike["unequal"].within(-0.5, 0.5),
            ),
            Claim.calibrated(
                "S2",
                "With RED the non-responsive flow loses 8 to 12.5 Mbit/s (slide: 10.32), and TCP (slide: 3.07) loses "
                "what equal shares of lost packets give, within 10 %.",
                f"{table}; stated, the tolerance reconstructed",
                red_drop["cbr_lost"].within(8, 12.5)
                & red_drop["tcp_lost"].close_to(red_drop["tcp_identity"], relative=0.1),
                "the minimum RTO, 0.5 s, was chosen so that this row agrees; figure RED by minimum RTO shows the row "
                "at 0.2 and 1 s",
                headline="RED: TCP loses 3.07 Mbit/s and the other flow 10.32",
            ),
            Claim(
                "S3",
                "With SFQ+RED and each ECN sender, the non-responsive flow loses 43.5 to 44.1 Mbit/s (slide: 43.94) "
                "and TCP 1 to 4 Mbit/s (slide: 2.53).",
                f"{table}; stated, the tolerance reconstructed",
                sfq.where(sender=[Y1999, RFC3168, NS2])["cbr_lost"].within(43.5, 44.1)
                & sfq.where(sender=[Y1999, RFC3168, NS2])["tcp_lost"].within(1, 4),
                headline="SFQ+RED: TCP loses 2.53 Mbit/s and the other flow 43.94",
            ),
            Claim(
                "S4",
                "With SFQ+RED the non-responsive flow gets 0.9 to 1.3 times 1/46 of the link's rate, the share of one "
                "bucket.",
                f"{table}; derived: (45 - 43.94) · 46/45 = 1.08",
                sfq["cbr_share"].within(0.9, 1.3),
            ),
            Claim(
                "S5",
                "With SFB, for ns-2's sender and for one that obeys RFC 3168, the non-responsive flow loses at least "
                "43 Mbit/s (slide: 44.84) and TCP at most 0.1 Mbit/s (slide: 0.01).",
                f"{table}; stated; the wide bounds reconstructed",
                (sfb.where(**waiting)["cbr_lost"] >= 43) & (sfb.where(**waiting)["tcp_lost"] <= 0.1),
                headline="SFB: TCP loses 0.01 Mbit/s and the other flow 44.84 (43 or more, TCP 0.1 or less)",
            ),
            Claim.unasserted(
                "S6",
                "With SFB, for ns-2's sender and for one that obeys RFC 3168, the non-responsive flow loses at least "
                "44.7 Mbit/s (slide: 44.84).",
                f"{table}; stated: 44.84",
                sfb.where(**waiting)["cbr_lost"] >= 44.7,
                "with the published constants more of the flow passes: when a TCP flow that shares one bin finds it "
                "empty, the non-responsive flow's smallest probability falls to 1 - d2, and the share d2 of 45 Mbit/s "
                "passes until the bin is full again; S6-keep prevents that",
                headline="SFB: the other flow is limited to 0.16 Mbit/s (loses 44.84; 44.7 or more)",
            ),
            Claim.calibrated(
                "S6-keep",
                "With an SFB in which arrivals of a boxed flow keep other flows from lowering its bins, the "
                "non-responsive flow loses at least 44.7 Mbit/s and TCP at most 0.1.",
                f"{table}; stated; the narrow bounds reconstructed",
                (keep["cbr_lost"] >= 44.7) & (keep["tcp_lost"] <= 0.1),
                "the rule was introduced so that no more passes than on the slide; no description of SFB has it, and "
                "it does not limit a flow of 2 Mbit/s as much (S14)",
            ),
            Claim.comparison(
                "S6-departure",
                "Loss of the non-responsive flow if SFB lowers a bin when its last packet leaves, minus its loss if "
                "SFB lowers a bin when an arrival finds it empty.",
                "Feng's code for ns, and its port in Apple's kernel",
                depart["cbr_lost"] - sfb.where(**waiting)["cbr_lost"],
                "the published description does not say when an empty bin is lowered",
            ),
            Claim.calibrated(
                "S7",
                "With SFB, d1 = 100 d2 and the sender of 1999, the non-responsive flow loses at least 44.7 Mbit/s "
                "(slide: 44.84).",
                f"{table}; stated; the narrow bounds reconstructed",
                steep["cbr_lost"] >= 44.7,
                "increments much larger than decrements were chosen so that no more passes than on the slide; the "
                "published ones differ by a factor of 5, and TCP loses 0.2 Mbit/s instead of 0.01",
            ),
            Claim.unasserted(
                "S8",
                "With SFB and the sender of 1999, which never sends less than a segment per round trip, the "
                "non-responsive flow loses at least 44.7 Mbit/s and TCP at most 0.1.",
                f"{table}; stated: 44.84 and 0.01",
                (sfb_1999["cbr_lost"] >= 44.7) & (sfb_1999["tcp_lost"] <= 0.1),
                "TCP loses more: 400 segments per round trip fill the link, so that most probabilities are near 1 and "
                "TCP flows are boxed now and then",
            ),
            Claim(
                "S9",
                "TCP gets more than 40 Mbit/s with SFB, and less than 13 with RED without ECN.",
                f"{table}; derived: TCP gets the capacity that the other flow's losses leave free, 44.84 and 10.32",
                (sfb["tcp_carried"] > 40) & (alike["tcp_carried"] < 13),
            ),
            Claim(
                "S10",
                "SFB starves every TCP flow that shares both bins with the non-responsive flow.",
                "derived: the smallest probability of these flows is 1; 0.76 of 400 are expected, and the run's hashes "
                "identify them",
                sfb_rfc["spared"].is_zero("covered flows"),
            ),
            Claim.calibrated(
                "S11",
                "With an SFB that drops a packet if any of its bins is full, as in the paper's figure, TCP loses more "
                "than 0.1 Mbit/s, the upper bound of S5.",
                "derived: the non-responsive flow keeps two bins full that a twelfth of all flows use, and crowded "
                "bins are full now and then; slide: 0.01",
                at.where(queue=ANY, sender=RFC3168)["tcp_lost"] > 0.1,
                "the bound before the measurement was 1 Mbit/s, on which three runs were undecided",
            ),
            Claim(
                "S12",
                "With RED and ns-2's sender with ECN, TCP loses at most 0.1 Mbit/s and the non-responsive flow "
                "18.6 Mbit/s within 10 %, as in ns-2.35: so the slide's RED did not mark.",
                "ns-2.35: 0.00 and 18.6 Mbit/s with these timers (0.01 and 21.4 with a minimum RTO of 0.2 s)",
                red.where(sender=NS2)["cbr_lost"].within(0.9 * 18.6, 1.1 * 18.6)
                & (red.where(sender=NS2)["tcp_lost"] <= 0.1),
            ),
            Claim.comparison(
                "S12-senders",
                "Loss of the non-responsive flow with RED and ECN, with the sender of 1999 and with one that obeys "
                "RFC 3168.",
                "not in the slides",
                red.where(sender=[Y1999, RFC3168])["cbr_lost"],
                "a sensitivity: the senders reduce their rate differently when every segment is marked",
            ),
            Claim.comparison(
                "S13",
                "Loss of TCP with SFQ+RED without ECN (slide: 2.53).",
                table,
                sfq.where(sender=NO_ECN)["tcp_lost"],
                "the slide does not say whether the 46 queues mark",
            ),
            Claim.unasserted(
                "S14",
                "SFB limits a non-responsive flow of 2 Mbit/s to 0.16 Mbit/s: the flow loses 1.84 ± 0.03 Mbit/s with "
                "SFB, and with the SFB of S6-keep.",
                "derived from the limit of 0.16 Mbit/s; the tolerance reconstructed",
                slow.where(queue=[SFB, KEEP])["cbr_lost"].within(1.81, 1.87),
                "a flow of 2 Mbit/s does not keep its bins full all the time, so that its probability falls more often",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the slide's three panels, its table, RED by minimum RTO, and the variants of SFB."""
        at = results.where(rate=45)
        shown = ((RED, NO_ECN), (SFQ_RED, NS2), (SFB, NS2))
        kept = {
            queue: cast(
                tuple[list[float], float], results.trace("goodputs", queue=queue, sender=how, floor=FLOOR, rate=45)
            )
            for queue, how in shown
        }
        yield Figure(
            "flows",
            "Goodput of each flow",
            "First replication; dashed: the fair share of 0.112 Mbit/s. The non-responsive flow's goodput is outside "
            "the axis, and written into each panel. With SFB the TCP flows' shares are uneven: flows whose bins are "
            "both crowded get less.",
            lambda: draw_flows(kept),
            claims=("S9", "S10"),
        )
        yield Figure(
            "table",
            "The slide's table of losses",
            "RED without ECN; SFQ+RED and SFB with each ECN sender. Dots: measured; diamonds: the slide.",
            lambda: draw_table(at.where(floor=FLOOR)),
            claims=("S2", "S3", "S5", "S6", "S8"),
        )
        yield Figure(
            "floor",
            "RED by minimum RTO",
            "Sensitivity of the calibrated row: RED without ECN, Reno, clock tick of 100 ms. Dashed: TCP's loss if all "
            "packets had the same drop probability; dotted: the slide.",
            lambda: draw_floor(at.where(queue=RED, sender=NO_ECN)),
            claims=("S1", "S2"),
        )
        yield Figure(
            "variants",
            "Variants of SFB",
            "Delivered rate of the non-responsive flow, and TCP's loss; diamonds: the slide, 0.16 and 0.01 Mbit/s.",
            lambda: draw_variants(at.where(floor=FLOOR)),
            claims=("S6", "S6-keep", "S6-departure", "S7", "S8", "S11"),
        )


def _spared(report: Report) -> tuple[int, int]:
    """Return the number of covered TCP flows that are not starved, and of all covered ones."""
    if not report.flows("cbr"):
        return 0, 0
    flows = covered_flows(report, 1)
    return len(flows - starved_flows(report)), len(flows)
