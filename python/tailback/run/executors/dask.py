"""Executor of a Dask cluster: one scheduler, and workers on any number of machines."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailback.errors import ExecutorError, UsageError
from tailback.run.executors.backend import REMOTE_BATCH_S, Backend, missing

__all__ = ["open_dask"]

_WAIT_S = 30.0
"""Maximum wait for the scheduler's first answer, and maximum time without any worker, s."""

_LOOK_S = 5.0
"""Minimum interval between counts of the workers, s."""

_RETRIES = 3
"""Number of retries of a task whose worker died."""


_TLS = ("tls_ca_file", "tls_client_cert", "tls_client_key")
"""Options of a TLS connection, named as in `distributed.Security`; their values are paths."""


def open_dask(address: str | None, options: Mapping[str, str]) -> Backend:
    """Connect to a scheduler and return its backend.

    Options are the TLS files `tls_ca_file`, `tls_client_cert` and `tls_client_key`, which encrypt all traffic.

    Raises:
        UsageError: The address is missing, an option is wrong, or the package is missing.
        ExecutorError: The scheduler does not answer, or has no worker within 30 s.

    """
    if address is None:
        raise UsageError("the executor dask needs --scheduler with an address, such as tcp://127.0.0.1:8786")
    if unknown := sorted(set(options) - set(_TLS)):
        raise UsageError(f"{unknown[0]} is not an option of dask; the options are {', '.join(_TLS)}")
    for name, file in options.items():
        if not Path(file).is_file():
            raise UsageError(f"{name}={file}: there is no such file")
    if options and not address.startswith("tls://"):
        raise UsageError(f"TLS files need an address that begins with tls://, not {address}")
    try:
        from distributed import Client
        from distributed.security import Security
    except ModuleNotFoundError as error:
        raise missing(error, "dask") from None
    # Any: the package has few type annotations.
    security: Any = Security(require_encryption=True, **options) if options else None  # type: ignore[no-untyped-call]
    try:
        client: Any = Client(address, timeout=_WAIT_S, set_as_default=False, security=security)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ExecutorError(f"no Dask scheduler answers at {address}: {error}") from error
    # With pure=False, Dask neither merges tasks with equal arguments nor caches results.
    executor = client.get_executor(pure=False, retries=_RETRIES)
    workers = _Workers(client, address)
    try:
        workers.wait_for_first()
    except BaseException:
        client.close(timeout=2)
        raise
    return Backend(
        executor,
        slots=workers.slots,
        batch_s=REMOTE_BATCH_S,
        check=workers.check,
        close=lambda: client.close(timeout=2),
    )


class _Workers:
    """Counts the threads of all workers of a scheduler, at most every `_LOOK_S`."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address
        self._count = 0
        self._counted_at = 0.0
        self._last_worker_at = time.monotonic()

    def wait_for_first(self) -> None:
        self.check()
        while not self._count:
            time.sleep(0.2)
            self._counted_at = 0.0
            self.check()

    def slots(self) -> int:
        return max(self._count, 1)

    def check(self) -> None:
        if self._client.status != "running":
            raise ExecutorError(f"the connection to the Dask scheduler at {self._address} is closed")
        now = time.monotonic()
        if now - self._counted_at < _LOOK_S:
            return
        self._counted_at = now
        try:
            cores: dict[str, int] = self._client.nthreads()
        except Exception as error:
            # Dask raises exceptions of many types for a lost connection.
            raise ExecutorError(f"the Dask scheduler at {self._address} does not answer: {error}") from error
        self._count = sum(cores.values())
        if self._count:
            self._last_worker_at = time.monotonic()
        elif now - self._last_worker_at > _WAIT_S:
            raise ExecutorError(f"the Dask scheduler at {self._address} has had no worker for {_WAIT_S:.0f} s")
