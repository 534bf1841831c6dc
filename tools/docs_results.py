"""Writes docs/results from the results of `tailback reproduce` in a folder; `make results` does both.

    tailback reproduce all --full --out out/full
    python tools/docs_results.py out/full

There is one page per group, with every claim (its verdict, the expected and the measured values at all points, its
source, and why it is not asserted) and every figure, and an index that begins with the scoreboard of headlines. The
results of each experiment are kept next to its figures as `results.json`, so that groups can be run separately: an
experiment without finished results in the folder keeps its earlier results, and its section names their commit.
Experiments without any results are listed as missing. All other files in docs/results are removed.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from drawing_weight import MAX_DRAWING, lighter
from tailback.gallery.registry import EXPERIMENTS, GROUPS, folder
from tailback.reproduction.scoreboard import measured_text, number
from tailback.study.experiment.claims import WORDS

TARGET = Path(__file__).resolve().parent.parent / "docs" / "results"
MAX_FILE = 2_000_000
"""Upper bound of the size of a file in docs/results, bytes."""
RESULTS = "results.json"
"""Name of the file with the results of an experiment."""
MAX_FOLDER = 40_000_000
"""Upper bound of the size of docs/results, bytes."""

Json = dict[str, Any]

_HELD = {"pass": "holds", "fail": "does not hold", "undecided": "undecided", "not asserted": "not asserted"}
WORDS_MEAN = """Every interval is a 99 % interval over replications ([statistics](../statistics.md#verdicts-of-claims)).
*Reproduced*: the whole interval satisfies the claim. *Not reproduced*: the whole interval violates it. *Undecided*: the
interval contains values of both kinds. *Calibrated*: a parameter was chosen to meet the claim, so that meeting it
proves nothing about the source. *Comparison*: a measured value without an expected one. The numbers do not depend on
the machine."""


def cell(text: object) -> str:
    """Return a text escaped for a cell of a table."""
    escaped = str(text).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
    return escaped.replace("\n", " ")


def found(claim: Json) -> str:
    """Return the measured interval at a claim's deciding point; for a comparison of several points, their number."""
    if claim["verdict"] == "comparison" and claim["points"] > 1:
        return f"{claim['points']} points, below"
    where = f" at {claim['at']}" if claim["at"] else ""
    of = f", the deciding one of {claim['points']} points" if claim["points"] > 1 else ""
    seen = f", {claim['packets']:,} {claim.get('counted', 'packets')} seen" if "packets" in claim else ""
    return cell(f"{measured_text(claim['measured'])}, n = {claim['measured']['n']}{seen}{where}{of}")


def details(claim: Json) -> list[str]:
    """Return the details of a claim: its source, the reason if it is not asserted, and all its points."""
    lines = [f"**{claim['id']}**: source: {cell(claim['source'])}."]
    if "why" in claim:
        lines[0] += f" {cell(claim['why'])}."
    checks = claim["checks"]
    if len(checks) > 1:
        judged = claim["verdict"] != "comparison"
        lines += [
            "",
            "| point | mean | interval | n |" + (" |" if judged else ""),
            "|---|---:|---|---:|" + "---|" * judged,
        ]
        for check in checks:
            at = check["measured"]
            seen = f", {check['packets']:,} {check.get('counted', 'packets')} seen" if "packets" in check else ""
            ends = f"[{number(at['lo'])}, {number(at['hi'])}] {at['unit']}{seen}"
            row = f"| {cell(check['at'])} | {number(at['mean'])} | {cell(ends)} | {at['n']} |"
            why = f": {check['why']}" if "why" in check else ""
            lines.append(row + (f" {cell(_HELD[check['verdict']] + why)} |" if judged else ""))
    return [*lines, ""]


def made(experiment: Json) -> str:
    """Return the command, the digest, the version and the commit of an experiment's results."""
    origin = experiment["provenance"]
    where = f", commit `{origin['commit']}`" if origin["commit"] else ""
    return f"`{origin['command']}`, digest `{origin['digest']}`, version {origin['tailback']}{where}"


def take(folder: Path, experiment: Json) -> None:
    """Replace an experiment's results and figures in the documentation.

    A figure is the SVG drawing, or the PNG if the SVG has more than `MAX_DRAWING` bytes.
    """
    home = TARGET / experiment["id"]
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    (home / RESULTS).write_text(
        json.dumps(experiment, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
    )
    for figure in experiment["figures"]:
        source = folder / experiment["id"] / f"{figure['name']}.svg"
        drawing = lighter(source.read_bytes())
        if len(drawing) <= MAX_DRAWING:
            (home / source.name).write_bytes(drawing)
        else:
            shutil.copyfile(source.with_suffix(".png"), home / f"{figure['name']}.png")


def picture(experiment: str, name: str) -> str:
    """Return the path of a figure, relative to docs/results."""
    kind = "svg" if (TARGET / experiment / f"{name}.svg").exists() else "png"
    return f"{experiment}/{name}.{kind}"


def section(experiment: Json) -> list[str]:
    """Return the lines of an experiment's section."""
    name = experiment["id"]
    page = f"../../python/tailback/gallery/{folder(name)}/README.md"
    low, high = experiment["replications"]["least"], experiment["replications"]["most"]
    effort = f"{low} to {high} replications" if high > low else f"{low} replications"
    imprecise = experiment["imprecise_points"]
    missed = f"; the precision target is missed at {imprecise} points" if imprecise else ""
    lines = [
        f"## {name}: {experiment['title']}",
        "",
        f"[The experiment's page]({page}). {made(experiment)}; {effort}{missed}.",
        "",
        "| verdict | claim | expected | measured |",
        "|---|---|---|---|",
    ]
    for claim in experiment["claims"]:
        text = f"{claim['id']}: {cell(claim['text'])}"
        if "headline" in claim:
            text += f" *Headline: {cell(claim['headline'])}*"
        lines.append(f"| {claim['verdict']} | {text} | {cell(claim['expected'])} | {found(claim)} |")
    lines += ["", "<details><summary>Sources, reasons and all points</summary>", ""]
    for claim in experiment["claims"]:
        lines += details(claim)
    lines += ["</details>", ""]
    for figure in experiment["figures"]:
        shown = f", shows {', '.join(figure['claims'])}" if figure["claims"] else ""
        caption = f" {figure['caption']}" if figure["caption"] else ""
        lines += [
            f"**{figure['title']}**{shown}.{caption}",
            "",
            f"![{figure['title'].replace('[', '(').replace(']', ')')}]({picture(name, figure['name'])})",
            "",
            f"*{made(experiment)}*",
            "",
        ]
    return lines


def counted(experiments: Iterable[Json]) -> list[int]:
    """Return the number of claims with each verdict, in the order of `WORDS`."""
    words = [claim["verdict"] for experiment in experiments for claim in experiment["claims"]]
    return [words.count(word) for word in WORDS]


def board(experiments: Sequence[Json]) -> list[str]:
    """Return the lines of two tables: headlines with their verdicts, and number of claims by experiment and verdict."""
    lines = ["## Headlines", "", "| experiment | source | measured here | verdict |", "|---|---|---|---|"]
    for experiment in experiments:
        name = experiment["id"]
        link = f"[{name}]({name.split('-', 1)[0]}.md#{anchor(experiment)})"
        lines += [
            f"| {link} | {cell(claim['headline'])} | {found(claim)} | {claim['verdict']} |"
            for claim in experiment["claims"]
            if "headline" in claim
        ]
    lines += ["", "## Verdicts by experiment", "", f"| experiment | title | {' | '.join(WORDS)} |"]
    lines.append("|---|---|" + "---:|" * len(WORDS))
    for experiment in experiments:
        name = experiment["id"]
        link = f"[{name}]({name.split('-', 1)[0]}.md#{anchor(experiment)})"
        lines.append(f"| {link} | {cell(experiment['title'])} | {' | '.join(map(str, counted([experiment])))} |")
    lines.append(f"| | all | {' | '.join(map(str, counted(experiments)))} |")
    return [*lines, ""]


def anchor(experiment: Json) -> str:
    """Return the fragment of the link to an experiment's heading, as on GitHub."""
    heading = f"{experiment['id']}: {experiment['title']}".lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def missing(known: Iterable[str], present: Iterable[Json]) -> list[str]:
    """Return the lines that name the experiments without results."""
    missing_names = [name for name in known if name not in {experiment["id"] for experiment in present}]
    return [f"Not run for these pages: {', '.join(missing_names)}.", ""] if missing_names else []


def finished(file: Path) -> Json | None:
    """Return the results in an experiment's file; `None`: there is no file, or the run was interrupted."""
    experiment: Json | None = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    return None if experiment is None or experiment["interrupted"] else experiment


def gather(folder: Path) -> list[Json]:
    """Copy the results of a folder to docs/results; return them and the earlier ones that are kept, in gallery order.

    Exits if the folder has no finished results.
    """
    new = {name: found for name in EXPERIMENTS if (found := finished(folder / name / RESULTS))}
    if not new:
        raise SystemExit(f"there are no results in {folder}: run `tailback reproduce all --full --out {folder}` first")
    old = {name: found for name in EXPERIMENTS if name not in new and (found := finished(TARGET / name / RESULTS))}
    for path in TARGET.iterdir() if TARGET.exists() else ():
        if path.is_file():
            path.unlink()
        elif path.name not in old:
            shutil.rmtree(path)
    for experiment in new.values():
        take(folder, experiment)
    every = new | old
    return [every[name] for name in EXPERIMENTS if name in every]


def commits(experiments: Iterable[Json]) -> list[str]:
    """Return the lines with the number of experiments that were run at each commit."""
    found = Counter(experiment["provenance"]["commit"] or "unknown" for experiment in experiments)
    return ["Run at commit " + ", ".join(f"`{name}` ({count} experiments)" for name, count in found.items()) + ".", ""]


def write(folder: Path) -> int:
    """Write all pages; return the size of docs/results in bytes. Exits if a file is larger than `MAX_FILE`."""
    experiments = gather(folder)
    index = ["# Results", "", "`make results` writes these pages.", "", WORDS_MEAN, ""]
    for group, title in GROUPS.items():
        in_group = [experiment for experiment in experiments if experiment["id"].startswith(f"{group}-")]
        if not in_group:
            continue
        lines = [f"# {title}: results", "", "[All groups](README.md). " + WORDS_MEAN, ""]
        lines += missing([name for name in EXPERIMENTS if name.startswith(f"{group}-")], in_group)
        for experiment in in_group:
            lines += section(experiment)
        _page(f"{group}.md", lines)
        index.append(f"- [{title}]({group}.md)")
    index += ["", *commits(experiments), *missing(EXPERIMENTS, experiments), *board(experiments)]
    _page("README.md", index)
    sizes = {path: path.stat().st_size for path in TARGET.rglob("*") if path.is_file()}
    for path, size in sizes.items():
        if size > MAX_FILE:
            raise SystemExit(f"{path} has {size} bytes, more than {MAX_FILE}")
    return sum(sizes.values())


def _page(name: str, lines: Sequence[str]) -> None:
    (TARGET / name).write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def main() -> int:
    """Write the pages; return 1 if docs/results is larger than `MAX_FOLDER`, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder given to `tailback reproduce` as `--out`")
    total = write(parser.parse_args().folder)
    print(f"{TARGET}: {total / 1e6:.1f} MB")
    if total > MAX_FOLDER:
        print(f"docs/results has more than {MAX_FOLDER / 1e6:.0f} MB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
