"""internet-rivals, the workload of internet-e15 with every discipline: isolation, TCP's loss, cost of isolation."""

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
"""Goodput of all TCP flows together, each with its fair share: payload, Mbit/s."""
PLAIN = ("drop-tail", "drop-head", "blue", "codel", "pie", "pi", "rem", "avq", "cobalt", "dualpi2")
"""Disciplines, other than RED, that do not distinguish flows."""
LAWS = (RED, "blue", "codel", "pie", "pi", "rem", "dualpi2")
"""Disciplines that drop at random or at intervals, independently of the packet's flow."""
ALIKE = (RED, "drop-head", "blue", "pie", "rem", "dualpi2")
"""Disciplines most of whose drops are at random or at intervals, or hit the oldest packet."""
UNLIKE = {
    "drop-tail": "packets that arrive at a full queue are dropped, and TCP's arrive in bursts, the other flow's singly",
    "codel": "CoDel's law drops the same share of both (V2-law), but the buffer overflows as well",
    "pi": "PI's law drops the same share of both (V2-law), but the buffer is full most of the time and overflows",
    "avq": "packets that arrive at a full virtual queue are dropped, as with drop-tail at a full queue",
    "cobalt": "COBALT never drops the last packet of a queue, which here is nearly empty: it spares one of each burst",
}
"""The other disciplines that do not distinguish flows, each with the reason why TCP loses a larger share."""
PARTLY = ("choke", "sred", "fred", "red-pd")
"""Disciplines that distinguish flows, but have no queue for each."""
FAIR_QUEUES = ("sfq", "drr", "wfq", "wf2q-plus", "stfq", "scfq", "virtual-clock", "fq-codel", "fq-pie")
ECN_SFB = "sfb, with ECN"
# Rows with disciplines of internet-e15, each with its name in `shared.queues`.
SUMMED = {RED: RED, SFQ_RED: SFQ_RED, ECN_SFB: SFB}
# Rows of the figures.
QUEUES = (RED, *PLAIN, *PARTLY, ECN_SFB, SFQ_RED, *FAIR_QUEUES)
IN_TURN = ("sfq", "drr", "wfq", "wf2q-plus", "stfq", "scfq", "fq-codel")
"""Disciplines that serve backlogged queues at equal rates."""
BY_PACKET = ("sfq", SFQ_RED)
"""Disciplines that serve backlogged queues in turn, one packet per turn."""
LARGEST = 8
QUICK_SIZES, FULL_SIZES = (1 / 16, 1 / 4, 1, LARGEST), (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, LARGEST)
"""Buffers, as multiples of the slide's."""
HASHES = 10_000
"""Sets of hash functions drawn for each run; over them the number of covered flows is compared with the formula."""
OCCUPIED = 1024 * (1 - (1 - 1 / 1024) ** (TCP + 1))
"""Mean number of FQ-CoDel's queues to which all flows are hashed."""
PUBLISHED = 0.16
"""Rate of the non-responsive flow with SFB on the slide, Mbit/s: 45 minus 44.84."""


def discipline_of(name: str, size: float = 1) -> tuple[dict[str, Value], str]:
    """Return a row's discipline and buffer: `size` times 200 kB, or 400 kB if flows have queues of their own.

    SFQ+RED has 400 kB on the slide. Disciplines that are not on the slide have their defaults.
    """
    if name in SUMMED:
        return discipline(SUMMED[name], name == ECN_SFB, size)
    return {"kind": name}, f"{(400 if name in FAIR_QUEUES else 200) * size:g}kB"


def _samples(report: Report, name: str) -> list[float]:
    """Return the samples of a value of the discipline after the warm-up; empty if it has no such value."""
    series = report.data["series"]
    if not series:
        return []
    start = series["time_s"][-1] - report.measured_s
    values = series["ports"][BOTTLENECK]["state"].get(name, [])
    return [value for at, value in zip(series["time_s"], values, strict=False) if at > start]


def _largest(report: Report, name: str) -> float:
    return max(_samples(report, name), default=float("nan"))


