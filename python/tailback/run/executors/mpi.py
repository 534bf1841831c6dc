"""MPI executor; `mpiexec -n 9 python -m mpi4py.futures -m tailback sweep STUDY.toml --executor mpi` has 8 workers."""

from __future__ import annotations

from tailback.errors import UsageError
from tailback.run.executors.backend import REMOTE_BATCH_S, Backend, missing

__all__ = ["open_mpi"]


def open_mpi() -> Backend:
    """Return the backend of the MPI ranks with which this program was started; all ranks but this one are workers.

    Raises UsageError if there is only one rank, mpi4py is missing, or MPI does not start. If a rank dies, MPI ends the
    whole program; results on disk are kept, and the same command resumes from them.
    """
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPIPoolExecutor
    except ModuleNotFoundError as error:
        raise missing(error, "mpi") from None
    except (ImportError, RuntimeError) as error:
        raise UsageError(f"MPI does not start: {error}; install an MPI, such as Open MPI or MPICH") from None
    if MPI.COMM_WORLD.Get_size() < 2:
        raise UsageError(
            "this program is the only MPI process; start it as "
            "`mpiexec -n 4 python -m mpi4py.futures -m tailback sweep STUDY.toml --executor mpi`, which has 3 workers"
        )
    executor = MPIPoolExecutor()
    count = MPI.COMM_WORLD.Get_size() - 1
    return Backend(
        executor,
        slots=lambda: count,
        batch_s=REMOTE_BATCH_S,
        close=lambda: executor.shutdown(wait=True, cancel_futures=True),
    )
