"""Rows of sort, argsort, topk, and the element at one position of the sorted order."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg
from minigrad.ops.reduction import statistics

from .row import ALL, Row


def _row(name: str, fn: Any, numpy: Any, domain: str = "distinct", **more: Any) -> Row:
    return Row(name, fn, numpy, (domain,), more.pop("ops", ("sort",)), ((2, 5, 3),),
               dtypes=ALL, **more)  # fmt: skip


def _down(x: np.ndarray, axis: int) -> np.ndarray:
    return np.flip(np.sort(x, axis), axis)


PLACES = {"result": "int64", "smooth": False}
ROWS = [
    _row("sort", lambda x: mg.sort(x, 1).values, lambda x: np.sort(x, 1)),
    _row("sort-down", lambda x: x.sort(-1, True).values, lambda x: _down(x, -1)),
    _row("msort", mg.msort, lambda x: np.sort(x, 0)),
    _row("argsort", lambda x: mg.argsort(x, 1), lambda x: np.argsort(x, 1, stable=True), "whole",
         ops=("argsort",), **PLACES),
    _row("sort-places", lambda x: mg.sort(x, 0).indices, lambda x: np.argsort(x, 0, stable=True), "whole", **PLACES),
    _row("topk", lambda x: mg.topk(x, 2, 1).values, lambda x: _down(x, 1)[:, :2], ops=("topk",)),
    _row("topk-smallest", lambda x: mg.topk(x, 1, 1, largest=False).values, lambda x: np.sort(x, 1)[:, :1],
         ops=("topk",)),
    _row("topk-places", lambda x: mg.topk(x, 3, 1, False).indices, lambda x: np.argsort(x, 1, stable=True)[:, :3],
         "whole", ops=("topk",), **PLACES),
    _row("kthvalue", lambda x: mg.kthvalue(x, 2, 1).values, lambda x: np.sort(x, 1)[:, 1], ops=("kthvalue",),
         kernels=False),
    _row("median", lambda x: mg.median(x, 1, True).values, lambda x: np.sort(x, 1)[:, 2:3], ops=("median",),
         kernels=False),
    _row("median-of-all", lambda x: mg.median(x[0, 0]), lambda x: np.sort(x[0, 0])[1], ops=("middle",), kernels=False),
    _row("median-of-rows", lambda x: statistics.middle(x, skip=False), lambda x: np.sort(x, -1)[..., 1],
         ops=("middle",), kernels=False),
    _row("median-places", lambda x: mg.median(x, 1).indices, lambda x: np.argsort(x, 1, stable=True)[:, 2], "whole",
         ops=("median",), kernels=False, **PLACES),
]  # fmt: skip
