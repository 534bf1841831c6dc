"""Executors of replications. Each one speaks the protocol of `concurrent.futures`.

Local threads are the default: the core runs without the interpreter's lock. Beyond one machine there are Dask, MPI and
Slurm, each an optional extra whose package is imported on use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from tailback.errors import UsageError
from tailback.run.executors.backend import Backend, default_threads, given, threads

__all__ = ["NAMES", "Backend", "ExecutorName", "default_threads", "given", "open_backend", "threads"]

ExecutorName = Literal["threads", "dask", "mpi", "slurm"]
NAMES: tuple[ExecutorName, ...] = get_args(ExecutorName)


def open_backend(
    name: ExecutorName = "threads",
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    folder: str = ".tailback-slurm",
    options: Mapping[str, str] | None = None,
) -> Backend:
    """Open an executor by its name; the caller closes it.

    Args:
        name: "threads", "dask", "mpi" or "slurm".
        workers: Threads, or Slurm jobs at a time. MPI and Dask have as many as they were started with.
        scheduler: Of Dask: its address, such as "tcp://head:8786".
        folder: Of Slurm: where jobs and their logs are kept; a place that all nodes see.
        options: Of Slurm: parameters of submitit, such as {"slurm_partition": "long"}. Of Dask: the files of its
            TLS, such as {"tls_ca_file": "ca.pem"}.

    Raises:
        UsageError: The package is missing, or the options are not valid for this executor.
        ExecutorError: The scheduler does not answer.

    """
    if scheduler is not None and name != "dask":
        raise UsageError(f"--scheduler is the address of a Dask scheduler; the executor is {name}")
    if options and name not in ("dask", "slurm"):
        raise UsageError(f"options are for the executors dask and slurm; this is {name}")
    if workers is not None and name in ("dask", "mpi"):
        raise UsageError(f"the number of workers of {name} is that which it was started with")
    if name == "dask":
        from tailback.run.executors.dask import open_dask

        return open_dask(scheduler, options or {})
    if name == "mpi":
        from tailback.run.executors.mpi import open_mpi

        return open_mpi()
    if name == "slurm":
        from tailback.run.executors.slurm import open_slurm

        return open_slurm(folder, workers or 100, options or {})
    return threads(workers)
