"""A process for each library: it holds a step that is ready to run, and runs batches of calls when it is told to.

Threads of one library would disturb the next one in the same process.  The processes of a row with one thread share one
core, because XLA uses every core that it may use.

    python -m tests.benchmarks.jit.workers LIBRARY ROW THREADS FILE

writes the results of the first calls into a file, prints one line, and then answers each count of calls that it reads
with the seconds per call.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.benchmarks.jit.rows import step_of
from tests.benchmarks.timing import WARM, one_batch

CALLS = 5  # whose results are compared: minigrad runs the first eagerly and records the second
# Seconds of calls before a batch on several threads.  If threads wake up late after a pause, minigrad runs kernels on
# one thread for 50 ms, but a training has no such pauses.
WARM_THREADS = 0.1
PATIENCE = 60.0  # seconds until a step has to be ready


class Absent(Exception):
    """Raised if a library cannot run a step; the message is a sentence."""


class Worker:
    """The process of a library.

    results: the arrays that its first calls have returned, in order.  firsts: the seconds of these calls.
    """

    def __init__(self, library: str, row: str, threads: int, folder: Path) -> None:
        file = folder / f"{library}.npz"
        command = [sys.executable, "-m", __name__, library, row, str(threads), str(file)]
        # A step of minigrad is timed in its fused form, so the second call compiles it.
        environment = {"NUMBA_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        environment |= {"MINIGRAD_COMPILE_AHEAD": "0"}
        self.process = subprocess.Popen(
            command, env=os.environ | environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        sentence = self.answer()
        if sentence is not None:
            self.close()
            raise Absent(sentence)
        with np.load(file) as stored:
            self.firsts, *self.results = [stored[f"arr_{k}"] for k in range(len(stored.files))]

    def batch(self, count: int) -> float:
        """Return the seconds per call of a batch of calls."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return float(self.answer())

    def answer(self) -> Any:
        """Return the next line of the process."""
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        return json.loads(text) if text else f"the process ended with {self.process.wait()}"

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def started(row: str, threads: int, libraries: Sequence[str]) -> Iterator[tuple[dict[str, Worker], list[str]]]:
    """Start a process for each library; yield those that are ready, and a sentence for each other library."""
    workers: dict[str, Worker] = {}
    absent: list[str] = []
    with TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        for library in libraries:
            try:
                workers[library] = worker = Worker(library, row, threads, Path(folder))
            except Absent as reason:
                absent.append(f"{row}: {library} is left out: {reason}")
                continue
            stack.callback(worker.close)
        yield workers, absent


# ---- the process


def host(x: Any) -> np.ndarray:
    """Return a result of any library as an array of its own."""
    return np.array(x.detach().numpy() if hasattr(x, "detach") else x, np.float64)


def main(library: str, row: str, threads: str, file: str) -> None:
    """Make a step ready, and answer counts of calls with times."""
    say = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # a library that prints must not disturb the answers

    def give_up() -> None:
        say.write(json.dumps(f"it was not ready after {PATIENCE:.0f} s") + "\n")
        say.flush()
        os._exit(1)

    alarm = threading.Timer(PATIENCE, give_up)
    alarm.daemon = True
    alarm.start()
    try:
        step = step_of(library, row)
        results, clock = [], [time.perf_counter()]
        for _ in range(CALLS):
            results.append([host(x) for x in step()])
            clock.append(time.perf_counter())
    except Exception as error:
        say.write(json.dumps(f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}") + "\n")
        return
    alarm.cancel()
    np.savez(file, np.diff(clock), *[x for call in results for x in call])
    gc.collect()
    gc.disable()
    say.write("null\n")
    for text in sys.stdin:
        say.write(f"{one_batch(step, int(text), WARM if threads == '1' else WARM_THREADS)}\n")


def pin(threads: int) -> None:
    """Let this process use as many cores as it has threads, the same ones as other processes."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


if __name__ == "__main__":
    pin(int(sys.argv[3]))
    main(*sys.argv[1:5])
