"""Import and export of router configurations: Cisco MQC, Linux tc, Junos, RouterOS and SONiC in, MQC and tc out.

    found = import_configuration("mqc", Path("policy.txt").read_text(), traffic=Path("traffic.csv").read_text())
    for notice in found.notices:
        print(notice)
    result = tailback.run(found.scenario)

docs/import.md describes the supported commands and their mapping.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import unified_diff
from typing import Any, Literal, TypeAlias, cast

from tailback import _native
from tailback.errors import EXIT_SCENARIO, TailbackError
from tailback.scenario import Scenario, Table

__all__ = [
    "Change",
    "Configuration",
    "ConfigurationError",
    "Imported",
    "Language",
    "Link",
    "Notice",
    "Writable",
    "export_configuration",
    "import_configuration",
    "translate_configuration",
]

Language: TypeAlias = Literal["mqc", "tc", "junos", "routeros", "sonic"]
"""Cisco's modular QoS command line, Linux traffic control, Junos, RouterOS, or SONiC's CONFIG_DB."""

Writable: TypeAlias = Literal["mqc", "tc"]
"""Languages that can also be written."""

Level: TypeAlias = Literal["error", "unsupported", "assumed", "warning", "ignored"]
"""Kind of a remark, see `Notice.level`."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A remark about a line of the input."""

    source: Literal["configuration", "traffic", "scenario", "export"]
    """Subject of the remark: a line of the configuration or the traffic table, or the resulting scenario or text."""
    level: Level
    """`error`: nothing was made; `unsupported`: a part was left out; `assumed`: a value is not in the
    configuration; `warning`: a part is suspicious; `ignored`: a part has no effect on queues."""
    line: int
    """Line, from 1; 0: the whole input."""
    column: int
    """Column in characters, from 1; 0: the whole input."""
    text: str
    """Text of the line."""
    message: str
    """The remark in one sentence."""
    advice: str | None = None
    """Correction or other advice; `None`: there is none."""
    affects: bool = False
    """`True` if the remark is about a part of the configuration that can change the interface's results."""
    file: str = ""
    """Name of the file that contains the line; empty if the name is not known."""

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}: " if self.line else ""
        text = f"  [{self.text}]" if self.text else ""
        advice = f"; {self.advice}" if self.advice else ""
        return f"{self.file or self.source}:{place or ' '}{self.level}: {self.message}{text}{advice}"

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Link:
    """The link of the simulated interface."""

    rate_bps: int
    """Rate of the link, bit/s."""
    base_bps: int
    """Rate to which percentages of the policy refer, bit/s: the interface's `bandwidth`, else that of the link."""
    origin: str
    """Source of the rate, such as "by the type of interface"."""
    overhead: str
    """Name of the link layer whose header bytes shapers, policers and guarantees include, such as "ethernet"."""
    overhead_bytes: int
    """Bytes that the link layer adds to each packet."""


@dataclass(frozen=True)
class Imported:
    """Result of an import."""

    language: Language
    """Language of the configuration."""
    scenario: Scenario | None
    """Scenario of the interface; `None`: a notice is an error."""
    notices: Sequence[Notice]
    """Remarks about the configuration, then about the traffic table, then about the scenario."""
    classes: Mapping[str, Sequence[str]]
    """Names of the groups of flows in each class, by the class's name."""
    targets: Mapping[str, str]
    """Targets from the traffic table's column `target`, by the name of the group; groups without one are left out."""
    interface: str
    """Name of the simulated interface; empty: there is an error."""
    link: Link | None
    """Link of the interface; `None`: there is an error."""
    policies: Table = field(repr=False, default_factory=dict)
    """Parts that were understood: ports, policies, class maps and access lists."""

    @property
    def errors(self) -> list[Notice]:
        """The remarks because of which there is no scenario."""
        return [notice for notice in self.notices if notice.level == "error"]

    @property
    def assumptions(self) -> list[Notice]:
        """The remarks on assumed values that can change the results."""
        return [notice for notice in self.notices if notice.level == "assumed" and notice.affects]

    @property
    def not_simulated(self) -> list[Notice]:
        """The remarks on functions of the interface that the scenario lacks, or may lack."""
        return [notice for notice in self.notices if notice.level == "unsupported" and notice.affects]

    def check(self) -> Scenario:
        """Return the scenario; raises ConfigurationError with all errors if there are any."""
        if self.scenario is None or self.errors:
            raise ConfigurationError(self.errors)
        return self.scenario


@dataclass(frozen=True, slots=True)
class Change:
    """A word of the original configuration that was replaced."""

    line: int
    """Line of the original, from 1."""
    column: int
    """Column in characters, from 1."""
    from_: str
    """Text before the change."""
    to: str
    """Text after the change."""
    path: str
    """Path of the value, below the scenario's port, such as `discipline.classes[VOICE].priority.rate`."""
    wanted: str
    """Value in the scenario."""
    written: str
    """Value that the new word states; it differs from `wanted` if the unit of the word is too coarse."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Result of an export or a translation."""

    text: str
    """The configuration; empty if a notice is an error."""
    notices: Sequence[Notice]
    """Remarks on parts that could not be expressed or were approximated."""
    changes: Sequence[Change] = ()
    """Replaced words of the original; empty without an original."""
    paste: str = ""
    """Commands that make the changes on a router, including those that enter configuration modes; empty for `tc`."""
    original: str | None = None
    """Configuration in which values were replaced; `None`: the text was written from scratch."""

    @property
    def errors(self) -> list[Notice]:
        """The remarks because of which there is no text."""
        return [notice for notice in self.notices if notice.level == "error"]

    def diff(self, file: str = "original") -> str:
        """Return the changes of the original as a unified diff, in which `file` names it; empty if there are none."""
        before = (self.original or "").splitlines(keepends=True)
        lines = unified_diff(before, self.text.splitlines(keepends=True), file, f"{file} (tuned)")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


