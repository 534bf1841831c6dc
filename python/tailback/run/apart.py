"""Calls that execute code of users outside the pool: each in a worker process, if the scenario needs one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tailback import _native
from tailback.errors import RunError
from tailback.laws import workers
from tailback.scenario import Scenario

__all__ = ["apart"]

Value = TypeVar("Value")


def apart(what: str, scenario: Scenario, function: Callable[..., Value], *arguments: object) -> Value:
    """Return the result of a function of a module, called in a worker if the scenario's code of the user needs one.

    Raises RunError with the beginning `what` if the worker crashes or a call of the user's code hangs.
    """
    if not workers.takes(scenario.native):
        return function(*arguments)
    try:
        found: Value = workers.called(_of_worker, function, arguments)
    except workers.WorkerError as error:
        raise RunError(f"{what}: {error}") from error
    return found


def _of_worker(
    function: Callable[..., Value], arguments: tuple[object, ...], cancel: _native.Cancel, progress: object
) -> Value:
    """Call a function without the arguments of a worker's job."""
    del cancel, progress
    return function(*arguments)
