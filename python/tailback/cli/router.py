"""Commands for router configurations: import, export, verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.cli.options import (
    DURATION_TEXT,
    RATE_TEXT,
    SETTINGS,
    allow_files_option,
    json_option,
    quiet_option,
    reps_option,
    scenario_file,
    seed_option,
    settings_option,
)
from tailback.cli.output import console, print_error, print_json, print_line, print_note, progress_bar, table
from tailback.errors import EXIT_CLAIM, EXIT_OK, EXIT_SCENARIO, OutputError, UsageError

if TYPE_CHECKING:
    from tailback.router.capacity import Capacity
    from tailback.router.objectives import Bounds
    from tailback.router.policy import Configuration, Imported, Language, Notice, Writable
    from tailback.router.verdict import PolicyVerdict
    from tailback.run.pool import Progress
    from tailback.scenario import Scenario

__all__ = ["export", "import_", "patched", "verdict"]

language = click.argument("language", type=click.Choice(["mqc", "tc", "junos", "routeros", "sonic"]))
writable = click.argument("language", type=click.Choice(["mqc", "tc"]))
traffic_option = click.option(
    "--traffic",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Traffic table: CSV, a flow group per row.",
)
interface_option = click.option("--interface", metavar="IF", help="Interface; default: the only one with a policy.")
policy_option = click.option("--policy", metavar="NAME", help="Policy to use, if no interface names one.")
rate_option = click.option(
    "--rate", type=RATE_TEXT, help="Rate of the interface, such as 10Mbit/s, if the configuration does not state it."
)

overhead_option = click.option(
    "--overhead",
    metavar="KIND",
    help="Link layer whose bytes rates include: none, ethernet, dot1q, mpls, ppp, pppoe, atm, atm-vc, or a number of "
    "bytes; default: by the kind of interface.",
)
platform_option = click.option(
    "--platform",
    type=click.Choice(["classic", "hqf", "xe", "xr", "nxos", "arista"]),
    help="Platform with the defaults of a Cisco configuration; default: guessed from its commands, or hqf (IOS 15).",
)


def _read(path: Path) -> str:
    """Return the text of a file; raises UsageError if it cannot be read."""
    try:
        # Configurations may contain any bytes; those that are not UTF-8 usually belong to comments.
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _import(
    language: Language,
    file: Path,
    traffic: Path | None,
    interface: str | None,
    policy: str | None,
    rate: str | None,
    overhead: str | None,
    platform: str | None,
) -> Imported:
    from tailback.router.policy import import_configuration

    table = None if traffic is None else _read(traffic)
    title = f"{file.name} ({language})"
    try:
        return import_configuration(
            language,
            _read(file),
            traffic=table,
            interface=interface,
            policy=policy,
            rate=rate,
            overhead=overhead,
            platform=platform,
            title=title,
            file=file.name,
            traffic_file="" if traffic is None else traffic.name,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def patched(
    language: Writable,
    scenario: Scenario,
    original: Path,
    traffic: Path | None,
    interface: str | None,
    policy: str | None,
    rate: str | None,
    overhead: str | None,
) -> Configuration:
    """Return the configuration of `original` with the values of a scenario that was imported from it.

    The file is not changed. Raises UsageError if it cannot be read, or an argument is invalid.
    """
    from tailback.router.policy import export_configuration

    try:
        return export_configuration(
            language,
            scenario,
            original=_exactly(original),
            traffic=None if traffic is None else _read(traffic),
            interface=interface,
            policy=policy,
            rate=rate,
            overhead=overhead,
            file=original.name,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def _exactly(path: Path) -> str:
    """Return the text of a file with its line endings; raises UsageError if it is not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        # Other bytes are refused, since replacement characters would be written into the changed file.
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start}): convert it, then import it") from None


def _show(notices: Sequence[Notice], *, quiet: bool) -> None:
    """Print the notices, one for all ignored lines together; with `quiet`, only errors."""
    ignored = [notice for notice in notices if notice.level == "ignored"]
    for notice in notices:
        if notice.level != "ignored" and not (quiet and notice.level != "error"):
            print_note(str(notice))
    if ignored and not quiet:
        lines = ", ".join(str(line) for line in sorted({notice.line for notice in ignored}))
        print_note(f"ignored, without effect on queues: {'lines' if ',' in lines else 'line'} {lines}")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from None


