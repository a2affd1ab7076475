"""Rows of cumulative sums, products, log-sums, minima and maxima."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg
from minigrad.ops.reduction import scan

from .row import ALL, FLOATS, Row


def _reversed_sum(x: np.ndarray) -> np.ndarray:
    return np.flip(np.cumsum(np.flip(x, 1), 1), 1)


def recurrence(x: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """y[:, i] = x[:, i] + factor[:, i] * y[:, i - 1], from 0."""
    y = np.zeros_like(x)
    for i in range(x.shape[1]):
        y[:, i] = x[:, i] + (factor[:, i] * y[:, i - 1] if i else 0)
    return y


def _backward(x: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return recurrence(x[:, ::-1], factor[:, ::-1])[:, ::-1]


def _last_place(better: Any) -> Any:
    """Where the best so far is along dim 1: the last of ties."""

    def places(x: np.ndarray) -> np.ndarray:
        best = better.accumulate(x, 1)
        return np.maximum.accumulate(np.where(x == best, np.arange(x.shape[1])[:, None], 0), 1)

    return places


def _row(name: str, fn: Any, numpy: Any, *ops: str, domain: str = "real", shape: Any = (2, 5, 3), **more: Any) -> Row:
    count = more.pop("count", 1)
    return Row(name, fn, numpy, (domain,) * count, ops, (shape,) * count, **{"tolerance": 4, **more})


GRID = np.array([[2, 0, 1, 1], [0, 0, 2, 1]])


def _added(x: np.ndarray, src: np.ndarray) -> np.ndarray:
    out = x.copy()
    np.add.at(out, (np.arange(2)[:, None], GRID), src)
    return out


SUMS = {"dtypes": ALL, "result": "sum"}
PLACES = {"dtypes": ALL, "result": "int64", "smooth": False, "domain": "whole"}
ROWS = [
    _row("cumsum", lambda x: mg.cumsum(x, 1), lambda x: np.cumsum(x, 1), "cumsum", **SUMS),
    _row("cumsum-last", lambda x: x.cumsum(-1), lambda x: np.cumsum(x, -1), "cumsum", **SUMS),
    _row("cumsum-reverse", lambda x: scan.reversed_cumsum(x, 1), _reversed_sum, "reversed_cumsum", **SUMS),
    _row("cumprod", lambda x: mg.cumprod(x, 1), lambda x: np.cumprod(x, 1), "cumprod", **SUMS),
    _row("cumprod-zeros", lambda x: mg.cumprod(x, -1), lambda x: np.cumprod(x, -1), "cumprod", domain="zeros",
         shape=(4, 6), dtypes=FLOATS, refuses=False),
    _row("logcumsumexp", lambda x: mg.logcumsumexp(x, 1), lambda x: np.logaddexp.accumulate(x, 1),
         "logcumsumexp", dtypes=FLOATS),
    _row("recurrence", lambda x, f: scan.recurrence(x, f, dim=1, reverse=False), recurrence, "recurrence", count=2,
         dtypes=FLOATS),
    _row("recurrence-reverse", lambda x, f: scan.recurrence(x, f, dim=1, reverse=True), _backward, "recurrence",
         count=2, dtypes=FLOATS),
    *[_row(f"{name}-values", lambda x, name=name: getattr(mg, name)(x, 1).values,
           lambda x, best=best: best.accumulate(x, 1), name,
           domain="distinct", dtypes=ALL)
      for name, best in (("cummax", np.maximum), ("cummin", np.minimum))],
    *[_row(f"{name}-places", lambda x, name=name: getattr(mg, name)(x, 1).indices, _last_place(best),
           name, **PLACES)
      for name, best in (("cummax", np.maximum), ("cummin", np.minimum))],
    Row("gather-longer", lambda x: mg.gather(x, 1, mg.tensor(GRID, device=x.device)),
        lambda x: np.take_along_axis(x, GRID, 1), ("real",), ("gather",), ((2, 3),), dtypes=ALL),
    Row("scatter_add-longer", lambda x, s: mg.scatter_add(x, 1, mg.tensor(GRID, device=x.device), s),
        lambda x, s: _added(x, s), ("real", "real"), ("scatter_add",), ((2, 3), (2, 4)), dtypes=ALL),
]  # fmt: skip
