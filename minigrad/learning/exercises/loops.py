"""Exercises of notebook 10: kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from minigrad.learning.grading import Exercises, expect_close

EXERCISES = Exercises()


def position(index: Sequence[int], strides: Sequence[int], offset: int) -> int:
    """Return offset + the sum of index * stride."""
    return offset + sum(i * s for i, s in zip(index, strides, strict=True))


@EXERCISES(
    "10.1", position, "The position of an element is the offset plus a stride for each step.",
    "One step along dim d moves by strides[d] elements.",
    "Add up index * stride over all dims.",
    "Return offset + sum(i * s for i, s in zip(index, strides)).",
)  # fmt: skip
def grade_position(answer: Any) -> None:
    """Test dense, transposed, reversed, expanded and 0-d layouts."""
    for index, strides, offset in (
        ((1, 2), (3, 1), 0), ((1, 2), (1, 3), 0), ((2, 0, 1), (12, 4, 1), 5), ((3,), (-2,), 9), ((4, 1), (0, 1), 2),
        ((), (), 7),
    ):  # fmt: skip
        got, want = answer(index, strides, offset), position(index, strides, offset)
        expect_close(got, want, f"position({index}, {strides}, {offset})")


def strided_sum(buffer: Any, shape: Sequence[int], strides: Sequence[int], offset: int) -> float:
    """Return the sum of a matrix, by two loops over memory positions."""
    total = 0.0
    for i in range(shape[0]):
        for j in range(shape[1]):
            total += buffer[offset + i * strides[0] + j * strides[1]]
    return total


@EXERCISES(
    "10.2", strided_sum, "A sum over memory positions works for any layout, without a copy.",
    "Two loops, one per dim, with the formula of 10.1 inside.",
    "Begin with total = 0.0, so the sum of an empty matrix is 0.",
    "Add buffer[offset + i * strides[0] + j * strides[1]] for each i and j.",
)  # fmt: skip
def grade_strided_sum(answer: Any) -> None:
    """Compare with the reference, for layouts of all kinds and an empty one."""
    buffer = np.sin(np.arange(40.0))
    for shape, strides, offset in (
        ((4, 5), (5, 1), 0), ((5, 4), (1, 5), 3), ((3, 3), (-6, 2), 20), ((3, 4), (0, 2), 1), ((0, 3), (3, 1), 0),
        ((2, 1), (7, 0), 11),
    ):  # fmt: skip
        got = answer(buffer, shape, strides, offset)
        what = f"strided_sum(buffer, {shape}, {strides}, {offset})"
        expect_close(got, strided_sum(buffer, shape, strides, offset), what)


def largest_in_parts(values: Any, parts: int) -> Any:
    """Return the largest element of each part; -inf for an empty part."""
    n = len(values)
    bounds = [p * n // parts for p in range(parts + 1)]
    return [max(values[a:b], default=-math.inf) for a, b in pairwise(bounds)]


@EXERCISES(
    "10.3", largest_in_parts, "Each part writes its own entry: no race, and the same result for any number of threads.",
    "Make a list with one entry per part, filled with -inf.",
    "Part p reads its own slice and writes only to entry p.",
    "result[p] = max(values[p * n // parts : (p + 1) * n // parts], default=-math.inf)",
)  # fmt: skip
def grade_largest(answer: Any) -> None:
    """Test unequal parts, negative numbers, and more parts than numbers."""
    for values, parts in (
        (np.cos(np.arange(12.0)), 3), (np.cos(np.arange(11.0)), 4), (-1.0 - np.arange(5.0), 2),
        (np.array([2.0, 1.0]), 5), (np.cos(np.arange(7.0)), 1),
    ):  # fmt: skip
        what = f"largest_in_parts of {len(values)} numbers in {parts} parts"
        expect_close(answer(values, parts), largest_in_parts(values, parts), what)


def least_time(flops: float, size: float, peak: float, bandwidth: float) -> float:
    """Return the longer of the times of arithmetic and of memory traffic."""
    return max(flops / peak, size / bandwidth)


@EXERCISES(
    "10.4", least_time, "The roofline in one line.",
    "How long does the arithmetic take alone, and how long does the transfer of the bytes take?",
    "Both run at the same time; the longer one determines the total.",
    "Return max(flops / peak, size / bandwidth).",
)  # fmt: skip
def grade_least_time(answer: Any) -> None:
    """Test cases that memory limits, and cases that arithmetic limits."""
    for flops, size, peak, bandwidth in (
        (1e6, 12e6, 1e11, 2e10),
        (2 * 512**3, 3e6, 1e11, 2e10),
        (1e9, 2e8, 1e11, 2e10),
    ):
        got, want = answer(flops, size, peak, bandwidth), least_time(flops, size, peak, bandwidth)
        expect_close(
            1e3 * got if isinstance(got, float) else got, 1e3 * want, f"least_time({flops:g}, {size:g}, ...) in ms"
        )
