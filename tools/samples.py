"""Code samples of the pages: what they are, whether the program accepts them, and which of them the lab can run.

A sample is a fenced block. It is run or read by the program, or compared with the sources; one that is not has a
comment `<!-- not run: REASON -->` in the line before it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tailback
from tailback.study import Study

__all__ = ["EXAMPLES", "ROOT", "Run", "Sample", "document", "runs", "samples"]

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "docs" / "examples"
"""The folder in whose copy the commands of the pages run."""
PLACES = ("", "[[flows]]\n", "[network]\n")
"""Where the keys of a fragment can be: at the top of a document, in a flow, or at a port."""

_FENCE = re.compile(r"^(?:<!-- not run: ([^\n]+) -->\n)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SCENARIO = re.compile(r"\S*\.toml")


@dataclass(frozen=True)
class Sample:
    """A fenced block of a page."""

    kind: str
    """Language behind the fence; empty: a formula, pseudocode or a drawing."""
    text: str
    line: int
    """Line of the fence."""
    end: int
    """Index in the page's text of the character after the block."""
    reason: str | None
    """Why it is not run; `None`: it is run, read or compared."""


def samples(text: str) -> list[Sample]:
    """Return the samples of a page."""
    found = []
    for match in _FENCE.finditer(text):
        fence = match.start(2)
        found.append(Sample(match[2], match[3], text.count("\n", 0, fence) + 1, match.end(), match[1]))
    return found


def document(text: str) -> tuple[str, tailback.Scenario | None]:
    """Return what a block of TOML is, `scenario`, `study` or `fragment`, and the scenario.

    A fragment lacks what a scenario needs, and the program has no other objection to it. Raises ScenarioError if the
    program has one.
    """
    try:
        return "scenario", tailback.Scenario.from_toml(text, str(EXAMPLES / "sample.toml"))
    except tailback.ScenarioError as error:
        if text.startswith("study = "):
            Study.load(EXAMPLES / "sample.toml", text)
            return "study", None
        if text.startswith("tailback = ") or not any(_lacks_only(place + text) for place in PLACES):
            raise error
    return "fragment", None


def _lacks_only(text: str) -> bool:
    """Return `True` if the program only says of a document that keys are missing."""
    try:
        tailback.Scenario.from_toml(text, str(EXAMPLES / "sample.toml"))
    except tailback.ScenarioError as error:
        return all(str(problem["message"]).endswith(" is missing") for problem in error.problems)
    return True


@dataclass(frozen=True)
class Run:
    """A scenario of docs/examples that a command runs."""

    words: str
    """File and settings."""
    scenario: tailback.Scenario
    text: str
    """The scenario in TOML: the file as it was written, if there are no settings."""


def runs(console: str) -> Iterator[Run]:
    """Yield the scenarios of docs/examples that a block of commands runs.

    A command that the program refuses, since the page shows the error, has none.
    """
    for line in console.replace("\\\n", " ").splitlines():
        if not line.startswith("$ tailback run "):
            continue
        words = shlex.split(line[2:], comments=True)
        files = [word for word in words[2:] if _SCENARIO.fullmatch(word)]
        if len(files) != 1 or not (EXAMPLES / files[0]).is_file():
            continue
        settings = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
        written = (EXAMPLES / files[0]).read_text(encoding="utf-8")
        try:
            scenario = tailback.load(EXAMPLES / files[0], written)
            made = scenario.with_texts([(path, value) for path, _, value in (s.partition("=") for s in settings)])
            made.check()
        except tailback.ScenarioError:
            continue
        if not made.native.has_user_code:
            yield Run(" ".join([files[0], *settings]), made, made.to_toml() if settings else written)
