"""Delay with backpressure to the source (experiment C.3) against Lindley's recursion for the same arrivals."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tailback.gallery.registry import experiment
from tailback.results.report import Report
from tailback.scenario import Scenario, Value, load

GRID_S = 1e-3
"""Grid of generation times, s: a trace file with one line per millisecond can represent the bursts."""
DURATION_S = 120
MEAN_BURST = 48_000
SOURCES = 3
MTU, HEADER, EXTRA = 1500, 18, 20
"""Maximum payload of a packet; header of a frame; preamble and gap on the wire: bytes."""
MIN_FRAME = 64
FAST, SLOW = 100e6, 10e6
DELAY_S = 1e-6


def _arrivals(rate_bps: float, seed: int) -> list[list[tuple[int, int]]]:
    """Return the bursts of each source as (millisecond, bytes), at the given mean rate of a source.

    Gaps are uniform on 0 to twice their mean, sizes uniform on 64 B to twice `MEAN_BURST`.
    """
    draw = random.Random(seed)
    mean_gap = 8 * MEAN_BURST / rate_bps
    sources = []
    for _ in range(SOURCES):
        bursts, at = [], draw.uniform(0, mean_gap)
        # Packets that are generated in the last 20 s might not arrive before the end.
        while at < DURATION_S - 20:
            bursts.append((round(at / GRID_S), draw.randint(64, 2 * MEAN_BURST)))
            at += max(GRID_S, draw.uniform(0, 2 * mean_gap))
        sources.append(bursts)
    return sources


def _frames(payload: int) -> list[int]:
    """Return the frame sizes of a burst in bytes: full frames, then the remainder."""
    sizes = [MTU] * (payload // MTU) + ([payload % MTU] if payload % MTU else [])
    return [max(MIN_FRAME, size + HEADER) for size in sizes]


Packet = tuple[float, float, int, int]
"""Generation time, s; arrival time of the last bit at the present node, s; index of the source; bytes of the frame."""


def _lindley(packets: Sequence[Packet], rate_bps: float) -> list[Packet]:
    """Send packets in the order of arrival over one link with an unlimited queue.

    W_(n+1) = max(0, W_n + S_n - A_(n+1)), with the waiting time W and the service time S of a packet and the time A
    between two arrivals. Preamble and gap count as part of the service time.
    """
    sent, free = [], 0.0
    for born, arrived, source, frame in packets:
        begun = max(arrived, free)
        free = begun + 8 * (frame + EXTRA) / rate_bps
        sent.append((born, free + DELAY_S, source, frame))
    return sent


def _ideal_ms(sources: list[list[tuple[int, int]]]) -> float:
    """Return the mean delay in ms over three links with unlimited queues: access, backbone, slow access."""
    first: list[Packet] = []
    for source, bursts in enumerate(sources):
        born = [(at * GRID_S, at * GRID_S, source, frame) for at, payload in bursts for frame in _frames(payload)]
        first += _lindley(born, FAST)
    # The backbone serves frames of all sources in the order of arrival.
    second = _lindley(sorted(first, key=lambda packet: (packet[1], packet[2])), FAST)
    last = [packet for source in range(SOURCES) for packet in _lindley([p for p in second if p[2] == source], SLOW)]
    return 1e3 * sum(arrived - born for born, arrived, *_ in last) / len(last)


def _scenario(folder: Path, sources: list[list[tuple[int, int]]], settings: dict[str, Value]) -> Scenario:
    """Return the scenario of experiment C.3 with trace files in place of the random sources."""
    head = experiment("lan-c3").read("scenario.toml").split("[[flows]]")[0]
    for number, bursts in enumerate(sources, 1):
        sizes = [0] * (DURATION_S * 1000)
        for at, payload in bursts:
            sizes[at] += payload
        (folder / f"s{number}.txt").write_text("\n".join(map(str, sizes)))
        head += (
            f'[[flows]]\nname = "data{number}"\nfrom = "s{number}"\nto = "d{number}"\n'
            f'source = {{ kind = "trace", file = "s{number}.txt", format = "terse-bytes", fps = 1000, loop = false }}'
            "\n\n"
        )
    (folder / "c3.toml").write_text(head)
    run: dict[str, Value] = {"run.duration": f"{DURATION_S}s", "run.warmup": "0s"}
    return load(folder / "c3.toml").set(run | settings)


@pytest.mark.parametrize("rate_mbit", [6, 9])
def test_destination_backpressure_has_the_delay_of_unlimited_queues(rate_mbit: int, tmp_path: Path) -> None:
    sources = _arrivals(1e6 * rate_mbit, seed=rate_mbit)
    ideal = _ideal_ms(sources)
    found = {}
    for name, settings in (
        ("unlimited", {"backpressure.scope": "none", "network.buffer": "1GB", "switches.sw2.buffer": "1GB"}),
        ("destination", {"backpressure.scope": "destination"}),
        ("plain", {"backpressure.scope": "plain"}),
    ):
        report = Report.from_json(_scenario(tmp_path, sources, settings).native.run(1))
        assert report.dropped_packets() == 0
        assert report.data["flows"][0]["in_network"]["packets"] == 0, "some packets have not arrived"
        found[name] = 1e3 * report.mean_delay_s()
    assert found["unlimited"] == pytest.approx(ideal, rel=1e-6)
    assert found["destination"] == pytest.approx(ideal, rel=0.05)
    assert found["plain"] > 1.2 * ideal, "the test does not distinguish the mechanisms"
