"""Explanations of a packet's delay or drop, and of a port's queue, by a repetition of the run with a trace.

    story = tailback.why("scenario.toml", flow="data[3]", drop=1)
    print(story)
    story.plot().savefig("why.png")

The run of a run directory is simulated again; its digest must be that of the directory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from tailback import _native
from tailback.errors import RunError, UsageError
from tailback.laws.watchdog import guarded
from tailback.results.directory import MANIFEST, read_manifest
from tailback.run.apart import apart
from tailback.scenario import Scenario, load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Explanation", "why"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of a packet, with all its transmissions, or of a port's queue."""

    seed: int
    """Seed of the replication."""
    digest: str
    """Digest of the replication."""
    stories: Sequence[Mapping[str, Any]]
    """One table for each transmission of the packet, in their order, or one table for the port.

    The keys are those of `tailback why --json`.
    """

    @property
    def verdict(self) -> str:
        """The explanation in one sentence, one line for each transmission."""
        return "\n".join(str(story["verdict"]) for story in self.stories)

    @property
    def culprit(self) -> Mapping[str, Any]:
        """Cause of the last transmission's delay or drop: `kind`, `port`, `flow`, `actor`, and a text, `words`."""
        return cast("Mapping[str, Any]", self.stories[-1]["culprit"])

    @property
    def hops(self) -> Sequence[Mapping[str, Any]]:
        """Hops of the last transmission, in the order of the path; empty for a port."""
        return cast("Sequence[Mapping[str, Any]]", self.stories[-1].get("hops", []))

    def as_json(self) -> dict[str, object]:
        """Return the explanation as JSON, without texts."""
        stories = [{key: value for key, value in story.items() if key != "text"} for story in self.stories]
        return {"why": 1, "seed": self.seed, "digest": self.digest, "stories": stories}

    def plot(self) -> Figure:
        """Return a figure: the hops over time with the causes of waits, and the queue before the packet by flow."""
        from tailback.plotting.why import figure

        return figure(self.stories[-1])

    def __str__(self) -> str:
        return "\n".join(str(story["text"]) for story in self.stories).rstrip("\n")


def why(
    run: Scenario | str | PathLike[str],
    *,
    flow: str | None = None,
    packet: int | None = None,
    at: str | None = None,
    drop: int | None = None,
    worst: Literal["delay", "drop", "queue"] | None = None,
    port: str | None = None,
    seed: int | None = None,
    parallel: int = 1,
    allow_files: bool = False,
) -> Explanation:
    """Explain why a packet was late or dropped, or which flows filled a port's queue.

    The run is simulated two or more times, with traces that are not kept.

    Args:
        run: A scenario, the path of its file, or a run directory.
        flow: Name of the flow, such as "data[3]".
        packet: Number of the packet in the flow, from 0; all its transmissions are explained.
        at: Time, such as "1.2s": the packet of the flow that is in the network then, or the first one after it.
        drop: Number of the drop among those of the flow, from 1.
        worst: "delay": the delivered packet with the largest delay, the default for a flow. "drop": the first dropped
            packet. "queue": the queue of a port at its longest, the default for a port.
        port: Name of a port, such as "s1->s2", instead of a flow.
        seed: Seed of the replication. Default: that of the scenario, or the first of the run directory.
        parallel: Maximum number of partitions of the network, each simulated by a thread of its own; the explanation
            does not depend on it.
        allow_files: Permit the scenario to read files outside its folder; for trusted scenarios.

    Raises:
        UsageError: There is no such flow, port or packet, or the choice of a packet is ambiguous.
        RunError: A run directory could not be repeated with its digest.
        ScenarioError: The scenario is invalid.
        OutputError: The run directory cannot be read.

    """
    query, value = _query(flow, port, packet, at, drop, worst)
    scenario, chosen, warmup_s, digest = _source(run, seed, allow_files)
    names = json.loads(apart(f"the run with seed {chosen} failed", scenario, _names, scenario, chosen))
    if flow is not None:
        number = _index(flow, names["flows"], "flow")
        found = _explained(scenario, chosen, number, (query, value), warmup_s, parallel)
        if not found["stories"]:
            raise UsageError(_missing(flow, query, value, found))
        stories = found["stories"]
    else:
        assert port is not None
        number = _index(port, names["ports"], "port")
        found = _explained(scenario, chosen, number, None, warmup_s, parallel)
        stories = [found["story"]]
    if digest is not None and found["digest"] != digest:
        raise RunError(
            f"the run with seed {chosen} has the digest {found['digest']}, but its directory has {digest}: it was made "
            "by another version, or its scenario was changed"
        )
    return Explanation(chosen, found["digest"], stories)


def _explained(
    scenario: Scenario, seed: int, number: int, query: tuple[str, int] | None, warmup_s: float | None, parallel: int
) -> dict[str, Any]:
    """Return the explanation of a packet of the flow with this number, or without `query` of the port."""
    arguments = (scenario, seed, number, query, warmup_s, parallel)
    text = apart(f"the run with seed {seed} failed", scenario, _repeated, *arguments)
    found: dict[str, Any] = json.loads(text)
    return found


