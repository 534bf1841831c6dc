"""The site: pages with the files to which they link, samples that the lab runs, and the check of links.

Sphinx is not needed; web/test/site.test.mjs opens a built site in a browser.
"""

import base64
import json
import re
import zlib
from html import unescape
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest

import tailback
from tailback.gallery.registry import EXPERIMENTS
from tailback.web.address import address

ROOT = Path(__file__).resolve().parents[2]
LESSON = {
    "id": "red",
    "title": "2. RED & flows",
    "about": "What one sees.",
    "question": "Is it below 44 kB?",
    "picture": "<svg></svg>",
}


def module(name: str) -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        return import_module(f"website.{name}")


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    return module("pages")


@pytest.fixture(scope="module")
def staging() -> ModuleType:
    return module("staging")


@pytest.fixture(scope="module")
def links() -> ModuleType:
    return module("links")


@pytest.fixture(scope="module")
def runnable() -> ModuleType:
    return module("runnable")


def opened(markup: str) -> list[dict[str, Any]]:
    """Return what the links to the lab in a text open."""
    found = []
    for packed in re.findall(r'href="[./]*lab/index\.html#s=([\w-]+)"', markup):
        plain = zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), wbits=-15)
        found.append(json.loads(plain))
    return found


def test_links_to_pages_stay_and_links_to_files_become_downloads(staging: ModuleType, tmp_path: Path) -> None:
    staging.stage([Path("docs/laws.md"), Path("docs/index.md"), Path("docs/adr/README.md")], tmp_path)
    index = (tmp_path / "docs/index.md").read_text()
    assert "[Your own queue law](laws.md)" in index
    # A link to a folder goes to its README, if that is a page.
    assert "[decisions](adr/README.md)" in index
    laws = (tmp_path / "docs/laws.md").read_text()
    assert "{download}`" in laws
    assert (tmp_path / "python/tailback/include/tailback_law.h").is_file()


def test_code_is_not_changed(staging: ModuleType) -> None:
    text = "a\n```toml\nb\n```\nc\n```\nd\n```\n"
    changed = staging._outside_fences(text, str.upper)
    assert changed == "A\n```toml\nb\n```\nC\n```\nd\n```\n"


def test_a_link_that_leads_nowhere_ends_the_build(staging: ModuleType, runnable: ModuleType, tmp_path: Path) -> None:
    page = Path("docs/page.md")
    with pytest.raises(SystemExit, match=r"the link nothing\.md leads nowhere"):
        staging._linked("[x](nothing.md)", page, set(), tmp_path, runnable.Links(page))


def test_the_first_page_lists_every_page_once(pages: ModuleType, staging: ModuleType) -> None:
    every = [
        page for page in staging.tracked("*.md") if page.parts[0] in ("docs", "python") or page.name == "README.md"
    ]
    lines = pages.index(every, [], None).splitlines()
    for page in every:
        name = page.as_posix().removesuffix(".md")
        assert sum(line == name or line.endswith(f"<{name}>") for line in lines) == 1, name


def test_the_gallery_has_a_picture_of_each_experiment_with_results(pages: ModuleType, staging: ModuleType) -> None:
    text = pages.gallery(staging.tracked("*.md"), {"lan-a1"})
    assert re.findall(r'href="lab/index.html#([^"]*)"', text) == ["scenario=lan-a1"]
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


def test_addresses_of_the_lab_name_lessons_scenarios_or_hold_one(links: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "lab/site").mkdir(parents=True)
    (tmp_path / "lab/index.html").touch()
    (tmp_path / "lab/lessons.json").write_text('[{"id": "red"}]')
    (tmp_path / "lab/site/gallery.json").write_text('[{"id": "lan-a1"}]')
    good = ["#lesson=red", "#scenario=lan-a1", address("tailback = 1", 1), ""]
    bad = ["#lesson=blue", "#scenario=red", "#s=abc", "#title"]
    page = "".join(f'<a href="lab/index.html{fragment}">x</a>' for fragment in [*good, *bad])
    (tmp_path / "a.html").write_text(page)
    assert links.dead_links(tmp_path) == [f"a.html: lab/index.html{fragment} (no such anchor)" for fragment in bad]


