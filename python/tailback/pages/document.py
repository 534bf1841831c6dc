"""A page with sections: an interactive form that unpacks a section when it is opened, and one without scripts."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape, unescape
from os import PathLike
from pathlib import Path
from typing import Any

from tailback.results.directory import write_file
from tailback.web import read

__all__ = ["Document", "Picture", "Section", "place", "wide", "write"]

_PLACE = re.compile(r'<div data-figure="([^"]*)" data-title="[^"]*"></div>')


@dataclass(frozen=True)
class Picture:
    """A figure of a section."""

    svg: str
    """SVG file whose texts are texts."""
    chart: Mapping[str, Any] | None = None
    """Data of the chart (`tailback.plotting.chart`); `None`: the interactive form shows the SVG file."""


@dataclass(frozen=True)
class Section:
    """A part of the page that the reader opens."""

    id: str
    title: str
    group: str
    """Title of its group in the list of sections; may be empty."""
    html: str
    """Content as HTML, with the place of each figure (`place`)."""
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    """Figures by the names of their places."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Number of claims by verdict; empty if the section has no claims."""
    shows_id: bool = True
    """`True` if the id means something to the reader."""
    is_open: bool = False
    """`True` if the section is open at first."""


@dataclass(frozen=True)
class Document:
    """Content of a page."""

    title: str
    head: str
    """Summary above the sections, as HTML."""
    sections: Sequence[Section]
    verdicts: Mapping[str, str] = field(default_factory=dict)
    """HTML of each verdict by which the reader can filter claims."""

    def interactive(self, static: str = "") -> str:
        """Return the page with scripts; `static` is the name of the file with the other form, empty if there is none.

        Raises:
            UsageError: The script and the style sheet were not built.

        """
        texts = {section.id: _words(section) for section in self.sections}
        other = f' The page <a href="{escape(static)}">{escape(static)}</a> needs none.' if static else ""
        note = f"<noscript><p><strong>This page needs JavaScript.</strong>{other}</p></noscript>"
        sections = "\n".join(_packed(section) for section in self.sections)
        return f"""{self._head()}
<body>
<button id="menu" type="button" aria-expanded="false" aria-controls="list">☰ Sections, search</button>
<nav id="list" aria-label="Sections">
<label for="search">Search</label> <span id="count" role="status"></span>
<input id="search" type="search" autocomplete="off" placeholder="words of titles and claims">
{self._boxes()}
<div class="buttons"><button id="open-all" type="button">Open all</button>
<button id="print" type="button">Print</button> <button id="colours" type="button">Colours</button></div>
{self._list()}
</nav>
<main>
<h1>{escape(self.title)}</h1>
{note}
{self.head}
{sections}
</main>
<script type="text/plain" id="texts">{_pack(json.dumps(texts, ensure_ascii=False))}</script>
<script>{_script(read("report.js"))}</script>
</body>
</html>
"""

    def static(self) -> str:
        """Return the page without scripts: everything is open, and figures are SVG.

        Raises:
            UsageError: The style sheet was not built.

        """
        sections = "\n".join(
            f'<section class="section" id="{section.id}"><h2>{_heading(section)}</h2>{_drawn(section)}</section>'
            for section in self.sections
        )
        return f"""{self._head()}
<body class="static">
<nav aria-label="Sections">
{self._list()}
</nav>
<main>
<h1>{escape(self.title)}</h1>
{self.head}
{sections}
</main>
</body>
</html>
"""

    def _head(self) -> str:
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(self.title)}</title>
<link rel="icon" href="data:,">
<style>{read("report.css")}</style>
</head>"""

    def _boxes(self) -> str:
        if not self.verdicts:
            return ""
        boxes = "".join(
            f'<label><input type="checkbox" value="{escape(verdict.replace(" ", "-"))}" checked> {chip}</label>'
            for verdict, chip in self.verdicts.items()
        )
        return f'<fieldset class="verdicts"><legend>Show claims that are</legend>{boxes}</fieldset>'

    def _list(self) -> str:
        groups: dict[str, list[Section]] = {}
        for section in self.sections:
            groups.setdefault(section.group, []).append(section)
        parts = []
        for group, sections in groups.items():
            lines = "".join(
                f'<li><a href="#{section.id}">{_id(section)}{escape(section.title)}</a>{_dots(section)}</li>'
                for section in sections
            )
            title = f"<h2>{escape(group)}</h2>" if group else ""
            parts.append(f'<div class="group">{title}<ul>{lines}</ul></div>')
        return "".join(parts)


def write(document: Document, path: str | PathLike[str]) -> Path:
    """Write both forms of a page, and return the path of the interactive one.

    The other one is next to it: `report-static.html` for `report.html`.

    Raises:
        UsageError: The script and the style sheet were not built.
        OutputError: A file cannot be written.

    """
    target = Path(path)
    static = target.with_name(f"{target.stem}-static{target.suffix}")
    write_file(static, document.static())
    return write_file(target, document.interactive(static.name))


def place(name: str, title: str) -> str:
    """Return the HTML that stands for a figure of a section; `title` is its description for readers of a screen."""
    return f'<div data-figure="{escape(name)}" data-title="{escape(title)}"></div>'


def wide(table: str, name: str) -> str:
    """Return a table that scrolls where it is wider than the page, also by keyboard; `name` is its description."""
    return f'<div class="wide" tabindex="0" role="region" aria-label="{escape(name)}">{table}</div>'


def _id(section: Section) -> str:
    return f'<span class="id">{escape(section.id)}</span> ' if section.shows_id else ""


def _heading(section: Section) -> str:
    return f"{_id(section)}{escape(section.title)}"


def _dots(section: Section) -> str:
    """Return the numbers of claims that are reproduced and that are not."""
    if not section.counts:
        return ""
    held, failed, open_ = (section.counts.get(word, 0) for word in ("reproduced", "not reproduced", "undecided"))
    words = [f"{held} ✓", f"{failed} ✗" if failed else "", f"{open_} ?" if open_ else ""]
    title = ", ".join(f"{n} {word}" for word, n in section.counts.items() if n)
    return f'<span class="dot" title="{escape(title)}">{" ".join(filter(None, words))}</span>'


def _packed(section: Section) -> str:
    figures = {name: picture.chart or picture.svg for name, picture in section.pictures.items()}
    content = json.dumps({"html": section.html, "figures": figures}, ensure_ascii=False, separators=(",", ":"))
    verdicts = " ".join(word.replace(" ", "-") for word, n in section.counts.items() if n)
    state = " open" if section.is_open else ""
    return (
        f'<details class="section" id="{section.id}" data-verdicts="{verdicts}"{state}>'
        f"<summary><h2>{_heading(section)}</h2>{_dots(section)}</summary>"
        f'<script type="text/plain">{_pack(content)}</script></details>'
    )


def _drawn(section: Section) -> str:
    """Return the content with the figures as SVG."""
    return _PLACE.sub(
        lambda found: f'<div class="picture">{section.pictures[unescape(found[1])].svg}</div>', section.html
    )


def _pack(text: str) -> str:
    """Return a text packed with gzip, in base64; equal texts give equal results."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _script(text: str) -> str:
    """Return a script that can stand in a page: the end of the element must not occur in it."""
    return text.replace("</script", "<\\/script")


def _words(section: Section) -> str:
    """Return the words of a section for the search, lower case and without HTML."""
    plain = unescape(re.sub(r"<[^>]+>", " ", section.html))
    return re.sub(r"\s+", " ", f"{section.id} {section.title} {plain}").lower()
