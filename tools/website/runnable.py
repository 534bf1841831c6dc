"""Links of the site from samples to the lab, which runs them where they are read, and from Python's to a file."""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path
from urllib.parse import quote

import tailback
from samples import ROOT, Sample, document, runs, samples
from tailback.web.address import opening

__all__ = ["Links", "run_link"]


def run_link(root: str, scenario: tailback.Scenario, text: str, what: str = "") -> str:
    """Return the link that runs a scenario in the lab; `static/site.js` opens it below its place.

    `root` is the way from the page to the root of the site.
    """
    fragment = opening(scenario, text)
    label = f"Run {html.escape(what)} here" if what else "Run here"
    return f'<a class="run-here" href="{root}lab/index.html{fragment}">{label}</a>'


@cache
def _file(file: Path) -> tailback.Scenario | None:
    """Return the scenario of a file of the repository; `None`: it has none that the lab can run."""
    try:
        scenario = tailback.load(ROOT / file)
        scenario.check()
    except tailback.ScenarioError:
        return None
    # The lab has neither user-defined components nor files.
    return None if scenario.native.has_user_code or scenario.files else scenario


class Links:
    """Links of the samples of one page."""

    def __init__(self, page: Path) -> None:
        self._root = "../" * (len(page.parts) - 1)
        self._page = page
        self._shown: set[str] = set()
        """Hashes of the scenarios that have a link already."""

    def after_samples(self, text: str) -> str:
        """Return the page with links after its samples; fails if a sample is invalid."""
        parts, last = [], 0
        for sample in samples(text):
            if found := self._links(sample):
                parts += [text[last : sample.end], f'\n\n<p class="run">{" ".join(found)}</p>\n']
                last = sample.end
        return "".join([*parts, text[last:]])

    def _links(self, sample: Sample) -> list[str]:
        if sample.kind == "toml":
            try:
                _, scenario = document(sample.text)
            except tailback.ScenarioError as error:
                raise SystemExit(f"{self._page}:{sample.line}: {error}") from error
            if scenario is None:
                return []
            self._shown.add(scenario.hash)
            return [run_link(self._root, scenario, sample.text)]
        if sample.kind == "console":
            shown = {run.scenario.hash: run for run in runs(sample.text)}.values()
            self._shown |= {run.scenario.hash for run in shown}
            return [run_link(self._root, run.scenario, run.text, run.words if len(shown) > 1 else "") for run in shown]
        if sample.kind == "python":
            name = (re.match(r"# (\w+\.py)", sample.text) or [None, f"{self._page.stem}.py"])[1]
            address = f"data:text/x-python;charset=utf-8,{quote(sample.text)}"
            saved = f'<a download="{name}" href="{address}">Save as {name}</a>'
            return [f"{saved}; it needs an installed Tailback"]
        return []

    def after_file(self, file: Path) -> str:
        """Return a link that runs a linked scenario, if the page has none for it yet; empty: there is none."""
        scenario = _file(file) if file.suffix == ".toml" else None
        if scenario is None or scenario.hash in self._shown:
            return ""
        self._shown.add(scenario.hash)
        return " " + run_link(self._root, scenario, (ROOT / file).read_text(encoding="utf-8"))
