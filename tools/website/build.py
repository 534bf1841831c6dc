"""Builds the site: the documentation with a search, the reference of the Python package, the gallery, and the lab.

    PYTHONPATH=python:tools python -m website.build OUT [--report FOLDER]

All Markdown pages of the repository are collected with the files to which they link, in the same folders, so that their
links hold; Sphinx makes HTML of them, with warnings as errors. Samples in TOML are read by the program, and those that
the lab can run get a link to it; python/tests/test_samples.py states what checks each of the other samples. Then every
link and anchor of the result is checked. The site is static and opens from a disk.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tailback.errors import UsageError
from tailback.web import folder as built
from website.links import Lab, dead_links
from website.pages import api, gallery, index, lessons, read_lessons
from website.staging import stage, tracked

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REPORTS = ("report.html", "report-static.html")
"""Files of `make run` that the site takes over: the report, and the same without JavaScript, to which it links."""


def build(out: Path, report: Path | None) -> None:
    """Build the site in a folder, whose earlier content is replaced; `report` is the folder of a report or `None`."""
    pages = [page for page in tracked("*.md") if page.parts[0] not in ("fuzz", "crates", "validation", "tools")]
    lab = _lab()
    taught = read_lessons(lab)
    reports = [file for name in REPORTS if report is not None and (file := report / name).is_file()]
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary)
        stage(pages, source)
        made = {
            "index.md": index(pages, taught, reports[0].stat().st_size / 1e6 if reports else None),
            "lessons.md": lessons(taught),
            "gallery.md": gallery(pages, Lab(lab).scenarios),
            "api.rst": api(),
        }
        for name, text in made.items():
            (source / name).write_text(text, encoding="utf-8")
        shutil.copyfile(HERE / "conf.py", source / "conf.py")
        shutil.copytree(HERE / "_static", source / "_static")
        target = source / "html"
        command = [sys.executable, "-m", "sphinx", "-b", "html", "-j", "2", "-q", "-W", "--keep-going"]
        if subprocess.run([*command, str(source), str(target)], check=False).returncode:
            sys.exit("Sphinx has found errors")
        shutil.copytree(ROOT / "docs/results", target / "docs/results", dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("*.md", "*.json"))  # fmt: skip
        shutil.copytree(lab, target / "lab")
        for file in reports:
            shutil.copyfile(file, target / file.name)
        if dead := dead_links(target):
            sys.exit("\n".join([f"{len(dead)} links lead nowhere:", *dead]))
        shutil.rmtree(target / ".doctrees", ignore_errors=True)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(target, out)


def _lab() -> Path:
    """Return the folder of the built lab."""
    try:
        lab = Path(str(built())) / "lab"
    except UsageError as error:
        sys.exit(str(error))
    if not (lab / "lessons.json").is_file():
        sys.exit("the lab is not built: run `make lab`")
    return lab


def main() -> None:
    """Build the site in the folder of the argument."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--report", type=Path, help="folder of the report of `make run`; it may be missing")
    arguments = parser.parse_args()
    build(arguments.out, arguments.report)


if __name__ == "__main__":
    main()
