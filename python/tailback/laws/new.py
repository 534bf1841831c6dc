"""Templates of components: files to begin with, which run as they are."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tailback.errors import OutputError, UsageError

__all__ = ["KINDS", "LANGUAGES", "create", "file_stem", "missing"]

KINDS = ("law", "scheduler", "congestion-control", "source")
"""Kinds of components."""

_FOLDER = Path(__file__).parent / "templates"
_TITLES = {
    "law": "queue law",
    "scheduler": "scheduler",
    "congestion-control": "congestion control",
    "source": "traffic source",
}


@dataclass(frozen=True, slots=True)
class Language:
    """Files of a component in one language; their templates are in the folder of its kind, or in the folder `all`.

    In names and texts `@NAME@` and `@CLASS@` are the names of the files and of the class, and `@FILE@` is `file`.
    """

    file: str
    """File that scenarios name."""
    sources: Mapping[str, str]
    """Template of each file that only this language has, by name."""
    build: str = ""
    """Line of a shell command that makes `file`, or installs what it needs; empty: nothing is needed."""
    is_installed: Callable[[], bool] = lambda: True
    """Returns whether what the language needs is installed."""
    need: str = ""
    """Program or package that the language needs, and how to install it."""


def _compiled(suffix: str, language: str, compiler: str, advice: str) -> Language:
    """Return a language that a compiler and `make` translate to machine code."""
    return Language(
        "@NAME@.so",
        {f"@NAME@.{suffix}": f"code.{suffix}.in", "Makefile": f"Makefile.{language}.in"},
        f"make                                           # compiles @NAME@.{suffix}\n",
        lambda: all(shutil.which(program) for program in (compiler, "make")),
        f"`make` and `{compiler}`; {advice}",
    )


LANGUAGES: Mapping[str, Language] = {
    "python": Language("@NAME@.py", {"@NAME@.py": "code.py.in"}),
    "numba": Language(
        "@NAME@.py",
        {"@NAME@.py": "code.numba.py.in"},
        "python -m pip install numba                    # compiles @NAME@.py when it is loaded\n",
        lambda: importlib.util.find_spec("numba") is not None,
        "numba; install it with `python -m pip install numba`",
    ),
    "rust": _compiled("rs", "rust", "rustc", "install Rust with rustup"),
    "c": _compiled("c", "c", "cc", "install a C compiler, such as gcc or clang"),
    "wat": Language("@NAME@.wat", {"@NAME@.wat": "code.wat.in"}),
}
"""Languages of components; each kind has a template in each of them."""

_COMMON: Mapping[str, str] = {
    "test_@NAME@.py": "test.py.in",
    "scenario.toml": "scenario.toml.in",
    "README.md": "README.md.in",
}
"""Template of each file that all languages and kinds have, by name."""
_MORE: Mapping[str, Mapping[str, str]] = {
    "law": {"study.toml": "study.toml.in", "discipline.toml": "discipline.toml.in"}
}
"""Template of each file that only one kind has, by kind and name."""


def missing(language: str) -> str | None:
    """Return what a language needs and is not installed, and how to install it; `None`: nothing is missing."""
    found = LANGUAGES[language]
    return None if found.is_installed() else f"a component in {language} needs {found.need}"


def create(kind: str, name: str, language: str, folder: Path | None = None) -> list[Path]:
    """Write the files of a template, and return their paths.

    `folder` is the directory for them; `None`: one with the name of the component, in the current directory.

    Raises:
        UsageError: There is no such kind or language, or the name is not one of a Python class.
        OutputError: A file exists, or cannot be written.

    """
    if kind not in KINDS or language not in LANGUAGES:
        known = f"kinds are {', '.join(KINDS)}, and languages {', '.join(LANGUAGES)}"
        raise UsageError(f"there is no template of a {kind} in {language}; {known}")
    stem = file_stem(name)
    target = Path(stem) if folder is None else folder
    template = LANGUAGES[language]
    words = {"@FILE@": template.file, "@BUILD@": template.build, "@NAME@": stem, "@TITLE@": _TITLES[kind]}
    words["@CLASS@"] = "".join(word.capitalize() for word in stem.split("_"))
    files = {**template.sources, **_MORE.get(kind, {}), **_COMMON}
    texts = {target / _filled(file, words): _filled(_text(kind, source), words) for file, source in files.items()}
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


def _text(kind: str, source: str) -> str:
    """Return the text of a template, which is in the folder of its kind or in that of all kinds."""
    own = _FOLDER / kind / source
    return (own if own.exists() else _FOLDER / "all" / source).read_text(encoding="utf-8")


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
