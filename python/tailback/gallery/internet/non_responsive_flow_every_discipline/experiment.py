"""E15 on every rival discipline: the share of one non-responsive flow, the loss of TCP, the cost of isolation."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery.internet.non_responsive_flow_every_discipline.drawings import draw_cost, draw_isolation
from tailback.gallery.internet.shared.fairness import (
    BOTTLENECK,
    RATE,
    TCP,
    carried_rate,
    lost_rate,
    starved_flows,
)
from tailback.gallery.internet.shared.hashes import draws, formula, mean_covered
from tailback.gallery.internet.shared.queues import FAIR, RED, SFB, SFQ_RED, discipline
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.scenario import Value
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

FAIR_GOODPUT = TCP * FAIR * 960 / 1000
"""Of all TCP flows together if each flow has its fair share, in payload, Mbit/s."""
PLAIN = ("drop-tail", "drop-head", "blue", "codel", "pie", "pi", "rem", "avq", "cobalt", "dualpi2")
"""Disciplines that do not distinguish flows, besides RED."""
LAWS = (RED, "blue", "codel", "pie", "pi", "rem", "dualpi2")
"""Disciplines that drop at random or at intervals, independent of the packet's delay."""
ALIKE = (RED, "drop-head", "blue", "pie", "rem", "dualpi2")
"""Disciplines whose drops are mostly of that kind, or of the oldest packet."""
UNLIKE = {
    "drop-tail": "what arrives at a full queue is dropped: TCP's packets come in bunches, the other flow's one by one",
    "codel": "its own drops are alike (V2-law), but its buffer is full as well and drops what arrives",
    "pi": "its own drops are alike (V2-law), but its buffer is full most of the time and drops what arrives",
    "avq": "it drops what arrives at a full virtual queue, as drop-tail does at a full one",
    "cobalt": "it never drops the last packet of the queue, which here is nearly empty: of a bunch it spares one",
}
"""The others, and why they treat TCP worse."""
PARTLY = ("choke", "sred", "fred", "red-pd")
"""Disciplines that distinguish flows to some degree."""
FAIR_QUEUES = ("sfq", "drr", "wfq", "wf2q-plus", "stfq", "scfq", "virtual-clock", "fq-codel", "fq-pie")
ECN_SFB = "sfb, with ECN"
SUMMED = {RED: RED, SFQ_RED: SFQ_RED, ECN_SFB: SFB}
QUEUES = (RED, *PLAIN, *PARTLY, ECN_SFB, SFQ_RED, *FAIR_QUEUES)
IN_TURN = ("sfq", "drr", "wfq", "wf2q-plus", "stfq", "scfq", "fq-codel")
"""Disciplines that serve backlogged queues at equal rates."""
BY_PACKET = ("sfq", SFQ_RED)
"""Disciplines that serve backlogged queues in turn, one packet each."""
LARGEST = 8
QUICK_SIZES, FULL_SIZES = (1 / 16, 1 / 4, 1, LARGEST), (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, LARGEST)
"""Buffers, as multiples of the slide's."""
HASHES = 10_000
"""Draws of the hashes for each run, over which the number of covered flows is compared with the formula."""
OCCUPIED = 1024 * (1 - (1 - 1 / 1024) ** (TCP + 1))
"""Mean number of queues of FQ-CoDel to which these flows are hashed."""
PUBLISHED = 0.16
"""Rate of the non-responsive flow behind SFB on the slide, Mbit/s: 45 less 44.84."""


def discipline_of(name: str, size: float = 1) -> tuple[dict[str, Value], str]:
    """Return a row's discipline and buffer, of `size` times the slide's.

    Each has its defaults, and 200 kB, or 400 kB where flows have queues of their own, as SFQ+RED has on the slide.
    """
    if name in SUMMED:
        return discipline(SUMMED[name], name == ECN_SFB, size)
    return {"kind": name}, f"{(400 if name in FAIR_QUEUES else 200) * size:g}kB"


def _samples(report: Report, name: str) -> list[float]:
    """Samples of the discipline's probe after the warm-up; empty if it has no such value."""
    series = report.data["series"]
    if not series:
        return []
    start = series["time_s"][-1] - report.measured_s
    values = series["ports"][BOTTLENECK]["state"].get(name, [])
    return [value for at, value in zip(series["time_s"], values, strict=False) if at > start]


