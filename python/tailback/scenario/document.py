"""Scenarios in Python: documents that are built step by step, or loaded from TOML or JSON files.

A `Scenario` is immutable: each method returns a new one, so variants share a base:

    base = (
        Scenario(duration="60s", warmup="10s")
        .host("h", count=3).host("d").switch("sw", buffer="50kB")
        .link(["h*", "sw"], rate="10Mbit/s").link(["sw", "d"], rate="10Mbit/s")
        .flow("data", "h*", "d", source("uniform-uniform", burst="24kB", rate="2Mbit/s"))
    )
    stopped = base.backpressure(scope="plain")
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Literal, TypeAlias, cast

from tailback import _native
from tailback.errors import RunError, ScenarioError
from tailback.scenario.parts import Parts
from tailback.scenario.values import Table, Value, copied, given, keys, read_document, toml_value
from tailback.scenario.warnings import ScenarioWarning, read

__all__ = ["Precision", "Scenario", "Variant", "load"]

_Given: TypeAlias = "tuple[_native.Scenario, list[tuple[str, str]]] | None"
"""A base scenario and the settings (path, value) that were applied to it; `None`: the scenario was made otherwise."""


@dataclass(frozen=True, slots=True)
class Precision:
    """Stopping rule: replications are added until the confidence interval's half width meets one of two targets."""

    metric: Literal["loss", "delay", "throughput"] = "loss"
    """Metric of all flows together."""
    relative: float = 0.1
    """Target of the half width as a share of the mean."""
    absolute: float = 0.001
    """Target of the half width in the metric's unit (1, s or bit/s), for means near zero."""
    max_replications: int = 100
    """Upper bound of the number of replications."""


