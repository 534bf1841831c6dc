"""Pages that only the site has: the first page, the lessons, the gallery, and the reference of the Python package."""

from __future__ import annotations

import html
import inspect
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tailback
from samples import ROOT
from tailback.gallery.registry import EXPERIMENTS, GROUPS
from tailback.gallery.registry import experiment as registered
from website.pictures import queue_picture
from website.staging import normal

__all__ = ["Lesson", "api", "gallery", "index", "lessons", "read_lessons"]

Lesson = dict[str, Any]
"""A lesson as `web/lab.mjs` writes it, and its picture."""


def read_lessons(lab: Path) -> list[Lesson]:
    """Return the lessons of a built lab, each with a picture."""
    found: list[Lesson] = json.loads((lab / "lessons.json").read_text(encoding="utf-8"))
    for lesson in found:
        scenario = tailback.Scenario.from_toml(lesson["toml"], f"{lesson['id']}.toml")
        settings = [[], *([lesson["second"]] if "second" in lesson else [])]
        lesson["picture"] = queue_picture(scenario, settings, lesson["port"], 3 * lesson["seconds"])
    return found


def index(pages: list[Path], taught: Sequence[Lesson], report_mb: float | None) -> str:
    """Return the first page: what to try, lessons, groups of the gallery, where to read, and the lists of pages.

    `report_mb` is the size of the report of all experiments; `None`: the site has none.
    """
    text = f"# Tailback\n\n{_WHAT}\n\n"
    text += _raw(
        '<p class="start"><a class="first" href="lab/index.html">Try it in the browser</a> '
        '<a href="docs/tutorial.html">Install it</a> <a href="docs/index.html">Find a page by task</a></p>'
    )
    text += "## Eight lessons\n\nEach asks a question that is answered by moving a slider, in this browser.\n\n"
    text += _raw(f'<div class="cards small">{"".join(_lesson_card(lesson) for lesson in taught)}</div>')
    text += f"## {len(EXPERIMENTS)} published experiments\n\n"
    text += _raw(f'<div class="cards small">{"".join(map(_group_card, GROUPS))}</div>')
    cards = list(_FIRST)
    if report_mb is not None:
        words = f"Experiments as reproduced where this site was made, with charts to zoom; {report_mb:.1f} MB."
        cards.append(("Report", "report.html", words))
    text += "## Read\n\n"
    text += _raw(f'<div class="cards">{"".join(_card(*card) for card in cards)}</div>')
    return text + _trees(pages)


_WHAT = """A network simulator for congestion control and queue management that follows every packet: which queue it
waits in, who stops whom, and what is dropped or marked. Equal inputs give equal results, bit for bit, on every machine.
"""

_FIRST = (
    ("Twenty first steps", "docs/first-steps.html", "A command for each common task, with its output."),
    ("Tutorial", "docs/tutorial.html", "From the installation to a changed threshold."),
    ("The scenario document", "docs/scenarios.html", "Every key, with units, ranges and defaults."),
    ("Mechanisms", "docs/mechanisms/README.html", "What each queue discipline, transport and signal does exactly."),
    ("Python reference", "api.html", "The names of the package."),
    ("Overview", "README.html", "What it does, for whom, and how it was validated."),
)
"""Title, address and description of links of the first page."""


def _raw(markup: str) -> str:
    return f"```{{raw}} html\n{markup}\n```\n\n"


def _card(title: str, address: str, words: str) -> str:
    return f'<div class="card"><p><a href="{address}">{html.escape(title)}</a></p><p>{html.escape(words)}</p></div>\n'


def _lesson_card(lesson: Lesson) -> str:
    return (
        f'<div class="card">{lesson["picture"]}<p><a href="lab/index.html#lesson={lesson["id"]}">'
        f"{html.escape(lesson['title'])}</a></p><p>{html.escape(lesson['question'])}</p></div>\n"
    )


def _pictures(name: str) -> list[str]:
    """Return the addresses of an experiment's charts."""
    home = ROOT / "docs/results" / name
    return sorted(
        f"docs/results/{name}/{path.name}" for path in home.glob("*.svg") if not path.stem.startswith("network")
    )


def _group_card(group: str) -> str:
    members = [name for name in EXPERIMENTS if registered(name).group == group]
    picture = next((shown[0] for name in members if (shown := _pictures(name))), None)
    image = "" if picture is None else f'<img loading="lazy" alt="" src="{picture}">'
    title = GROUPS[group]
    return (
        f'<div class="card">{image}<p><a href="gallery.html#{_slug(title)}">{html.escape(title)}</a></p>'
        f"<p>{len(members)} experiments</p></div>\n"
    )


