"""Groups of processes: collectives, data parallel training, and the other processes when one of them dies.

`make test-mpi` installs mpi4py and Open MPI and runs these; without them they are skipped.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import minigrad as mg
from minigrad.dist.group import cause, mpiexec

PROGRAM = Path(__file__).resolve().parent.parent / "dist_program.py"
TRAINING = PROGRAM.with_name("dist_training.py")
ROOT = PROGRAM.parent.parent
needs_mpi = pytest.mark.skipif(
    not mg.dist.is_available() or mpiexec() is None, reason="mpi4py or mpiexec is not installed; see `make test-mpi`"
)


def started(count: int, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-m", "minigrad", "run", "-n", str(count), str(PROGRAM), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.mpi
@needs_mpi
@pytest.mark.parametrize("count", [2, 3])
def test_processes_agree(count: int) -> None:
    done = started(count, "collectives,gradients,accumulation,unused,buffers,unlike,sampler,checkpoints,synchronized")
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.mpi
@needs_mpi
@pytest.mark.parametrize(("how", "said"), [
    ("raise", "rank 1 ended with an exception or exit status 1"),
    ("exit", "rank 1 ended with an exception or exit status 3"),
    ("kill", r"was ended by signal 9 (SIGKILL)"),
])  # fmt: skip
def test_a_process_that_dies_ends_the_job_and_is_named(how: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "died"
    done = started(2, "death", how, DIED=str(file))
    assert done.returncode and time.time() - float(file.read_text()) < 5
    assert said in done.stderr and "the job of 2 has ended" in done.stderr


@pytest.mark.parametrize(("report", "said"), [
    ("prterun noticed that process rank 1 with PID 42 on node vm exited on\nsignal 9 (Killed).", "rank 1 (pid 42) was"),
    ("   Process name: [prterun-vm-1@1,3]\n   Exit code:    7\n", "rank 3 ended with exit status 7"),
    ("application called MPI_Abort(MPI_COMM_WORLD, 5) - process 2", "rank 2 ended with an exception or exit status 5"),
    ("=   PID 77 RUNNING AT host\n=   EXIT CODE: 9\n", "the process with pid 77 ended with status 9"),
    ("", "a process failed"),
])  # fmt: skip
def test_the_report_of_a_launcher_tells_which_process_failed(report: str, said: str) -> None:
    assert cause(report).startswith(said)


def test_the_package_is_the_function_too() -> None:
    assert mg.dist(mg.tensor([3.0]), mg.tensor([7.0])).item() == 4.0
    assert mg.distributed.all_reduce is mg.dist.all_reduce and mg.nn.parallel.DistributedDataParallel is not None


@pytest.mark.skipif(mg.dist.is_available(), reason="mpi4py is installed")
def test_without_mpi4py_an_error_says_what_to_install() -> None:
    with pytest.raises(mg.GroupError, match="mpi4py is not installed; install"):
        mg.dist.get_rank()


def test_arguments_are_checked() -> None:
    with pytest.raises(mg.ArgumentError, match="must be None or a communicator"):
        mg.dist.get_rank(3)
    with pytest.raises(mg.ArgumentError, match="op must be a ReduceOp or one of 'sum'"):
        mg.dist.collectives.reduction("median")


# ---- a training that is killed --------------------------------------------------------------------------------------

EPOCHS = 6


def training(folder: Path, pause: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "minigrad", "run", "-n", "2", str(TRAINING), str(folder), str(EPOCHS), str(pause)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def processes_of(folder: Path) -> list[int]:
    """The processes of the training of a folder that Python runs, and not their launcher."""
    numbers = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = entry.read_bytes().split(b"\0")
            if str(folder).encode() in words and b"mpi4py" in words and b"-n" not in words:
                numbers.append(int(entry.parent.name))
    return numbers


def killed_and_resumed(folder: Path, draw: random.Random, kills: int, pause: float) -> tuple[str, int]:
    """Kill one process of a training at a random moment, some times, and return its end and the kills."""
    died = 0
    while True:
        before = set(os.listdir(folder)) if folder.is_dir() else set()
        job = training(folder, pause if died < kills else 0.0)
        if died < kills:
            start = time.monotonic()
            while job.poll() is None and time.monotonic() - start < 60:
                if folder.is_dir() and set(os.listdir(folder)) - before:
                    break
                time.sleep(0.005)
            time.sleep(draw.uniform(0.0, 0.5))
            if victims := processes_of(folder):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(draw.choice(victims), signal.SIGKILL)
        last = job.communicate(timeout=120)[0].strip()
        if job.returncode == 0:
            return last, died
        died += 1


@pytest.mark.mpi
@needs_mpi
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are found in /proc")
def test_a_training_of_two_processes_that_is_killed_ends_with_the_same_bits(tmp_path: Path) -> None:
    whole = training(tmp_path / "whole", 0.0).communicate(timeout=120)[0].strip()
    last, died = killed_and_resumed(tmp_path / "run", random.Random(0), 2, 0.05)
    assert last == whole != "" and died >= 1 and len(set(whole.split())) == 2
    assert all(name.startswith("checkpoint-") for name in os.listdir(tmp_path / "run"))


if __name__ == "__main__":  # how many times a training is killed: `python -m tests.dist.test_dist 50`
    draw, total, right, runs = random.Random(1), 0, 0, 0
    reference = training(Path(tempfile.mkdtemp()) / "whole", 0.0).communicate()[0].strip()
    while total < int(sys.argv[1]):
        end, count = killed_and_resumed(Path(tempfile.mkdtemp()) / "run", draw, 5, 0.05)
        total, right, runs = total + count, right + (end == reference), runs + 1
        print(f"killed {total} times, {right} of {runs} trainings ended with the same bits", flush=True)
