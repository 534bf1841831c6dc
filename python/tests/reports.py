"""Reading of pages in tests: packed sections, ids and links."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser

__all__ = ["Links", "contents", "shown", "unpack"]


def unpack(packed: str) -> str:
    return gzip.decompress(base64.b64decode(packed)).decode()


def contents(page: str) -> dict[str, dict[str, object]]:
    """Return the unpacked content of each section by its id."""
    found = re.findall(
        r'<details class="section" id="([^"]+)".*?<script type="text/plain">([^<]*)</script>', page, re.S
    )
    return {name: json.loads(unpack(packed)) for name, packed in found}


class Links(HTMLParser):
    """Ids of a page, targets of its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag == "a":
            self.targets.append(str(found.get("href")))
        for key in ("src", "data"):
            if found.get(key):
                self.loaded.append(str(found[key]))
        if tag == "link":
            self.loaded.append(str(found.get("href")))


def shown(page: str) -> str:
    """Return the page with the HTML of its sections unpacked at their places."""
    found = contents(page)
    return re.sub(
        r'(<details class="section" id="([^"]+)".*?)<script type="text/plain">[^<]*</script>',
        lambda place: place[1] + str(found[place[2]]["html"]),
        page,
        flags=re.S,
    )
