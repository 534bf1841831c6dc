"""Executors of replications, with the interface of `concurrent.futures`.

Threads of this process are the default, since the core releases the GIL. Dask, MPI and Slurm use several machines; each
needs an optional extra, which is imported on use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from tailback.errors import UsageError
from tailback.run.executors.backend import Backend, default_threads, given, threads

__all__ = ["NAMES", "Backend", "ExecutorName", "default_threads", "given", "open_backend", "threads"]

ExecutorName = Literal["threads", "dask", "mpi", "slurm"]
"""Name of an executor, as for `--executor`."""
NAMES: tuple[ExecutorName, ...] = get_args(ExecutorName)
"""Names of all executors."""


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
        workers: Number of threads (default: one per processor), or maximum number of concurrent Slurm jobs (default:
            100). Not for Dask and MPI, which have the workers with which they were started.
        scheduler: Dask: address of the scheduler, such as "tcp://head:8786".
        folder: Slurm: directory of jobs and their logs, on a file system that all nodes share.
        options: Slurm: parameters of submitit, such as {"slurm_partition": "long"}. Dask: TLS files, such as
            {"tls_ca_file": "ca.pem"}.

    Raises:
        UsageError: The package is missing, or the options are not valid for this executor.
        ExecutorError: The scheduler does not answer.

    """
    if scheduler is not None and name != "dask":
        raise UsageError(f"--scheduler needs the executor dask; the executor is {name}")
    if options and name not in ("dask", "slurm"):
        raise UsageError(f"--option needs the executor dask or slurm; the executor is {name}")
    if workers is not None and name in ("dask", "mpi"):
        raise UsageError(f"--threads has no effect on {name}: start {name} with the number of workers that you need")
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