def _json(found: Imported) -> dict[str, object]:
    return {
        "language": found.language,
        "interface": found.interface,
        "rate_bps": None if found.link is None else found.link.rate_bps,
        "link": None if found.link is None else asdict(found.link),
        "classes": {name: list(groups) for name, groups in found.classes.items()},
        "notices": [asdict(notice) for notice in found.notices],
        "policies": found.policies,
        "scenario": None if found.scenario is None else found.scenario.document,
    }


@click.command(
    "import",
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback import mqc running-config.txt --traffic traffic.csv --out scenario.toml
  tailback import tc shaper.sh --rate 20Mbit/s --json
  tailback import mqc policy.txt > scenario.toml && tailback run scenario.toml""",
)
@language
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@interface_option
@policy_option
@rate_option
@overhead_option
@platform_option
@traffic_option
@click.option("--out", type=click.Path(path_type=Path), help="File to write the scenario to; default: stdout.")
@json_option
@quiet_option
def import_(
    language: Language,
    file: Path,
    interface: str | None,
    policy: str | None,
    rate: str | None,
    overhead: str | None,
    platform: str | None,
    traffic: Path | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Make a scenario from a router's configuration: Cisco MQC, a script of Linux tc, Junos, RouterOS or SONiC.

    Parts that were not understood are listed on stderr with line and column. The exit code is 3 if the configuration
    contradicts itself or a router would reject it.
    """
    found = _import(language, file, traffic, interface, policy, rate, overhead, platform)
    if as_json:
        print_json(_json(found))
    else:
        _show(found.notices, quiet=quiet)
    if found.scenario is None:
        print_error(f"no scenario was made from {file}: {len(found.errors)} errors")
        return EXIT_SCENARIO
    if out is not None:
        _write(out, found.scenario.to_toml())
        if not quiet and not as_json:
            print_note(f"written: {out}")
    elif not as_json:
        click.echo(found.scenario.to_toml(), nl=False)
    return EXIT_OK


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback export mqc scenario.toml --original policy.txt
  tailback export mqc scenario.toml
  tailback export tc scenario.toml --port ce:sink --out shaper.sh""",
)
@writable
@scenario_file
@click.option("--port", metavar="NODE:NEIGHBOUR", help="Port; default: the only one with a policy.")
@click.option(
    "--original",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Configuration from which the scenario was imported; only differing values are changed.",
)
@click.option("--interface-name", metavar="NAME", help="Name of the interface (mqc); default: by the link's rate.")
@click.option("--dev", metavar="NAME", help="Name of the device (tc).  [default: eth0]")
@interface_option
@policy_option
@rate_option
@overhead_option
@traffic_option
@settings_option
@allow_files_option
@click.option("--out", type=click.Path(path_type=Path), help="File to write; default: stdout.")
@json_option
@quiet_option
def export(
    language: Writable,
    file: str,
    port: str | None,
    original: Path | None,
    interface_name: str | None,
    dev: str | None,
    interface: str | None,
    policy: str | None,
    rate: str | None,
    overhead: str | None,
    traffic: Path | None,
    settings: list[tuple[str, str]],
    allow_files: bool,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Write the policy of a port of the scenario FILE as Cisco MQC or as commands of Linux tc.

    With --original, the values of the scenario are written into that configuration, whose other text is unchanged;
    --interface, --policy, --rate, --overhead and --traffic must be the same as in the import.
    """
    from tailback.scenario import load

    scenario = load(file, allow_files=allow_files).with_texts(settings)
    if original is None:
        from tailback.router.policy import export_configuration

        made = export_configuration(language, scenario, port, name=interface_name if language == "mqc" else dev)
    else:
        made = patched(language, scenario, original, traffic, interface, policy, rate, overhead)
    if as_json:
        print_json(
            {
                "text": made.text,
                "changes": [asdict(change) for change in made.changes],
                "notices": [asdict(notice) for notice in made.notices],
            }
        )
    else:
        _show(made.notices, quiet=quiet)
    if made.errors:
        return EXIT_SCENARIO
    if out is not None:
        _write(out, made.text)
    elif not as_json:
        click.echo(made.text, nl=False)
    return EXIT_OK


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback verdict mqc policy.txt --traffic traffic.csv
  tailback verdict tc shaper.sh --traffic traffic.csv --network-delay 30ms --codec g.729a --plot verdict.png

\b
Exit codes: 0 no group of flows misses a target, 5 one does, or a part of the judged policy is not simulated;
3 the configuration cannot be used.""",
)
@language
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@traffic_option
@interface_option
@policy_option
@rate_option
@overhead_option
@platform_option
@click.option(
    "--network-delay",
    type=DURATION_TEXT,
    default="0s",
    show_default=True,
    help="One-way delay of the rest of the path.",
)
@click.option(
    "--codec",
    type=click.Choice(["g.711", "g.711-plc", "g.723.1", "g.729a", "gsm-efr"]),
    default="g.711-plc",
    show_default=True,
    help="Codec of the calls.",
)
@click.option(
    "--least-mos", type=click.FloatRange(1, 4.5), default=3.6, show_default=True, help="Minimum MOS of calls."
)
@click.option(
    "--bounds",
    type=click.Choice(["y.1541", "g.114"]),
    default="y.1541",
    show_default=True,
    help="Source of the limit of one-way delay for voice: Y.1541, 100 ms, or G.114, 150 ms.",
)
@click.option("--until-breaks", metavar="GROUP", help="Find also the number of flows of this group that fit.")
@click.option(
    "--plot", type=click.Path(path_type=Path), default=Path("verdict.png"), show_default=True, help="Figure to write."
)
@click.option("--duration", help="Length of a run, such as 60s; default: that of the imported scenario.")
@seed_option
@reps_option
@json_option
@quiet_option
def verdict(
    language: Language,
    file: Path,
    traffic: Path | None,
    interface: str | None,
    policy: str | None,
    rate: str | None,
    overhead: str | None,
    platform: str | None,
    network_delay: str,
    codec: str,
    least_mos: float,
    bounds: Bounds,
    until_breaks: str | None,
    plot: Path,
    duration: str | None,
    seed: int | None,
    reps: int | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Compare delay, loss and jitter of each group of flows under a router's policy with its targets, and draw them."""
    from tailback.router.capacity import most_flows
    from tailback.router.verdict import draw, judge

    found = _import(language, file, traffic, interface, policy, rate, overhead, platform)
    if not as_json:
        _show([notice for notice in found.notices if notice.level != "error"], quiet=quiet)
    found.check()

    def judged(found: Imported, progress: Progress | None = None) -> PolicyVerdict:
        return judge(
            found,
            network_delay=network_delay,
            codec=codec,
            least_mos=least_mos,
            bounds=bounds,
            duration=duration,
            seed=seed,
            replications=reps,
            progress=progress,
        )

    with progress_bar(file.name, quiet=quiet) as progress:
        made = judged(found, progress)
    fits = None if until_breaks is None else most_flows(found, until_breaks, judged)
    draw(made, plot)
    if as_json:
        capacity = {} if fits is None else {"until_breaks": fits.as_json()}
        notices = [asdict(notice) for notice in found.notices]
        print_json({**made.as_json(), **capacity, "notices": notices, "plot": str(plot)})
    else:
        _print_verdict(made)
        if fits is not None:
            _print_capacity(fits)
        if not quiet:
            print_note(f"written: {plot}")
    return EXIT_OK if made.survives else EXIT_CLAIM


def _print_verdict(made: PolicyVerdict) -> None:
    rows = [row.cells() for row in made.rows]
    columns = ("group", "class", "offered", "delay", "99 %", "variation", "loss", "MOS", "target", "verdict")
    console().print(table(made.title, columns, rows, words=2))
    for sentence in made.sentences():
        print_line(sentence)


def _print_capacity(fits: Capacity) -> None:
    columns = ("flows", "delay", "99 %", "variation", "loss", "MOS", "verdict")
    cells = [(count, row.cells()) for count, row in fits.tried]
    rows = [[str(count), *text[3:8], text[9]] for count, text in cells]
    console().print(table(f"Number of flows of {fits.group} that fit", columns, rows))
    print_line(fits.sentence())