def _largest(report: Report, name: str) -> float:
    return max(_samples(report, name), default=float("nan"))


def _passed(report: Report) -> float:
    """Rate of the one flow, Mbit/s, by packets delivered from the warm-up on, whenever they were sent.

    Reports count packets sent after the warm-up, which excludes those waiting then: seconds, in a large buffer.
    """
    series = report.data["series"]
    if not series:
        return float("nan")
    times, delivered = series["time_s"], series["flows"]["cbr"]["delivered_bytes"]
    first = next(i for i, at in enumerate(times) if at >= times[-1] - report.measured_s)
    return 8e-6 * (delivered[-1] - delivered[first]) / (times[-1] - times[first])


def _turn(report: Report) -> float:
    """The link's rate divided by the mean number of occupied queues, Mbit/s."""
    flows = _samples(report, "flows")
    return RATE * sum(1 / max(n, 1) for n in flows) / len(flows) if flows else float("nan")


def _boxed(report: Report) -> float:
    """Flows that the discipline holds back, less the one that does not respond; NaN where it keeps no list."""
    found = _samples(report, "boxed_flows") or _samples(report, "monitored_flows")
    return sum(max(n - 1, 0) for n in found) / len(found) if found else float("nan")


def _refused(report: Report) -> tuple[int, int]:
    """TCP's packets that were dropped as those of an unresponsive flow, and all of TCP's."""
    rows = [row for flow in report.flows("tcp") for row in flow["drops"] if row["reason"] == "unresponsive flow"]
    return sum(row["packets"] for row in rows), report.offered_packets("tcp")


def _drop_ratio(report: Report, flows: str) -> float:
    """Share of the packets with room in the buffer that the law drops."""
    rows = [row for flow in report.flows(flows) for row in flow["drops"]]
    full = sum(row["packets"] for row in rows if row["reason"] == "buffer full")
    early = sum(row["packets"] for row in rows) - full
    return early / max(report.offered_packets(flows) - full, 1)


def _covered(report: Report) -> float:
    """TCP flows that share both bins with the other flow, over many hashes, the run's first; of SFB only."""
    if not _samples(report, "boxed_flows"):
        return float("nan")
    return mean_covered(draws(report.seed, BOTTLENECK, HASHES), TCP, 1)