def _trees(pages: list[Path]) -> str:
    """Return the lists of pages by folder, from which the navigation is made."""
    names = {page.as_posix() for page in pages}
    order = re.findall(r"\]\(([^)#]+\.md)", (ROOT / "docs/index.md").read_text(encoding="utf-8"))
    first = [name for path in dict.fromkeys(order) if (name := normal(Path("docs") / path).as_posix()) in names]
    groups = {
        "Guides": [
            "Lessons <lessons>",
            "Gallery <gallery>",
            "Overview <README>",
            "Pages by task <docs/index>",
            *[n for n in first if n.startswith("docs/") and n.count("/") == 1],
            "Python reference <api>",
        ],
        "Mechanisms": [n for n in sorted(names) if n.startswith("docs/mechanisms/")],
        "Results": [n for n in sorted(names) if n.startswith(("docs/results/", "docs/evaluate/"))],
        "Experiments": [n for n in sorted(names) if n.startswith("python/tailback/gallery/")],
        "Decisions": [n for n in sorted(names) if n.startswith("docs/adr/")],
    }
    listed = {name for group in groups.values() for name in group} | {"README.md", "docs/index.md"}
    groups["More"] = [n for n in sorted(names) if n not in listed]
    text = ""
    for title, group in groups.items():
        entries = "\n".join(re.sub(r"\.(md|rst)$", "", name) for name in dict.fromkeys(group))
        text += f"```{{toctree}}\n:caption: {title}\n:maxdepth: 1\n:hidden:\n\n{entries}\n```\n\n"
    return text


def lessons(taught: Sequence[Lesson]) -> str:
    """Return the page of the lessons."""
    text = (
        "# Lessons\n\nEach lesson is a scenario in [the lab](docs/lab.md#lessons), with a question that is answered by "
    )
    text += "moving a slider. The picture shows the queue at the port of the question, before anything is changed.\n\n"
    for lesson in taught:
        text += f"## {lesson['title']}\n\n"
        link = f'<a class="run-here" href="lab/index.html#lesson={lesson["id"]}">Open here</a>'
        text += _raw(f'<div class="lesson"><div>{lesson["picture"]}</div><p>{html.escape(lesson["about"])}</p></div>')
        text += f"**{lesson['question']}**\n\n"
        text += _raw(f'<p class="run">{link} <a href="lab/index.html#lesson={lesson["id"]}">Open in the lab</a></p>')
    return text


def gallery(pages: list[Path], runnable: set[str]) -> str:
    """Return the page of all experiments with a picture of each, and a link to the lab for those in `runnable`."""
    text = "# Gallery\n\nEach experiment of the sources and its results at full length.\n"
    known = {page.as_posix() for page in pages}
    for group, title in GROUPS.items():
        cards = ""
        for experiment in map(registered, EXPERIMENTS):
            pictures = _pictures(experiment.id)
            if experiment.group != group or not pictures:
                continue
            page = f"docs/results/{group}.md"
            if page not in known:
                sys.exit(f"there is no page {page}")
            heading = f"{experiment.id}: {experiment.title}"
            lab = f'<p><a href="lab/index.html#scenario={experiment.id}">Open in the lab</a></p>'
            cards += (
                f'<div class="card"><img loading="lazy" alt="" src="{pictures[0]}"><p><code>{experiment.id}</code> '
                f'<a href="docs/results/{group}.html#{_slug(heading)}">{html.escape(experiment.title)}</a></p>'
                f"{lab if experiment.id in runnable else ''}</div>\n"
            )
        text += f"\n## {title}\n\n" + _raw(f'<div class="cards">{cards}</div>')
    return text


def _slug(heading: str) -> str:
    """Return the anchor of a heading as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def api() -> str:
    """Return the reference of the package's names, in reStructuredText."""
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Exceptions": [], "Constants": []}
    for name in tailback.__all__:
        value = getattr(tailback, name)
        kind = "Constants"
        if inspect.isclass(value):
            kind = "Exceptions" if issubclass(value, BaseException) else "Classes"
        elif callable(value):
            kind = "Functions"
        if name != "__version__":
            kinds[kind].append(name)
    text = "Python reference\n================\n\nThe names of the package ``tailback``.\n\n"
    directives = {
        "Functions": "autofunction",
        "Classes": "autoclass",
        "Exceptions": "autoexception",
        "Constants": "autodata",
    }
    for kind, names in kinds.items():
        text += f"{kind}\n{'-' * len(kind)}\n\n"
        for name in names:
            members = "   :members:\n" if kind == "Classes" else ""
            text += f".. {directives[kind]}:: tailback.{name}\n{members}\n"
    text += "Functions of mathematics\n------------------------\n\n.. automodule:: tailback.maths\n   :members:\n"
    return text
