"""Options that several commands share."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tailback import _native
from tailback.errors import UsageError
from tailback.results.metrics import METRICS, advice_on

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from tailback.run.capture import Capture, Sides
    from tailback.run.executors import Backend, ExecutorName

__all__ = [
    "DURATION",
    "DURATION_TEXT",
    "RATE",
    "RATE_TEXT",
    "SETTINGS",
    "SIZE",
    "Written",
    "allow_files_option",
    "capture_options",
    "chosen_capture",
    "executor_options",
    "json_option",
    "metric_option",
    "open_executor",
    "output_option",
    "quiet_option",
    "reps_option",
    "scenario_file",
    "seed_option",
    "settings_option",
    "strict_option",
    "threads_option",
    "trace_options",
    "untraced_option",
]

Command = TypeVar("Command", bound=Callable[..., Any])

SETTINGS: dict[str, Any] = {"max_content_width": 110, "help_option_names": ["-h", "--help"]}
"""Value of click's `context_settings` for each command."""


class Written(click.ParamType):  # type: ignore[type-arg]
    """Type of an option whose value is a quantity with a unit, as in scenarios.

    The command gets the number, or with `stays_text` the checked text.
    """

    def __init__(self, name: str, parse: Callable[[str], float], *, stays_text: bool = False) -> None:
        self.name = name
        self._parse = parse
        self._stays_text = stays_text

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """Return the number of the parser: bit/s, bytes or picoseconds; with `stays_text`, the text unchanged."""
        if not isinstance(value, str):
            return value
        try:
            found = self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value if self._stays_text else found


RATE = Written("rate", _native.parse_rate)
SIZE = Written("size", _native.parse_bytes)
DURATION = Written("duration", _native.parse_duration)
RATE_TEXT = Written("rate", _native.parse_rate, stays_text=True)
DURATION_TEXT = Written("duration", _native.parse_duration, stays_text=True)
"""Types of options: rate in bit/s, size in bytes, duration in ps, and rate and duration as checked text."""


