"""Factors in LAPACK's packed form, and a few singular values or eigenvalues of a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, ShapeError

A = np.array([[1.0, 2.0, 0.5], [4.0, 1.0, 3.0], [2.0, 5.0, 1.0], [0.0, 1.0, 2.0]])


def tensor(x: Any, **more: Any) -> mg.Tensor:
    return mg.tensor(x, device="reference", **more)


@pytest.mark.parametrize("matrix", [A, A.T, A[:3], np.stack([A, A + np.eye(4, 3)])], ids=str)
def test_lu_unpack_returns_the_factors_of_lu(matrix: np.ndarray) -> None:
    LU, pivots = mg.linalg.lu_factor(tensor(matrix))
    for got, want in zip(mg.lu_unpack(LU, pivots), mg.linalg.lu(tensor(matrix))):
        np.testing.assert_array_equal(got.numpy(), want.numpy())
    assert [x.numel() > 0 for x in mg.lu_unpack(LU, pivots, False)] == [True, False, False]
    assert [x.numel() > 0 for x in mg.lu_unpack(LU, pivots, True, False)] == [False, True, True]


def test_a_column_that_is_zero_below_its_diagonal_has_no_reflection() -> None:
    packed, tau = mg.geqrf(tensor([[-2.0, 1.0], [0.0, 3.0], [0.0, 4.0]], dtype=mg.float64))
    assert tau.tolist() == [0.0, 1.6]  # LAPACK's
    assert packed.tolist() == [[-2.0, 1.0], [0.0, -5.0], [0.0, 0.5]]
    assert mg.geqrf(tensor(np.ones((2, 0, 3)))).tau.shape == (2, 0)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)])
@pytest.mark.parametrize("transpose", [False, True])
def test_ormqr_multiplies_with_the_square_factor(shape: tuple[int, ...], transpose: bool) -> None:
    matrix = np.sin(np.arange(float(np.prod(shape))) ** 2).reshape(shape)
    Q = np.linalg.qr(matrix, "complete")[0]
    Q = Q.swapaxes(-1, -2) if transpose else Q
    factors, other = mg.geqrf(tensor(matrix)), np.cos(np.arange(float(np.prod(Q.shape)))).reshape(Q.shape)
    np.testing.assert_allclose(mg.ormqr(*factors, tensor(other), True, transpose).numpy(), Q @ other, atol=1e-12)
    np.testing.assert_allclose(mg.ormqr(*factors, tensor(other), False, transpose).numpy(), other @ Q, atol=1e-12)


def test_the_reflections_have_gradients_for_any_tau() -> None:
    packed, tau = mg.Var(A[:, :2], device="reference"), mg.Var([0.7, 1.9], dtype=mg.float64, device="reference")
    other = mg.Var(A[:, 1:], device="reference")
    assert mg.testing.gradcheck(mg.linalg.householder_product, (packed, tau))
    assert mg.testing.gradcheck(mg.ormqr, (packed, tau, other))


SYMMETRIC = {
    "definite": A.T @ A, "indefinite": A[:3] + A[:3].T, "zero diagonal": A[:3] + A[:3].T - 2 * np.diag(np.diag(A[:3])),
    "exchanged": np.array([[0.125, 0.25, 2.0, 0.0], [0.25, 0.5, 4.0, 1.0], [2.0, 4.0, 0.0, 8.0], [0.0, 1.0, 8.0, 2.0]]),
}  # fmt: skip


@pytest.mark.parametrize("matrix", [*SYMMETRIC.values(), np.stack([A.T @ A, A[:3] + A[:3].T])], ids=str)
def test_ldl_factors_solve_indefinite_systems(matrix: np.ndarray) -> None:
    LD, pivots = mg.linalg.ldl_factor(tensor(np.tril(matrix)))
    B = mg.Var(np.cos(np.arange(2.0 * matrix.shape[-1])).reshape(-1, 2), device="reference")
    X = mg.linalg.ldl_solve(LD, pivots, B)
    np.testing.assert_allclose(matrix @ X.detach().numpy(), np.broadcast_to(B.detach().numpy(), X.shape), atol=1e-12)
    assert mg.testing.gradcheck(lambda B: mg.linalg.ldl_solve(LD, pivots, B), B)


def test_ldl_factors_are_packed_as_lapack_packs_them() -> None:
    LD, pivots = mg.linalg.ldl_factor(tensor(SYMMETRIC["exchanged"]))  # the numbers are PyTorch's
    assert pivots.tolist() == [-3, -3, 4, 4] and pivots.dtype is mg.int32
    packed = [[0.125, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], [2.0, 0.0, 4.0, 0.0], [4.0, -0.25, 0.25, -0.25]]
    assert LD.tolist() == packed
    for empty in ((0, 0), (2, 0, 0), (0, 2, 2)):
        factors = mg.linalg.ldl_factor(tensor(np.zeros(empty)))
        assert mg.linalg.ldl_solve(*factors, tensor(np.zeros((*empty[:-1], 3)))).shape == (*empty[:-1], 3)
    assert mg.linalg.ldl_factor_ex(tensor(np.diag([1.0, 0.0]))).info.item() == 2


def test_ldl_factors_of_a_nan_have_a_status() -> None:
    A = mg.tensor([[2.0, 1.0], [1.0, mg.nan]], device="reference")
    LD, pivots, info = mg.linalg.ldl_factor_ex(A)  # the results of PyTorch 2.13
    assert str(LD.tolist()) == "[[2.0, 0.0], [0.5, nan]]" and pivots.tolist() == [1, 2] and info.item() == 2
    L, _, info = mg.linalg.ldl_factor_ex(mg.tensor([[2.0, mg.nan], [mg.nan, 1.0]], device="reference"))
    assert str(L.tolist()) == "[[2.0, 0.0], [nan, nan]]" and info.item() == 2


def test_ldl_factors_of_half_precision_are_refused() -> None:
    for call in (mg.linalg.ldl_factor, mg.linalg.ldl_factor_ex):
        with pytest.raises(mg.errors.UnsupportedDTypeError, match="ldl_factor_ex: expected float32 or float64"):
            call(mg.eye(2, dtype=mg.float16, device="reference"))


def test_low_rank_factors_multiply_to_the_matrix() -> None:
    matrix = A[:, :2] @ A[:2]
    for x in (matrix, matrix.T):
        U, S, V = mg.svd_lowrank(tensor(x), 2)
        np.testing.assert_allclose(((U * S) @ V.mT).numpy(), x, atol=1e-9)
        U, S, V = mg.svd_lowrank(tensor(x + 5.0), 2, M=tensor([[5.0]]))
        np.testing.assert_allclose(((U * S) @ V.mT).numpy(), x, atol=1e-9)
    U, S, V = mg.pca_lowrank(tensor(A))
    np.testing.assert_allclose(((U * S) @ V.mT).numpy(), A - A.mean(0), atol=1e-9)
    np.testing.assert_allclose((mg.pca_lowrank(tensor(A), center=False)[1] ** 2).sum().item(), (A * A).sum())


@pytest.mark.parametrize("largest", [None, True, False])
def test_lobpcg_returns_the_extreme_pairs_of_both_matrices(largest: bool | None) -> None:
    S, B = A @ A.T, np.diag([1.0, 2.0, 3.0, 4.0])
    E, X = (x.numpy() for x in mg.lobpcg(tensor(S), 2, tensor(B), largest=largest))
    np.testing.assert_allclose(S @ X, B @ X * E, atol=1e-10)
    np.testing.assert_allclose(X.T @ B @ X, np.eye(2), atol=1e-10)
    every = np.sort(np.linalg.eigvals(np.linalg.inv(B) @ S).real)
    np.testing.assert_allclose(E, every[:2] if largest is False else every[:1:-1], atol=1e-10)
    E = mg.lobpcg(tensor(S + np.triu(np.ones((4, 4)), 1)), 2, tensor(B), largest=largest)[0]
    every = np.sort(np.linalg.eigvals(np.linalg.inv(B) @ (S + (np.ones((4, 4)) - np.eye(4)) / 2)).real)
    np.testing.assert_allclose(E.numpy(), every[:2] if largest is False else every[:1:-1], atol=1e-10)
    assert mg.lobpcg(tensor(S))[0].shape == (1,) and mg.lobpcg(tensor(S), X=tensor(A))[1].shape == (4, 3)


@over(
    ("call", "error", "words"),
    [
        (lambda x: mg.lu_unpack(x, tensor([1, 2, 3])), DTypeError, "LU_pivots must have the dtype int32"),
        (lambda x: mg.lu_unpack(x, tensor([1, 2], dtype=mg.int32)), ShapeError, r"shapes \(\*, m, n\)"),
        (lambda x: mg.linalg.householder_product(x.T, tensor([1.0])), ShapeError, "as many rows as columns"),
        (lambda x: mg.orgqr(x, tensor(np.ones(4))), ShapeError, "the size of tau must be a number from 0 to 3, got 4"),
        (lambda x: mg.ormqr(x, tensor(np.ones((1, 1))), x), ShapeError, r"shapes \(\*, m, n\) and \(\*, k\)"),
        (lambda x: mg.ormqr(x, tensor(np.ones(1)), x.T), ShapeError, "one row of input3 per row of input"),
        (lambda x: mg.ormqr(x, tensor([1.0], dtype=mg.float32), x), DTypeError, "same dtype"),
        (lambda x: mg.linalg.ldl_factor(x), ShapeError, "square matrices"),
        (lambda x: mg.linalg.ldl_factor(x[:2, :2] * 0.0), ArgumentError, "one of its blocks is 0"),
        (lambda x: mg.linalg.ldl_solve(x[:3], tensor([1, 2]), x), ShapeError, "results of ldl_factor"),
        (lambda x: mg.linalg.ldl_solve(x[:3] * 0.0, tensor([1, 2, 3]), x[:3]), ArgumentError, "D must be regular"),
        (lambda x: mg.geqrf(x.long()), DTypeError, "floating or complex dtype"),
        (lambda x: mg.pca_lowrank(x, 4), ArgumentError, "q must be a number from 0 to 3"),
        (lambda x: mg.svd_lowrank(x, niter=-1), ArgumentError, "niter must not be negative"),
        (lambda x: mg.lobpcg(x @ x.T, 5), ArgumentError, "k must be a number from 1 to 4"),
        (lambda x: mg.lobpcg(x @ x.T, tracker=print), ArgumentError, "tracker must be None"),
    ],
)
def test_operands_that_do_not_fit_are_refused(call: Callable[..., Any], error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        call(tensor(A, dtype=mg.float64))


def test_poisson_and_binomial_draw_what_the_distributions_draw() -> None:
    mean = mg.full((400,), 4.0, device="reference")
    assert abs(mg.poisson(mean).mean().item() - 4.0) < 0.5 and mg.poisson(mean).dtype is mg.float32
    drawn = mg.binomial(mean, mg.full((400,), 0.25, device="reference"))
    assert abs(drawn.mean().item() - 1.0) < 0.3 and drawn.amax().item() <= 4.0
    with pytest.raises(ArgumentError, match="at least 0"):
        mg.poisson(-mean)