class ConfigurationError(TailbackError):
    """Error of a configuration from which no scenario can be made; `notices` has the errors."""

    exit_code = EXIT_SCENARIO

    def __init__(self, notices: Sequence[Notice]) -> None:
        super().__init__("\n".join(str(notice) for notice in notices) or "there is nothing to simulate")
        self.notices = list(notices)


def import_configuration(
    language: Language,
    text: str,
    *,
    traffic: str | None = None,
    interface: str | None = None,
    policy: str | None = None,
    rate: str | None = None,
    overhead: str | None = None,
    title: str | None = None,
    duration: str | None = None,
    platform: str | None = None,
    file: str = "",
    traffic_file: str = "",
) -> Imported:
    """Make a scenario from a configuration.

    Args:
        language: "mqc", "tc", "junos", "routeros" or "sonic".
        text: The configuration or script.
        traffic: The traffic table as CSV text. Default: derived from the guarantees of the classes, with a notice.
        interface: The interface to simulate. Default: the only one with a policy.
        policy: The policy to simulate, if no interface names one.
        rate: Rate of the interface's link, such as "10Mbit/s". Default: that of the configuration.
        overhead: Link layer whose header bytes shapers, policers and guarantees include: "none", "ethernet", "dot1q",
            "mpls", "ppp", "pppoe", "atm" (AAL5 with LLC/SNAP), "atm-vc" (without), or a number of bytes from 0 to 255.
            Default: by the kind of interface.
        title: Title of the scenario.
        duration: Length of a run, such as "20s".
        platform: Platform whose defaults apply to a Cisco configuration: "classic" (IOS before 12.4(20)T), "hqf"
            (later IOS), "xe", "xr", "nxos" or "arista". Default: guessed from its commands, else "hqf".
        file: Name of the configuration's file, for notices.
        traffic_file: Name of the table's file, for notices.

    Raises:
        ValueError: An argument other than `text` and `traffic` is invalid, such as the rate.

    """
    rate_bps = None if rate is None else _native.parse_rate(rate)
    found = json.loads(
        _native.import_router(language, text, traffic, interface, policy, rate_bps, overhead, title, duration, platform)
    )
    notices = [
        *_notices("configuration", found["configuration_report"], file),
        *_notices("traffic", found["traffic_report"], traffic_file),
        *_notices("scenario", found["scenario_report"], file),
    ]
    document = found["document"]
    failed = document is None or any(notice.level == "error" for notice in notices)
    return Imported(
        language=language,
        scenario=None if failed else Scenario.from_document(document).check(),
        notices=notices,
        classes={row["class"]: row["groups"] for row in found["classes"]},
        targets=found["targets"],
        interface=found["interface"] or "",
        link=None if found["link"] is None else _link(found["link"]),
        policies=found["config"],
    )


def export_configuration(
    language: Writable,
    scenario: Scenario,
    port: str | None = None,
    *,
    original: str | None = None,
    traffic: str | None = None,
    interface: str | None = None,
    policy: str | None = None,
    rate: str | None = None,
    overhead: str | None = None,
    file: str = "",
    name: str | None = None,
) -> Configuration:
    """Write the policy of a port of a scenario.

    Args:
        language: "mqc" or "tc".
        scenario: Scenario whose policy is written.
        port: Node and neighbour of the port, such as `ce:sink`. Default: the only port with a policy.
        original: The configuration from which the scenario was imported. Only words whose values differ are replaced;
            all other bytes are unchanged. A difference that no word states is an error among the notices.
        traffic: The traffic table of the import; without it, conditions on addresses and ports are not compared.
        interface: The interface, as in the import.
        policy: The policy, as in the import.
        rate: Rate of the link, as in the import. Default: that of the scenario, if the original does not state it.
        overhead: Link layer, as in the import.
        file: Name of the original's file, for notices.
        name: Name of the interface ("mqc") or device ("tc") if there is no original. Default: by the link's rate for
            "mqc"; `eth0`, with a notice, for "tc".

    Raises:
        ValueError: An argument other than `original` and `traffic` is invalid, such as the rate.

    """
    document = scenario.native.to_json()
    if original is None:
        found = json.loads(_native.export_router(language, document, port, name))
        return Configuration(found["text"], _notices("export", found["export_report"]))
    rate_bps = None if rate is None else _native.parse_rate(rate)
    found = json.loads(
        _native.patch_router(language, original, document, traffic, interface, policy, rate_bps, overhead)
    )
    notices = [*_notices("traffic", found["traffic_report"]), *_notices("export", found["export_report"], file)]
    changes = [Change(from_=row.pop("from"), **row) for row in found["changes"]]
    return Configuration(found["text"], notices, changes, found["paste"], original)


def translate_configuration(from_: Language, text: str, to: Writable) -> Configuration:
    """Translate a configuration into another language; notices name what could not be translated.

    Raises ValueError for an unknown language.
    """
    found = json.loads(_native.translate_router(from_, text, to))
    notices = [*_notices("configuration", found["configuration_report"]), *_notices("export", found["export_report"])]
    return Configuration(found["text"], notices)


def _link(row: Mapping[str, Any]) -> Link:
    overhead = row["overhead"]
    return Link(row["rate"], row["base"], row["origin"], overhead["name"], overhead["counted"])


def _notices(
    source: Literal["configuration", "traffic", "scenario", "export"], rows: list[object], file: str = ""
) -> list[Notice]:
    return [Notice(source=source, file=file, **cast(dict[str, str], row)) for row in rows]  # type: ignore[arg-type]