class Rivals(Experiment):
    """The workload of E15 under every discipline."""

    id = "internet-rivals"
    title = "One non-responsive flow under every discipline"
    reference = "Feng, Kandlur, Saha and Shin, INFOCOM 2001, against RFC 8033, 8289, 8290 and others"
    axes = (
        Axis("queue", "queue discipline"),
        Axis("size", "buffer as a multiple of the slide's"),
    )
    quick = Profile(duration="48s", warmup="20s", replications=3, max_replications=16, cpu_s=110)
    full = Profile(duration="150s", warmup="20s", replications=5, max_replications=24, cpu_s=900)
    metrics = (
        lost_rate("tcp", "tcp_lost", "TCP lost"),
        lost_rate("cbr", "cbr_lost", "non-responsive lost"),
        carried_rate("cbr", "cbr_carried", "non-responsive carried"),
        m.goodput("tcp", name="goodput", label="TCP goodput"),
        m.mean_queue(BOTTLENECK, label="mean queue"),
        m.jain("tcp"),
        Observable(
            "unequal",
            "drop ratio of TCP less that of the other flow",
            "points",
            lambda report: 100 * (report.loss("tcp") - report.loss("cbr")),
            lowest=None,
        ),
        Observable(
            "unequal_law",
            "the same of packets that find room",
            "points",
            lambda report: 100 * (_drop_ratio(report, "tcp") - _drop_ratio(report, "cbr")),
            lowest=None,
        ),
        Observable("starved", "starved TCP flows", "flows", lambda report: float(len(starved_flows(report)))),
        Observable("boxed", "TCP flows in the penalty box", "flows", _boxed),
        Observable(
            "refused",
            "TCP dropped as unresponsive",
            "%",
            lambda report: 100 * _refused(report)[0] / max(_refused(report)[1], 1),
            _refused,
        ),
        Observable("covered", f"covered TCP flows over {HASHES} hashes", "flows", _covered),
        Observable("passed", "non-responsive delivered", "Mbit/s", _passed),
        Observable("turn", "link's rate over the number of occupied queues", "Mbit/s", _turn),
        Observable("state", "state", "bytes", lambda report: _largest(report, "state_bytes")),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Every discipline with the slide's buffer, and on a ladder of others."""
        return grid(queue=QUEUES, size=QUICK_SIZES if profile == "quick" else FULL_SIZES)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """The discipline and its buffer; runs are shorter on the ladder, where only TCP's goodput counts."""
        name, size = str(point["queue"]), float(point["size"])
        queue, buffer = discipline_of(name, size)
        ecn = name == ECN_SFB
        ladder: Settings = {} if size == 1 else {"run.duration": "30s" if profile == "quick" else "80s"}
        return {
            "switches.r0.ports.r1.discipline": queue,
            "switches.r0.ports.r1.buffer": buffer,
            "flows[tcp].transport.ecn": "classic" if ecn else "off",
            "flows[tcp].transport.ecn-floor": "rfc3168" if ecn else "none",
            "run.sample": "1s",
            **ladder,
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Disciplines that isolate, and the goodput, losses and state of all."""
        r = results.where(size=1)
        unfair = r.where(queue=[RED, *PLAIN])
        many = results.where(queue=list(IN_TURN), size=LARGEST)
        fq, sfb = r.where(queue="fq-codel"), r.where(queue=ECN_SFB)
        return [
            Claim(
                "V1",
                "None of the eleven disciplines that do not look at flows isolates: with each the non-responsive flow "
                "gets more than 20 of 45 Mbit/s.",
                "derived: without a look at flows all packets are dropped alike, and who sends most gets most",
                unfair["cbr_carried"] > 20,
            ),
            *(
                Claim(
                    f"V2-{name}",
                    f"With {name}, TCP and the other flow lose the same share, within 2 points.",
                    "derived: identity of the table of E15",
                    r.where(queue=name)["unequal"].within(-2, 2),
                )
                for name in ALIKE
            ),
            Claim(
                "V2-law",
                "Of the packets that find room, RED, Blue, CoDel, PIE, PI, REM and DualPI2 drop the same share of "
                "both, within 2 points.",
                "derived: a law that drops at random or at intervals does not know whose packet it is",
                r.where(queue=list(LAWS))["unequal_law"].within(-2, 2),
            ),
            *(
                Claim.unasserted(
                    f"V2-{name}",
                    f"With {name}, TCP and the other flow lose the same share, within 2 points.",
                    "derived: identity of the table of E15",
                    r.where(queue=name)["unequal"].within(-2, 2),
                    why,
                )
                for name, why in UNLIKE.items()
            ),
            Claim(
                "V3",
                "FQ-CoDel isolates better than SFQ+RED: the non-responsive flow gets less than its 1/46.",
                "derived: 1024 queues instead of 46 for 401 flows",
                fq["cbr_carried"] < r.where(queue=SFQ_RED)["cbr_carried"],
            ),
            Claim(
                "V3-sfb",
                "FQ-CoDel isolates strictly better than SFB: the non-responsive flow gets less.",
                "derived: FQ-CoDel gives it its turn, SFB's published constants leak (E15)",
                fq["cbr_carried"] < sfb["cbr_carried"],
                headline="FQ-CoDel holds a non-responsive flow better than SFB",
            ),
            Claim.unasserted(
                "V3-published",
                "FQ-CoDel lets less than 0.16 Mbit/s through, which SFB does on the slide.",
                "slide SFB: 44.84 of 45 lost; derived: the fair share is 0.112",
                fq["cbr_carried"] < PUBLISHED,
                "about half of the TCP queues are empty at a time, and those that are not, the flow's among them, have "
                "a turn more often (V9); with more buffer fewer are empty (V3-large)",
            ),
            Claim(
                "V3-large",
                "With 3.2 MB, eight packets for each flow, FQ-CoDel does let less than 0.16 Mbit/s through.",
                f"derived: 401 flows fall on {OCCUPIED:.0f} of 1024 queues, and if all of these are occupied, one gets "
                f"{RATE / OCCUPIED:.3f} Mbit/s",
                results.where(queue="fq-codel", size=LARGEST)["passed"] < PUBLISHED,
            ),
            Claim.unasserted(
                "V3-share",
                "FQ-CoDel holds the flow to its fair share of 0.112 Mbit/s, within a tenth: it loses 44.89.",
                "derived: 45 Mbit/s for 401 flows",
                fq["cbr_carried"] <= 1.1 * FAIR,
                f"as V3-published; and 401 flows fall on {OCCUPIED:.0f} of the 1024 queues, so that no buffer brings "
                f"it below {RATE / OCCUPIED:.3f} Mbit/s while it has a queue to itself",
            ),
            Claim(
                "V9",
                "SFQ and SFQ+RED give the flow the link's rate over the number of queues that are occupied at the "
                "time, within a tenth.",
                "derived: all packets are of one size, and between two of the flow's each occupied queue sends one",
                r.where(queue=list(BY_PACKET))["passed"].close_to(r.where(queue=list(BY_PACKET))["turn"], relative=0.1),
            ),
            Claim(
                "V9-buffer",
                "With eight packets for each flow in the buffer instead of one, it gets less in every discipline that "
                "serves the occupied queues at equal rates, and more than its fair share of 0.112 Mbit/s still.",
                "derived: with more packets waiting, more queues are occupied at a time, and never more than 401",
                (many["passed"] < r.where(queue=list(IN_TURN))["passed"]) & (many["passed"] >= FAIR),
            ),
            Claim(
                "V10",
                f"Of 400 TCP flows 400/23² = 0.76 share both bins with the flow, within a tenth, over {HASHES} hashes "
                "for each run: so many SFB must take for it.",
                "slide SFB: probability of misclassification, [1 - (1 - 1/23)^1]^2; the tolerance reconstructed",
                sfb["covered"].within(0.9 * TCP * formula(1), 1.1 * TCP * formula(1)),
            ),
            *(
                Claim.comparison(number, text, "not in the slides", where[name], "reported for all; see the figure")
                for number, text, where, name in (
                    ("V4", "What the non-responsive flow gets.", r, "cbr_carried"),
                    ("V5", "What TCP loses.", r, "tcp_lost"),
                    ("V6", "The mean queue.", r, "mean_queue"),
                    ("V7", "TCP flows below a quarter of the median.", r, "starved"),
                    ("V11", "TCP's goodput on the ladder of buffers.", results, "goodput"),
                )
            ),
            Claim.comparison(
                "V7-boxed",
                "TCP flows in the penalty box, on average, where the discipline has one and tells who is in it.",
                "slide SFB; derived: 0.76 with SFB",
                r.where(queue=["red-pd", ECN_SFB])["boxed"],
                "the one flow is taken to be in it; sampled each second",
            ),
            Claim.comparison(
                "V7-refused",
                "TCP's packets that are dropped as those of an unresponsive flow.",
                "not in the slides",
                r.where(queue=["fred", "red-pd", ECN_SFB])["refused"],
                "misclassification by packets; other disciplines do not say of a packet why they drop it",
            ),
            Claim.comparison(
                "V8",
                "What the discipline keeps.",
                "slide SFB: 46 bins instead of a queue for each flow",
                r["state"],
                "bytes besides the waiting packets, without parameters; docs/architecture.md says what counts",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """All disciplines in rows."""
        r = results.where(size=1)
        yield Figure(
            "rivals",
            "Every discipline against one non-responsive flow",
            "Dashed: a fair share of 0.112 Mbit/s. No ECN except with SFB. Blue: no look at flows; orange: some; "
            "green: queues by flow. A starved flow has less than a quarter of the median.",
            lambda: draw_isolation(r, QUEUES, _groups()),
            claims=("V1", "V3", "V3-sfb", "V3-published", "V3-share", "V4", "V5", "V7", "V9"),
        )
        yield Figure(
            "cost",
            "What every discipline needs",
            "Buffer with which TCP has 95 % of what it has with the discipline's best buffer (dots), and of its fair "
            "share of 43.1 Mbit/s (diamonds; none where no buffer gives that): the least step of a ladder, the line "
            "reaching down to the step that is not enough. Mean queue: with the slide's buffer. State: variables and "
            "tables, without parameters. Blue: no look at flows; orange: some; green: queues by flow.",
            lambda: draw_cost(results, QUEUES, _groups(), FAIR_GOODPUT),
            claims=("V6", "V8", "V11"),
        )


def _groups() -> list[int]:
    """By row: 0 if the discipline ignores flows, 1 if it distinguishes them to some degree, 2 with queues by flow."""
    return [0] * (1 + len(PLAIN)) + [1] * (len(PARTLY) + 1) + [2] * (1 + len(FAIR_QUEUES))
