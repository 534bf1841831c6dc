"""The command line: its entry point `main`, and the table of commands, which are in the other modules of the package.

The module of a command is imported when the command is called, and Polars and matplotlib only when results are written
or drawn, so that `tailback --help` answers at once. Commands share the modules `options` and `output`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from tailback import _native
from tailback.cli.output import print_error
from tailback.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_RUN, EXIT_SCENARIO, EXIT_USAGE, ScenarioError, TailbackError

__all__ = ["main"]

COMMANDS = {
    "list": ("inspect", "list_", "List experiments, benchmark workloads and registered kinds."),
    "validate": ("inspect", "validate", "Check a scenario or study file and show its errors and warnings."),
    "schema": ("inspect", "schema", "Print the JSON Schema of scenario or study files."),
    "explain": ("inspect", "explain", "Explain a kind, such as uniform-uniform, or an experiment."),
    "run": ("simulate", "run", "Run a scenario and show loss, delay and throughput."),
    "sweep": ("sweep", "sweep", "Run a study or a grid of settings; resume it where it stopped."),
    "compare": ("simulate", "compare", "Compare two runs or scenarios, paired by seed."),
    "plot": ("draw", "plot", "Draw a run directory, a sweep, or the network of a scenario."),
    "lab": ("lab", "lab", "Open a page in which the simulator runs: moving queues, plots, values to change."),
    "report": ("draw", "report", "Write the page of a run directory or a sweep, with charts to zoom into."),
    "flent": ("draw", "flent", "Write the samples of a run as a data file of flent."),
    "trace": ("trace", "trace", "Show, filter, verify or export a packet trace."),
    "why": ("why", "why", "Explain why a packet was late or dropped, or what filled a queue."),
    "import": ("router", "import_", "Make a scenario from a router's configuration, such as Cisco MQC or Linux tc."),
    "export": ("router", "export", "Write a scenario's policy as Cisco MQC or Linux tc."),
    "verdict": ("router", "verdict", "Compare delay, loss and jitter of a router policy's classes with their targets."),
    "tune": ("tune", "tune", "Search for the cheapest settings that meet targets."),
    "new": ("laws", "new", "Write a component to begin with, such as a queue law, its tests and a scenario."),
    "check": ("laws", "check", "Check a component of your own: promises of its interface, repeatable results."),
    "evaluate": ("evaluate", "evaluate", "Characterise a discipline or a congestion control by IETF guidelines."),
    "witness": ("witness", "witness", "Run a scenario on a Linux kernel in virtual time, and compare the results."),
    "watch": ("watch", "watch", "Compare each interval with service levels; forecast when they are violated."),
    "reproduce": ("gallery", "reproduce", "Reproduce published figures and check their claims."),
    "headroom": ("tools", "headroom", "Compute the buffer headroom that back-pressure needs."),
    "bench": ("tools", "bench", "Measure packet-hops per second of processor time."),
    "completion": ("tools", "completion", "Print the completion script of a shell."),
}
"""Module, function and line in `--help` of each command, by name; `--help` imports no module of a command."""


class _Lazy(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, function, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"tailback.cli.{module}"), function)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            advice = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{advice}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="""\b
Examples:
  tailback reproduce lan --quick --out out     figures and claims of the LAN slides
  tailback run scenario.toml --reps 10         losses and delays with intervals
  tailback validate scenario.toml              errors with their places and corrections
  tailback explain self-similar                a traffic model and its parameters

\b
Exit codes: 0 success, 2 wrong usage, 3 invalid scenario, 4 run or output failed,
5 a claim failed, 130 interrupted (finished runs are kept).""",
)
@click.version_option(_native.version, message="tailback %(version)s")
def cli() -> None:
    """Tailback, a packet-level network simulator."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code; an error shows a traceback only with TAILBACK_DEBUG=1.

    `arguments` are those after the name of the program; `None`: those of the process.
    """
    # Job schedulers, service managers and containers stop a program by SIGTERM, which is handled as Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = _main(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does. Without this, the flush at exit would print an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = EXIT_OK
    sys.exit(code)


def _main(arguments: Sequence[str] | None) -> int:
    try:
        code = cli.main(
            args=None if arguments is None else list(arguments), prog_name="tailback", standalone_mode=False
        )
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print_error("interrupted")
        return EXIT_INTERRUPTED
    except ScenarioError as error:
        print_error(error.rendered.removeprefix("error: "))
        return EXIT_SCENARIO
    except TailbackError as error:
        if _debugging():
            raise
        print_error(str(error))
        return error.exit_code
    except BrokenPipeError:
        raise
    except SystemExit:
        # click (with standalone_mode=False) and rich raise this only for a pipe without a reader.
        raise BrokenPipeError from None
    except Exception as error:
        if _debugging():
            raise
        print_error(f"{type(error).__name__}: {error} (set TAILBACK_DEBUG=1 to see where)")
        return EXIT_USAGE if isinstance(error, ValueError) else EXIT_RUN
    except BaseException as error:
        # A panic of the Rust core is a BaseException, but not an Exception.
        if type(error).__module__ != "pyo3_runtime" or _debugging():
            raise
        print_error(f"this is a bug of Tailback: {error} (please report it, with the output under TAILBACK_DEBUG=1)")
        return EXIT_RUN
    return code if isinstance(code, int) else EXIT_OK


def _debugging() -> bool:
    return os.environ.get("TAILBACK_DEBUG", "") not in ("", "0")
