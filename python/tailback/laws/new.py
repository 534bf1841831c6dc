"""Templates of components: files to begin with, which run as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tailback.errors import OutputError, UsageError

__all__ = ["KINDS", "LANGUAGES", "TEMPLATES", "create", "file_stem"]

KINDS = ("law", "scheduler", "congestion-control", "source")
"""Kinds of components."""
LANGUAGES = ("python", "numba", "rust", "c", "wat")
"""Languages of components."""

_FOLDER = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Template:
    """Files of a component of one kind in one language; their templates are in the folder of the kind.

    In names and texts `@NAME@` and `@CLASS@` are the names of the files and of the class, and `@FILE@` is `file`.
    """

    file: str
    """File that scenarios name."""
    sources: Mapping[str, str]
    """Template of each file that only this language has, by name."""
    build: str = ""
    """Lines of shell commands that make `file`; empty: it is one of the sources."""


_COMMON: Mapping[str, Mapping[str, str]] = {
    "law": {"study.toml": "study.toml.in", "discipline.toml": "discipline.toml.in"},
    "scheduler": {},
    "congestion-control": {},
    "source": {},
}
"""Template of each file that all languages of a kind have besides tests, scenario and README, by kind and name."""
_ALWAYS = {"test_@NAME@.py": "test.py.in", "scenario.toml": "scenario.toml.in", "README.md": "README.md.in"}

_PYTHON = Template("@NAME@.py", {"@NAME@.py": "code.py.in"})
TEMPLATES: Mapping[tuple[str, str], Template] = {
    ("law", "python"): _PYTHON,
    ("law", "c"): Template(
        "@NAME@.so",
        {"@NAME@.c": "code.c.in", "Makefile": "Makefile.c.in"},
        "make                                           # compiles @NAME@.c\n",
    ),
    ("law", "rust"): Template(
        "@NAME@.so",
        {"@NAME@.rs": "code.rs.in", "Makefile": "Makefile.rust.in"},
        "make                                           # compiles @NAME@.rs\n",
    ),
    ("law", "wat"): Template("@NAME@.wat", {"@NAME@.wat": "code.wat.in"}),
    ("scheduler", "python"): _PYTHON,
    ("congestion-control", "python"): _PYTHON,
    ("source", "python"): _PYTHON,
}
"""Templates by kind and language."""


def create(kind: str, name: str, language: str, folder: Path | None = None) -> list[Path]:
    """Write the files of a template, and return their paths.

    `folder` is the directory for them; `None`: one with the name of the component, in the current directory.

    Raises:
        UsageError: There is no template of this kind in this language, or the name is not one of a Python class.
        OutputError: A file exists, or cannot be written.

    """
    template = TEMPLATES.get((kind, language))
    if template is None:
        known = ", ".join(f"{kind} --in {language}" for kind, language in TEMPLATES)
        raise UsageError(f"there is no template of a {kind} in {language}; there are {known}")
    stem = file_stem(name)
    target = Path(stem) if folder is None else folder
    words = {"@FILE@": template.file, "@BUILD@": template.build, "@NAME@": stem}
    words["@CLASS@"] = "".join(word.capitalize() for word in stem.split("_"))
    files = {**template.sources, **_COMMON[kind], **_ALWAYS}
    texts = {
        target / _filled(file, words): _filled((_FOLDER / kind / source).read_text(encoding="utf-8"), words)
        for file, source in files.items()
    }
    existing = [path for path in texts if path.exists()]
    if existing:
        raise OutputError(f"{existing[0]} exists; choose another name or directory")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            # A file that has appeared since then is not overwritten either.
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise OutputError(f"{error.filename} cannot be written: {error.strerror}") from error
    return list(texts)


def file_stem(name: str) -> str:
    """Return the name of a component's file without its suffix: `MyLaw` and `my-law` give `my_law`.

    Raises UsageError for a name that is not made of letters, digits, `-` and `_`, or does not begin with a letter.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise UsageError(f"{name!r} is not a name; write letters, digits, - and _, such as my-law")
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).replace("-", "_")
    return re.sub("_+", "_", words).strip("_").lower()


def _filled(text: str, words: Mapping[str, str]) -> str:
    """Return a text with the name of the component in place of the marks."""
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text
