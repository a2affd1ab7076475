"""Rows of products: matrices, vectors, batches, and products that are added to something."""

from __future__ import annotations

import numpy as np

import minigrad as mg
from minigrad.nn import functional
from minigrad.ops.linalg import products as linalg

from .row import ALL, FLOATS, NUMBERS, Row


def _product(name: str, *shapes: tuple[int, ...]) -> Row:
    return Row(name, mg.matmul, np.matmul, ("real", "real"), ("matmul",), shapes, dtypes=ALL, tolerance=4)


def _added(name: str, fn: object, *shapes: tuple[int, ...]) -> Row:
    return Row(
        name,
        lambda c, a, b: fn(c, a, b, beta=2, alpha=3),  # type: ignore[operator]
        lambda c, a, b: 2 * c + 3 * (a @ b),
        ("real", "real", "real"),
        ("addmm",),
        shapes,
        dtypes=NUMBERS,
        tolerance=8,
    )


def _linear(name: str, *shapes: tuple[int, ...]) -> Row:
    return Row(
        name,
        lambda x, w, b: functional.linear(x, w, b),
        lambda x, w, b: x @ w.T + b,
        ("real", "real", "real"),
        ("linear",),
        shapes,
        dtypes=NUMBERS,
        tolerance=4,
    )


ROWS = [
    _product("matmul", (3, 4), (4, 5)),
    _product("matmul-batch", (2, 1, 3, 4), (3, 4, 2)),
    _product("matmul-shared", (2, 3, 4), (4, 5)),
    _product("matmul-vectors", (4,), (4,)),
    _product("matmul-vector-batch", (4,), (2, 4, 3)),
    _product("matmul-batch-vector", (2, 3, 4), (4,)),
    Row("mv", mg.mv, np.matmul, ("real", "real"), ("matmul",), ((3, 4), (4,)), dtypes=ALL, tolerance=4),
    Row("mm", mg.mm, np.matmul, ("real", "real"), ("matmul",), ((3, 4), (4, 5)), dtypes=ALL, tolerance=4),
    Row("dot", mg.dot, np.dot, ("real", "real"), ("matmul",), ((4,), (4,)), dtypes=ALL, tolerance=4),
    Row("bmm", mg.bmm, np.matmul, ("real", "real"), ("matmul",), ((2, 3, 4), (2, 4, 2)), dtypes=ALL, tolerance=4),
    Row("outer", mg.outer, np.outer, ("real", "real"), (), ((3,), (4,)), dtypes=ALL),
    Row("einsum", lambda a, b, c: mg.einsum("...ij,kj,kk->...ik", a, b, c), lambda a, b, c: np.einsum(
        "...ij,kj,kk->...ik", a, b, c), ("real",) * 3, (), ((2, 3, 4), (2, 4), (2, 2)), dtypes=FLOATS, refuses=False,
        tolerance=8, kernels=False),
    Row("cholesky", lambda x: mg.linalg.cholesky(x @ x.mT + mg.eye(3, dtype=x.dtype, device=x.device)),
        lambda x: np.linalg.cholesky(x @ x.swapaxes(-1, -2) + np.eye(3)), ("real",), ("cholesky",), ((2, 3, 3),),
        dtypes=("float32", "float64"), refuses=False, tolerance=50),
    Row("solve_triangular", lambda a, b: mg.linalg.solve_triangular(a, b, upper=False),
        lambda a, b: np.linalg.solve(np.tril(a), b), ("above1", "real"), ("solve_triangular",), ((2, 3, 3), (3, 2)),
        dtypes=("float32", "float64"), tolerance=50),
    *[Row(f"solve_triangular-unit{'-upper' * upper}",
          lambda a, b, u=upper: mg.linalg.solve_triangular(a, b, upper=u, unitriangular=True),
          lambda a, b, cut=cut: np.linalg.solve(np.where(np.eye(3), 1.0, cut(a)), b), ("unit", "real"),
          ("solve_triangular",), ((3, 3), (2, 3, 2)), dtypes=("float32", "float64"), tolerance=50)
      for upper, cut in ((False, np.tril), (True, np.triu))],
    _added("addmm", mg.addmm, (3, 5), (3, 4), (4, 5)),
    _added("addmm-row", mg.addmm, (5,), (3, 4), (4, 5)),
    _added("addmv", mg.addmv, (3,), (3, 4), (4,)),
    _added("baddbmm", mg.baddbmm, (2, 1, 5), (2, 3, 4), (2, 4, 5)),
    _added("addmm-shared", linalg.add_product, (5,), (2, 3, 4), (4, 5)),
    _added("addmm-vector-batch", linalg.add_product, (3,), (4,), (2, 4, 3)),
    _added("addmm-batch-vector", linalg.add_product, (2, 1), (2, 3, 4), (4,)),
    _added("addmm-vectors", linalg.add_product, (), (4,), (4,)),
    _linear("linear", (3, 4), (5, 4), (5,)),
    _linear("linear-vector", (4,), (5, 4), (5,)),
    _linear("linear-batch", (2, 3, 4), (5, 4), (5,)),
    Row("linear-plain", functional.linear, lambda x, w: x @ w.T, ("real", "real"), ("linear",), ((3, 4), (5, 4)),
        dtypes=ALL, tolerance=4),
]  # fmt: skip
