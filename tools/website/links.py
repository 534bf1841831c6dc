"""Check of the links of a static site."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

__all__ = ["dead_links"]


class _Page(HTMLParser):
    """Ids and targets of a page of the site."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        for key in ("id", "name"):
            if found.get(key):
                self.ids.add(str(found[key]))
        for key in ("href", "src"):
            if found.get(key) and tag in ("a", "img", "link", "script"):
                self.targets.append(str(found[key]))


def dead_links(site: Path) -> list[str]:
    """Return the links and anchors of the site that lead nowhere, each with its page."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for target in dict.fromkeys(page.targets):
            if re.match(r"[a-z][a-z0-9+.-]*:|//", target):
                continue
            address, _, anchor = target.partition("#")
            address = unquote(address.partition("?")[0])
            file = (path.parent / address).resolve() if address else path
            if file.is_dir():
                file /= "index.html"
            if not file.is_file():
                found.append(f"{path.relative_to(site)}: {target}")
            elif anchor and file.suffix == ".html" and unquote(anchor) not in pages[file].ids:
                found.append(f"{path.relative_to(site)}: {target} (no such anchor)")
    return found
