"""Rows of products: matrices, vectors, batches, and products that are added to something."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg
from minigrad.nn import functional
from minigrad.ops.linalg import products as linalg
from minigrad.ops.linalg.spectra import eigenvalues_of, singular_values_of
from minigrad.ops.linalg.systems import cofactors

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


def _regular(x: Any) -> Any:
    """Matrices of full rank, with singular values apart, whose largest elements are on the other diagonal."""
    m, n = x.shape[-2:]
    far = np.eye(m, n)[::-1] * np.arange(4, 4 + 2 * m, 2)[:, None]
    return x + (far if isinstance(x, np.ndarray) else mg.tensor(far, dtype=x.dtype, device=x.device))


def _factored(name: str, fn: Any, numpy: Any, *ops: str, shapes: Any = ((2, 3, 3),), **more: Any) -> Row:
    """A row of a function of matrices, which float32 and float64 have."""
    return Row(
        name, lambda a, *others: fn(_regular(a), *others), lambda a, *others: numpy(_regular(a), *others),
        ("real",) * len(shapes), ops, shapes, dtypes=("float32", "float64"), tolerance=100, kernels=False,
        refuses=False, **more,
    )  # fmt: skip


def _lu(a: np.ndarray) -> np.ndarray:
    """The packed factors of matrices, row by row."""
    a = a.astype(np.float64)
    for matrix in a.reshape(-1, *a.shape[-2:]):
        for j in range(min(matrix.shape)):
            p = j + int(np.argmax(abs(matrix[j:, j])))
            matrix[[j, p]] = matrix[[p, j]]
            matrix[j + 1 :, j] /= matrix[j, j]
            matrix[j + 1 :, j + 1 :] -= np.outer(matrix[j + 1 :, j], matrix[j, j + 1 :])
    return a


def _exp(a: np.ndarray) -> np.ndarray:
    """The exponentials of matrices, by the series of a matrix that is divided by 1,024."""
    total = term = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    for k in range(1, 12):
        term = term @ a / (1024 * k)
        total = total + term
    for _ in range(10):
        total = total @ total
    return total


FACTORED = [
    *[_factored(f"lu_factor-{kind}", lambda x: mg.linalg.lu_factor(x).LU, _lu, "lu_factor", shapes=(shape,))
      for kind, shape in (("square", (2, 3, 3)), ("tall", (4, 2)), ("wide", (2, 4)))],
    _factored("lu", lambda x: mg.linalg.lu(x).L, lambda x: np.tril(_lu(x), -1) + np.eye(3)),
    _factored("lu-upper", lambda x: mg.linalg.lu(x).U, lambda x: np.triu(_lu(x))),
    _factored("lu_factor_ex", lambda x: mg.linalg.lu_factor_ex(x).LU, _lu),
    _factored("lu_solve", lambda a, b: mg.linalg.lu_solve(*mg.linalg.lu_factor(a), b),
              lambda a, b: np.linalg.solve(a, b), shapes=((2, 3, 3), (3, 2))),
    _factored("lu_solve-adjoint", lambda a, b: mg.linalg.lu_solve(*mg.linalg.lu_factor(a), b, adjoint=True),
              lambda a, b: np.linalg.solve(a.swapaxes(-1, -2), b), shapes=((2, 3, 3), (3, 2))),
    _factored("solve", lambda a, b: mg.linalg.solve(a, b), lambda a, b: np.linalg.solve(a, b),
              "solve", shapes=((2, 3, 3), (3, 2))),
    _factored("solve-right", lambda a, b: mg.linalg.solve(a, b, left=False),
              lambda a, b: b @ np.linalg.inv(a), "solve", shapes=((2, 3, 3), (2, 4, 3))),
    _factored("solve_ex", lambda a, b: mg.linalg.solve_ex(a, b).result,
              lambda a, b: np.linalg.solve(a, b[:, None])[:, 0], shapes=((3, 3), (3,))),
    _factored("inv", mg.linalg.inv, np.linalg.inv),
    _factored("inv_ex", lambda a: mg.linalg.inv_ex(a).inverse, lambda a: np.linalg.inv(a)),
    _factored("det", mg.linalg.det, np.linalg.det, "det", "cofactors"),
    _factored("cofactors", cofactors, lambda x: np.linalg.det(x)[..., None, None] * np.linalg.inv(x).swapaxes(-1, -2),
              "cofactors"),
    _factored("slogdet", lambda a: mg.linalg.slogdet(a).logabsdet,
              lambda a: np.linalg.slogdet(a)[1], "slogdet"),
    *[_factored(f"qr-{kind}-{k}", lambda x, k=k: mg.linalg.qr(x)[k], lambda x, k=k: np.linalg.qr(x)[k], "qr",
                shapes=(shape,))
      for kind, shape in (("square", (2, 3, 3)), ("tall", (4, 2)), ("wide", (3, 5))) for k in (0, 1)],
    _factored("qr-complete", lambda x: mg.linalg.qr(x, "complete").R, lambda x: np.linalg.qr(x, "complete")[1], "qr"),
    _factored("eigh", lambda x: mg.linalg.eigh(x + x.mT).eigenvectors ** 2,
              lambda x: np.linalg.eigh(x + x.swapaxes(-1, -2))[1] ** 2, "eigh"),
    *[_factored(name, lambda x, values=values: values(x + x.mT),
                lambda x: np.linalg.eigvalsh(x + x.swapaxes(-1, -2)), op)
      for name, values, op in (("eigvalsh", mg.linalg.eigvalsh, "eigh"), ("eigenvalues", eigenvalues_of, "eigvalsh"))],
    *[_factored(f"svd-{kind}-{k}", lambda x, k=k: mg.linalg.svd(x, False)[k] ** 2,
                lambda x, k=k: np.linalg.svd(x, False)[k] ** 2, "svd", shapes=(shape,))
      for kind, shape in (("square", (2, 3, 3)), ("tall", (4, 2)), ("wide", (2, 4))) for k in (0, 1, 2)],
    *[_factored(f"svd-full-{kind}-{k}", lambda x, k=k: mg.linalg.svd(x)[k].narrow(-1 if k == 0 else -2, 0, 2) ** 2,
                lambda x, k=k: np.linalg.svd(x, False)[k] ** 2, "svd", shapes=(shape,))
      for kind, shape in (("tall", (4, 2)), ("wide", (2, 4))) for k in (0, 2)],
    *[_factored(name, values, lambda x: np.linalg.svd(x, compute_uv=False), op, shapes=((3, 2),))
      for name, values, op in (("svdvals", mg.linalg.svdvals, "svd"),
                               ("singular_values", singular_values_of, "svdvals"))],
    *[_factored(f"pinv-{kind}", mg.linalg.pinv, np.linalg.pinv, "pinv", shapes=(shape,))
      for kind, shape in (("square", (2, 3, 3)), ("tall", (4, 2)), ("wide", (2, 4)))],
    _factored("matrix_rank", lambda x: mg.linalg.matrix_rank(x), np.linalg.matrix_rank, shapes=((3, 2),),
              result="int64", smooth=False),
    _factored("cond", mg.linalg.cond, np.linalg.cond, "svd"),
    _factored("cond-fro", lambda x: mg.linalg.cond(x, "fro"), lambda x: np.linalg.cond(x, "fro"), "solve"),
    *[_factored(f"lstsq{'-' * bool(driver)}{driver or ''}-{kind}",
                lambda a, b, d=driver: mg.linalg.lstsq(a, b, driver=d).solution,
                lambda a, b: np.linalg.pinv(a) @ b, shapes=shapes)
      for driver in (None, "gels") for kind, shapes in (("tall", ((4, 2), (4, 3))), ("wide", ((2, 4), (2, 3))))],
    *[_factored(f"matrix_norm{order}", lambda x, p=order: mg.linalg.matrix_norm(x, p),
                lambda x, p=order: np.linalg.norm(x, p), shapes=((3, 2),)) for order in ("nuc", 2, -2)],
    _factored("norm-matrix", lambda x: mg.linalg.norm(x, 1), lambda x: np.linalg.norm(x, 1), shapes=((3, 2),)),
    _factored("matrix_exp", mg.linalg.matrix_exp, _exp),
    _factored("tensorinv", lambda x: mg.linalg.tensorinv(x.reshape(3, 3, 1), 1), lambda x: np.linalg.inv(x)[:, None],
              shapes=((3, 3),)),
    _factored("tensorsolve", lambda a, b: mg.linalg.tensorsolve(a.reshape(3, 3, 1), b), lambda a, b: np.linalg.solve(
        a, b)[:, None], "solve", shapes=((3, 3), (3,))),
    _factored("matrix_power-negative", lambda x: mg.linalg.matrix_power(x, -2),
              lambda x: np.linalg.matrix_power(x, -2)),
    _factored("cholesky_ex", lambda x: mg.linalg.cholesky_ex(x @ x.mT).L,
              lambda x: np.linalg.cholesky(x @ x.swapaxes(-1, -2)), "cholesky"),
    _factored("cholesky_solve", lambda a, b: mg.cholesky_solve(b, a), lambda a, b: np.linalg.solve(
        np.tril(a) @ np.tril(a).swapaxes(-1, -2), b), "solve_triangular", shapes=((2, 3, 3), (3, 2))),
    _factored("cholesky_inverse", lambda a: mg.cholesky_inverse(a, True), lambda a: np.linalg.inv(
        np.triu(a).swapaxes(-1, -2) @ np.triu(a)), "solve_triangular"),
    _factored("lu_unpack", lambda a: mg.lu_unpack(*mg.linalg.lu_factor(a)).U, lambda a: np.triu(_lu(a))),
    *[_factored(f"geqrf-{len(shape)}-{k}", lambda a, k=k: mg.geqrf(a)[k],
                lambda a, k=k: np.linalg.qr(a, "raw")[k].swapaxes(-1, k - 2), shapes=(shape,))
      for k, shape in ((0, (2, 4, 3)), (0, (3, 4)), (1, (2, 3, 3)))],
    _factored("householder_product", lambda a: mg.linalg.householder_product(*mg.geqrf(a)),
              lambda a: np.linalg.qr(a)[0], shapes=((4, 2),)),
    _factored("orgqr", lambda a: mg.orgqr(*mg.geqrf(a)), lambda a: np.linalg.qr(a)[0]),
    _factored("ormqr", lambda a, b: mg.ormqr(*mg.geqrf(a), b, False, True),
              lambda a, b: b @ np.linalg.qr(a, "complete")[0].swapaxes(-1, -2), shapes=((3, 3), (2, 3))),
    _factored("svd_lowrank", lambda a: mg.svd_lowrank(a, 2)[1], lambda a: np.linalg.svd(a, compute_uv=False),
              shapes=((2, 4),), order2=False),  # random numbers
    _factored("pca_lowrank", lambda a: mg.pca_lowrank(a, 2)[1], lambda a: np.linalg.svd(
        a - a.mean(-2, keepdims=True), compute_uv=False), shapes=((4, 2),), order2=False),
    _factored("lobpcg", lambda a: mg.lobpcg(a + a.mT, 2)[0], lambda a: np.linalg.eigvalsh(
        a + a.swapaxes(-1, -2))[..., :0:-1]),
    _factored("logdet", lambda a: mg.logdet(a @ a.mT), lambda a: np.linalg.slogdet(a)[1] * 2, "slogdet"),
    _factored("inverse", mg.inverse, np.linalg.inv),
    _factored("pinverse", mg.pinverse, np.linalg.pinv, shapes=((4, 2),)),
]  # fmt: skip

ROWS = [
    *FACTORED,
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
