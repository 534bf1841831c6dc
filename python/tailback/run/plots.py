"""Pictures of a result: `result.plot()` is an overview, and `result.plot.cwnd()` one picture for a publication."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.plotting.paper import Logarithmic, Size
    from tailback.plotting.pictures import Span
    from tailback.run.result import Result

__all__ = ["Plots"]


class Plots:
    """Pictures of a run, in the style and the sizes of papers (`tailback.plotting.paper`).

    The argument `size` is `column` (3.5 in), `page` (7.16 in), or a size such as `89mm` or `3.5in x 2in`; `log` names
    the logarithmic axes: `x`, `y`, `xy` or none; `between` is the first and last simulated second shown, for example
    `(5, 7)`; `None`: the whole run. Names may be patterns, such as `web*` or `sw1->*`. Each method raises UsageError
    without the extra `tailback[plot]`, or if the run lacks the data; the message then names the option to set in the
    scenario.
    """

    def __init__(self, result: Result) -> None:
        self._run = result

    def __call__(self) -> Figure:
        """Draw throughput, loss and delay of each group with intervals, and samples over time."""
        from tailback.plotting.plot import run_figure

        run = self._run
        return run_figure(run.metrics, run.series, run.nodes, run.title, run.confidence)

    def queue_cdf(self, ports: str = "*", *, size: Size = "column", log: Logarithmic = "") -> Figure:
        """Draw the distribution of the queue of each port at the samples after the warm-up; needs `run.sample`."""
        from tailback.plotting import pictures

        return pictures.queue_cdf(self._run, ports, size=size, log=log)

    def delay_cdf(self, names: str = "*", *, size: Size = "column", log: Logarithmic = "x") -> Figure:
        """Draw the distribution of the one-way delays of all packets, by class, or by group with `per-flow-delay`.

        Needs the record "delay-distribution".
        """
        from tailback.plotting import pictures

        return pictures.delay_cdf(self._run, names, size=size, log=log)

    def fct_cdf(self, groups: str = "*", *, size: Size = "column", log: Logarithmic = "x") -> Figure:
        """Draw the distribution of the completion times of transfers; needs the record "transfers"."""
        from tailback.plotting import pictures

        return pictures.fct_cdf(self._run, groups, size=size, log=log)

    def fct(self, groups: str = "*", *, size: Size = "column", log: Logarithmic = "xy") -> Figure:
        """Draw median and 99th percentile of the completion time by size; needs the record "transfers"."""
        from tailback.plotting import pictures

        return pictures.fct(self._run, groups, size=size, log=log)

    def slowdown(self, groups: str = "*", *, size: Size = "column", log: Logarithmic = "xy") -> Figure:
        """Draw median and 99th percentile of the slowdown by size; needs the record "transfers"."""
        from tailback.plotting import pictures

        return pictures.slowdown(self._run, groups, size=size, log=log)

    def cwnd(self, flows: str = "*", *, size: Size = "column", states: bool = True, between: Span = None) -> Figure:
        """Draw windows and slow-start thresholds over time; needs the record "transport-changes"."""
        from tailback.plotting import pictures

        return pictures.cwnd(self._run, flows, size=size, states=states, between=between)

    def rtt(self, flows: str = "*", *, size: Size = "column", between: Span = None) -> Figure:
        """Draw smoothed round-trip times over time; needs the record "transport-changes"."""
        from tailback.plotting import pictures

        return pictures.rtt(self._run, flows, size=size, between=between)

    def time_sequence(self, flow: str = "*", *, size: Size = "column", between: Span = None) -> Figure:
        """Draw the sequence numbers of sent and acknowledged segments over time.

        Needs the record "transport-changes".
        """
        from tailback.plotting import pictures

        return pictures.time_sequence(self._run, flow, size=size, between=between)

    def throughput(self, names: str = "*", *, by: str = "group", size: Size = "column") -> Figure:
        """Draw throughput over time; needs `run.sample`, and for `by="flow"` the record "throughput-by-flow"."""
        from tailback.plotting import pictures

        return pictures.throughput(self._run, names, by=by, size=size)

    def fairness(self, flows: str = "*", *, size: Size = "column") -> Figure:
        """Draw Jain's index of the goodputs of flows over time; needs the record "throughput-by-flow"."""
        from tailback.plotting import pictures

        return pictures.fairness(self._run, flows, size=size)

    def delay_throughput(self, groups: str = "*", *, size: Size = "column", log: Logarithmic = "") -> Figure:
        """Draw throughput against mean delay of each group, with intervals."""
        from tailback.plotting import pictures

        return pictures.delay_throughput(self._run, groups, size=size, log=log)

    def queue_composition(self, port: str = "*", *, by: str = "group", size: Size = "column") -> Figure:
        """Draw the bytes that wait at a port, stacked by group or flow; needs the record "queue-by-flow"."""
        from tailback.plotting import pictures

        return pictures.queue_composition(self._run, port, by=by, size=size)

    def heat_map(self, ports: str = "*", *, quantity: str = "utilisation", size: Size = "column") -> Figure:
        """Draw `utilisation`, `queue` or `drops` of ports over time as a heat map; needs `run.sample`."""
        from tailback.plotting import pictures

        return pictures.heat_map(self._run, ports, quantity=quantity, size=size)

    def xy(self, x: str, y: str, *, size: Size = "column", log: Logarithmic = "") -> Figure:
        """Draw one quantity against another, such as `goodput[*]` against `time`; see `tailback.plotting.xy`."""
        from tailback.plotting.xy import xy

        return xy(self._run, x, y, size=size, log=log)
