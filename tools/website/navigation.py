"""Extension of Sphinx: the navigation of each page, from lists of pages that are read once.

Sphinx would resolve all lists again for each page, with the headings of all pages: a third of the time of the build.
"""

from __future__ import annotations

import html
from functools import cache, partial
from typing import Any

from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.nodes import clean_astext

__all__ = ["setup"]


@cache
def _lists(app: Sphinx) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the lists of the first page: the caption of each, and titles and names of its pages."""
    found = []
    for tree in app.env.get_doctree("index").findall(addnodes.toctree):
        entries = [(title or clean_astext(app.env.titles[page]), page) for title, page in tree["entries"]]
        found.append((tree["caption"], entries))
    return found


def _navigation(app: Sphinx, shown: str, **options: object) -> str:
    """Return the navigation of a page in the form that the theme expects; its options have no other values here."""
    del options
    parts = []
    for caption, entries in _lists(app):
        parts.append('<p class="caption" role="heading" aria-level="2">')
        parts.append(f'<span class="caption-text">{caption}</span></p>\n<ul>')
        for title, page in entries:
            address = "#" if page == shown else app.builder.get_relative_uri(shown, page)
            item, link = ("current current-page", "current") if page == shown else ("", "")
            parts.append(f'<li class="toctree-l1 {item}">')
            parts.append(f'<a class="{link} reference internal" href="{address}">{html.escape(title)}</a></li>')
        parts.append("</ul>")
    return "\n".join(parts)


def _replace(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    del template, doctree
    context["toctree"] = partial(_navigation, app, page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Replace the function of the navigation before the theme calls it."""
    app.connect("html-page-context", _replace, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
