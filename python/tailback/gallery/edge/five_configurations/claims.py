"""Claims of edge-configs: Table 1, figures 6 to 10, the fluid model, and the assumptions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import pairwise

from tailback.gallery.edge.five_configurations.configurations import (
    CBWFQ,
    CLASSFUL,
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
from tailback.study.experiment import (
    Claim,
    Condition,
    Quantity,
    Results,
)


def claims_of(results: Results) -> list[Claim]:
    """Return the claims on Table 1 and figures 6 to 10, then those on the fluid model, then those on assumptions."""
    usual = results.where(ring=RING, overhead=0, source=JITTER)
    find = partial(at, usual)
    return [
        *_table_1(usual),
        *_delays(find),
        *_losses(find),
        *_variation(find),
        *_fluid(find),
        *_choices(results),
    ]


def at(usual: Results, configuration: str, inside: str | None = None) -> Results:
    """Return the results of a configuration.

    `inside` is the discipline within a class; `None`: one queue if the configuration has a choice, else its only one.
    """
    if inside is None:
        inside = FLAT if configuration in {CBWFQ, LLQ, VPN[CBWFQ], VPN[LLQ]} else NONE
    return usual.where(configuration=configuration, inside=inside)


def _both(at: partial[Results], metric: str, configurations: Iterable[str]) -> list[Quantity]:
    """Return a metric of each configuration; with one queue and with a queue for each flow if there is a choice."""
    found: list[Quantity] = []
    for configuration in configurations:
        choices = (FLAT, FAIR) if configuration in {CBWFQ, LLQ, VPN[CBWFQ], VPN[LLQ]} else (None,)
        found += [at(configuration, inside)[metric] for inside in choices]
    return found


def _table_1(usual: Results) -> list[Claim]:
    v = usual.where(configuration=WRED, inside=NONE)
    near = (v[f"offered_{group}"].within(ce.offered(group) - 0.05, ce.offered(group) + 0.05) for group in ce.GROUPS)
    return [
        Claim(
            "T1",
            "The flows of each column of Table 1 offer the rate in the table, within 0.05 Mbit/s.",
            "Table 1",
            ce.all_of(near),
        ),
        Claim(
            "T2",
            "All flows together offer 123 Mbit/s.",
            'text: "round 123 Mbps"; 123.04 by adding up',
            v["offered"].within(122.9, 123.2),
        ),
        Claim(
            "T3",
            "The port's throughput is 100 Mbit/s in every configuration, within 0.2 Mbit/s; in a VPN 8 of every 1508 "
            "B sent are labels, which do not count.",
            "derived: work conservation",
            ce.all_of(
                usual.where(configuration=c)["throughput"].within(rate - 0.2, rate + 0.2)
                for c in COLUMNS
                for rate in [100.0 * (1500 / 1508 if c in VPN.values() else 1)]
            ),
        ),
    ]


def _delays(at: partial[Results]) -> list[Claim]:
    fifo, cbwfq, llq, wred = (at(c) for c in (FIFO, CBWFQ, LLQ, WRED))
    ef = "delay_ef"
    same = {c: ce.all_of(at(c)[f"delay_{n}"].close_to(at(c)[ef], 0.02) for n in ("af41", *DATA)) for c in (FIFO, WFQ)}
    twins = (
        at(vpn, inside)[metric].close_to(at(plain, inside)[metric], 0.05)
        for plain, vpn in VPN.items()
        for inside in ((None,) if plain == WRED else (FLAT, FAIR))
        for metric in (ef, "delay_af41")
    )
    return [
        Claim.calibrated(
            "D1",
            "The delay of voice with LLQ (iv) is between a quarter and a third of that with FIFO (i).",
            'figure 6: "approximate 3.5 times decrease"',
            (fifo[ef] >= 3 * llq[ef]) & (fifo[ef] <= 4 * llq[ef]),
            "the transmit ring of 15 frames was chosen to meet this claim; S1 shows other rings",
        ),
        Claim(
            "D2",
            "The delay of voice with LLQ (iv) is at most that with CBWFQ (iii), which is less than that with FIFO (i).",
            "figure 6",
            ce.all_of(
                [*(llq[ef] <= q for q in _both(at, ef, [CBWFQ])), *(q < fifo[ef] for q in _both(at, ef, [CBWFQ]))]
            ),
        ),
        Claim(
            "D3",
            "The delay of video with CBWFQ, LLQ and WRED (iii to v) is less than half of that with FIFO (i).",
            "figure 6; the bound reconstructed",
            ce.all_of(q < 0.5 * fifo["delay_af41"] for q in _both(at, "delay_af41", (CBWFQ, LLQ, WRED))),
        ),
        Claim(
            "D4",
            "The delays of voice and video in a VPN are within 5 % of those without a VPN, with CBWFQ, LLQ and WRED "
            "(iii to v).",
            'figure 6: "maintains the delay values to the same level"; the bound reconstructed',
            ce.all_of(twins),
        ),
        Claim(
            "D5",
            "With FIFO (i) the delays of video and of each data class are within 2 % of that of voice.",
            'figure 7: "similar to real time services measured delay"',
            same[FIFO],
        ),
        Claim.calibrated(
            "D5-wfq",
            "With WFQ (ii) the delays of video and of each data class are within 2 % of that of voice.",
            'figure 7: "similar to real time services measured delay"',
            same[WFQ],
            "WFQ in one queue was chosen to meet this claim; edge-wfq has the other readings",
        ),
        Claim(
            "D6",
            "The delays of AF1x with LLQ (iv) and with WRED (v) are within 10 % of that with CBWFQ (iii).",
            "figure 7",
            ce.all_of(q.close_to(cbwfq["delay_AF1x"], 0.1) for q in _both(at, "delay_AF1x", (CBWFQ, LLQ, WRED))),
        ),
        Claim(
            "D7",
            "The delay of AF3x and of AF2x with WRED (v) is less than 0.8 of that with tail drop (iii and iv).",
            "figure 7; the bound derived: 42 of 64 packets",
            ce.all_of(
                wred[f"delay_{name}"] < 0.8 * q
                for name in ("AF3x", "AF2x")
                for q in _both(at, f"delay_{name}", (CBWFQ, LLQ))
            ),
        ),
        Claim(
            "D8",
            "With WRED (v) the delay of AF3x is within 15 % of that of AF2x.",
            'figure 7: "delay values\' grouping"; the bound reconstructed',
            wred["delay_AF3x"].close_to(wred["delay_AF2x"], 0.15),
        ),
    ]


def _losses(at: partial[Results]) -> list[Claim]:
    fifo, wfq = at(FIFO), at(WFQ)

    def rising(configurations: Iterable[str], inside: str) -> Condition:
        return ce.all_of(
            at(c, inside)[f"loss_{high}"] - at(c, inside)[f"loss_{low}"] >= -1.0
            for c in configurations
            for low, high in pairwise(CONGESTED)
        )

    wred = at(WRED)
    groups = {name: ce.CLASSES[name] for name in ("AF3x", "AF2x")}
    spread = [
        (wred[f"loss_{a}"] - wred[f"loss_{b}"]).within(-1, 1)
        for members in groups.values()
        for a, b in ((members[0], members[1]), (members[1], members[2]), (members[0], members[2]))
    ]
    fair, codes = at(LLQ, FAIR), at(LLQ, CODES)
    return [
        Claim(
            "L1",
            "With FIFO (i) voice loses more than 10 %.",
            'figure 8: "over 10% for IP telephony"; derived: all classes lose the excess over the link, 18.7 %',
            fifo["loss_ef"] > 10,
            headline="voice loses over 10 % under FIFO",
        ),
        Claim.calibrated(
            "L1-wfq",
            "With WFQ (ii) voice loses more than 10 %.",
            'figure 8: "over 10% for IP telephony"',
            wfq["loss_ef"] > 10,
            "WFQ in one queue was chosen to meet this claim; edge-wfq has the other readings",
        ),
        Claim(
            "L2",
            "With FIFO (i) video loses more than 18 %.",
            'figure 8: "20% for videoconference"; derived: 18.7 % with frames of 1500 B; S2 counts all bytes on the '
            "wire",
            fifo["loss_af41"] > 18,
        ),
        Claim.calibrated(
            "L2-wfq",
            "With WFQ (ii) video loses more than 18 %.",
            'figure 8: "20% for videoconference"',
            wfq["loss_af41"] > 18,
            "WFQ in one queue was chosen to meet this claim; edge-wfq has the other readings",
        ),
        Claim(
            "L3",
            "With CBWFQ, LLQ and WRED (iii to v), in a VPN or not, voice and video lose less than 0.1 %.",
            'figure 8: "almost zero"',
            ce.all_of(q < 0.1 for metric in ("loss_ef", "loss_af41") for q in _both(at, metric, CLASSFUL)),
        ),
        Claim(
            "L4",
            "With CBWFQ, LLQ and WRED (iii to v), in a VPN or not, AF1x loses nothing.",
            "figure 9",
            ce.all_of(q.is_zero() for q in _both(at, "loss_AF1x", CLASSFUL)),
        ),
        Claim.calibrated(
            "L5",
            "With CBWFQ and LLQ (iii and iv) and a queue for each flow, loss does not fall by more than 1 percentage "
            "point at any step from AF31 over AF32, AF33, AF21 and AF22 to AF23.",
            'figure 9: "increases progressively as xy … fluctuates between 31 and 23"',
            rising((CBWFQ, LLQ), FAIR),
            "the fair queue within a class was chosen to meet this claim",
        ),
        Claim.unasserted(
            "L5-one",
            "With CBWFQ and LLQ (iii and iv) and one queue within a class, loss does not fall by more than 1 "
            "percentage point at any step from AF31 to AF23.",
            'figure 9: "increases progressively as xy … fluctuates between 31 and 23"',
            rising((CBWFQ, LLQ), FLAT),
            "in one queue all flows of a class lose nearly the same share; flows that send less lose slightly more",
        ),
        Claim.unasserted(
            "L5-codes",
            "With LLQ (iv) and tail-drop limits of 64, 48 and 32 packets for drop precedence 1, 2 and 3, loss does "
            "not fall by more than 1 percentage point at any step from AF31 to AF23.",
            'figure 9: "increases progressively as xy … fluctuates between 31 and 23"',
            rising((LLQ,), CODES),
            "with limits by code point most of a class's loss is that of drop precedence 3, so that AF33 loses more "
            "than AF21",
        ),
        Claim(
            "L6",
            "With CBWFQ, LLQ and WRED (iii to v) AF2x loses more than AF3x.",
            "figure 9",
            ce.all_of(
                a > b
                for c in (CBWFQ, LLQ, WRED)
                for a, b in zip(_both(at, "loss_AF2x", [c]), _both(at, "loss_AF3x", [c]), strict=True)
            ),
        ),
        Claim(
            "L7",
            "With WRED (v) the losses within AF3x, and within AF2x, differ by at most 1 percentage point.",
            "figure 9; derived: one profile for the whole class; the bound reconstructed",
            ce.all_of(spread),
        ),
        Claim.calibrated(
            "L8",
            "In AF3x and AF2x, the column of drop precedence y = 3 loses less with WRED (v) than with LLQ (iv) and a "
            "queue for each flow, and that of y = 1 loses more.",
            'figure 9: "attenuation for inferior traffic classes (y = 3), but at disadvantage compared to superior"',
            ce.all_of(
                condition
                for members in groups.values()
                for condition in (
                    wred[f"loss_{members[2]}"] < fair[f"loss_{members[2]}"],
                    wred[f"loss_{members[0]}"] > fair[f"loss_{members[0]}"],
                )
            ),
            "the fair queue within a class of iv was chosen to meet this claim",
        ),
        Claim.unasserted(
            "L9",
            "AF32 and AF22 (y = 2) lose more with WRED (v) than with LLQ (iv) and a queue for each flow.",
            'figure 9: "at disadvantage compared to superior traffic classes (y = 1, 2)"',
            ce.all_of(wred[f"loss_{members[1]}"] > fair[f"loss_{members[1]}"] for members in groups.values()),
            "Table 1 gives y = 2 and y = 3 of a class equal rates, so that in iv only a dropper that looks at code "
            "points can distinguish them; a fair queue drops the same share of both, and more than WRED",
        ),
        Claim.calibrated(
            "L9-codes",
            "In AF3x and AF2x, the column of drop precedence y = 3 loses less with WRED (v) than with LLQ (iv) and "
            "tail-drop limits of 64, 48 and 32 packets for y = 1, 2 and 3, and those of y = 1 and 2 lose more.",
            'figure 9: "attenuation for inferior traffic classes (y = 3), but at disadvantage compared to superior '
            'traffic classes (y = 1, 2)"',
            ce.all_of(
                condition
                for members in groups.values()
                for condition in (
                    wred[f"loss_{members[0]}"] > codes[f"loss_{members[0]}"],
                    wred[f"loss_{members[1]}"] > codes[f"loss_{members[1]}"],
                    wred[f"loss_{members[2]}"] < codes[f"loss_{members[2]}"],
                )
            ),
            "the limits were chosen to meet this claim; with them loss does not rise from AF31 to AF23 (L5-codes)",
        ),
        *(
            Claim.unasserted(
                id_,
                f"With {name} the losses of data have exactly three levels, more than {ce.GAP:g} percentage points "
                "apart.",
                'figure 9: "concentrated on 3 levels in the case of FIFO and WFQ"',
                found["levels"].within(3, 3),
                why,
            )
            for id_, name, found, why in (
                ("L10", "FIFO", fifo, "a FIFO with steady sources drops the same share of every flow: one level"),
                (
                    "L11",
                    "WFQ in one queue",
                    wfq,
                    "WFQ in one queue is FIFO; edge-wfq has readings with three levels, but they do not reproduce "
                    "other sentences",
                ),
            )
        ),
    ]


def _variation(at: partial[Results]) -> list[Claim]:
    limits = (q < 50 for metric in ("pdv_ef", "pdv_af41") for q in _both(at, metric, COLUMNS))
    llq, jitter = at(LLQ)["jitter_ef"], "jitter_ef"
    return [
        Claim(
            "J1",
            "The delay variation of voice and video (99.9th percentile) is below 50 ms, the limit of class 0 of "
            "Y.1541, in every configuration.",
            'figure 10: "below thresholds, which are specific for this kind of services"',
            ce.all_of(limits),
        ),
        Claim(
            "J2",
            "The jitter of voice with LLQ (iv) is at most that with CBWFQ (iii), and at most that with FIFO (i).",
            'figure 10: "the best results are obtained through a class-based policy"',
            ce.all_of([llq <= at(CBWFQ)[jitter], llq <= at(CBWFQ, FAIR)[jitter], llq <= at(FIFO)[jitter]]),
        ),
        Claim.unasserted(
            "J3",
            "The jitter of voice with CBWFQ (iii), without priority, is at most that with FIFO (i).",
            'figure 10: "the best results are obtained through a class-based policy"',
            ce.all_of(q <= at(FIFO)[jitter] for q in _both(at, jitter, [CBWFQ])),
            "the queue of an overloaded FIFO is always full, so that its delay hardly varies; that of a class without "
            "priority varies more",
        ),
        *(
            Claim.unasserted(
                id_,
                f"The {words} of video with CBWFQ, LLQ and WRED (iii to v), in a VPN or not, is at most that with FIFO "
                "(i).",
                'figure 10: "the best results are obtained through a class-based policy"',
                ce.all_of(q <= at(FIFO)[metric] for q in _both(at, metric, CLASSFUL)),
                "an overloaded FIFO delays all packets by nearly the same time",
            )
            for id_, words, metric in (
                ("J4", "jitter", "jitter_af41"),
                ("J5", "99.9th percentile of the delay minus the minimum delay", "pdv_af41"),
            )
        ),
    ]


def _fluid(at: partial[Results]) -> list[Claim]:
    expected = ce.fluid_losses()
    return [
        Claim(
            f"M{number}",
            f"With CBWFQ, LLQ and WRED (iii to v) {name} loses {expected[name]:.1f} %, within 1 percentage point: "
            f"{name} gets half of the 47 Mbit/s that EF, AF41 and AF1x leave.",
            "derived: weighted max-min",
            ce.all_of(
                q.within(expected[name] - 1, expected[name] + 1) for q in _both(at, f"loss_{name}", (CBWFQ, LLQ, WRED))
            ),
        )
        for number, name in enumerate(("AF3x", "AF2x"), start=1)
    ]


def _choices(results: Results) -> list[Claim]:
    rings = results.where(overhead=0, source=JITTER)
    fifo, llq = rings.where(configuration=FIFO, inside=NONE), rings.where(configuration=LLQ, inside=FLAT)
    plain = results.where(ring=RING, source=JITTER, configuration=FIFO, inside=NONE)
    sources = results.where(ring=RING, overhead=0, configuration=FIFO, inside=NONE)
    return [
        *(
            Claim.comparison(
                f"S1-{ring}",
                f"Delay of voice with FIFO (i) minus 3.5 times that with LLQ (iv), limit of the transmit ring: {ring}.",
                "not in the paper",
                fifo.where(ring=ring)["delay_ef"] - 3.5 * llq.where(ring=ring)["delay_ef"],
                "sensitivity: zero is the paper's factor of 3.5",
            )
            for ring in RINGS
        ),
        Claim(
            "S2",
            "With FIFO (i) video loses more than 20 % if the provider's shaper counts all bytes on the wire (38 B more "
            "per frame).",
            'figure 8: "20% for videoconference"; derived: 20.7 %',
            plain.where(overhead=38)["loss_af41"] > 20,
        ),
        *(
            Claim.comparison(
                f"S3-{number}",
                f"Loss of AF2{digit} with FIFO (i) and strictly periodic sources.",
                "not in the paper",
                sources.where(source=PERIODIC)[f"loss_af2{digit}"],
                "sensitivity: with constant phases the flows share the loss by chance; with intervals within 10 % of "
                "their mean all flows lose the same share",
            )
            for number, digit in enumerate("13", start=1)
        ),
        Claim.comparison(
            "S4",
            "Loss of voice with FIFO (i) and Poisson sources.",
            "not in the paper",
            sources.where(source=POISSON)["loss_ef"],
            "sensitivity to the sources",
        ),
    ]
