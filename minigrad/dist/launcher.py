"""`python -m minigrad run -n N script.py ...`: start a script in N processes, and report which process failed.

`mpiexec` starts the processes, each through `python -m mpi4py`, so that an exception in one process ends all of them.
The CPU cores are divided among the processes: each process compiles its loops for cores / N threads.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from minigrad.dist.group import ADVICE, is_available

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
