"""Errors of the package, each with the exit code of the command line."""

from __future__ import annotations

from tailback._native import Cancelled, ScenarioError

__all__ = [
    "EXIT_CLAIM",
    "EXIT_INTERRUPTED",
    "EXIT_OK",
    "EXIT_RUN",
    "EXIT_SCENARIO",
    "EXIT_USAGE",
    "Cancelled",
    "ExecutorError",
    "OutputError",
    "RunError",
    "ScenarioError",
    "TailbackError",
    "UsageError",
    "unreadable",
]

EXIT_OK = 0
"""Exit code of success."""
EXIT_USAGE = 2
"""Exit code of a wrong call: an unknown command, option, kind or experiment, or a value out of range."""
EXIT_SCENARIO = 3
"""Exit code of an invalid document or configuration; with `--strict`, also of one with warnings."""
EXIT_RUN = 4
"""Exit code of a failed run, a lost executor, or results that could not be written or read."""
EXIT_CLAIM = 5
"""Exit code of a claim or target that is not met, or of too many undecided claims."""
EXIT_INTERRUPTED = 130
"""Exit code after Ctrl-C or SIGTERM: 128 plus the number of SIGINT, as shells report it."""


def unreadable(file: str, message: str, suggestion: str) -> ScenarioError:
    """Return the ScenarioError of a document that cannot be read as text; it has the attributes of the core's errors.

    Line and column are `None`, and the path of the key is empty.
    """
    error = ScenarioError(f"{file}: {message}; {suggestion}")
    error.message, error.path, error.line, error.column, error.suggestion = message, "", None, None, suggestion
    error.rendered = f"error: {message}\n  --> {file}\n   = help: {suggestion}\n"
    keys = ("message", "path", "line", "column", "suggestion", "rendered")
    error.problems = [{key: getattr(error, key) for key in keys}]
    return error


class TailbackError(Exception):
    """Base of Tailback's errors except `ScenarioError`, which is a ValueError."""

    exit_code = EXIT_RUN
    """Exit code of the command line after this error."""


class UsageError(TailbackError):
    """A wrong call or command, such as an unknown experiment or a number out of range."""

    exit_code = EXIT_USAGE


class RunError(TailbackError):
    """A run that could not be completed."""


class ExecutorError(RunError):
    """A failed executor: a broken pool, a scheduler that does not answer, or a job that was rejected."""


class OutputError(RunError):
    """Results that could not be written or read: disk full, no permission, path in use, or damaged file."""