class Scenario:
    """A scenario document. Immutable: every method that adds or changes something returns a new scenario."""

    _file = ""
    _allow_files = False

    def __init__(
        self,
        *,
        duration: str,
        warmup: str | None = None,
        seed: int | None = None,
        replications: int | None = None,
        confidence: float | None = None,
        sample: str | None = None,
        per_flow_delay: bool | None = None,
        delay_variation: bool | None = None,
        record: Sequence[str] | None = None,
        record_limit: int | None = None,
        engine: str | None = None,
        precision: Precision | None = None,
        title: str | None = None,
        description: str | None = None,
        classes: int | None = None,
        routing: str | None = None,
        framing: str | Mapping[str, Value] | None = None,
        buffer: str | Sequence[str] | None = None,
        discipline: Mapping[str, Value] | None = None,
    ) -> None:
        """Create a document with its `[run]` and `[network]` tables; parameters that are not given have their defaults.

        The parameters are the keys of these tables, `title` and `description`; docs/scenarios.md describes them.
        """
        run = given(
            duration=duration,
            warmup=warmup,
            seed=seed,
            replications=replications,
            confidence=confidence,
            sample=sample,
            per_flow_delay=per_flow_delay,
            delay_variation=delay_variation,
            record=record,
            record_limit=record_limit,
            engine=engine,
        )
        if precision is not None:
            run["precision"] = given(
                metric=precision.metric,
                relative=precision.relative,
                absolute=precision.absolute,
                max_replications=precision.max_replications,
            )
        network = given(classes=classes, routing=routing, framing=framing, buffer=buffer, discipline=discipline)
        document: Table = {"tailback": 1, **given(title=title, description=description), "run": run}
        if network:
            document["network"] = network
        self._table: Table | None = cast(Table, copied(document))
        self._native: _native.Scenario | None = None
        self._folder = ""
        # All files are permitted, since a program that builds a scenario could read them itself.
        self._allow_files = True
        self._given: _Given = None

    @classmethod
    def from_document(cls, document: Mapping[str, Value], folder: str = "") -> Scenario:
        """Return the scenario of a document, such as one read from JSON; it is checked on first use.

        Paths of files in it are relative to `folder`.
        """
        made = cls.__new__(cls)
        made._table = cast(Table, copied(dict(document)))
        made._native = None
        made._folder = folder
        made._given = None
        return made

    @classmethod
    def from_toml(cls, text: str, filename: str = "<scenario>", *, allow_files: bool = False) -> Scenario:
        """Return the scenario of a TOML document; raises ScenarioError with file, line and column.

        Paths of files in it are relative to the folder of `filename`, and must be in it unless `allow_files` is true.
        """
        compiled = _native.Scenario.from_toml(text, filename, allow_files)
        return cls.from_native(compiled, str(Path(filename).parent), allow_files=allow_files)

    @classmethod
    def from_native(cls, compiled: _native.Scenario, folder: str = "", *, allow_files: bool = False) -> Scenario:
        """Return a scenario from one that the core has checked; paths of files in it are relative to `folder`."""
        made = cls.__new__(cls)
        # The document is requested from the core on first access: most points of a sweep are run without it.
        made._table = None
        made._native = compiled
        made._folder = folder
        made._allow_files = allow_files
        made._given = None
        return made

    # Parts of the network.

    def host(self, name: str, *, count: int | None = None, **options: Value) -> Scenario:
        """Add a host, or `count` hosts `name1`, `name2`, ...; options are keys of a host, such as `buffer`.

        Raises ValueError if the name is in use.
        """
        return self._with("hosts", name, given(count=count, **options))

    def switch(self, name: str, *, count: int | None = None, **options: Value) -> Scenario:
        """Add a switch, or `count` switches `name1`, `name2`, ...; options are keys of a switch, such as `ports`.

        Raises ValueError if the name is in use.
        """
        return self._with("switches", name, given(count=count, **options))

    def class_map(self, name: str, match: Value) -> Scenario:
        """Add a class map, such as `{"dscp": "ef"}`, which classes and conditioners name in their `match`.

        Raises ValueError if the name is in use.
        """
        return self._with("class-maps", name, match)

    def link(
        self,
        between: Sequence[str],
        *,
        rate: str | Sequence[str],
        delay: str | Sequence[str] | None = None,
        length: str | None = None,
        loss: float | None = None,
        jitter: str | None = None,
    ) -> Scenario:
        """Add full-duplex links: one between two nodes, or one for each match of patterns.

        Args:
            between: The two ends, as names or patterns. With one pattern there is a link for each match; with two
                patterns, which must have equally many matches, a link for each pair of matches, in order.
            rate: Rate of both directions, such as "10Mbit/s"; two rates: from the first end, from the second end.
            delay: Propagation delay, such as "1ms"; two delays: those of the first and the last link, between
                which those of the others are evenly spaced.
            length: Length of the cable, such as "100m", instead of the delay; 5 ns/m.
            loss: Probability of random loss of a frame on the link, 0 to 1.
            jitter: Upper bound of the random additional delay of each frame, uniform from 0.

        """
        link = given(between=list(between), rate=rate, delay=delay, length=length, loss=loss, jitter=jitter)
        return self._append("links", link)

    def flow(
        self,
        name: str,
        from_: str,
        to: str,
        source: Mapping[str, Value] | None = None,
        *,
        application: Mapping[str, Value] | None = None,
        class_: int | None = None,
        dscp: str | int | None = None,
        pair: str | None = None,
        count: int | None = None,
        start: str | None = None,
        start_spread: str | None = None,
        stop: str | None = None,
        transport: Mapping[str, Value] | None = None,
        marking: Mapping[str, Value] | None = None,
        probe: bool | None = None,
    ) -> Scenario:
        """Add a group of flows from hosts `from_` to hosts `to`, which are names or patterns.

        `source` is a traffic model, and `application`, such as `kind("web")`, replaces it. With a `transport`, such as
        `tcp()`, the source writes data, which the transport sends. `marking` is a meter that colours packets as they
        enter the network, such as `{"meter": kind("fixed", colour="yellow")}`. `dscp` is the code point of all packets.
        docs/scenarios.md describes the other keys.
        """
        flow: Table = {"name": name, "from": from_, "to": to}
        options = given(
            dscp=dscp,
            pair=pair,
            count=count,
            start=start,
            start_spread=start_spread,
            stop=stop,
            source=source,
            application=application,
            transport=transport,
            marking=marking,
            probe=probe,
        )
        return self._append("flows", {**flow, **({} if class_ is None else {"class": class_}), **options})

    def backpressure(
        self,
        *,
        scope: str,
        high: float | None = None,
        low: float | None = None,
        **options: Value,
    ) -> Scenario:
        """Set the back-pressure of all switches; `high` and `low` are the watermarks as shares of the buffer, 0 to 1.

        Options are `detection` (instead of the watermarks), `notify`, `addresses`, `partition`, `response`,
        `signal`, `response_time` and `end_stations`. Raises ValueError for watermarks and `detection` together.
        """
        table = {"scope": scope, **keys(options)}
        if high is not None or low is not None:
            if "detection" in table:
                raise ValueError("write either the watermarks high and low, or detection")
            table["detection"] = {"kind": "watermark", **given(high=high, low=low)}
        return self._replace("backpressure", table)

    def at(self, at: str, **change: Value) -> Scenario:
        """Add a change at an instant to the timeline, such as `at("10s", link=["sw1", "sw2"], state="down")`.

        `change` has the keys of an entry of `timeline`.
        """
        return self._append("timeline", {"at": at, **keys(change)})

    def set(self, assignments: Mapping[str, Value] | None = None, /, **named: Value) -> Scenario:
        """Return the scenario with values changed by path, as `--set` does; raises ScenarioError.

            scenario.set({"flows[data].source.rate": "3Mbit/s", "run.duration": "10s"})

        Keywords are keys of the `[run]` table: `scenario.set(duration="10s")`.
        """
        paths = dict(assignments or {}) | {f"run.{key}": value for key, value in keys(named).items()}
        changed = self.native.with_set([(path, toml_value(value)) for path, value in paths.items()])
        return Scenario.from_native(changed, self._folder, allow_files=self._allow_files)

    def with_texts(self, assignments: Sequence[tuple[str, str]]) -> Scenario:
        """Return the scenario with values changed by path.

        `assignments` has pairs of a path and a value, as texts of the form that `--set` accepts. Raises ScenarioError.
        """
        if not assignments:
            return self
        changed = self.native.with_set(list(assignments))
        made = Scenario.from_native(changed, self._folder, allow_files=self._allow_files)
        made._given = (self.native, list(assignments))
        return made

    # Conversions.

    @property
    def _document(self) -> Table:
        if self._table is None:
            self._table = cast(Table, json.loads(self.native.to_json()))
        return self._table

    @property
    def document(self) -> Table:
        """A copy of the document as plain tables and lists."""
        return copy.deepcopy(self._document)

    @property
    def native(self) -> _native.Scenario:
        """The checked scenario of the core; raises ScenarioError if the document is invalid."""
        if self._native is None:
            self._native = _native.Scenario.from_json(json.dumps(self._document), self._folder, self._allow_files)
        return self._native

    @cached_property
    def run_config(self) -> dict[str, object]:
        """The `[run]` table with its defaults filled in."""
        return cast(dict[str, object], json.loads(self.native.run_config()))

    def pilot(self, factor: int) -> tuple[Scenario, int]:
        """Return the scenario of a pilot run `factor` times as long as the run, and its sampling interval in ps.

        Its time series shows where the warm-up ends (`warmup = "auto"`).
        """
        native, sample_ps = self.native.pilot(factor)
        return Scenario.from_native(native, self._folder, allow_files=self._allow_files), sample_ps

    @property
    def title(self) -> str:
        """Title of the document; empty: it has none."""
        return self.native.title

    @property
    def hash(self) -> str:
        """Hash of the document with all defaults, in a canonical form."""
        return self.native.hash

    @cached_property
    def effect(self) -> str:
        """Hash of the document without settings that have no effect."""
        return self.native.effect

    @cached_property
    def warnings(self) -> tuple[ScenarioWarning, ...]:
        """Warnings about the scenario and about settings without effect, except those that `run.accept` names."""
        base, given = self._given or (None, [])
        idle = base.without_effect(given) if base is not None else []
        return read([*self.native.warnings(), *idle])

    @cached_property
    def unchanged(self) -> list[str]:
        """Settings of the last `with_texts`, as `path=value`, that change nothing: each could be left out alone."""
        base, given = self._given or (None, [])
        if base is None:
            return []
        return [
            f"{path}={value}"
            for i, (path, value) in enumerate(given)
            if _hash_with(base, given[:i] + given[i + 1 :]) == self.hash
        ]

    @property
    def folder(self) -> str:
        """Folder to which the paths of files in the scenario are relative."""
        return self._folder

    @property
    def file(self) -> str:
        """Path of the file from which the scenario was loaded; empty if it was made or changed in Python."""
        return self._file

    @property
    def files(self) -> dict[int, str]:
        """Paths of the trace files that groups of flows name, by the index of the group in the document."""
        flows = cast(list[dict[str, dict[str, object]]], json.loads(self.native.to_json()).get("flows", []))
        named = {index: flow.get("source", {}) for index, flow in enumerate(flows)}
        return {index: str(source["file"]) for index, source in named.items() if source.get("kind") == "trace"}

    def check(self) -> Scenario:
        """Check the scenario and return it; raises ScenarioError with all errors."""
        _ = self.native
        return self

    def parts(self, most: int = 2, seed: int | None = None) -> Parts:
        """Return the partition of the network for a run on at most `most` threads (`parallel` of `run`).

        `seed` is the seed of the replication. Default: the scenario's.
        """
        of_run = cast(int, self.run_config["seed"]) if seed is None else seed
        return Parts.from_json(self.native.parts(most, of_run))

    def to_toml(self) -> str:
        """Return the document as TOML, with all defaults; loading it gives an equal scenario."""
        return self.native.to_toml()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the document as text.

        The process that unpickles it must find the files that it names at the same paths.
        """
        text, folder = self.native.to_json(), str(Path(self._folder).absolute())
        return _rebuild, (text, folder, self.hash, _native.version, self._allow_files)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scenario):
            return NotImplemented
        return self.native.to_json() == other.native.to_json()

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        title = self._document.get("title", "untitled")
        groups = _number(len(cast(Sequence[Value], self._document.get("flows", ()))), "group", "of flows")
        try:
            network = json.loads(self.native.network(0))
        except ScenarioError as error:
            # An incomplete or wrong scenario: there is no network to count yet.
            return f"<Scenario {title!r}: not valid: {error.message}>"
        kinds = [kind for _, kind in network["nodes"]]
        hosts, switches = _number(kinds.count("host"), "host"), _number(kinds.count("switch"), "switch")
        return f"<Scenario {title!r}: {hosts}, {switches}, {_number(len(network['links']), 'link')}, {groups}>"

    # Copies with one change.

    def _replace(self, key: str, value: Value) -> Scenario:
        made = Scenario.from_document({**self._document, key: value})
        made._folder = self._folder
        made._allow_files = self._allow_files
        return made

    def _with(self, key: str, name: str, options: Value) -> Scenario:
        table = cast(Mapping[str, Value], self._document.get(key, {}))
        if name in table:
            raise ValueError(f"{key} has {name!r} already; use another name")
        return self._replace(key, {**table, name: options})

    def _append(self, key: str, value: Table) -> Scenario:
        return self._replace(key, [*cast(Sequence[Value], self._document.get(key, ())), value])


@dataclass(frozen=True, slots=True)
class Variant:
    """A scenario with values changed by path; each access compiles it again.

    Compiled scenarios are not kept: one takes from 50 kB to several MB of memory, and a sweep may have 100,000.
    """

    base: Scenario
    changes: Mapping[str, Value]
    """New values by path, as for `Scenario.set`."""

    def made(self) -> Scenario:
        """Return the compiled scenario; raises ScenarioError."""
        return self.base.set(self.changes) if self.changes else self.base

    @property
    def native(self) -> _native.Scenario:
        """The checked scenario of the core; raises ScenarioError if it is invalid."""
        return self.made().native

    @property
    def hash(self) -> str:
        """Hash of the document, as `Scenario.hash`."""
        return self.made().hash


def _rebuild(text: str, folder: str, expected: str, version: str, allow_files: bool) -> Scenario:
    """Return the unpickled scenario; raises RunError if the version or a file that it names differs."""
    if version != _native.version:
        raise RunError(
            f"this worker has Tailback {_native.version}, but the client has {version}; install the same version"
        )
    compiled = _native.Scenario.from_json(text, folder, allow_files)
    made = Scenario.from_native(compiled, folder, allow_files=allow_files)
    if made.hash != expected:
        raise RunError(f"a file that the scenario names differs in {folder} of this worker; copy it there")
    return made


def _number(count: int, what: str, more: str = "") -> str:
    plural = "" if count == 1 else "es" if what.endswith("ch") else "s"
    return f"{count} {what}{plural} {more}".rstrip()


def _hash_with(base: _native.Scenario, assignments: list[tuple[str, str]]) -> str:
    """Return the hash of a scenario with settings; empty if the settings are invalid."""
    try:
        return (base.with_set(assignments) if assignments else base).hash
    except ScenarioError:
        return ""


def load(path: str | PathLike[str], text: str | None = None, *, allow_files: bool = False) -> Scenario:
    """Read a scenario file: JSON if its name ends in `.json`, else TOML.

    Args:
        path: Path of the file.
        text: Content of the file, if it was read already. Default: the file is read.
        allow_files: Permit the scenario to read files outside its folder; for trusted scenarios.

    Raises:
        ScenarioError: The scenario is invalid; the error has the line and column in the file.
        OSError: The file cannot be read.

    """
    file = Path(fspath(path))
    text = read_document(path) if text is None else text
    if file.suffix == ".json":
        folder = str(file.parent)
        compiled = _native.Scenario.from_json(text, folder, allow_files)
        made = Scenario.from_native(compiled, folder, allow_files=allow_files)
    else:
        made = Scenario.from_toml(text, str(path), allow_files=allow_files)
    made._file = str(path)
    return made
