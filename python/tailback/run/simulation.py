"""Stepping through one replication: views of the network, changed parameters, injected data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from tailback import _native
from tailback.errors import UsageError
from tailback.results.report import Report
from tailback.run.view import FlowView, NodeView, PortView, View
from tailback.scenario import Scenario, load
from tailback.scenario.values import Value, toml_value
from tailback.traces.selection import Trace

if TYPE_CHECKING:
    import polars as pl

    from tailback.traces.columns import Layout

__all__ = ["Delivered", "Simulation"]

_PS = 10**12
"""Picoseconds in a second."""


class Delivered(NamedTuple):
    """A data packet that arrived at a recorded host."""

    time_s: float
    """Time of the arrival, seconds."""
    flow: str
    """Name of the flow, such as `data[2]`."""
    sequence: int
    """Sequence number: counted in packets, or in segments for flows with a transport."""
    bytes: int
    """Payload, bytes."""
    born_s: float
    """Time at which the packet was generated, seconds."""


@dataclass
class _Observer:
    """A function that is called at regular intervals."""

    call: Callable[[], object]
    every: int
    """Interval, ps."""
    due: int
    """Time of the next call, ps."""


class Simulation:
    """One replication that is stepped through.

        with tailback.Simulation("dumbbell.toml") as simulation:
            while not simulation.done:
                simulation.step("100ms")
                print(simulation.now, simulation.port("left->right")["queue_bytes"])

    A view at an instant is taken after all events of that instant. A change or an injection takes effect 1 ps later at
    the earliest. Only keys in the scenario's `run.tunable` can be changed. `scenario` returns the scenario with all
    changes in its timeline; a run of it has the same digest.

    Times are numbers in seconds or text with a unit, such as "20ms". Seconds are rounded to the nearest picosecond.
    Methods with a time raise UsageError if it is not from 0 to 213 days.
    """

    def __init__(
        self,
        scenario: Scenario | str | PathLike[str],
        seed: int | None = None,
        *,
        warmup: str | None = None,
        engine: Literal["merged", "plain"] | None = None,
        trace: Trace | bool = False,
    ) -> None:
        """Build the network of a scenario, or of its file, before the first event.

        Args:
            scenario: A scenario, or the path of its file.
            seed: Seed of the replication. Default: the scenario's.
            warmup: Warm-up, such as "20s". Default: the scenario's. "auto" is refused, since it needs a pilot run.
            engine: "merged" or "plain"; both give the same digest. Default: the scenario's.
            trace: `True`, or a `Trace` without a directory: the packet trace is kept for `take_trace`.

        Raises:
            ScenarioError: The scenario is invalid; the message has the place and a correction.
            UsageError: The seed is out of range, the warm-up is "auto", or a name in the trace matches nothing.

        """
        if not isinstance(scenario, Scenario):
            scenario = load(scenario)
        if warmup is not None:
            scenario = scenario.set(warmup=warmup)
        config = scenario.run_config
        if config["warmup"] == "auto":
            raise UsageError('a simulation that is stepped through needs a stated warm-up, such as warmup="20s"')
        chosen = cast(int, config["seed"]) if seed is None else seed
        if not 0 <= chosen < 2**63:
            raise UsageError(f"the seed {chosen} is not from 0 to 2^63 - 1")
        wanted = trace if isinstance(trace, Trace) else Trace() if trace else None
        if wanted is not None and wanted.directory is not None:
            raise UsageError("the trace of a simulation is taken by take_trace, and has no directory")
        self._names = None if wanted is None else wanted.network(scenario.native, chosen)["names"]
        selection = None if wanted is None else wanted.chosen()
        self._open: _native.Simulation | None = _native.Simulation(scenario.native, chosen, engine, None, selection)
        self._scenario = scenario
        self._observers: list[_Observer] = []
        self._row_observers: list[Callable[[pl.DataFrame], object]] = []
        self._in_observer = False

    def __enter__(self) -> Simulation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the network; afterwards every other method raises UsageError."""
        self._open = None

    @property
    def _core(self) -> _native.Simulation:
        if self._open is None:
            raise UsageError("the simulation is closed; make a new one")
        return self._open

    @property
    def now(self) -> float:
        """Time up to which all events have been handled, in seconds."""
        return self._core.now_ps / _PS

    @property
    def end(self) -> float:
        """Last instant of the run, in seconds."""
        return self._core.end_ps / _PS

    @property
    def done(self) -> bool:
        """`True` if the end of the run has been reached."""
        return self._core.done

    @property
    def next_event(self) -> float | None:
        """Time of the next event in seconds; `None`: there is none. The event may be one that changes nothing."""
        at = self._core.next_event_ps
        return None if at is None else at / _PS

    @property
    def touched(self) -> bool:
        """`True` if a parameter was changed, or data injected."""
        return self._core.touched

    @property
    def replays(self) -> int:
        """Number of jumps back, each of which replayed the run from its start."""
        return self._core.replays

    def run_until(self, time: float | str) -> None:
        """Handle all events at and before `time`, or before the end of the run if that is earlier.

        A time in the past changes nothing. Ctrl-C ends the step between two events; the simulation can be continued.
        """
        self._run(_ps(time))

    def step(self, length: float | str) -> None:
        """Run for `length` from now, at most to the end of the run."""
        self._run(self._core.now_ps + _ps(length))

    def jump(self, time: float | str) -> bool:
        """Go to `time`, which may be in the past; return `True` if the run was replayed.

        A jump back replays the run from its start with the changes made up to `time`, and discards later ones. It takes
        as long as the run did up to `time`. It also ends the recording of delivered data. Observers are not called
        during the replay.
        """
        core, target = self._core, _ps(time)
        if target >= core.now_ps:
            self._run(target)
            return False
        self._refuse_in_observer()
        replayed = core.jump(target)
        for observer in self._observers:
            observer.due = core.now_ps + observer.every
        return replayed

    def observe(self, call: Callable[[], object], *, every: float | str) -> Callable[[], None]:
        """Call a function at regular intervals while the simulation runs; return a function that ends this.

            simulation.observe(lambda: delays.append(simulation.port("left->right")["queue_bytes"]), every="1ms")

        Args:
            call: Called without arguments after all events of its instant. It can read views, change keys and inject
                data, although nothing can take effect after the end; it cannot run the simulation. An exception ends
                the step at its instant.
            every: Interval between calls; the first call is one interval from now.

        Raises:
            UsageError: The interval is zero.

        """
        interval = _ps(every)
        if interval == 0:
            raise UsageError("an observer needs an interval above zero, such as every='1ms'")
        observer = _Observer(call, interval, self._core.now_ps + interval)
        self._observers.append(observer)
        return lambda: self._observers.remove(observer) if observer in self._observers else None

    def observe_trace(self, call: Callable[[pl.DataFrame], object]) -> Callable[[], None]:
        """Call a function with the rows of the packet trace of each instant; return a function that ends this.

        The columns are those of `take_trace`, which does not return these rows again. The function can do the same as
        with `observe`: a change that it makes takes effect 1 ps after the rows at the earliest. A call per instant
        costs about as much time as thousands of events: select flows, ports and kinds with `trace=Trace(...)`.

        Raises UsageError without `trace`.
        """
        self._layout()
        self._row_observers.append(call)
        return lambda: self._row_observers.remove(call) if call in self._row_observers else None

    def view(self) -> View:
        """Return the state of the whole network now."""
        return cast(View, json.loads(self._core.view()))

    def port(self, name: str) -> PortView:
        """Return the state of an output port, such as `s->t`, now; raises KeyError."""
        return cast(PortView, self._found(self._core.port(name), f"no port is named {name!r}"))

    def flow(self, name: str) -> FlowView:
        """Return the state of a flow, such as `data[2]`, now; raises KeyError."""
        return cast(FlowView, self._found(self._core.flow(name), f"no flow is named {name!r}"))

    def node(self, name: str) -> NodeView:
        """Return the state of a host or switch now; raises KeyError."""
        return cast(NodeView, self._found(self._core.node(name), f"no host or switch is named {name!r}"))

    def change(
        self, key: str | Mapping[str, Value], value: Value | None = None, *, at: float | str | None = None
    ) -> float:
        """Change one tunable key, or several at the same time; return the time of the change in seconds.

            simulation.change("links[0].rate", "5Mbit/s")
            simulation.change({"flows[data].state": "stop", "links[0].state": "down"}, at="2s")

        Args:
            key: Path as for `Scenario.set`, or a mapping from paths to values. The key `state` of a link is "down" or
                "up", of a flow "stop" or "start", of a host "storm" or "calm" (it sends PAUSE frames).
            value: New value of a single key.
            at: Time of the change, not before that of an earlier change. Default: 1 ps from now.

        Raises:
            ScenarioError: A key is not in `run.tunable`, a value is invalid or out of bounds, the running network
                cannot follow the change, or `at` is not after now. Nothing has changed then.
            UsageError: A single key has no value, or there is a value in addition to a mapping.

        """
        if isinstance(key, Mapping) != (value is None):
            raise UsageError("write a key and its value, or a mapping from keys to values alone")
        changes = dict(key) if isinstance(key, Mapping) else {key: cast(Value, value)}
        pairs = [(path, toml_value(new)) for path, new in changes.items()]
        return self._core.change(pairs, None if at is None else _ps(at)) / _PS

    def inject(self, flow: str, size: int | str, *, at: float | str | None = None) -> float:
        """Let a flow send `size` of payload in addition to its source; return the time in seconds.

        Args:
            flow: Name of a single flow, such as `data[2]`.
            size: Bytes, or text with a unit such as "6kB".
            at: Time of sending. Default: 1 ps from now.

        Raises:
            ScenarioError: There is no such flow, an application drives it, or `size` or `at` is out of range.
            UsageError: `size` is not a size, or is negative or 2^64 B or more.

        """
        try:
            count = _native.parse_bytes(size) if isinstance(size, str) else size
        except ValueError as error:
            raise UsageError(str(error)) from None
        if not 0 <= count < 2**64:
            raise UsageError(f"{count} bytes is out of range; write 1 B to 2^40 B")
        return self._core.inject(flow, count, None if at is None else _ps(at)) / _PS

    def record_delivered(self, host: str) -> None:
        """Record the data that arrives at a host from now on, for `take_delivered`; raises KeyError."""
        if not self._core.record_delivered(host):
            raise KeyError(f"no host is named {host!r}")

    def take_delivered(self) -> list[Delivered]:
        """Return the data packets that have arrived at recorded hosts since the last call, in order of time."""
        taken = self._core.take_delivered()
        return [Delivered(at / _PS, flow, sequence, size, born / _PS) for at, flow, sequence, size, born in taken]

    def take_trace(self) -> pl.DataFrame:
        """Return the rows of the packet trace since the last call, in order, with the columns of `read_trace`.

        The rows of the current instant follow later if it may still have events. Rows that are not taken are kept in
        memory: take them after each step. A jump back begins the trace anew. Raises UsageError without `trace`.
        """
        import polars as pl

        layout = self._layout()
        chunks = [layout.frame(count, chunk) for count, chunk in self._core.take_trace()]
        return pl.concat(chunks) if chunks else pl.DataFrame(schema=layout.types)

    @property
    def trace_hash(self) -> str | None:
        """Hash of the rows taken so far, as in the manifest of a written trace; `None` without `trace`."""
        summary = self._core.trace_summary
        return None if summary is None else summary[1]

    def scenario(self) -> Scenario:
        """Return the scenario with all changes made so far in its timeline."""
        if not self.touched:
            return self._scenario
        return Scenario.from_native(self._core.scenario())

    def report(self) -> Report:
        """Return the results of a run that ends now; the simulation is then closed.

        Raises UsageError during the warm-up, since nothing has been measured then, and in an observer.
        """
        self._refuse_in_observer()
        core = self._core
        if core.now_ps <= core.warmup_ps and core.warmup_ps > 0:
            raise UsageError(f"nothing is measured before the end of the warm-up at {core.warmup_ps / _PS:g} s")
        report = Report.from_json(core.report())
        self.close()
        return report

    def finish(self) -> Report:
        """Run to the end and return the results; the simulation is then closed."""
        self.run_until(self.end)
        return self.report()

    def _run(self, target: int) -> None:
        """Handle all events at and before `target`, and call the observers at their times."""
        self._refuse_in_observer()
        core = self._core
        last = min(target, core.end_ps)
        while (self._observers or self._row_observers) and self._open is not None and core.now_ps < last:
            stop = min([last, *(observer.due for observer in self._observers)])
            (core.run_to_rows if self._row_observers else core.run_until)(stop)
            self._in_observer = True
            try:
                self._call_observers(core)
            finally:
                self._in_observer = False
        if self._open is not None:
            core.run_until(target)

    def _call_observers(self, core: _native.Simulation) -> None:
        """Call the observers of the trace if there are rows, then those that are due, in the order of their start."""
        if self._row_observers:
            rows = self.take_trace()
            for call in list(self._row_observers) if len(rows) else []:
                call(rows)
        for observer in list(self._observers):
            if observer.due <= core.now_ps and observer in self._observers:
                observer.due += observer.every
                observer.call()

    def _refuse_in_observer(self) -> None:
        if self._in_observer:
            raise UsageError("an observer cannot run the simulation; change keys or inject data, and return")

    def _layout(self) -> Layout:
        """Return the layout of the trace's columns; raises UsageError without `trace`."""
        from tailback.traces.columns import Layout

        if self._names is None:
            raise UsageError("the simulation has no trace; write Simulation(..., trace=True)")
        return Layout(self._names)

    def _found(self, text: str | None, missing: str) -> object:
        if text is None:
            raise KeyError(missing)
        return json.loads(text)


def _ps(time: float | str) -> int:
    """Return a time in picoseconds; raises UsageError if it is not a time from 0 to 213 days."""
    if isinstance(time, str):
        try:
            return _native.parse_duration(time)
        except ValueError as error:
            raise UsageError(str(error)) from None
    ps = round(time * _PS) if abs(time) < 2**64 else -1
    if not 0 <= ps < 2**64:
        raise UsageError(f"{time} s is not a time; write seconds from 0 on, or text such as '20ms'")
    return ps