def test_a_complete_scenario_has_a_link_that_runs_it_and_a_fragment_has_none(runnable: ModuleType) -> None:
    scenario = (ROOT / "docs/examples/merge.toml").read_text(encoding="utf-8")
    text = f'a\n\n```toml\n{scenario}```\n\nb\n\n```toml\n[network]\nbuffer = "50kB"\n```\n\nc\n'
    links = runnable.Links(Path("docs/mechanisms/page.md"))
    changed = links.after_samples(text)
    assert re.sub(r'\n\n<p class="run">.*</p>\n', "", changed) == text
    assert 'href="../../lab/index.html#s=' in changed
    (state,) = opened(changed)
    assert state["variants"][0]["text"] == scenario
    # The same scenario as a linked file has no second link.
    assert links.after_file(Path("docs/examples/merge.toml")) == ""
    assert opened(links.after_file(Path("docs/examples/tcp.toml")))
    # The lab has no components of users, and a study is no scenario.
    assert links.after_file(Path("docs/examples/first-law/scenario.toml")) == ""
    assert links.after_file(Path("docs/examples/study.toml")) == ""


def test_an_invalid_scenario_ends_the_build_with_its_place(runnable: ModuleType) -> None:
    text = "a\n\n```toml\ntailback = 1\n[hosts]\na = {}\n```\n"
    with pytest.raises(SystemExit, match=r"^docs/page\.md:3: error: `run` is missing"):
        runnable.Links(Path("docs/page.md")).after_samples(text)


def test_commands_have_links_to_what_they_run(runnable: ModuleType) -> None:
    text = (
        "```console\n$ tailback run merge.toml\nx\n"
        "$ tailback run merge.toml --set backpressure.scope=none\n"
        "$ tailback run merge.toml --set 'links[2].rate=20Mbps'\nerror\n```\n"
    )
    changed = runnable.Links(Path("README.md")).after_samples(text)
    written, without = opened(changed)
    assert written["variants"][0]["text"] == (ROOT / "docs/examples/merge.toml").read_text(encoding="utf-8")
    assert 'scope = "none"' in without["variants"][0]["text"]
    assert "Run merge.toml here" in changed
    assert "Run merge.toml backpressure.scope=none here" in changed


def test_a_sample_of_python_can_be_saved(runnable: ModuleType) -> None:
    text = "```python\n# mine.py\nprint('ü < \"100 %\"')\n```\n"
    changed = runnable.Links(Path("docs/page.md")).after_samples(text)
    (name, saved) = re.findall(r'download="([^"]*)" href="data:text/x-python;charset=utf-8,([^"]*)"', changed)[0]
    assert name == "mine.py"
    assert unquote(saved) == "# mine.py\nprint('ü < \"100 %\"')\n"
    assert "needs an installed Tailback" in changed


def test_each_lesson_has_its_card_and_its_section(pages: ModuleType) -> None:
    for text in (pages.index([], [LESSON], 2.34), pages.lessons([LESSON])):
        assert 'href="lab/index.html#lesson=red"' in text
        assert "<svg></svg>" in text
        assert "2. RED & flows" in unescape(text)
    assert 'href="report.html"' in pages.index([], [], 2.34)
    assert "2.3 MB" in pages.index([], [], 2.34)
    assert "report.html" not in pages.index([], [], None)


def test_the_picture_of_a_queue_shows_the_queue() -> None:
    text = (ROOT / "web/src/lessons/deadlock.toml").read_text(encoding="utf-8")
    scenario = tailback.Scenario.from_toml(text)
    made = module("pictures").queue_picture(scenario, [[], ["switches.s.model.memory=100kB"]], "s1->s2", 0.006)
    curves = re.findall(r'class="curve ([ab])" points="([^"]*)"', made)
    assert [name for name, _ in curves] == ["a", "b"]
    heights = [float(point.split(",")[1]) for _, points in curves for point in points.split()]
    # The highest queue touches the upper edge, and an empty one the lower edge.
    assert (min(heights), max(heights)) == (1.5, 94.5)
    with tailback.Simulation(scenario, seed=1) as simulation:
        simulation.run_until(0.003)
        middle = simulation.port("s1->s2")["queue_bytes"]
    most = float(re.search(r"up to (\d+) kB", made)[1])  # type: ignore[index]
    assert heights[119] == pytest.approx(1.5 + 93 * (1 - middle / 1000 / most), abs=93 * 0.5 / most + 0.1)
