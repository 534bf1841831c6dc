"""Router configurations in and out: Cisco MQC, Linux tc and Junos become scenarios, and scenarios become MQC or tc.

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
"""The languages that are written, too."""

Level: TypeAlias = Literal["error", "unsupported", "assumed", "warning", "ignored"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A remark about a line of the input."""

    source: Literal["configuration", "traffic", "scenario", "export"]
    """Source of the line; `scenario` and `export` are about the results of the conversion."""
    level: Level
    """`error` leaves nothing to run; `unsupported` parts were left out; `assumed` values are not in the configuration;
    `ignored` parts have no effect on queues."""
    line: int
    """From 1; 0 for the whole."""
    column: int
    """In characters, from 1; 0 for the whole."""
    text: str
    """The line itself."""
    message: str
    advice: str | None = None
    """Advice: what to write instead, or what to do."""
    affects: bool = False
    """`True` if it is about a part of the configuration that can change the result of the simulated interface."""
    file: str = ""
    """Name of the file that contains the line; empty if the text is from elsewhere."""

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}: " if self.line else ""
        text = f"  [{self.text}]" if self.text else ""
        advice = f"; {self.advice}" if self.advice else ""
        return f"{self.file or self.source}:{place or ' '}{self.level}: {self.message}{text}{advice}"

    def as_json(self) -> dict[str, object]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Link:
    """The line that the simulated interface sends to."""

    rate_bps: int
    """Its rate."""
    base_bps: int
    """The rate to which percentages of the policy refer: the interface's `bandwidth`, else that of the line."""
    origin: str
    """Source of the rate, such as "by the type of interface"."""
    overhead: str
    """Name of the link layer whose bytes shapers, policers and guarantees count in addition to layer 3."""
    overhead_bytes: int
    """These bytes of each packet."""


@dataclass(frozen=True)
class Imported:
    """Result of an import."""

    language: Language
    scenario: Scenario | None
    """`None` if there is an error."""
    notices: Sequence[Notice]
    classes: Mapping[str, Sequence[str]]
    """The groups of flows in each class, by the class's name."""
    targets: Mapping[str, str]
    """Targets from the traffic table's column `target`, by the name of the group."""
    interface: str
    """The interface that the scenario is about."""
    link: Link | None
    """Its line; `None`: there is an error."""
    policies: Table = field(repr=False, default_factory=dict)
    """Parts that were understood: ports, policies, class maps and access lists."""

    @property
    def errors(self) -> list[Notice]:
        """The remarks that prevent a run."""
        return [notice for notice in self.notices if notice.level == "error"]

    @property
    def assumptions(self) -> list[Notice]:
        """Values that the configuration does not state and that affect the result."""
        return [notice for notice in self.notices if notice.level == "assumed" and notice.affects]

    @property
    def not_simulated(self) -> list[Notice]:
        """Actual or possible functions of the interface that the scenario does not have."""
        return [notice for notice in self.notices if notice.level == "unsupported" and notice.affects]

    def check(self) -> Scenario:
        """Return the scenario; raises ConfigurationError with all errors."""
        if self.scenario is None or self.errors:
            raise ConfigurationError(self.errors)
        return self.scenario


@dataclass(frozen=True, slots=True)
class Change:
    """A word of an original that was replaced."""

    line: int
    """Of the original, from 1."""
    column: int
    """In characters, from 1."""
    from_: str
    """Text before the change."""
    to: str
    """Text after the change."""
    path: str
    """The value of the scenario's port that the word determines, such as `discipline.classes[VOICE].priority.rate`."""
    wanted: str
    """That value in the scenario."""
    written: str
    """That value by the new text; it differs from `wanted` if the word's unit is too coarse."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration that was written."""

    text: str
    """Empty where there is an error among the notices."""
    notices: Sequence[Notice]
    """Parts that could not be expressed, and those that were approximated."""
    changes: Sequence[Change] = ()
    """The words of the original that were replaced, where there is an original."""
    paste: str = ""
    """The changed lines behind the commands that open their modes, for a session with a router; empty for `tc`."""
    original: str | None = None
    """The text whose values were replaced."""

    @property
    def errors(self) -> list[Notice]:
        """Why there is no text."""
        return [notice for notice in self.notices if notice.level == "error"]

    def diff(self, file: str = "original") -> str:
        """Return the changed lines as a unified diff against the original; empty where nothing changed."""
        before = (self.original or "").splitlines(keepends=True)
        lines = unified_diff(before, self.text.splitlines(keepends=True), file, f"{file} (tuned)")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


class ConfigurationError(TailbackError):
    """A configuration from which no scenario can be made."""

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
    """Make a scenario of a configuration.

    Args:
        language: "mqc", "tc", "junos", "routeros" or "sonic".
        text: The configuration or script.
        traffic: The traffic table as CSV text. Default: derived from the guarantees of the classes, with a remark.
        interface: The interface to simulate. Default: the only one with a policy.
        policy: The policy to simulate, where no interface names it.
        rate: Rate of the line behind the interface, such as "10Mbit/s". Default: that of the configuration.
        overhead: Link layer whose bytes shapers, policers and guarantees add to layer 3: "none", "ethernet", "dot1q",
            "mpls", "ppp", "pppoe", "atm" (AAL5 with LLC/SNAP), "atm-vc" (without), or a number of bytes from 0 to 255.
            Default: by the kind of interface.
        title: Title of the scenario.
        duration: Length of a run, such as "20s".
        platform: Source of defaults that a Cisco configuration does not state: "classic" (IOS before 12.4(20)T), "hqf"
            (later), "xe", "xr", "nxos" or "arista". Default: the platform that the text's words indicate, else "hqf".
        file: Name of the configuration's file, for notices.
        traffic_file: Name of the table's file, for notices.

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
        port: The port, named as `ce:sink`; default: the only one with a policy.
        original: The text from which the scenario was imported. Then only its words with different values change, and
            the rest stays byte for byte; a difference that is not one of a word is an error among the notices.
        traffic: The traffic table of the import; without it conditions on addresses and ports are not compared.
        interface: The interface, as at the import.
        policy: The policy, as at the import.
        rate: The line's rate, as at the import; default: that of the scenario, if the text does not state it.
        overhead: As at the import.
        file: Name of the original's file, for notices.
        name: Name of the interface or the device without an original; default: after the line's rate for
            "mqc", `eth0` for "tc", which is noted.

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
    """Write a configuration in another language."""
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
