"""Every sample of every page is run, read by the program or compared with the sources, or says why it is not."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path
from types import ModuleType

import click
import pytest

import tailback
from tailback.cli import cli

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = {"tools/scenarios.md"}
"""Pages whose samples are filled in by a tool."""
OTHER_PROGRAMS = {"pip", "cd", "source", "eval", "cc", "clang", "rustc", "cargo"}
"""Programs of the shell samples that are not the project's."""


def tracked() -> list[Path]:
    """Return all pages of the repository."""
    done = subprocess.run(["git", "-C", str(ROOT), "ls-files", "*.md"], check=True, capture_output=True, text=True)
    return [ROOT / line for line in done.stdout.splitlines() if line not in TEMPLATES]


if not (ROOT / ".git").exists():
    pytest.skip("the pages are those that git tracks", allow_module_level=True)
PAGES = tracked()


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        import samples

        return samples


def commands(text: str) -> list[list[str]]:
    """Return the words of the commands of a shell sample."""
    lines = text.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def refused(words: list[str]) -> str:
    """Return what is wrong with a command of `tailback`: an unknown subcommand or option; empty: nothing."""
    context = click.Context(cli)
    command: click.Command = cli
    rest = words[1:]
    while isinstance(command, click.Group):
        found = command.get_command(context, rest[0])
        if found is None:
            return f"there is no command {rest[0]}"
        command, rest = found, rest[1:]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [word for word in rest if word.startswith("--") and word.partition("=")[0] not in known]
    return f"no option {unknown}" if unknown else ""


def checked_by(tool: ModuleType, page: str, kind: str, text: str) -> str:
    """Return what checks a sample of a kind, after doing so where it takes no time."""
    if kind in ("console", "pycon", "python"):
        assert page in RUN, f"{page} is not among the pages whose samples run"
        return "run and compared" if kind != "python" else "run"
    if kind == "toml":
        # Raises ScenarioError if the program objects to anything but missing keys.
        what, _ = tool.document(text)
        return f"{what}, read by the program"
    if kind == "sh":
        for words in commands(text):
            if words[0] == "tailback":
                assert not refused(words), (page, words, refused(words))
            elif words[0] == "make":
                makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
                target = words[1] if len(words) > 1 else "help"
                assert re.search(rf"^{target}:", makefile, re.MULTILINE), (page, words)
            elif words[0] == "python":
                assert words[1].startswith("-") or (ROOT / words[1]).is_file(), (page, words)
            else:
                program = next(word for word in words if "=" not in word)
                assert program in OTHER_PROGRAMS, (page, words)
        return "commands and options exist"
    if kind in ("rust", "diff"):
        # test_architecture.py compares them with the sources.
        assert page == "docs/architecture.md", page
        return "compared with the sources"
    assert kind == "", f"{page}: a sample of kind {kind!r} is not run, and has no comment `<!-- not run: REASON -->`"
    assert not re.search(r"^(\$ |>>> |tailback |make |\[\w)", text, re.MULTILINE), f"{page}: state the kind of {text}"
    return "formula, pseudocode or drawing"


def of_docs_console() -> set[str]:
    """Return the pages whose samples tools/docs_console.py runs, which the tests of the documentation call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        import docs_console

        return {page.relative_to(ROOT).as_posix() for page in docs_console.pages()}


RUN = of_docs_console()


def test_no_sample_of_any_page_is_unchecked(tool: ModuleType) -> None:
    found: Counter[str] = Counter()
    for path in PAGES:
        page, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        every = tool.samples(text)
        # A fence in a list, or one that is not closed, would not be seen.
        assert len(re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)) == 2 * len(every), page
        for sample in every:
            found[(sample.reason and "not run") or checked_by(tool, page, sample.kind, sample.text)] += 1
    print(*sorted(found.items()), sep="\n")
    assert found["not run"] <= 3
    assert found["run and compared"] > 90
    assert found["scenario, read by the program"] == 3


def test_a_fragment_with_an_unknown_key_or_value_is_refused(tool: ModuleType) -> None:
    assert tool.document('discipline = { kind = "codel" }')[0] == "fragment"
    assert tool.document('[network]\nbuffer = "50kB"')[0] == "fragment"
    for wrong in ('discipline = { kind = "coddle" }', '[network]\nbufer = "50kB"', "tailback = 1\n[hosts]\na = {}"):
        with pytest.raises(tailback.ScenarioError):
            tool.document(wrong)


def test_a_reason_stands_in_the_line_before_the_sample(tool: ModuleType) -> None:
    text = "a\n\n<!-- not run: needs x -->\n```js\n1\n```\n\n```toml\n2\n```\n"
    assert [(s.kind, s.text, s.line, s.reason) for s in tool.samples(text)] == [
        ("js", "1\n", 4, "needs x"),
        ("toml", "2\n", 8, None),
    ]


def test_the_scenarios_of_commands_have_their_settings(tool: ModuleType) -> None:
    block = (
        "$ tailback run merge.toml --set 'links[2].rate=20Mbit/s' \\\n    --reps 3\noutput\n"
        "$ tailback run merge.toml --set 'links[2].rate=20Mbps'\nerror\n$ tailback run none.toml\n$ tailback list\n"
    )
    (found,) = tool.runs(block)
    assert found.words == "merge.toml links[2].rate=20Mbit/s"
    assert tailback.Scenario.from_toml(found.text).hash == found.scenario.hash
    assert found.scenario.hash == tailback.load(tool.EXAMPLES / "merge.toml").set({"links[2].rate": "20Mbit/s"}).hash
    (plain,) = tool.runs("$ tailback run merge.toml\n")
    assert plain.text == (tool.EXAMPLES / "merge.toml").read_text(encoding="utf-8")


def test_unknown_commands_and_options_are_found() -> None:
    assert refused(["tailback", "run", "x.toml", "--reps", "3"]) == ""
    assert refused(["tailback", "walk", "x.toml"]) == "there is no command walk"
    assert refused(["tailback", "run", "x.toml", "--sed=3"]) == "no option ['--sed=3']"
