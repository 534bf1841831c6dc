"""Claims of the five configurations: Table 1, figures 6 to 10, the fluid model, and the assumptions."""

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
    """Return the claims of figures 6 to 10, then those of the fluid model, then those on assumptions."""
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
    """The results of a configuration, by default with one queue within a class."""
    if inside is None:
        inside = FLAT if configuration in {CBWFQ, LLQ, VPN[CBWFQ], VPN[LLQ]} else NONE
    return usual.where(configuration=configuration, inside=inside)


def _both(at: partial[Results], metric: str, configurations: Iterable[str]) -> list[Quantity]:
    """A metric at configurations, with either discipline within a class where there is a choice."""
    found: list[Quantity] = []
    for configuration in configurations:
        choices = (FLAT, FAIR) if configuration in {CBWFQ, LLQ, VPN[CBWFQ], VPN[LLQ]} else (None,)
        found += [at(configuration, inside)[metric] for inside in choices]
    return found


def _table_1(usual: Results) -> list[Claim]:
    v = usual.where(configuration=WRED, inside=NONE)
    near = (v[f"offered_{group}"].within(ce.offered(group) - 0.05, ce.offered(group) + 0.05) for group in ce.GROUPS)
    return [
        Claim("T1", "Each column of Table 1 offers what it says, within 0.05 Mbit/s.", "Table 1", ce.all_of(near)),
        Claim(
            "T2",
            "All flows together offer 123 Mbit/s.",
            'text: "round 123 Mbps"; 123.04 by adding up',
            v["offered"].within(122.9, 123.2),
        ),
        Claim(
            "T3",
            "The port sends 100 Mbit/s in every configuration, within 0.2 %; labels take their share of it.",
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
            "LLQ shortens the delay of voice by a factor of 3 to 4 against FIFO.",
            'figure 6: "approximate 3.5 times decrease"',
            (fifo[ef] >= 3 * llq[ef]) & (fifo[ef] <= 4 * llq[ef]),
            "the transmit ring of 15 frames was chosen for it; S1 shows other rings",
        ),
        Claim(
            "D2",
            "Voice waits no longer with LLQ than with CBWFQ, and less with either than with FIFO.",
            "figure 6",
            ce.all_of(
                [*(llq[ef] <= q for q in _both(at, ef, [CBWFQ])), *(q < fifo[ef] for q in _both(at, ef, [CBWFQ]))]
            ),
        ),
        Claim(
            "D3",
            "Video waits less than half as long under any class-based policy as under FIFO.",
            "figure 6; the bound reconstructed",
            ce.all_of(q < 0.5 * fifo["delay_af41"] for q in _both(at, "delay_af41", (CBWFQ, LLQ, WRED))),
        ),
        Claim(
            "D4",
            "A VPN keeps the delays of voice and video within 5 %.",
            'figure 6: "maintains the delay values to the same level"; the bound reconstructed',
            ce.all_of(twins),
        ),
        Claim(
            "D5",
            "Under FIFO the delay of data is that of voice, within 2 %.",
            'figure 7: "similar to real time services measured delay"',
            same[FIFO],
        ),
        Claim.calibrated(
            "D5-wfq",
            "Under WFQ too.",
            "figure 7, the same sentence",
            same[WFQ],
            "WFQ in one queue was chosen for it; edge-wfq has the other readings",
        ),
        Claim(
            "D6",
            "The delay of AF1x is the same in iii, iv and v, within 10 %.",
            "figure 7",
            ce.all_of(q.close_to(cbwfq["delay_AF1x"], 0.1) for q in _both(at, "delay_AF1x", (CBWFQ, LLQ, WRED))),
        ),
        Claim(
            "D7",
            "WRED makes the delay of AF3x and of AF2x less than 0.8 of that with tail drop.",
            "figure 7; the bound derived: 42 of 64 packets",
            ce.all_of(
                wred[f"delay_{name}"] < 0.8 * q
                for name in ("AF3x", "AF2x")
                for q in _both(at, f"delay_{name}", (CBWFQ, LLQ))
            ),
        ),
        Claim(
            "D8",
            "Under WRED the delays of AF3x and AF2x are grouped: within 15 % of each other.",
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
            "Under FIFO voice loses more than 10 %.",
            'figure 8: "over 10% for IP telephony"; derived: all lose what exceeds the link, 18.7 %',
            fifo["loss_ef"] > 10,
            headline="voice loses over 10 % under FIFO",
        ),
        Claim.calibrated(
            "L1-wfq",
            "Under WFQ too.",
            "figure 8, the same sentence",
            wfq["loss_ef"] > 10,
            "WFQ in one queue was chosen for it; edge-wfq has the other readings",
        ),
        Claim(
            "L2",
            "Under FIFO video loses more than 18 %.",
            'figure 8: "20% for videoconference"; derived: 18.7 % of frames of 1500 B; S2 has the wire',
            fifo["loss_af41"] > 18,
        ),
        Claim.calibrated(
            "L2-wfq",
            "Under WFQ too.",
            "figure 8, the same sentence",
            wfq["loss_af41"] > 18,
            "WFQ in one queue was chosen for it; edge-wfq has the other readings",
        ),
        Claim(
            "L3",
            "Under any class-based policy, in a VPN or not, voice and video lose less than 0.1 %.",
            'figure 8: "almost zero"',
            ce.all_of(q < 0.1 for metric in ("loss_ef", "loss_af41") for q in _both(at, metric, CLASSFUL)),
        ),
        Claim(
            "L4",
            "AF1x loses nothing under any class-based policy.",
            "figure 9",
            ce.all_of(q.is_zero() for q in _both(at, "loss_AF1x", CLASSFUL)),
        ),
        Claim.calibrated(
            "L5",
            "Under iii and iv loss does not fall from AF31 to AF23 by more than a point at any step.",
            'figure 9: "increases progressively as xy … fluctuates between 31 and 23"',
            rising((CBWFQ, LLQ), FAIR),
            "the fair queue within a class was chosen for it",
        ),
        Claim.unasserted(
            "L5-one",
            "Nor with one queue within a class.",
            "figure 9, the same sentence",
            rising((CBWFQ, LLQ), FLAT),
            "in one queue all flows of a class lose nearly alike; those that send less often lose a little more",
        ),
        Claim.unasserted(
            "L5-codes",
            "Nor with tail-drop limits of 64, 48 and 32 packets for y = 1, 2 and 3 in iv.",
            "figure 9, the same sentence",
            rising((LLQ,), CODES),
            "limits by code point make y = 3 pay for y = 1 and 2 of its class, so AF33 loses more than AF21",
        ),
        Claim(
            "L6",
            "AF2x loses more than AF3x in iii, iv and v.",
            "figure 9",
            ce.all_of(
                a > b
                for c in (CBWFQ, LLQ, WRED)
                for a, b in zip(_both(at, "loss_AF2x", [c]), _both(at, "loss_AF3x", [c]), strict=True)
            ),
        ),
        Claim(
            "L7",
            "Under v the losses within a class differ by less than a point.",
            "figure 9; the bound reconstructed: one profile for the whole class",
            ce.all_of(spread),
        ),
        Claim.calibrated(
            "L8",
            "Against iv, WRED relieves y = 3 and burdens y = 1, in both classes.",
            'figure 9: "attenuation for inferior traffic classes (y = 3), but at disadvantage compared to superior"',
            ce.all_of(
                condition
                for members in groups.values()
                for condition in (
                    wred[f"loss_{members[2]}"] < fair[f"loss_{members[2]}"],
                    wred[f"loss_{members[0]}"] > fair[f"loss_{members[0]}"],
                )
            ),
            "iv has the fair queue within a class, which was chosen for it",
        ),
        Claim.unasserted(
            "L9",
            "WRED burdens y = 2 as well: with a queue for each flow in iv, AF32 and AF22 lose more in v than in iv.",
            'figure 9: "at disadvantage compared to superior traffic classes (y = 1, 2)"',
            ce.all_of(wred[f"loss_{members[1]}"] > fair[f"loss_{members[1]}"] for members in groups.values()),
            "Table 1 gives y = 2 and y = 3 of a class equal rates, so only a dropper that looks at code points can "
            "tell them apart in iv; a fair queue relieves both",
        ),
        Claim.calibrated(
            "L9-codes",
            "With tail-drop limits of 64, 48 and 32 packets for y = 1, 2 and 3 in iv, WRED relieves y = 3 and burdens "
            "y = 1 and 2, in both classes.",
            "figure 9, the whole sentence",
            ce.all_of(
                condition
                for members in groups.values()
                for condition in (
                    wred[f"loss_{members[0]}"] > codes[f"loss_{members[0]}"],
                    wred[f"loss_{members[1]}"] > codes[f"loss_{members[1]}"],
                    wred[f"loss_{members[2]}"] < codes[f"loss_{members[2]}"],
                )
            ),
            "the limits were chosen for it; with them loss does not rise from AF31 to AF23 (L5-codes)",
        ),
        *(
            Claim.unasserted(
                id_,
                f"Under {name} the losses of data lie on three levels.",
                'figure 9: "concentrated on 3 levels in the case of FIFO and WFQ"',
                found["levels"].within(3, 3),
                why,
            )
            for id_, name, found, why in (
                ("L10", "FIFO", fifo, "a FIFO with steady sources loses the same share of everything: one level"),
                (
                    "L11",
                    "WFQ in one queue",
                    wfq,
                    "WFQ in one queue is FIFO; edge-wfq has the readings with more levels, which miss other sentences",
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
            "The delay variation of voice and video is within class 0 of Y.1541, 50 ms, in every configuration.",
            'figure 10: "below thresholds, which are specific for this kind of services"',
            ce.all_of(limits),
        ),
        Claim(
            "J2",
            "The jitter of voice is least with LLQ: no more than with CBWFQ, and no more than with FIFO.",
            'figure 10: "the best results are obtained through a class-based policy"',
            ce.all_of([llq <= at(CBWFQ)[jitter], llq <= at(CBWFQ, FAIR)[jitter], llq <= at(FIFO)[jitter]]),
        ),
        Claim.unasserted(
            "J3",
            "Without priority too: the jitter of voice with CBWFQ is no more than with FIFO.",
            "figure 10, the same sentence",
            ce.all_of(q <= at(FIFO)[jitter] for q in _both(at, jitter, [CBWFQ])),
            "the queue of an overloaded FIFO is always full, so its delay hardly varies: a class without priority is "
            "not better than that",
        ),
        *(
            Claim.unasserted(
                id_,
                f"The {words} of video is no more under any class-based policy than under FIFO.",
                "figure 10, the same sentence",
                ce.all_of(q <= at(FIFO)[metric] for q in _both(at, metric, CLASSFUL)),
                "as for voice without priority: an overloaded FIFO delays all packets by nearly the same",
            )
            for id_, words, metric in (
                ("J4", "jitter", "jitter_af41"),
                ("J5", "p99.9 of the delay above the least", "pdv_af41"),
            )
        ),
    ]


def _fluid(at: partial[Results]) -> list[Claim]:
    expected = ce.fluid_losses()
    return [
        Claim(
            f"M{number}",
            f"{name} loses {expected[name]:.1f} % in iii, iv and v, within a point: its guarantee and its half of the "
            "spare "
            "47 Mbit/s.",
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
                f"With a ring of {ring} frames: the delay of voice under FIFO less 3.5 times that under LLQ.",
                "not in the paper",
                fifo.where(ring=ring)["delay_ef"] - 3.5 * llq.where(ring=ring)["delay_ef"],
                "sensitivity: zero would be the paper's factor",
            )
            for ring in RINGS
        ),
        Claim(
            "S2",
            "Where the provider counts the wire (38 B more per frame), FIFO loses more than 20 % of video.",
            'figure 8: "20% for videoconference"; derived: 20.7 %',
            plain.where(overhead=38)["loss_af41"] > 20,
        ),
        *(
            Claim.comparison(
                f"S3-{number}",
                f"Loss of AF2{digit} under FIFO with strictly periodic sources.",
                "not in the paper",
                sources.where(source=PERIODIC)[f"loss_af2{digit}"],
                "sensitivity: phases that never move share losses by chance; with intervals within 10 % of their mean "
                "all lose alike",
            )
            for number, digit in enumerate("13", start=1)
        ),
        Claim.comparison(
            "S4",
            "Loss of voice under FIFO with Poisson sources.",
            "not in the paper",
            sources.where(source=POISSON)["loss_ef"],
            "sensitivity to the sources",
        ),
    ]
