"""E15, SFB against RED and SFQ+RED: 400 TCP flows and one of 45 Mbit/s that does not respond."""

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
    """Loss that TCP has when all packets are dropped alike, from the other flow's, Mbit/s (identity of the table)."""
    offered = 8e-3 * report.offered_packets("cbr") / report.measured_s
    lost = 8e-3 * report.dropped_packets("cbr") / report.measured_s
    q = lost / offered
    return q / (1 - q) * _rest(report, offered - lost)


def _rest(report: Report, taken: float) -> float:
    """Capacity that the other flow leaves to TCP."""
    return RATE * report.utilisation("r0->r1") - taken


class OneAgainstMany(Experiment):
    """A non-responsive flow of the link's rate, and three disciplines that limit it."""

    id = "internet-e15"
    title = "SFB, RED and SFQ+RED with a non-responsive flow"
    reference = "Feng, thesis defence 1999, slides SFB; Feng, Kandlur, Saha and Shin, INFOCOM 2001"
    axes = (
        Axis("queue", "queue discipline"),
        Axis("sender", "TCP sender"),
        Axis("floor", "floor of the retransmission timeout", "s"),
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
            "drop ratio of TCP less that of the other flow",
            "points",
            lambda report: 100 * (report.loss("tcp") - report.loss("cbr")),
            lowest=None,
        ),
        Observable("tcp_identity", "TCP lost if all packets are dropped alike", "Mbit/s", _share),
        Observable(
            "cbr_share",
            "non-responsive carried per share of a bucket",
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
        """The table, RED at three floors, SFB and SFQ+RED with each sender, variants of SFB, and a slow flow."""
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
        """Queue, buffer, sender and the timer's floor."""
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
        """The table in its tiers, the identities in it, and the variants."""
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
                "RED drops all packets alike: TCP and the other flow lose the same share, within 0.5 points, whatever "
                "the timers.",
                f"{table}; derived: 10.32/45 = 3.07/(10.32 + 3.07) = 22.93 %",
                alike["unequal"].within(-0.5, 0.5),
            ),
            Claim.calibrated(
                "S2",
                "With RED the other flow loses 8 to 12.5 Mbit/s (slide: 10.32), and TCP (3.07) what follows from it, "
                "within a tenth.",
                f"{table}; stated, the tolerance reconstructed",
                red_drop["cbr_lost"].within(8, 12.5)
                & red_drop["tcp_lost"].close_to(red_drop["tcp_identity"], relative=0.1),
                "the floor of the retransmission timeout, 0.5 s, was chosen so that this row comes out; figure RED by "
                "timer floor shows the row at 0.2 and 1 s",
                headline="RED: TCP loses 3.07 Mbit/s and the other flow 10.32",
            ),
            Claim(
                "S3",
                "With SFQ+RED the other flow loses 43.5 to 44.1 Mbit/s (slide: 43.94) and TCP 1 to 4 (2.53), with "
                "each ECN sender.",
                f"{table}; stated, the tolerance reconstructed",
                sfq.where(sender=[Y1999, RFC3168, NS2])["cbr_lost"].within(43.5, 44.1)
                & sfq.where(sender=[Y1999, RFC3168, NS2])["tcp_lost"].within(1, 4),
                headline="SFQ+RED: TCP loses 2.53 Mbit/s and the other flow 43.94",
            ),
            Claim(
                "S4",
                "With SFQ+RED the other flow gets the share of one bucket in 46, times 0.9 to 1.3.",
                f"{table}; derived: (45 - 43.94) · 46/45 = 1.08",
                sfq["cbr_share"].within(0.9, 1.3),
            ),
            Claim(
                "S5",
                "With SFB the other flow loses at least 43 Mbit/s (slide: 44.84) and TCP at most 0.1 (0.01), with "
                "ns-2's sender and one that obeys RFC 3168.",
                f"{table}; stated, tier qualitative",
                (sfb.where(**waiting)["cbr_lost"] >= 43) & (sfb.where(**waiting)["tcp_lost"] <= 0.1),
                headline="SFB: TCP loses 0.01 Mbit/s and the other flow 44.84 (43 or more, TCP 0.1 or less)",
            ),
            Claim.unasserted(
                "S6",
                "Tier quantitative: the other flow loses at least 44.7 Mbit/s.",
                f"{table}; stated: 44.84",
                sfb.where(**waiting)["cbr_lost"] >= 44.7,
                "with the published constants a part leaks: where a TCP flow that shares one bin finds it empty, the "
                "smallest probability falls below 1 by d2, and that share of 45 Mbit/s passes until the bin is full "
                "again; S6-keep closes the leak",
                headline="SFB: the other flow is held to 0.16 Mbit/s (loses 44.84; 44.7 or more)",
            ),
            Claim.calibrated(
                "S6-keep",
                "Where arrivals of a boxed flow keep other flows from lowering its bins, the other flow loses at least "
                "44.7 Mbit/s and TCP at most 0.1.",
                f"{table}; stated, tier quantitative",
                (keep["cbr_lost"] >= 44.7) & (keep["tcp_lost"] <= 0.1),
                "that bins are kept was introduced so that the leak closes; no description of SFB has it, and a flow "
                "of 2 Mbit/s is not held by it (S14)",
            ),
            Claim.comparison(
                "S6-departure",
                "What the other flow loses if a bin falls when its last packet leaves, not when an arrival finds it "
                "empty, less what it loses otherwise.",
                "Feng's code for ns, and its port in Apple's kernel",
                depart["cbr_lost"] - sfb.where(**waiting)["cbr_lost"],
                "a choice that the published description does not make: it says that an empty bin is lowered, not when",
            ),
            Claim.calibrated(
                "S7",
                "With d1 = 100 d2 and the sender of 1999 the other flow is held as on the slide: at least 44.7 Mbit/s "
                "are lost.",
                f"{table}; stated, tier quantitative",
                steep["cbr_lost"] >= 44.7,
                "increments that are much larger than decrements were tried so that the leak closes; the published "
                "ones differ by a factor of 5, and TCP loses 0.3 Mbit/s instead of 0.01",
            ),
            Claim.unasserted(
                "S8",
                "With the sender of 1999, which never sends less than a segment per round trip, too, the other flow "
                "loses at least 44.7 Mbit/s and TCP at most 0.1.",
                f"{table}; stated: 44.84 and 0.01",
                (sfb_1999["cbr_lost"] >= 44.7) & (sfb_1999["tcp_lost"] <= 0.1),
                "TCP loses more: 400 segments per round trip fill the link, so that most probabilities stand near 1 "
                "and flows of TCP are boxed now and then",
            ),
            Claim(
                "S9",
                "TCP gets more than 40 Mbit/s with SFB and less than 13 with RED.",
                f"{table}; derived: TCP carries what the other flow loses, 44.84 and 10.32",
                (sfb["tcp_carried"] > 40) & (alike["tcp_carried"] < 13),
            ),
            Claim(
                "S10",
                "SFB starves every TCP flow that shares both bins with the other flow.",
                "derived: their smallest probability is 1; 0.76 of 400 flows expected, known from the run's hashes",
                sfb_rfc["spared"].is_zero(),
            ),
            Claim.calibrated(
                "S11",
                "If one full bin were enough to drop a packet, as the paper's figure has it, TCP would lose more than "
                "the 0.1 Mbit/s that the qualitative tier allows.",
                "derived: the other flow keeps two bins full that a twelfth of all flows use, and crowded bins are "
                "full now and then; slide: 0.01",
                at.where(queue=ANY, sender=RFC3168)["tcp_lost"] > 0.1,
                "the bound was 1 Mbit/s before it was measured, which three runs left undecided",
            ),
            Claim(
                "S12",
                "If RED's marks were honoured by ns-2's sender, TCP would lose at most 0.1 Mbit/s, and the other flow "
                "what it loses in ns-2.35, within 10 %: so the slide's RED did not mark.",
                "ns-2.35: 0.00 and 18.6 Mbit/s with these timers (0.01 and 21.4 with a floor of 0.2 s)",
                red.where(sender=NS2)["cbr_lost"].within(0.9 * 18.6, 1.1 * 18.6)
                & (red.where(sender=NS2)["tcp_lost"] <= 0.1),
            ),
            Claim.comparison(
                "S12-senders",
                "The same with the sender of 1999 and with one that obeys RFC 3168.",
                "not in the slides",
                red.where(sender=[Y1999, RFC3168])["cbr_lost"],
                "a sensitivity: how far a sender goes back when every segment is marked",
            ),
            Claim.comparison(
                "S13",
                "Without ECN SFQ+RED costs TCP about twice as much as on the slide (2.53).",
                table,
                sfq.where(sender=NO_ECN)["tcp_lost"],
                "the slide does not say whether the 46 queues mark",
            ),
            Claim.unasserted(
                "S14",
                "A flow of 2 Mbit/s is held to 0.16 Mbit/s as well: it loses 1.84 ± 0.03, also where bins are kept.",
                "derived from the limit of 0.16 Mbit/s; the tolerance reconstructed",
                slow.where(queue=[SFB, KEEP])["cbr_lost"].within(1.81, 1.87),
                "2 Mbit/s do not keep their bins full as 45 do: the leak weighs more",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """The slide's three panels, its table, RED's timers, and the variants of SFB."""
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
            "First replication; dashed: a fair share of 0.112 Mbit/s. The non-responsive flow is far beyond the scale "
            "except with SFB. The shares of SFB are uneven too: flows whose bins are both crowded get less.",
            lambda: draw_flows(kept),
            claims=("S9", "S10"),
        )
        yield Figure(
            "table",
            "The slide's table",
            "RED without ECN, SFQ+RED and SFB with each kind of ECN sender. Diamonds: the slide.",
            lambda: draw_table(at.where(floor=FLOOR)),
            claims=("S2", "S3", "S5", "S6", "S8"),
        )
        yield Figure(
            "floor",
            "RED by timer floor",
            "Sensitivity of the calibrated row: drop mode, Reno, timer of 100 ms. Dashed: what the equal-drop identity "
            "gives TCP; dotted: the slide.",
            lambda: draw_floor(at.where(queue=RED, sender=NO_ECN)),
            claims=("S1", "S2"),
        )
        yield Figure(
            "variants",
            "Variants of SFB",
            "What the non-responsive flow still gets and what TCP loses; diamonds: the slide, 0.16 and 0.01 Mbit/s.",
            lambda: draw_variants(at.where(floor=FLOOR)),
            claims=("S6", "S6-keep", "S6-departure", "S7", "S8", "S11"),
        )


def _spared(report: Report) -> tuple[int, int]:
    """Covered TCP flows that are not starved, and all covered ones."""
    if not report.flows("cbr"):
        return 0, 0
    flows = covered_flows(report, 1)
    return len(flows - starved_flows(report)), len(flows)