def _names(scenario: Scenario, seed: int) -> str:
    """Return the names of flows and ports as JSON."""
    return _native.why_names(scenario.native, seed)


def _repeated(
    scenario: Scenario,
    seed: int,
    number: int,
    query: tuple[str, int] | None,
    warmup_s: float | None,
    parallel: int,
) -> str:
    """Return the explanation as JSON, made in this process."""
    native = scenario.native
    with guarded(native, None):
        if query is None:
            return _native.why_port(native, seed, number, warmup_s, parallel)
        return _native.why_packet(native, seed, number, *query, warmup_s, parallel)


def _query(
    flow: str | None,
    port: str | None,
    packet: int | None,
    at: str | None,
    drop: int | None,
    worst: str | None,
) -> tuple[str, int]:
    """Return the kind of the search and its value; raises UsageError if the arguments contradict each other.

    The value of "packet" and "drop" is an index from 0, that of "at" a time in ps, and that of other kinds 0.
    """
    if (flow is None) == (port is None):
        raise UsageError("state either a flow or a port")
    stated = [
        name for name, value in (("packet", packet), ("at", at), ("drop", drop), ("worst", worst)) if value is not None
    ]
    if len(stated) > 1:
        raise UsageError(f"state one of {' and '.join(stated)}, which select different packets")
    if port is not None:
        if stated and worst != "queue":
            raise UsageError(f"{stated[0]} selects a packet and needs a flow; for a port there is worst queue")
        return "queue", 0
    if worst == "queue":
        raise UsageError("worst queue needs a port; for a flow there are worst delay and worst drop")
    if packet is not None:
        if packet < 0:
            raise UsageError(f"packet is {packet}; packets are numbered from 0")
        return "packet", packet
    if drop is not None:
        if drop < 1:
            raise UsageError(f"drop is {drop}; drops are numbered from 1")
        return "drop", drop - 1
    if at is not None:
        try:
            return "at", _native.parse_duration(at)
        except ValueError as error:
            raise UsageError(str(error)) from None
    return ("drop", 0) if worst == "drop" else ("worst", 0)


def _source(
    run: Scenario | str | PathLike[str], seed: int | None, allow_files: bool
) -> tuple[Scenario, int, float | None, str | None]:
    """Return the scenario, the seed, the warm-up to pass to the run, and the digest that the run must have.

    The warm-up, s, is `None` if the scenario states it. The digest is `None` if `run` is no run directory.
    """
    if not isinstance(run, Scenario) and Path(fspath(run)).name == MANIFEST:
        run = Path(fspath(run)).parent
    if isinstance(run, Scenario) or not Path(fspath(run)).is_dir():
        scenario = run if isinstance(run, Scenario) else load(run, allow_files=allow_files)
        config = scenario.run_config
        # An automatic warm-up would need a pilot run, and the fate of packets does not depend on the warm-up.
        warmup_s = 0.0 if config["warmup"] == "auto" else None
        return scenario, cast(int, config["seed"]) if seed is None else seed, warmup_s, None
    manifest = read_manifest(run)
    digests = {replication["seed"]: replication["digest"] for replication in manifest["replications"]}
    if not digests:
        raise UsageError(f"{fspath(run)} has no finished replication")
    chosen = next(iter(digests)) if seed is None else seed
    if chosen not in digests:
        raise UsageError(f"{fspath(run)} has no replication with seed {chosen}; it has {', '.join(map(str, digests))}")
    scenario = load(Path(fspath(run)) / "scenario.toml", allow_files=allow_files)
    warmup = manifest.get("warmup", {})
    warmup_s = float(warmup["seconds"]) if warmup.get("method") == "auto" else None
    return scenario, chosen, warmup_s, str(digests[chosen])


def _index(name: str, names: Sequence[str], what: str) -> int:
    """Return the index of a flow or port (`what`); raises UsageError with advice if there is none of this name."""
    if name in names:
        return names.index(name)
    of_group = [other for other in names if other.startswith(f"{name}[")]
    if of_group:
        raise UsageError(f"{name} is a group of {len(of_group)} flows; name one of them, such as {of_group[0]}")
    near = get_close_matches(name, names, n=3)
    advice = f"did you mean {' or '.join(near)}?" if near else f"there are {_listed(names)}"
    raise UsageError(f"there is no {what} {name!r}; {advice}")


def _listed(names: Sequence[str], limit: int = 8) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def _missing(flow: str, query: str, value: int, found: Mapping[str, Any]) -> str:
    """Return the message for a search that found no packet of the flow."""
    packets, drops = found["packets"], found["drops"]
    if not packets:
        return f"{flow} sent no packet"
    if query == "drop":
        return f"{flow} has {drops} dropped packets of {packets}; there is no drop {value + 1}"
    if query == "packet":
        return f"{flow} sent no packet {value}; it sent {packets} packets, numbered from 0"
    if query == "at":
        return f"no packet of {flow} was in the network at that time or after it"
    return f"no packet of {flow} was delivered; --drop 1 explains its first drop"
