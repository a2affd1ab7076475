"""Rows of ops with masks."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg

from .row import ALL, FLOATS, Row

MASK = np.array([[True, False, True], [False, False, True]])


def _on(x: Any, values: np.ndarray) -> Any:
    return mg.tensor(values, device=x.device)


def _scattered(x: np.ndarray, source: np.ndarray) -> np.ndarray:
    out = x.copy()
    out[:, MASK] = source[: 2 * MASK.sum()].reshape(2, -1)
    return out


def _row(name: str, fn: Any, numpy: Any, *shapes: tuple[int, ...], ops: Any = ("index_select",)) -> Row:
    return Row(name, fn, numpy, ("real",) * len(shapes), ops, shapes, dtypes=ALL)


ROWS = [
    _row("mask", lambda x: x[_on(x, MASK)], lambda x: x[MASK], (2, 3, 2), ops=("chosen",)),
    _row("mask-inside", lambda x: x[1:, _on(x, MASK), 0], lambda x: x[1:][:, MASK, 0], (3, 2, 3, 2)),
    _row("masked_select", lambda x: mg.masked_select(x, _on(x, MASK[:1])), lambda x: x[np.repeat(MASK[:1], 2, 0)],
         (2, 3)),
    _row("masked_fill", lambda x: mg.masked_fill(x, _on(x, MASK), 2), lambda x: np.where(MASK, x.dtype.type(1 if x.dtype
         == bool else 2), x), (2, 2, 3), ops=()),
    Row("nonzero", lambda x: mg.nonzero(mg.floor(x)), lambda x: np.argwhere(np.floor(x)), ("high",),
        ("tally_nonzero", "coordinates"), ((2, 3),), dtypes=FLOATS, result="int64", smooth=False, refuses=False),
    Row("nonzero_static", lambda x: mg.nonzero_static(mg.floor(x), size=5),
        lambda x: np.concatenate([np.argwhere(np.floor(x)), np.full((5, 2), -1)])[:5], ("high",),
        ("tally_nonzero", "coordinates"), ((2, 3),), dtypes=FLOATS, result="int64", smooth=False,
        refuses=False),
    Row("unique", lambda x: mg.unique(x, return_inverse=True)[1],
        lambda x: np.unique(x, return_inverse=True)[1].reshape(x.shape), ("whole",), ("unique", "run_values"),
        ((2, 3),), dtypes=ALL,
        result="int64", smooth=False, refuses=False, kernels=False),
    _row("masked_scatter", lambda x, s: mg.masked_scatter(x, _on(x, MASK), s), _scattered, (2, 2, 3), (7,)),
]  # fmt: skip
