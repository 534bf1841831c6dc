"""Builds the site: the documentation with a search, the reference of the Python package, the gallery, and the lab.

    PYTHONPATH=python:tools python -m website.build OUT

All Markdown pages of the repository are collected with the files to which they link, in the same folders, so that their
links hold; Sphinx makes HTML of them, with warnings as errors. Then every link and anchor of the result is checked.
The site is static and opens from a disk.
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
from website.links import dead_links
from website.pages import ROOT, api, gallery, index, stage, tracked

HERE = Path(__file__).resolve().parent


def build(out: Path) -> None:
    """Build the site in a folder, whose earlier content is replaced."""
    pages = [page for page in tracked("*.md") if page.parts[0] not in ("fuzz", "crates", "validation", "tools")]
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary)
        stage(pages, source)
        (source / "index.md").write_text(index(pages), encoding="utf-8")
        (source / "gallery.md").write_text(gallery(pages), encoding="utf-8")
        (source / "api.rst").write_text(api(), encoding="utf-8")
        shutil.copyfile(HERE / "conf.py", source / "conf.py")
        shutil.copytree(HERE / "_static", source / "_static")
        target = source / "html"
        command = [sys.executable, "-m", "sphinx", "-b", "html", "-j", "2", "-q", "-W", "--keep-going"]
        if subprocess.run([*command, str(source), str(target)], check=False).returncode:
            sys.exit("Sphinx has found errors")
        shutil.copytree(ROOT / "docs/results", target / "docs/results", dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("*.md", "*.json"))  # fmt: skip
        try:
            lab = Path(str(built())) / "lab"
        except UsageError as error:
            sys.exit(str(error))
        if lab.is_dir():
            shutil.copytree(lab, target / "lab")
        if dead := dead_links(target):
            sys.exit("\n".join([f"{len(dead)} links lead nowhere:", *dead]))
        shutil.rmtree(target / ".doctrees", ignore_errors=True)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(target, out)


def main() -> None:
    """Build the site in the folder of the argument."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    build(parser.parse_args().out)


if __name__ == "__main__":
    main()
