"""Pictures of lessons: the queue at the port of the question, as the lab plots it."""

from __future__ import annotations

from collections.abc import Sequence

import tailback

__all__ = ["queue_picture"]

WIDTH, HEIGHT = 240, 96
SAMPLES = 240


def queue_picture(scenario: tailback.Scenario, settings: Sequence[Sequence[str]], port: str, end: float) -> str:
    """Return an SVG element with the queue of a port up to the time `end`, s.

    `settings` has assignments `path=value` for each variant; each variant has a curve.
    """
    variants = [scenario.with_texts([_pair(line) for line in lines]) for lines in settings]
    curves = []
    for variant in variants:
        with tailback.Simulation(variant, seed=1) as simulation:
            curves.append([_queue(simulation, port, end * at / SAMPLES) for at in range(1, SAMPLES + 1)])
    most = max(max(curve) for curve in curves) or 1
    lines = "".join(
        f'<polyline class="curve {"ab"[at]}" points="{_points(curve, most)}"/>' for at, curve in enumerate(curves)
    )
    names = f", {' and '.join('AB'[: len(curves)])}" if len(curves) > 1 else ""
    span = f"{end:g} s" if end >= 1 else f"{end * 1000:g} ms"
    words = f"Queue of {port.replace('->', ' → ')}{names}: {span}, up to {most / 1000:.0f} kB"
    return (
        f'<svg class="queue" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">{lines}</svg>'
        f'<small aria-hidden="true">{words}</small>'
    )


def _pair(line: str) -> tuple[str, str]:
    path, _, value = line.partition("=")
    return path, value


def _queue(simulation: tailback.Simulation, port: str, time: float) -> int:
    simulation.run_until(time)
    return simulation.port(port)["queue_bytes"]


def _points(curve: Sequence[int], most: int) -> str:
    step = WIDTH / len(curve)
    return " ".join(
        f"{at * step:.0f},{(HEIGHT - 3) * (1 - value / most) + 1.5:.1f}" for at, value in enumerate(curve, 1)
    )
