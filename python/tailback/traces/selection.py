"""Selection of the rows of a packet trace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from tailback import _native
from tailback.errors import UsageError

__all__ = ["Chosen", "Trace"]

Chosen = tuple[list[str], list[str], list[str], list[str], int | None, int | None]
"""A selection for the core: flows, ports, events, frames, first and last instant in picoseconds."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A packet trace: its folder, and the rows that are written.

        tailback.run("merge.toml", trace=tailback.Trace("traces", flows=["web*"], events=["drop"]))

    Each condition that is given selects rows; without conditions all rows are written. Names may be patterns, as in
    scenarios.
    """

    directory: str | PathLike[str] | None = None
    """Folder to write, with a folder for each replication; `None`: no file is written, for a `Simulation`."""
    flows: Sequence[str] = ()
    """Flows or groups of flows, such as `web*`; empty: all. Rows without a flow are not affected."""
    ports: Sequence[str] = ()
    """Output ports, such as `left->right`; empty: all."""
    events: Sequence[str] = ()
    """Kinds of events, such as `drop`; empty: all."""
    frames: Sequence[str] = ()
    """Kinds of frames, such as `data`; empty: all."""
    start: float | str | None = None
    """First instant, seconds or text such as "20ms"; `None`: the beginning of the run."""
    until: float | str | None = None
    """Last instant, in the same form; `None`: the end of the run."""
    replace: bool = False
    """`True` if earlier traces in the folder are to be replaced."""

    def chosen(self, of: str = "trace") -> Chosen:
        """Return the selection in the form of the core; raises UsageError if it is invalid.

        `of` is "trace" or "capture", for messages.
        """
        for name in ("flows", "ports", "events", "frames"):
            if isinstance(getattr(self, name), str):
                raise UsageError(f"{name} of a {of} is a list of names, such as [{getattr(self, name)!r}]")
        start, until = (None if time is None else _ps(time, of) for time in (self.start, self.until))
        return (list(self.flows), list(self.ports), list(self.events), list(self.frames), start, until)

    def network(self, scenario: _native.Scenario, seed: int, of: str = "trace") -> dict[str, Any]:
        """Return the names of the network's parts; raises UsageError if a name or pattern matches nothing.

        `of` is "trace" or "capture", for messages.
        """
        try:
            found: dict[str, Any] = json.loads(_native.trace_network(scenario, seed, self.chosen(of)))
        except ValueError as error:
            raise UsageError(f"{of}: {error}") from None
        return found

    def as_json(self) -> dict[str, object]:
        """Return the conditions that are given, with times in ps, for the manifest."""
        given: dict[str, object] = {
            name: list(getattr(self, name)) for name in ("flows", "ports", "events", "frames") if getattr(self, name)
        }
        times = {"start_ps": self.start, "until_ps": self.until}
        return given | {name: _ps(time) for name, time in times.items() if time is not None}


def _ps(time: float | str, of: str = "trace") -> int:
    """Return a time in picoseconds; raises UsageError."""
    if isinstance(time, str):
        try:
            return _native.parse_duration(time)
        except ValueError as error:
            raise UsageError(str(error)) from None
    if not 0 <= time < 1.8e7:
        raise UsageError(
            f"{time} s is not a time of a {of}; write seconds from 0 to below 1.8e7, or text such as '20ms'"
        )
    return round(time * 10**12)