def _passed(report: Report) -> float:
    """Return the non-responsive flow's rate in Mbit/s over all packets delivered after the warm-up.

    Reports count only packets that were sent after the warm-up. They leave out the packets that wait at the end of the
    warm-up, which with a large buffer take seconds to be delivered.
    """
    series = report.data["series"]
    if not series:
        return float("nan")
    times, delivered = series["time_s"], series["flows"]["cbr"]["delivered_bytes"]
    first = next(i for i, at in enumerate(times) if at >= times[-1] - report.measured_s)
    return 8e-6 * (delivered[-1] - delivered[first]) / (times[-1] - times[first])


def _turn(report: Report) -> float:
    """Return the mean of the link's rate divided by the number of occupied queues, Mbit/s."""
    flows = _samples(report, "flows")
    return RATE * sum(1 / max(n, 1) for n in flows) / len(flows) if flows else float("nan")


def _boxed(report: Report) -> float:
    """Return the mean number of flows that the discipline limits, without the non-responsive one.

    NaN if the discipline keeps no list of such flows.
    """
    found = _samples(report, "boxed_flows") or _samples(report, "monitored_flows")
    return sum(max(n - 1, 0) for n in found) / len(found) if found else float("nan")


def _refused(report: Report) -> tuple[int, int]:
    """Return the number of TCP's packets dropped as those of an unresponsive flow, and of all of TCP's packets."""
    rows = [row for flow in report.flows("tcp") for row in flow["drops"] if row["reason"] == "unresponsive flow"]
    return sum(row["packets"] for row in rows), report.offered_packets("tcp")


def _drop_ratio(report: Report, flows: str) -> float:
    """Return the share dropped by the law, of the packets that find room in the buffer."""
    rows = [row for flow in report.flows(flows) for row in flow["drops"]]
    full = sum(row["packets"] for row in rows if row["reason"] == "buffer full")
    early = sum(row["packets"] for row in rows) - full
    return early / max(report.offered_packets(flows) - full, 1)


def _covered(report: Report) -> float:
    """Return SFB's mean number of TCP flows that share both bins with the other flow, over `HASHES` sets of hashes."""
    if not _samples(report, "boxed_flows"):
        return float("nan")
    return mean_covered(draws(report.seed, BOTTLENECK, HASHES), TCP, 1)


