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
EXIT_USAGE = 2
EXIT_SCENARIO = 3
EXIT_RUN = 4
EXIT_CLAIM = 5
EXIT_INTERRUPTED = 130


def unreadable(file: str, message: str, suggestion: str) -> ScenarioError:
    """Return the error of a document that is not readable text, with the attributes of all others."""
    error = ScenarioError(f"{file}: {message}; {suggestion}")
    error.message, error.path, error.line, error.column, error.suggestion = message, "", None, None, suggestion
    error.rendered = f"error: {message}\n  --> {file}\n   = help: {suggestion}\n"
    keys = ("message", "path", "line", "column", "suggestion", "rendered")
    error.problems = [{key: getattr(error, key) for key in keys}]
    return error


class TailbackError(Exception):
    """Base of the errors that Tailback raises itself; `ScenarioError` is the other one."""

    exit_code = EXIT_RUN


class UsageError(TailbackError):
    """A call or command that makes no sense, such as an unknown experiment."""

    exit_code = EXIT_USAGE


class RunError(TailbackError):
    """A run that could not be completed."""


class ExecutorError(RunError):
    """Loss of the executor: a pool that broke, a scheduler that is gone, a job that was refused."""


class OutputError(RunError):
    """Results that could not be written, or read again: no room, no permission, something in the way, or damage."""
