"""Writes docs/results/internet.md from runs of the Internet group's experiments at full length.

    for id in internet-e01 internet-e02 ...; do tailback reproduce $id --full --out FOLDER/$id; done
    python tools/docs_results.py FOLDER

Experiments that are not there are named as such on the page.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from tailback.gallery.registry import EXPERIMENTS

TARGET = Path(__file__).resolve().parent.parent / "docs" / "results"
LARGEST = 400_000
"""Bytes of a drawing above which it is left to the report."""
VERDICTS = {True: "pass", False: "**fail**", None: "\N{EN DASH}"}
HEAD = """# The Internet group at full length

`tailback reproduce ID --full` of the experiments below: what was measured, as means with their 99 % intervals over the
replications. A claim passes when the whole interval satisfies it ([statistics](../statistics.md)); a dash is reported
and not judged, and the experiment's page says why. The numbers do not depend on the machine.
`python tools/docs_results.py FOLDER` writes this page.
"""


def measured(claim: dict[str, Any]) -> str:
    """Lay out the two cells of a claim's interval and its number of replications."""
    found = claim["measured"] or {}
    if found.get("mean") is None:
        return "| |"
    numbers = "{mean:.4g} [{lo:.4g}, {hi:.4g}] {unit}".format(**found)
    return f"| {numbers.strip()} | {found['n']} |"


def section(folder: Path, experiment: dict[str, Any]) -> list[str]:
    """Lay out one experiment: its claims, and its first figure that is small enough."""
    name = experiment["id"]
    lines = [f"## {name}: {experiment['title']}", "", "| claim | measured | n | |", "|---|---:|---:|---|"]
    for claim in experiment["claims"]:
        text = claim["text"].replace("|", "\\|")
        lines.append(f"| {text} {measured(claim)} {VERDICTS[claim['pass']]} |")
    drawings = [folder / figure["file"] for figure in experiment["figures"]]
    drawing = next((file for file in drawings if file.stat().st_size < LARGEST), None)
    if drawing:
        shutil.copyfile(drawing, TARGET / f"{name}.svg")
        lines += ["", f"![{drawing.stem.replace('-', ' ')}]({name}.svg)"]
    return [*lines, ""]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="holds a folder for each experiment, as `reproduce` wrote it")
    folder: Path = parser.parse_args().folder
    TARGET.mkdir(parents=True, exist_ok=True)
    known = [name for name in EXPERIMENTS if name.startswith("internet-")]
    found: dict[str, dict[str, Any]] = {}
    for name in known:
        file = folder / name / name / "results.json"
        if file.exists():
            found[name] = json.loads(file.read_text(encoding="utf-8"))
    verdicts = [claim["pass"] for experiment in found.values() for claim in experiment["claims"]]
    lines = [HEAD]
    told = f"{verdicts.count(True)} claims pass, {verdicts.count(False)} fail, {verdicts.count(None)} are reported."
    missing = [name for name in known if name not in found]
    if missing:
        told += f" Not run at full length for this page: {', '.join(missing)}; `--quick` covers them."
    lines += [told, ""]
    for name, experiment in found.items():
        lines += section(folder / name, experiment)
    (TARGET / "internet.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
