"""The site: pages with the files to which they link, and the check of links. Sphinx is not needed."""

from pathlib import Path
from types import ModuleType

import pytest

import tailback
from tailback.gallery.registry import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        from website import pages

        return pages


@pytest.fixture(scope="module")
def links() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        from website import links

        return links


def test_links_to_pages_stay_and_links_to_files_become_downloads(pages: ModuleType, tmp_path: Path) -> None:
    pages.stage([Path("docs/laws.md"), Path("docs/index.md"), Path("docs/adr/README.md")], tmp_path)
    index = (tmp_path / "docs/index.md").read_text()
    assert "[Your own queue law](laws.md)" in index
    # A link to a folder goes to its README, if that is a page.
    assert "[decisions](adr/README.md)" in index
    laws = (tmp_path / "docs/laws.md").read_text()
    assert "{download}`" in laws
    assert (tmp_path / "python/tailback/include/tailback_law.h").is_file()


def test_code_is_not_changed(pages: ModuleType) -> None:
    text = "a\n```toml\nb\n```\nc\n```\nd\n```\n"
    changed = pages._outside_fences(text, str.upper)
    assert changed == "A\n```toml\nb\n```\nC\n```\nd\n```\n"


def test_a_link_that_leads_nowhere_ends_the_build(pages: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"the link nothing\.md leads nowhere"):
        pages._linked("[x](nothing.md)", Path("docs/page.md"), set(), tmp_path)


def test_the_first_page_lists_every_page_once(pages: ModuleType) -> None:
    every = [page for page in pages.tracked("*.md") if page.parts[0] in ("docs", "python") or page.name == "README.md"]
    lines = pages.index(every).splitlines()
    for page in every:
        name = page.as_posix().removesuffix(".md")
        assert sum(line == name or line.endswith(f"<{name}>") for line in lines) == 1, name


def test_the_gallery_has_a_picture_of_each_experiment_with_results(pages: ModuleType) -> None:
    text = pages.gallery(pages.tracked("*.md"))
    shown = [name for name in EXPERIMENTS if f"<code>{name}</code>" in text]
    stored = [name for name in EXPERIMENTS if list((ROOT / "docs/results" / name).glob("[!n]*.svg"))]
    assert set(stored) <= set(shown)
    assert len(shown) >= 40


def test_the_reference_has_every_public_name(pages: ModuleType) -> None:
    text = pages.api()
    for name in tailback.__all__:
        assert (f" tailback.{name}\n" in text) == (name != "__version__"), name


def test_dead_links_and_anchors_are_found(links: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a id="here" href="b.html#there">1</a><a href="b.html#missing">2</a><a href="c.html">3</a>'
        '<a href="#here">4</a><img src="x.png"><a href="https://example.org/">5</a><a href="b%20b.html">6</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    (tmp_path / "b b.html").write_text("")
    assert links.dead_links(tmp_path) == ["a.html: b.html#missing (no such anchor)", "a.html: c.html", "a.html: x.png"]
