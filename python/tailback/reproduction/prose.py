"""The experiments' pages, written in Markdown, as parts of the report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["html"]


def html(text: str, shown: Mapping[str, str]) -> str:
    """Return a page as HTML, without its first heading, as the section of the report has the same title.

    Links to files of the repository would be broken in the report. A link to another experiment's page becomes
    a link to its section if its folder is in `shown`, which has ids of experiments by folder. Other links to files
    become plain text, and images become their descriptions. Web addresses are kept.
    """
    from markdown_it import MarkdownIt

    first, _, rest = text.partition("\n")
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse(rest if first.startswith("# ") else text)
    for token in tokens:
        if token.children:
            token.children = _linked(token.children, shown)
    return cast(str, markdown.renderer.render(tokens, markdown.options, {}))


def _linked(children: list[Token], shown: Mapping[str, str]) -> list[Token]:
    """Return the tokens of a line with its links adapted to the report, and without those that would be broken."""
    kept: list[Token] = []
    dropped: list[bool] = []
    for token in children:
        if token.type == "link_open":
            target = _target(str(token.attrGet("href")), shown)
            dropped.append(target is None)
            if target is not None:
                token.attrSet("href", target)
                kept.append(token)
        elif token.type == "link_close":
            if not dropped.pop():
                kept.append(token)
        elif token.type == "image":
            kept += token.children or []
        else:
            kept.append(token)
    return kept


def _target(address: str, shown: Mapping[str, str]) -> str | None:
    """Return the target of a link in the report; `None`: the link would be broken there."""
    if re.match(r"https?://", address):
        return address
    path = PurePosixPath(address.partition("#")[0])
    experiment = shown.get(path.parent.name) if path.name == "README.md" else None
    return f"#{experiment}" if experiment else None