class Rivals(Experiment):
    """The workload of internet-e15 under every discipline."""

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
            "drop ratio of TCP minus that of the non-responsive flow",
            "points",
            lambda report: 100 * (report.loss("tcp") - report.loss("cbr")),
            lowest=None,
        ),
        Observable(
            "unequal_law",
            "drop ratio of TCP minus that of the non-responsive flow, of packets that find room",
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
        Observable(
            "covered",
            f"TCP flows that share all bins with the non-responsive flow, mean over {HASHES} sets of hashes",
            "flows",
            _covered,
        ),
        Observable("passed", "non-responsive delivered", "Mbit/s", _passed),
        Observable("turn", "link's rate divided by the number of occupied queues", "Mbit/s", _turn),
        Observable("state", "largest state of the discipline", "bytes", lambda report: _largest(report, "state_bytes")),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: every discipline with the slide's buffer, and with smaller and larger ones."""
        return grid(queue=QUEUES, size=QUICK_SIZES if profile == "quick" else FULL_SIZES)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of discipline, buffer, ECN and duration.

        Runs with other buffers than the slide's are shorter: mainly TCP's goodput is used.
        """
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
        """Return the claims on isolation, and comparisons of goodput, losses and state of all disciplines."""
        r = results.where(size=1)
        unfair = r.where(queue=[RED, *PLAIN])
        many = results.where(queue=list(IN_TURN), size=LARGEST)
        fq, sfb = r.where(queue="fq-codel"), r.where(queue=ECN_SFB)
        return [
            Claim(
                "V1",
                "With each of the eleven disciplines that do not distinguish flows, the non-responsive flow gets more "
                "than 20 of 45 Mbit/s.",
                "derived: if all packets are dropped with the same probability, the flow that sends most gets most",
                unfair["cbr_carried"] > 20,
            ),
            *(
                Claim(
                    f"V2-{name}",
                    f"With {name}, TCP and the non-responsive flow lose the same share of their packets, "
                    "within 2 percentage points.",
                    "derived: the identity of E15 for queues that drop all packets with the same probability",
                    r.where(queue=name)["unequal"].within(-2, 2),
                )
                for name in ALIKE
            ),
            Claim(
                "V2-law",
                "Of the packets that find room in the buffer, RED, Blue, CoDel, PIE, PI, REM and DualPI2 drop the same "
                "share of TCP's and of the non-responsive flow's, within 2 percentage points.",
                "derived: a law that drops at random or at intervals does not depend on the packet's flow",
                r.where(queue=list(LAWS))["unequal_law"].within(-2, 2),
            ),
            *(
                Claim.unasserted(
                    f"V2-{name}",
                    f"With {name}, TCP and the non-responsive flow lose the same share of their packets, "
                    "within 2 percentage points.",
                    "derived: the identity of E15 for queues that drop all packets with the same probability",
                    r.where(queue=name)["unequal"].within(-2, 2),
                    why,
                )
                for name, why in UNLIKE.items()
            ),
            Claim(
                "V3",
                "FQ-CoDel isolates better than SFQ+RED: the non-responsive flow gets less than with SFQ+RED, whose 46 "
                "buckets give it 1/46 of the link.",
                "derived: 1024 queues instead of 46 for 401 flows",
                fq["cbr_carried"] < r.where(queue=SFQ_RED)["cbr_carried"],
            ),
            Claim(
                "V3-sfb",
                "FQ-CoDel isolates better than SFB: the non-responsive flow gets less.",
                "derived: FQ-CoDel serves the flow once per round; SFB with the published constants lets more of it "
                "through (E15)",
                fq["cbr_carried"] < sfb["cbr_carried"],
                headline="FQ-CoDel limits a non-responsive flow more than SFB",
            ),
            Claim.unasserted(
                "V3-published",
                "With 400 kB, FQ-CoDel lets less than 0.16 Mbit/s of the non-responsive flow through, the rate with "
                "SFB on the slide.",
                "slide SFB: 44.84 of 45 lost; derived: the fair share is 0.112",
                fq["cbr_carried"] < PUBLISHED,
                "about half of the TCP queues are empty at a time, and the others, the flow's among them, are served "
                "more often (V9); with a larger buffer fewer are empty (V3-large)",
            ),
            Claim(
                "V3-large",
                "With 3.2 MB, eight packets for each flow, FQ-CoDel lets less than 0.16 Mbit/s of the non-responsive "
                "flow through.",
                f"derived: 401 flows are hashed to {OCCUPIED:.0f} of 1024 queues, and if all of these are occupied, "
                f"each gets {RATE / OCCUPIED:.3f} Mbit/s",
                results.where(queue="fq-codel", size=LARGEST)["passed"] < PUBLISHED,
            ),
            Claim.unasserted(
                "V3-share",
                "With 400 kB, FQ-CoDel limits the non-responsive flow to its fair share of 0.112 Mbit/s, within 10 %: "
                "44.89 of 45 Mbit/s are lost.",
                "derived: 45 Mbit/s divided by 401 flows",
                fq["cbr_carried"] <= 1.1 * FAIR,
                f"the reason of V3-published; in addition, 401 flows are hashed to {OCCUPIED:.0f} of the 1024 queues, "
                f"so that with any buffer the flow gets at least {RATE / OCCUPIED:.3f} Mbit/s",
            ),
            Claim(
                "V9",
                "SFQ and SFQ+RED give the non-responsive flow the link's rate divided by the number of occupied "
                "queues, within 10 %.",
                "derived: all packets are of one size, and between two of the flow each occupied queue sends one",
                r.where(queue=list(BY_PACKET))["passed"].close_to(r.where(queue=list(BY_PACKET))["turn"], relative=0.1),
            ),
            Claim(
                "V9-buffer",
                "With a buffer of eight packets for each flow instead of one, the non-responsive flow gets less with "
                "every discipline that serves occupied queues at equal rates, and still at least its fair share of "
                "0.112 Mbit/s.",
                "derived: with more packets waiting, more queues are occupied at a time, but at most 401",
                (many["passed"] < r.where(queue=list(IN_TURN))["passed"]) & (many["passed"] >= FAIR),
            ),
            Claim(
                "V10",
                f"Of 400 TCP flows 400/23² = 0.76 share both of SFB's bins with the non-responsive flow, within 10 %, "
                f"over {HASHES} sets of hashes for each run.",
                "slide SFB: probability of misclassification, [1 - (1 - 1/23)^1]^2; the tolerance reconstructed",
                sfb["covered"].within(0.9 * TCP * formula(1), 1.1 * TCP * formula(1)),
            ),
            *(
                Claim.comparison(number, text, "not in the slides", where[name], "reported for all; see the figure")
                for number, text, where, name in (
                    ("V4", "Delivered rate of the non-responsive flow.", r, "cbr_carried"),
                    ("V5", "Rate of TCP's packets that are lost.", r, "tcp_lost"),
                    ("V6", "Mean queue with the slide's buffer.", r, "mean_queue"),
                    ("V7", "TCP flows with less than a quarter of the median goodput.", r, "starved"),
                    ("V11", "TCP's goodput by the size of the buffer.", results, "goodput"),
                )
            ),
            Claim.comparison(
                "V7-boxed",
                "Mean number of TCP flows that RED-PD monitors, and that SFB has in its penalty box.",
                "slide SFB; derived: 0.76 with SFB",
                r.where(queue=["red-pd", ECN_SFB])["boxed"],
                "the non-responsive flow is assumed to be one of the listed flows; sampled each second",
            ),
            Claim.comparison(
                "V7-refused",
                "Share of TCP's packets that FRED, RED-PD and SFB drop as those of an unresponsive flow.",
                "not in the slides",
                r.where(queue=["fred", "red-pd", ECN_SFB])["refused"],
                "misclassification counted by packets; other disciplines have no such drop cause",
            ),
            Claim.comparison(
                "V8",
                "Memory of the discipline for its variables and tables.",
                "slide SFB: 46 bins instead of a queue for each flow",
                r["state"],
                "bytes without the waiting packets and the parameters; docs/architecture.md defines them",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the figures of isolation and of cost, with a row for each discipline."""
        r = results.where(size=1)
        yield Figure(
            "rivals",
            "One non-responsive flow under every discipline",
            "Dashed: the fair share of 0.112 Mbit/s. No ECN except with SFB. Blue: disciplines that do not "
            "distinguish flows; orange: those that do, but have no queue for each flow; green: those with queues for "
            "flows. A starved TCP flow has less than a quarter of the median goodput.",
            lambda: draw_isolation(r, QUEUES, _groups()),
            claims=("V1", "V3", "V3-sfb", "V3-published", "V3-share", "V4", "V5", "V7", "V9"),
        )
        yield Figure(
            "cost",
            "Buffer, mean queue and state of every discipline",
            "Needed buffer: the smallest of a series with which TCP has 95 % of its goodput with the discipline's "
            "best buffer (dots), or of its fair share of 43.1 Mbit/s (diamonds; absent where no buffer gives that); "
            "the line extends to the next smaller buffer, which is not enough. Mean queue: with the slide's buffer. "
            "State: variables and tables, without parameters. Blue: disciplines that do not distinguish flows; "
            "orange: those that do, but have no queue for each flow; green: those with queues for flows.",
            lambda: draw_cost(results, QUEUES, _groups(), FAIR_GOODPUT),
            claims=("V6", "V8", "V11"),
        )


def _groups() -> list[int]:
    """Return for each row 0 if flows are not distinguished, 1 if they are to some degree, 2 with a queue per flow."""
    return [0] * (1 + len(PLAIN)) + [1] * (len(PARTLY) + 1) + [2] * (1 + len(FAIR_QUEUES))
