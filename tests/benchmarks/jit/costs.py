"""The other costs of a program: its rows, its guards, a new batch size, its memory, and calls next to a busy core.

    python -m tests.benchmarks.jit.costs PART

prints the lines of one part; `report` runs each part in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from tempfile import TemporaryDirectory
from typing import Any

import minigrad as mg
from minigrad.core.allocator import get_allocator
from minigrad.jitting.guards import names_of_arguments, write_attempt
from tests.benchmarks.jit import steps
from tests.benchmarks.jit.rows import ROWS, step_of
from tests.benchmarks.jit.workers import started
from tests.benchmarks.report import duration
from tests.benchmarks.timing import in_turns, measure

ROW_GOAL, GUARD_GOAL, BATCH_GOAL = 25e-9, 3e-6, 20e-3  # seconds
BUSY_GOAL = 1.5  # the time of a program next to a busy core, relative to eager mode
SHORT, LONG = 20, 220  # launches of two programs, whose times differ by that of their rows
FULL, OTHER = 64, 48  # batch sizes
SHARED = ("attention (4, 4, 64, 32)", "MLP 784-512-512-10, batch 64", "digits_cnn.py, batch 64")
PATIENCE = 60.0  # seconds for which the first calls wait for the fused form
SPIN = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


def report() -> None:
    """Print the other costs, each with its goal."""
    print("", "other costs of programs; goals in brackets:", sep="\n", flush=True)
    for part in PARTS:
        with TemporaryDirectory() as folder:
            environment = {"NUMBA_NUM_THREADS": "1"}
            # The first calls need kernels that were never compiled; the other parts need all kernels at once.
            environment |= {"MINIGRAD_CACHE_DIR": folder} if part == "first" else {"MINIGRAD_COMPILE_AHEAD": "0"}
            subprocess.run([sys.executable, "-m", __name__, part], env=os.environ | environment, check=True)
    for line in next_to_a_busy_core():
        print(line, flush=True)


def fulfilled(name: str, seconds: float, goal: float) -> str:
    """Return the line of a time that should be at most `goal`."""
    return f"{name:<64}{duration(seconds):>10} ({duration(goal)}{'!' if seconds > goal else ''})"


# ---- the parts


def rows() -> Iterator[str]:
    """Yield the time of a row, from programs of many launches on 16 elements that are not fused."""

    def chain(launches: int) -> Callable[[], Any]:
        def step(x: Any) -> Any:
            for _ in range(launches):
                x = x * 1.01
            return x

        made, x = mg.jit(step, fuse=False), mg.ones(16)
        return lambda: made(x)

    short, long = measure([chain(SHORT), chain(LONG)], 0.5)
    each = (long.median - short.median) / (LONG - SHORT)
    yield fulfilled("a row of a program, an elementwise launch on 16 elements", each, ROW_GOAL)


def guards() -> Iterator[str]:
    """Yield the time of the comparisons before a training step."""
    *parameters, x, labels = steps.layers(64, 128, 10)
    step, data = steps.perceptron_of(mg.jit, parameters), (mg.tensor(x), mg.tensor(labels))
    for _ in range(3):
        step(*data)
    entry = step.last  # type: ignore[attr-defined]
    compare = write_attempt(entry, names_of_arguments(entry, data), entry.condition, ["return None"])
    (times,) = measure([lambda: compare(*data)], 0.3)
    yield fulfilled("the guards of the step of the MLP 64-128-10", times.median, GUARD_GOAL)


def batches() -> Iterator[str]:
    """Yield the times of the first calls with a new batch size, and of the first calls before."""
    *parameters, x, labels = steps.layers(64, 128, 10, batch=FULL)
    step = steps.perceptron_of(mg.jit, parameters)
    for n in (FULL, OTHER):
        data = mg.tensor(x[:n]), mg.tensor(labels[:n])
        taken = [clocked(step, *data) for _ in range(3)]
    yield fulfilled("the second call with a new batch size, which records and fuses", taken[1], BATCH_GOAL)
    yield f"the first and the third call with it: {duration(taken[0])} and {duration(taken[2])}"


def clocked(function: Callable[..., Any], *args: Any) -> float:
    """Return the seconds of a call."""
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


def memory() -> Iterator[str]:
    """Yield the memory of the temporaries of a program, which should be at most the peak of a step in eager mode."""
    for name in ("MLP 64-128-10, batch 64", "attention (4, 4, 64, 32)", "10 ops with gradient on 1e6"):
        eager, _ = used(step_of("eager", name))
        peak, results = used(step_of("jit", name))
        most = f"eager peak {eager / 1e3:.0f} KB{'!' if peak - results > eager else ''}"
        own = f"{(peak - results) / 1e3:>7.0f} KB ({most}); {peak / 1e3:.0f} KB with the results"
        yield f"{f'temporaries of {name}':<64}{own}"


def used(step: Callable[[], Any]) -> tuple[int, int]:
    """Return the greatest number of bytes that tensors have during a step, and the bytes of its results."""
    allocator: Any = get_allocator("cpu")
    for _ in range(3):
        step()
    before = allocator.stats().allocated_bytes
    allocator.reset_peak()
    results = step()
    after = allocator.stats()
    del results
    return after.peak_bytes - before, after.allocated_bytes - before


def first() -> Iterator[str]:
    """Yield the times of the first calls of a function whose fused kernels are not compiled."""
    x = mg.Var(steps.normal((3,))[0])

    def function(x: Any) -> Any:
        y = steps.polynomial(x)
        return y, mg.grad(y, x)

    function(x)  # compiles the kernels of eager mode
    start = time.perf_counter()
    step: Any = mg.jit(function)
    taken = [clocked(step, x) for _ in range(3)]
    waits = step.last.exchange is not None
    while step.last.exchange is not None and time.perf_counter() < start + PATIENCE:
        step(x)
        time.sleep(0.01)
    after = time.perf_counter() - start
    yield (
        f"the first calls of simple_grad take {', '.join(map(duration, taken))}, "
        + ("before" if waits else "after (!)")
        + f" its fused kernel is compiled; it is fused after {duration(after)}"
    )


PARTS = {part.__name__: part for part in (rows, guards, batches, memory, first)}


# ---- the busy core


def next_to_a_busy_core() -> Iterator[str]:
    """Yield the ratio of the times of a program and of eager mode on two threads, while a process uses a core."""
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        yield "next to a busy core: not measured, because this needs Linux and two cores"
        return
    core = sorted(os.sched_getaffinity(0))[1]
    busy = subprocess.Popen([sys.executable, "-c", SPIN, str(core)])
    try:
        for name in SHARED:
            assert name in ROWS
            with started(name, 2, ["eager", "jit"]) as (workers, absent):
                yield from absent
                eager, program = in_turns([workers[each].batch for each in ("eager", "jit")], 1.0, (15, 31))
            share = program.median / eager.median
            times = f"{duration(program.median)} and {duration(eager.median)}"
            yield (
                f"{f'{name}, 2 threads next to a busy core':<64}{share:>8.2f} of eager "
                f"({BUSY_GOAL:g}{'!' if share > BUSY_GOAL else ''}; {times})"
            )
    finally:
        busy.kill()
        busy.wait()


if __name__ == "__main__":
    for text in PARTS[sys.argv[1]]():
        print(text, flush=True)
