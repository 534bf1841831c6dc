"""Further commands: headroom, bench, completion."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict

import click

from tailback import _native
from tailback.cli.options import DURATION, RATE, SETTINGS, SIZE, Written, json_option
from tailback.cli.output import console, print_json, print_line, table
from tailback.errors import RunError, UsageError

__all__ = ["bench", "completion", "headroom"]


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback headroom --rate 100Mbit/s --mtu 1500B --delay 1us --links 3 --buffer 50kB
  tailback headroom --rate 10Gbit/s --mtu 9000B --length 300m --pfc""",
)
@click.option("--rate", type=RATE, required=True, help="Rate of the feeding link, such as 10Gbit/s.")
@click.option(
    "--mtu",
    type=Written("size", lambda text: int(text) if text.isdigit() else _native.parse_bytes(text)),
    default="1500B",
    show_default=True,
    help="Largest payload of a frame.",
)
@click.option("--length", help="Length of the cable, such as 100m (5 ns/m).")
@click.option("--delay", type=DURATION, help="One-way propagation delay, such as 1us, instead of --length.")
@click.option(
    "--response-time",
    type=DURATION,
    help="Time from a notification to its effect; default: the limit of IEEE 802.3 for the rate.",
)
@click.option(
    "--interface-delay", type=DURATION, default="0s", help="Further delays of the interfaces, sum of both directions."
)
@click.option(
    "--counts",
    type=click.Choice(["frame", "wire"]),
    default="frame",
    show_default=True,
    help="Bytes that a buffer counts.",
)
@click.option("--links", type=click.IntRange(min=1), default=1, show_default=True, help="Links that feed the buffer.")
@click.option("--buffer", type=SIZE, help="Buffer size, for which the highest safe threshold is printed.")
@click.option("--pfc", is_flag=True, help="Print also the short formula published for PFC.")
@json_option
def headroom(
    rate: int,
    mtu: int,
    length: str | None,
    delay: int | None,
    response_time: int | None,
    interface_delay: int,
    counts: str,
    links: int,
    buffer: int | None,
    pfc: bool,
    as_json: bool,
) -> None:
    """Compute the headroom: the buffer above the high threshold that back-pressure needs so that no frame is lost."""
    from tailback.bounds import headroom as calculator

    if (length is None) == (delay is None):
        raise click.UsageError("Give either --length or --delay.")
    if rate <= 0 or mtu <= 0:
        raise click.UsageError("--rate and --mtu must be above 0.")
    if length is not None:
        metres = _metres(length)
        delay_s = metres * calculator.NS_PER_M * 1e-9
    else:
        delay_s = (delay or 0) * 1e-12
        metres = delay_s * 1e9 / calculator.NS_PER_M
    response_s = None if response_time is None else response_time * 1e-12
    full = calculator.headroom(
        rate, mtu, delay_s, response_s, interface_delay * 1e-12, "wire" if counts == "wire" else "frame"
    )
    forms = [full, *([calculator.pfc_headroom(rate, mtu, metres)] if pfc else [])]
    if as_json:
        print_json(
            {
                "forms": [
                    {
                        "source": form.source,
                        "terms": [asdict(term) for term in form.terms],
                        "bytes_per_link": form.bytes,
                        "bytes": form.bytes * links,
                        **({} if buffer is None else {"highest_threshold": max(0.0, 1 - form.bytes * links / buffer)}),
                    }
                    for form in forms
                ]
            }
        )
        return
    for form in forms:
        rows = [[term.name, term.formula, f"{term.bytes} B"] for term in form.terms]
        rows.append(["sum per feeding link", "", f"{form.bytes} B"])
        rows.append([f"for {links} link{'s' if links > 1 else ''}", "", f"{form.bytes * links} B"])
        console().print(table(form.source, ("term", "formula", "bytes"), rows, words=2))
        if buffer is not None:
            print_line(_threshold(form.bytes * links, buffer))


def _threshold(need: int, size: int) -> str:
    """Return a sentence with the highest safe threshold of a buffer of `size` bytes with `need` bytes of headroom."""
    if need >= size:
        return f"A buffer of {size} B is too small: it cannot be lossless with any threshold."
    return f"In a buffer of {size} B the high threshold may be at most {1 - need / size:.1%}."


def _metres(text: str) -> float:
    """Return a length such as `100m` or `2km` in metres; raises UsageError for another form."""
    for unit, factor in (("km", 1000.0), ("m", 1.0)):
        number = text.strip().removesuffix(unit)
        if number != text.strip():
            try:
                return float(number) * factor
            except ValueError:
                break
    raise UsageError(f"{text!r} is not a length; write a number with the unit m or km, such as 100m")


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback bench                  all workloads, each in a process of its own
  tailback bench forward --json   {"workload", "packet_hops", "events", "cpu_s", "wall_s", "rss_mb"}
  tailback bench net64 --parallel 2   one run on two threads""",
)
@click.argument("workload", required=False)
@click.option(
    "--parallel", type=click.IntRange(min=1), default=1, show_default=True, help="Maximum number of threads of a run."
)
@json_option
def bench(workload: str | None, parallel: int, as_json: bool) -> None:
    """Measure packet-hops per second of processor time.

    The time is that of the run itself, without reading the scenario. Without a WORKLOAD, all workloads are measured one
    after another.
    """
    from tailback.bench import WORKLOADS, measure

    rows = (
        [measure(workload, parallel).as_json()] if workload else [_measured_alone(name, parallel) for name in WORKLOADS]
    )
    if as_json:
        print_json(rows[0] if workload else rows)
        return
    body = [
        [
            str(row["workload"]),
            f"{float(str(row['packet_hops'])) / float(str(row['cpu_s'])) / 1e6:.2f}",
            f"{row['packet_hops']:,}",
            f"{row['events']:,}",
            f"{row['cpu_s']:.3f}",
            f"{row['wall_s']:.3f}",
            str(row["rss_mb"]),
        ]
        for row in rows
    ]
    columns = ("workload", "million packet-hops per CPU s", "packet-hops", "events", "CPU s", "wall s", "peak RSS MB")
    console().print(table("", columns, body))


def _measured_alone(workload: str, parallel: int) -> dict[str, object]:
    """Measure a workload in a process of its own, so that its peak memory is that of the workload alone."""
    command = [sys.executable, "-m", "tailback", "bench", workload, "--json", "--parallel", str(parallel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunError(f"the workload {workload} failed: {done.stderr.strip()}")
    row: dict[str, object] = json.loads(done.stdout)
    return row


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  eval "$(tailback completion bash)"
  tailback completion fish > ~/.config/fish/completions/tailback.fish
  tailback completion powershell | Out-String | Invoke-Expression""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "powershell"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell."""
    from click.shell_completion import get_completion_class

    from tailback.cli import cli

    found = get_completion_class(shell)
    if found is None:
        raise UsageError(f"the installed click has no completion for {shell}: pip install --upgrade click")
    click.echo(found(cli, {}, "tailback", "_TAILBACK_COMPLETE").source())
