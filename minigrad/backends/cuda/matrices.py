"""Simulated instructions for tensor cores: asynchronous copies, and matrices of a warp.

The target of a copy counts as unwritten until its thread has waited for the copy.  So the simulator reports a thread
that reads too early, and also a thread that reads after the wait without a barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALL_LANES = 0xFFFFFFFF
# Functions that all threads of a warp call together.
TOGETHER = {"ldmatrix", "ldmatrix_turned", "mma_float16", "mma_bfloat16"}
GROUP = 8  # 16-bit elements in one copy, and in a row of a matrix

Bits = NDArray[np.uint16]


def instructions(words: Any) -> dict[str, Callable[..., Any]]:
    """Return the functions of `native.py` for matrices."""

    def together(what: str, value: Any) -> None:
        words.block.meet((what, ALL_LANES), value, 3)

    def copy_async(array: Any, to: Any, p: Any, i: Any, n: Any) -> None:
        values = p.load(i, GROUP) if n else (0,) * GROUP
        array.aligned(to, GROUP)
        for k in range(GROUP):
            array.promise(to + k)
        groups_of(words)[-1].append((array, to, values))

    def copies_landed(most: int) -> None:
        groups = groups_of(words)
        while len(groups) - 1 > most:
            for array, to, values in groups.pop(0):
                array.store(to, values)

    result: dict[str, Callable[..., Any]] = {
        "copy_async": copy_async,
        "copies_sent": lambda: groups_of(words).append([]),
        "copies_landed_0": lambda: copies_landed(0),
        "copies_landed_1": lambda: copies_landed(1),
    }
    for name in TOGETHER:
        brings = (lambda a, i: a.load(i, GROUP)) if name.startswith("ldmatrix") else (lambda *registers: registers)
        result[name] = lambda *args, name=name, brings=brings: together(name, brings(*args))
    return result


def groups_of(words: Any) -> list[list[Any]]:
    """Return the groups of pending copies of the current thread; the last group is still open."""
    result: list[list[Any]] = words.block.copies.setdefault(words.access.thread, [[]])
    return result


def results(what: str, values: Mapping[int, Any]) -> dict[int, Any]:
    """Return the result for each lane of a warp, computed from the values of all lanes."""
    return loaded(what, values) if what.startswith("ldmatrix") else multiplied(what, values)


def loaded(what: str, values: Mapping[int, Any]) -> dict[int, Any]:
    """Return four matrices, as pairs of elements per lane.

    Lane 8 * j + r has loaded row r of matrix j.
    """
    four = np.array([values[lane] for lane in range(32)], np.uint16).reshape(4, 8, 8)
    if what.endswith("turned"):
        four = four.transpose(0, 2, 1)
    # The dims are (matrix, row, pair); the first element of a pair is in the low 16 bits.
    pairs = np.ascontiguousarray(four).view(np.uint32)
    return {lane: tuple(pairs[:, lane // 4, lane % 4]) for lane in range(32)}


def multiplied(what: str, values: Mapping[int, Any]) -> dict[int, Any]:
    """Return c + a @ b. Source: PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type"."""
    words = np.array([values[lane][:6] for lane in range(32)], np.uint32)
    halves = words.view(np.uint16).reshape(32, 6, 2)  # the dims are (lane, register, low or high 16 bits)
    a, b = np.zeros((16, 16), np.uint16), np.zeros((16, 8), np.uint16)
    c = np.zeros((16, 8), np.float32)
    for lane in range(32):
        g, q = lane // 4, lane % 4 * 2
        for k, (down, along) in enumerate(((0, 0), (8, 0), (0, 8), (8, 8))):
            a[g + down, q + along : q + along + 2] = halves[lane, k]
        for k in range(2):
            b[q + 8 * k : q + 8 * k + 2, g] = halves[lane, 4 + k]
        c[g, q : q + 2], c[g + 8, q : q + 2] = values[lane][6:8], values[lane][8:10]
    # Products are exact in float64.  Here a sum of sixteen products is rounded once; a device may round more often.
    sums = (c + floats(a, what) @ floats(b, what)).astype(np.float32)
    positions = ((lane, lane // 4, lane % 4 * 2) for lane in range(32))
    return {lane: (*sums[g, q : q + 2], *sums[g + 8, q : q + 2]) for lane, g, q in positions}


def floats(bits: Bits, what: str) -> NDArray[np.float64]:
    """Return the numbers that 16-bit patterns represent."""
    if what == "mma_float16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
