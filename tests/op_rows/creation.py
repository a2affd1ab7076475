"""Rows of creation: constants, ranges, random numbers, and counts and positions from booleans.

Random numbers have no formula in NumPy: the row holds each half of a stream to the whole that begins before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg
from minigrad.kernels import philox
from minigrad.ops import comparison, creation
from minigrad.ops.generators import draw, permuted, shares
from minigrad.ops.indexing import checks, masks, positions, sorting, uniqueness
from minigrad.ops.nn import embedding
from minigrad.ops.nn.attention_blocks import attention_kept
from minigrad.ops.nn.classes import existing_classes

from .row import ALL, FLOATS, NUMBERS, Row

NEVER = checks.Refusal(ValueError, "checked", "")
COUNTS = {"result": "int64", "smooth": False, "dtypes": ("int64",), "refuses": False, "kernels": False}
PLACES = {"result": "int64", "smooth": False, "dtypes": ("bool",), "refuses": False}


def _counted(x: Any) -> Any:
    """As many steps as x has elements, from 5 on."""
    first, step = (mg.tensor(v, dtype="int64", device=x.device) for v in (5, -2))
    return creation.count_up(first, step, count=x.numel(), dtype=mg.int64)


def _halves_differ(x: Any) -> Any:
    """Eight numbers of a stream, less the same eight in two calls, plus x: x if the places in the stream are right."""
    compute = mg.as_dtype(x.dtype.compute)
    limits = mg.tensor(philox.limits("uniform", x.dtype, 0.0, 1.0), dtype=compute, device=x.device)

    def numbers(first: int, count: int) -> Any:
        state = mg.tensor([7, first], dtype="int64", device=x.device)
        return draw(state, limits, kind="uniform", shape=(count,), dtype=x.dtype)

    half = 3 + 4 // (2 if x.dtype.itemsize == 8 else 4)  # numbers of 64 bits take two to a block
    return x + (numbers(3, 8) - mg.cat([numbers(3, 4), numbers(half, 4)]))


def _permuted(x: Any) -> Any:
    """The uniform numbers of a stream in the order of its permutation, less their order by a sort."""
    state = mg.tensor([7, 3], dtype="int64", device=x.device)
    limits = mg.tensor([0.0, 1.0, 1.0 - 2.0**-53], dtype="float64", device=x.device)
    keys = draw(state, limits, kind="uniform", shape=(x.numel(),), dtype=mg.float64)
    return permuted(state, n=x.numel()) - mg.argsort(keys)


def _tally(x: Any) -> Any:
    return masks.tally(x, parts=3)


def _locate(x: Any) -> Any:
    starts = masks.tally(x, parts=2)
    return masks.locate(x, starts, count=int(starts[-1].item()))


def _kept(x: Any) -> Any:
    draws = shares(9, x.dtype, x.device)
    return attention_kept(x, x, x, None, *draws, scale=1.0, causal=False, dropout=0.0)


def _row_major(x: Any) -> Any:
    indices = [x.remainder(3).to(mg.int64) - 3, x.remainder(4).to(mg.int64)]
    return positions.joined_positions(indices, shape=(3, 4), dtype=mg.float32, dims=(0, 1))


ROWS = [
    Row("fill", lambda x: creation.fill(x, shape=(2, 3)), lambda x: np.full((2, 3), x), ("real",), ("fill",), ((),),
        dtypes=ALL, order2=False),
    Row("count_up", _counted, lambda x: 5 - 2 * np.arange(x.size), ("real",), ("count_up",), ((2, 3),),
        result="int64", smooth=False, refuses=False),
    Row("draw", _halves_differ, lambda x: x, ("real",), ("draw",), ((8,),), dtypes=FLOATS,
        refuses=False),
    Row("permuted", _permuted, lambda x: np.zeros(x.size), ("real",), ("permuted",), ((3, 4),), result="int64",
        smooth=False, refuses=False),
    Row("unit_matrix", lambda x: creation.unit_matrix(x, rows=2, columns=3), lambda x: x * np.eye(2, 3, dtype=x.dtype),
        ("real",), ("unit_matrix",), ((),), dtypes=ALL, order2=False),
    Row("attention_kept", _kept, lambda x: np.ones((2, 3, 3)), ("real",), ("attention_kept",), ((2, 3, 4),),
        dtypes=("float32",), smooth=False, refuses=False, kernels=False),
    Row("tally", _tally, lambda x: np.array([0, *np.cumsum([part.sum() for part in np.split(x.ravel(), 3)])]),
        ("bool",), ("tally",), ((3, 4),), **PLACES),
    Row("positions", _row_major, lambda x: x % 3 * 4 + x % 4, ("whole",), ("joined_positions",),
        ((2, 5),), dtypes=("int64",), result="int64", smooth=False, refuses=False, kernels=False),
    Row("existing_classes", lambda x: existing_classes(x, name="a loss", low=-1, classes=9), lambda x: x, ("whole",),
        ("existing_classes",), ((2, 5),), **COUNTS),
    Row("checked", lambda x: checks.checked(x.cumsum(-1) - x, low=0, high=9, ascending=True, refusal=NEVER),
        lambda x: x.cumsum(-1) - x, ("whole",), ("checked",), ((2, 3),), **COUNTS),
    Row("ends", sorting.ends, lambda x: np.array([x.min(), x.max()]), ("whole",), ("ends",), ((2, 3),), **COUNTS),
    Row("occurrences", lambda x: sorting.occurrences(x % 4, size=4),
        lambda x: np.bincount(x.astype(int) % 4, minlength=4), ("whole",), ("occurrences",), ((7,),), **COUNTS),
    Row("insertions", lambda x: sorting.insertions(x.sort(-1).values, x, after=True),
        lambda x: np.stack([np.searchsorted(np.sort(row), row, "right") for row in x]), ("whole",), ("insertions",),
        ((2, 5),), dtypes=NUMBERS, result="int64", smooth=False, refuses=False, kernels=False),
    Row("marked_classes", lambda x: embedding.marked_classes(x % 4, classes=4),
        lambda x: np.eye(4)[x.astype(int) % 4], ("whole",), ("marked_classes",), ((2, 5),), **COUNTS),
    Row("binned", lambda x: sorting.binned(x, bins=3, low=0.0, high=0.0, widens=True),
        lambda x: np.histogram(x, 3)[0], ("distinct",), ("binned",), ((2, 5),), dtypes=FLOATS,
        result="int64", smooth=False, refuses=False, kernels=False),
    Row("all_equal", comparison.all_equal, lambda a, b: (a == b).all(), ("whole", "whole"), ("all_equal",),
        ((2,), (2,)), dtypes=ALL, result="bool", smooth=False, refuses=False, kernels=False),
    Row("runs", lambda x: uniqueness.runs(x.sort().values, parts=1).mask,
        lambda x: np.diff(np.sort(x), prepend=-1) != 0, ("whole",), ("runs",), ((7,),), dtypes=NUMBERS, result="bool",
        smooth=False, refuses=False, kernels=False),
    Row("locate", _locate, lambda x: np.flatnonzero(x), ("bool",), ("locate",), ((3, 5),), **PLACES),
]  # fmt: skip
