"""Check of the links of a static site, those into its lab included."""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

__all__ = ["Lab", "dead_links"]


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


class Lab:
    """A built lab: scenarios and lessons that its addresses can name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def scenarios(self) -> set[str]:
        """Ids of the scenarios of the gallery."""
        return {entry["id"] for entry in json.loads((self._folder / "site/gallery.json").read_text(encoding="utf-8"))}

    @cached_property
    def _lessons(self) -> set[str]:
        return {lesson["id"] for lesson in json.loads((self._folder / "lessons.json").read_text(encoding="utf-8"))}

    def opens(self, fragment: str) -> bool:
        """Return `True` if the lab has what a fragment names, or the fragment holds a scenario."""
        kind, _, name = fragment.partition("=")
        if kind != "s":
            return name in {"scenario": self.scenarios, "lesson": self._lessons}.get(kind, set())
        try:
            state = json.loads(zlib.decompress(base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)), wbits=-15))
        except (ValueError, binascii.Error, zlib.error):
            return False
        return bool(state["variants"][0]["text"])


def dead_links(site: Path) -> list[str]:
    """Return the links and anchors of the site that lead nowhere, each with its page."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    home, lab = (site / "lab/index.html").resolve(), Lab(site / "lab")
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
            elif not anchor or file.suffix != ".html":
                continue
            elif not (lab.opens(anchor) if file == home else unquote(anchor) in pages[file].ids):
                found.append(f"{path.relative_to(site)}: {target} (no such anchor)")
    return found
