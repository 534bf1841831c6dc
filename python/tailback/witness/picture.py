"""Windows and round-trip times of the first transfers against time, on the kernel and on Tailback."""

from __future__ import annotations

from matplotlib.figure import Figure

from tailback.plotting.plot import style
from tailback.run.simulation import Simulation
from tailback.scenario import Scenario
from tailback.witness.network import Case
from tailback.witness.outcome import Outcome, Probe

__all__ = ["windows"]

STEP_S = 0.05
"""Interval of the samples, seconds; that of traffic.c."""


def windows(scenario: Scenario, case: Case, kernel: Outcome) -> Figure | None:
    """Return the picture of the seed 1; `None` if there is no bulk transfer.

    The random numbers of the programs differ, and so do the instants of losses: the picture compares shapes.
    """
    if not kernel.probes:
        return None
    ours = _ours(scenario, case, list(kernel.probes))
    with style():
        figure = Figure(figsize=(9, 2.6 * len(ours)), layout="constrained")
        axes = figure.subplots(len(ours), 2, squeeze=False, sharex=True)
        for (group, probe), (window, rtt) in zip(kernel.probes.items(), axes, strict=True):
            for name, one in (("Linux 6.1", probe), ("Tailback", ours[group])):
                window.plot(one.times_s, one.window, label=name, linewidth=0.9)
                rtt.plot(one.times_s, [1e3 * value for value in one.rtt_s], label=name, linewidth=0.9)
            window.set(title=f"{group}, first transfer", ylabel="window, segments", ylim=(0, None))
            rtt.set(title="smoothed round-trip time", ylabel="ms", ylim=(0, None))
            window.legend()
        for one in axes[-1]:
            one.set_xlabel("time, s")
    return figure


def _ours(scenario: Scenario, case: Case, groups: list[str]) -> dict[str, Probe]:
    """Return the samples of the first flow of each group on Tailback."""
    samples: dict[str, list[tuple[float, float, float]]] = {group: [] for group in groups}
    with Simulation(scenario, 1) as simulation:
        flows = simulation.view()["flows"]
        names = {group: group if group in flows else f"{group}[1]" for group in groups}
        for i in range(1, int(case.end_s / STEP_S) + 1):
            simulation.run_until(i * STEP_S)
            for group, name in names.items():
                state = simulation.flow(name).get("sender", {}).get("state", {})
                # A sender that has not started has no round-trip time.
                if "smoothed_rtt_s" in state:
                    samples[group].append((i * STEP_S, state["window_segments"], state["smoothed_rtt_s"]))
    return {group: Probe(*(tuple(column) for column in zip(*rows, strict=True))) for group, rows in samples.items()}
