"""Exercises of notebook 12: kernels for a GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.learning.grading import Exercises, Wrong, expect_close

EXERCISES = Exercises()

# ruff: noqa: F821  a kernel finds `cuda` and `np` where it is compiled


def blocks_for(n: int, threads: int) -> int:
    """Return the number of blocks: the quotient, rounded up."""
    return -(-n // threads)


@EXERCISES(
    "12.1", blocks_for, "Rounded up, so that each element has a thread.",
    "10 elements and blocks of 4: two blocks are not enough.",
    "Divide, and round up.",
    "Return -(-n // threads).",
)  # fmt: skip
def grade_blocks(answer: Any) -> None:
    """Test numbers near multiples of the block size, and zero."""
    for n, threads in ((10, 4), (12, 4), (13, 4), (1, 256), (0, 32), (1000, 1)):
        expect_close(answer(n, threads), blocks_for(n, threads), f"blocks_for({n}, {threads})")


def expect_kernel(answer: Any) -> None:
    """Raise Wrong unless the answer is a kernel."""
    if not isinstance(answer, mg.cuda.Kernel):
        raise Wrong("a function decorated with @mg.cuda.kernel was expected")


def on_device(numbers: Sequence[float] | Any) -> Any:
    """Return numbers as a float32 tensor in the device's memory."""
    return mg.tensor(np.asarray(numbers, np.float32), device="cuda")


@mg.cuda.kernel
def backwards(x, out, n):  # type: ignore[no-untyped-def]
    """Write x in reverse order to out, with a grid-stride loop."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x  # type: ignore[name-defined]
    while i < n:
        out[i] = x[n - 1 - i]
        i += cuda.gridDim.x * cuda.blockDim.x  # type: ignore[name-defined]


@EXERCISES(
    "12.2", backwards, "A loop with the stride of the grid works for any grid.",
    "Begin with the loop of saxpy above.",
    "Element i of the result is element n - 1 - i of x.",
    "while i < n: out[i] = x[n - 1 - i]; then go on by gridDim.x * blockDim.x.",
)  # fmt: skip
def grade_backwards(answer: Any) -> None:
    """Raise Wrong unless the answer is right for grids smaller and larger than the work."""
    expect_kernel(answer)
    for n, grid in ((10, (2, 4)), (7, (1, 1)), (5, (3, 8)), (1, (1, 2))):
        x, out = on_device(np.arange(n) + 1.0), on_device(np.full(n, np.nan))
        answer[grid](x, out, n)
        expect_close(out.tolist(), list(range(n, 0, -1)), f"the result for n = {n} and a grid of {grid[0]} x {grid[1]}")


@mg.cuda.kernel
def largest(x, out, n):  # type: ignore[no-untyped-def]
    """Write the largest element to out, with a tree of maxima in shared memory."""
    t = cuda.threadIdx.x  # type: ignore[name-defined]
    values = cuda.shared.array(16, np.float32)  # type: ignore[name-defined]
    values[t] = x[t] if t < n else np.float32(-np.inf)
    cuda.syncthreads()  # type: ignore[name-defined]
    half = 8
    while half > 0:
        if t < half:
            values[t] = max(values[t], values[t + half])
        cuda.syncthreads()  # type: ignore[name-defined]
        half //= 2
    if t == 0:
        out[0] = values[0]


@EXERCISES(
    "12.3", largest, "A tree in shared memory, with a barrier at each step.",
    "Start from sum_of_block. Which lines must change?",
    "Threads beyond n store -inf, and max replaces +.",
    "values[t] = max(values[t], values[t + half]) for t < half; cuda.syncthreads() outside that if.",
)  # fmt: skip
def grade_largest(answer: Any) -> None:
    """Test few and many numbers, the largest at each end, and negative numbers."""
    expect_kernel(answer)
    for numbers in ([3.0], [1.0, 5.0, 2.0], list(range(16)), list(range(16, 0, -1)), [-4.0, -2.5, -3.0]):
        out = on_device([math.nan])
        answer[1, 16](on_device(numbers), out, len(numbers))
        expect_close(out.item(), max(numbers), f"the largest of {numbers}")


@mg.cuda.kernel
def smooth(x, n):  # type: ignore[no-untyped-def]
    """Replace each element by the mean of itself and its two neighbours; all threads read before any writes."""
    t = cuda.threadIdx.x  # type: ignore[name-defined]
    mean = np.float32(0)
    if t < n:
        left = x[t - 1] if t > 0 else x[t]
        right = x[t + 1] if t < n - 1 else x[t]
        mean = (left + x[t] + right) / np.float32(3)
    cuda.syncthreads()  # type: ignore[name-defined]
    if t < n:
        x[t] = mean


@EXERCISES(
    "12.4", smooth, "Read, wait, write.",
    "A thread writes its element while its neighbour may not have read it yet.",
    "Let each thread store its mean in a variable until all have read.",
    "Compute the mean, call cuda.syncthreads() outside any if, then write it.",
)  # fmt: skip
def grade_smooth(answer: Any) -> None:
    """Test blocks without and with idle threads."""
    expect_kernel(answer)
    for numbers, threads in (([1.0, 4.0, 1.0, 10.0], 4), ([3.0, 0.0, 6.0], 16), ([5.0], 2)):
        x = on_device(numbers)
        answer[1, threads](x, len(numbers))
        padded = [numbers[0], *numbers, numbers[-1]]
        want = [sum(padded[k : k + 3]) / 3 for k in range(len(numbers))]
        expect_close(x.tolist(), want, f"the means of {numbers} by {threads} threads", 1e-5)