def _split(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the pairs (path, value) of texts `path=value`, split at the first equals sign."""
    del ctx
    found = []
    for text in values:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise click.BadParameter(f"{text!r} is not path=value, such as run.duration=10s", param=parameter)
        found.append((path.strip(), value.strip()))
    return found


scenario_file = click.argument(
    "file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True)
)
allow_files_option = click.option(
    "--allow-files", is_flag=True, help="Let the scenario read files outside its folder; for trusted scenarios only."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
settings_option = click.option(
    "--set",
    "settings",
    multiple=True,
    callback=_split,
    metavar="PATH=VALUE",
    help="Change a value, such as 'flows[data].source.rate=3Mbit/s'; may be repeated.",
)
seed_option = click.option("--seed", type=click.IntRange(min=0), help="Base seed; replication k runs with seed + k.")
reps_option = click.option("--reps", type=click.IntRange(min=1), help="Number of replications.")
threads_option = click.option(
    "--threads", type=click.IntRange(min=1), help="Replications at a time; default: one per processor."
)


def _metrics(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> list[str]:
    """Return the names of metrics, split at commas and checked; `goodput[data]` is the metric of a group or class."""
    del ctx
    names = list(dict.fromkeys(name.strip() for text in values for name in text.split(",") if name.strip()))
    for name in names:
        metric, bracket, rest = name.partition("[")
        if metric not in METRICS:
            raise click.BadParameter(f"there is no metric {metric!r}; {advice_on(metric)}", param=parameter)
        if bracket and not (rest.endswith("]") and rest != "]"):
            raise click.BadParameter(
                f"{name!r} is not a metric; write the group or class in brackets, such as {metric}[data]",
                param=parameter,
            )
    return names


def _complete_metrics(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    del ctx, parameter
    before, comma, begun = incomplete.rpartition(",")
    found = (CompletionItem(f"{before}{comma}{name}", help=m.about) for name, m in METRICS.items())
    return [item for item in found if item.value.startswith(f"{before}{comma}{begun}")]


def metric_option(about: str) -> Callable[[Command], Command]:
    """Return the option `--metric`, which chooses the columns of a table; `about` is the beginning of its help."""
    return click.option(
        "--metric",
        "metrics",
        multiple=True,
        callback=_metrics,
        shell_complete=_complete_metrics,
        metavar="NAME,…",
        help=f"{about} Names: {', '.join(METRICS)}.",
    )


strict_option = click.option("--strict", is_flag=True, help="Treat warnings as errors: exit code 3.")
estimate_option = click.option("--estimate", is_flag=True, help="Only estimate the run time, from a short trial.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress bar and no notes on stderr.")
output_option = click.option("--out", type=click.Path(path_type=Path), help="Run directory to write.")


def trace_options(command: Command) -> Command:
    """Add the options of packet traces."""

    def listed(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> list[str]:
        del ctx, parameter
        return [name.strip() for text in values for name in text.split(",") if name.strip()]

    for option in (
        click.option("--trace-until", type=DURATION_TEXT, metavar="TIME", help="Last instant of the trace."),
        click.option("--trace-from", type=DURATION_TEXT, metavar="TIME", help="First instant of the trace."),
        click.option(
            "--trace-frame", multiple=True, callback=listed, metavar="NAME,…", help="Trace only these kinds of frames."
        ),
        click.option(
            "--trace-event", multiple=True, callback=listed, metavar="NAME,…", help="Trace only these kinds of events."
        ),
        click.option("--trace-port", multiple=True, metavar="PATTERN", help="Trace only these ports; may be repeated."),
        click.option(
            "--trace-flow", multiple=True, metavar="PATTERN", help="Trace only these flows or groups; may be repeated."
        ),
        click.option(
            "--trace",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Write a packet trace: a folder of Parquet files for each replication.",
        ),
    ):
        command = option(command)
    return command


untraced_option = click.option("--trace", type=click.Path(path_type=Path), metavar="DIR", hidden=True)
"""Option `--trace` of commands that run many scenarios: their error names the command that traces one run."""


def capture_options(command: Command) -> Command:
    """Add the options of captures."""
    for option in (
        click.option("--pcap-until", metavar="TIME", help="Last instant of the capture, such as 250ms."),
        click.option("--pcap-from", metavar="TIME", help="First instant of the capture, such as 200ms."),
        click.option("--pcap-flow", "pcap_flows", multiple=True, metavar="PATTERN", help="Only flows such as 'data*'."),
        click.option(
            "--pcap-port", "pcap_ports", multiple=True, metavar="PATTERN", help="Only interfaces such as 'left->*'."
        ),
        click.option(
            "--pcap-at",
            type=click.Choice(["send", "receive", "both"]),
            help="Capture frames where they are sent, where they are received, or at both (default).",
        ),
        click.option(
            "--snaplen",
            type=click.IntRange(min=0),
            help="Longest captured part of a frame, bytes; 0: all. Default: 128.",
        ),
        click.option(
            "--pcap",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Capture the frames as pcapng, for Wireshark; FILE-seedN with several replications.",
        ),
    ):
        command = option(command)
    return command


def chosen_capture(
    pcap: Path | None,
    snaplen: int | None,
    at: Sides | None,
    ports: tuple[str, ...],
    flows: tuple[str, ...],
    start: str | None,
    until: str | None,
) -> Capture | None:
    """Return the capture that the options choose; `None`: there is no `--pcap`.

    Raises UsageError for another option of captures without `--pcap`.
    """
    from tailback.run.capture import Capture

    if pcap is None:
        if ports or flows or any(value is not None for value in (snaplen, at, start, until)):
            raise UsageError("--snaplen and the options --pcap-… need --pcap FILE")
        return None
    return Capture(pcap, ports, flows, at or "both", 128 if snaplen is None else snaplen, start, until)


def executor_options(command: Command) -> Command:
    """Add the options of the executor of replications."""
    for option in (
        click.option(
            "--option",
            "options",
            multiple=True,
            callback=_split,
            metavar="NAME=VALUE",
            help="Slurm: parameter of submitit, such as slurm_partition=long. Dask: TLS file, such as "
            "tls_ca_file=ca.pem. May be repeated.",
        ),
        click.option("--scheduler", metavar="ADDRESS", help="Dask: address of the scheduler, such as tcp://head:8786."),
        click.option(
            "--executor",
            type=click.Choice(["threads", "dask", "mpi", "slurm"]),
            default="threads",
            show_default=True,
            help="Executor of the replications.",
        ),
    ):
        command = option(command)
    return command


@contextmanager
def open_executor(
    name: ExecutorName,
    scheduler: str | None,
    options: Sequence[tuple[str, str]],
    workers: int | None,
    folder: str = ".tailback-slurm",
) -> Iterator[Backend]:
    """Open the executor that the options name, and close it after the context.

    `folder` is the directory of Slurm's jobs. Raises UsageError and ExecutorError as `open_backend`.
    """
    from tailback.run.executors import open_backend

    if name == "dask":
        _hush()
    backend = open_backend(name, workers=workers, scheduler=scheduler, options=dict(options), folder=folder)
    try:
        yield backend
    finally:
        backend.close()


def _hush() -> None:
    """Silence Dask's and Tornado's tracebacks about a lost scheduler, which Tailback reports in one sentence."""
    if os.environ.get("TAILBACK_DEBUG", "") in ("", "0"):
        # Importing Dask sets its log levels, so ours are set afterwards.
        with suppress(ModuleNotFoundError):
            import distributed  # noqa: F401
        for logger in ("distributed", "distributed.client", "distributed.comm", "tornado.application", "asyncio"):
            logging.getLogger(logger).setLevel(logging.CRITICAL)
