"""LU and QR factors, systems, inverses and determinants: every size, batches, strides, scales, matrices without any."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.backends.launch import as_launch
from minigrad.backends.registry import backend_of
from minigrad.core import requests
from minigrad.core.device import as_device
from minigrad.core.dtype import float64, int64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.ops.linalg.lu import factors
from minigrad.testing import gradcheck

linalg = mg.linalg
DEVICES = ("cpu", "reference")
SHAPES = [(0, 0), (1, 1), (2, 3, 3), (17, 17), (33, 33), (0, 3), (3, 0), (2, 0, 2), (5, 3), (3, 5), (33, 9), (9, 20)]
CLOSE: dict[str, float] = {"rtol": 1e-11, "atol": 1e-12}


def tensor(data: Any, device: str = "reference", dtype: str = "float64") -> mg.Tensor:
    return mg.tensor(data, dtype=dtype, device=device)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def hard(n: int) -> dict[str, np.ndarray]:
    """Matrices that are singular, badly scaled, or full of ties."""
    return {
        "zero": np.zeros((n, n)), "ones": np.ones((n, n)), "huge": random(n, n) * 1e150, "tiny": random(n, n) * 1e-150,
        "graded": random(n, n) * 10.0 ** -np.arange(0, 8 * n, 8)[:n], "exchange": np.eye(n)[::-1],
        "rank one": np.outer(random(n), random(n)),
    }  # fmt: skip


def parts_of(a: np.ndarray, device: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The permuted matrix, L and U, by the op with the kernel: the CPU compiles no other."""
    LU, _, order = (x.numpy() for x in factors(tensor(a, device), regular=False))
    k = min(a.shape[-2:])
    L = np.tril(LU[..., :k], -1) + np.eye(a.shape[-2], k)
    return np.take_along_axis(a, order[..., None], -2), L, np.triu(LU[..., :k, :])


# ---- factors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@over("shape", SHAPES)
def test_factors_multiply_to_the_matrix(shape: tuple[int, ...], device: str) -> None:
    a = random(*shape)
    permuted, L, U = parts_of(a, device)
    assert (abs(L) <= 1).all()
    np.testing.assert_allclose(L @ U, permuted, **CLOSE)
    for mode in ("reduced", "complete"):
        Q, R = (x.numpy() for x in linalg.qr(tensor(a, device), mode))
        np.testing.assert_allclose(Q @ R, a, **CLOSE)
        np.testing.assert_allclose(
            Q.swapaxes(-1, -2) @ Q, np.broadcast_to(np.eye(R.shape[-2]), Q.shape[:-2] + R.shape[-2:-1] * 2), **CLOSE
        )
        np.testing.assert_array_equal(R, np.triu(R))
        if a.size:
            np.testing.assert_allclose(R, np.linalg.qr(a, mode)[1], **CLOSE)
    assert linalg.qr(tensor(a, device), "r").Q.shape == (0,)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n", [3, 9])
def test_factors_of_singular_and_badly_scaled_matrices(n: int, device: str) -> None:
    for name, a in hard(n).items():
        size = abs(a).max() or 1.0
        permuted, L, U = parts_of(a, device)
        Q, R = (x.numpy() for x in linalg.qr(tensor(a, device)))
        np.testing.assert_allclose(L @ U, permuted, rtol=1e-12, atol=1e-14 * size, err_msg=name)
        np.testing.assert_allclose(Q @ R, a, rtol=1e-12, atol=1e-14 * size, err_msg=name)
        np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-14, err_msg=name)


@pytest.mark.parametrize("device", DEVICES)
def test_operands_of_any_strides(device: str) -> None:
    a = random(4, 6, 10)
    for view in (lambda x: x[::2, 1:, ::2], lambda x: x[:, ::3].swapaxes(1, 2), lambda x: x[:1, :5, :5].swapaxes(0, 1)):
        strided, dense = view(tensor(a, device)), tensor(view(a), device)
        for got, want in zip((*linalg.qr(strided), *factors(strided, regular=False)),
                             (*linalg.qr(dense), *factors(dense, regular=False))):  # fmt: skip
            np.testing.assert_array_equal(got.numpy(), want.numpy())


@pytest.mark.parametrize("kind", ["LU", "QR", "TurnRows", "Eigh"])
@over("shape", [(2, 4, 4), (3, 3), (1, 1), (3, 5), (5, 3), (0, 3), (3, 0)])
def test_the_definition_of_a_request_is_what_the_kernels_give(kind: str, shape: tuple[int, ...]) -> None:
    *batch, m, n = shape
    k = min(m, n)
    outs = {
        "LU": [(shape, float64), ((*batch, k), int64), ((*batch, m), int64)],
        "QR": [((*batch, m, m), float64), (shape, float64)],
        "TurnRows": [((*batch, m, m), float64), (shape, float64), ((*batch, m), float64)],
        "Eigh": [((*batch, n), float64), (shape, float64)],
    }[kind]
    if (kind == "Eigh" and m != n) or (kind == "TurnRows" and m > n):
        pytest.skip("not a matrix of this request")
    request = getattr(requests, kind)()
    specs, a = tuple([Spec(Layout.contiguous(s), dtype) for s, dtype in outs]), random(*shape)
    source = Spec(Layout.contiguous(shape), float64)
    launches = [backend_of(as_device(device)).prepare(request, specs, source) for device in ("cpu", "reference")]
    results = []
    for launch in launches:
        buffers = [np.full(max(1, s.layout.numel), 7, s.dtype.storage) for s in specs]
        as_launch(launch, 1 + len(specs), kind)(a.reshape(-1), *buffers)
        results.append([b[: s.layout.numel].reshape(s.shape) for b, s in zip(buffers, specs)])
    for got, want in zip(*results):
        if kind in ("TurnRows", "Eigh") and got.ndim == len(shape):  # the sign of a vector is arbitrary
            got, want = abs(got), abs(want)
        np.testing.assert_allclose(got, want, **CLOSE)


# ---- systems --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("left", [True, False])
def test_solutions_solve_their_systems(left: bool, device: str) -> None:
    a = random(2, 17, 17) + 3 * np.eye(17)
    b = random(2, 17, 17)
    x = linalg.solve(tensor(a, device), tensor(b, device), left=left).numpy()
    np.testing.assert_allclose(a @ x if left else x @ a, b, **CLOSE)


@pytest.mark.parametrize("left", [True, False])
def test_solutions_of_every_size_and_from_factors(left: bool) -> None:
    device = "reference"
    for n in (0, 1, 3, 17):
        a = random(2, 1, n, n) + 3 * np.eye(n)
        b = random(*((4, n, 2) if left else (4, 2, n)))
        x = linalg.solve(tensor(a, device), tensor(b, device), left=left).numpy()
        assert x.shape == (2, *b.shape)
        np.testing.assert_allclose(a @ x if left else x @ a, np.broadcast_to(b, x.shape), **CLOSE)
        LU, pivots = linalg.lu_factor(tensor(a, device))
        assert pivots.dtype is mg.int32
        for adjoint in (False, True):
            x = linalg.lu_solve(LU, pivots, tensor(b, device), left=left, adjoint=adjoint).numpy()
            whole = a.swapaxes(-1, -2) if adjoint else a
            np.testing.assert_allclose(whole @ x if left else x @ whole, np.broadcast_to(b, x.shape), **CLOSE)
        np.testing.assert_allclose(
            linalg.inv(tensor(a, device)).numpy() @ a, np.broadcast_to(np.eye(n), a.shape), **CLOSE
        )
        np.testing.assert_allclose(linalg.det(tensor(a, device)).numpy(), np.linalg.det(a), **CLOSE)


def test_vectors_are_told_from_matrices_as_in_pytorch() -> None:
    a, b = random(3, 2, 2) + 3 * np.eye(2), random(3, 2)
    assert linalg.solve(tensor(a), tensor(b)).shape == (3, 2)
    np.testing.assert_allclose(linalg.solve(tensor(a[0]), tensor(b[0])).numpy(), np.linalg.solve(a[0], b[0]))
    assert linalg.solve(tensor(a), tensor(random(2, 4))).shape == (3, 2, 4)
    assert linalg.lstsq(tensor(a), tensor(b)).solution.shape == (3, 2)


@pytest.mark.parametrize("device", DEVICES)
def test_a_singular_matrix_is_named(device: str) -> None:
    bad = np.stack([np.eye(2), np.ones((2, 2))])
    message = r"in lu_factor: the matrix \[1\] of the batch float64\(2, 2, 2\) is singular: the pivot of its column 1"
    with pytest.raises(ArgumentError, match=message):
        linalg.solve(tensor(bad, device), tensor(bad, device))


def test_errors_and_infos_of_singular_matrices() -> None:
    bad, device = np.stack([np.eye(2), np.ones((2, 2))]), "reference"
    for call in (linalg.inv, mg.func.vmap(linalg.inv)):
        with pytest.raises(ArgumentError, match=r"in lu_factor: the matrix \[1\] of the batch"):
            call(tensor(bad, device))
    with pytest.raises(
        ArgumentError, match=r"^lu_factor: the matrix float64\(1, 1\) is singular: the pivot of its col"
    ):
        linalg.lu_factor(tensor([[0.0]], device))
    LU, _, info = linalg.lu_factor_ex(tensor(bad, device))
    assert info.tolist() == [0, 2] and LU.numpy()[1].tolist() == [[1.0, 1.0], [1.0, 0.0]]
    inverse, info = linalg.inv_ex(tensor(bad, device))
    assert info.tolist() == [0, 2] and info.dtype is mg.int32 and not np.isfinite(inverse.numpy()[1]).all()
    assert linalg.cholesky_ex(tensor(bad - np.diag([0.0, 1.0]), device)).info.tolist() == [2, 2]
    assert linalg.cond(tensor(bad, device), 1).tolist() == [1.0, math.inf]


def test_nan_passes_through_a_system() -> None:
    assert np.isnan(linalg.inv(tensor([[math.nan, 1.0], [1.0, 1.0]])).numpy()).all()
    assert np.isnan(linalg.qr(tensor([[math.nan, 1.0], [1.0, 1.0]])).Q.numpy()).all()


# ---- derivatives ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [
    linalg.det, linalg.inv, lambda a: linalg.slogdet(a)[1], lambda a: linalg.solve(a, a[:, :1]),
    lambda a: linalg.lu(a)[1], lambda a: linalg.lu_factor(a)[0], lambda a: linalg.matrix_power(a, -2),
    lambda a: linalg.matrix_power(a, 0), lambda a: linalg.qr(a)[0], lambda a: linalg.qr(a[:, :2])[1],
    lambda a: linalg.lu_factor(a[:2])[0], lambda a: linalg.lu_factor(a[:, :2])[0],
])  # fmt: skip
def test_derivatives_of_both_orders_and_directions(call: Callable[..., Any]) -> None:
    a = mg.Var(random(3, 3), device="reference")
    assert gradcheck(call, a, modes=("forward", "batched"))
    assert gradcheck(lambda x: mg.grad((call(x) ** 2).sum(), x, create_graph=True), a)


@pytest.mark.parametrize("call", [linalg.inv, lambda a: linalg.slogdet(a)[1], linalg.det, linalg.svdvals])
def test_tangents_of_tangents_are_second_derivatives(call: Callable[..., Any]) -> None:
    a = tensor(random(3, 3))
    twice = mg.func.jacfwd(mg.func.jacfwd(call))(a).numpy()
    np.testing.assert_allclose(twice, mg.func.jacrev(mg.func.jacrev(call))(a).numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rows", [
    [[1.0, 2.0], [2.0, 4.0]], [[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]],
    [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]], [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 2.0]],
])  # fmt: skip
def test_the_determinant_of_a_singular_matrix_has_its_gradient(rows: list[list[float]]) -> None:
    a = mg.Var(rows, dtype="float64", device="reference")
    assert gradcheck(linalg.det, a, modes=("forward", "batched"))
    with pytest.raises(ArgumentError, match="is singular"):
        mg.grad(mg.grad(linalg.det(a), a, create_graph=True).sum(), a)


def test_a_complete_factor_has_no_derivative_for_a_tall_matrix() -> None:
    a = mg.Var(random(3, 2), device="reference")
    with pytest.raises(ArgumentError, match=r"mode='complete' has no derivative for 3 rows and 2 columns"):
        mg.grad(linalg.qr(a, "complete").R.sum(), a)
    with pytest.raises(ArgumentError, match="mode must be 'reduced', 'complete' or 'r', got 'full'"):
        linalg.qr(a, "full")


def test_other_operands_are_refused() -> None:
    wide = tensor(random(2, 3))
    for call in (
        linalg.inv,
        linalg.det,
        linalg.slogdet,
        mg.logdet,
        lambda a: linalg.solve(a, a),
        mg.cholesky_inverse,
        lambda a: linalg.matrix_power(a, 2),
        linalg.eigh,
    ):
        with pytest.raises(ShapeError, match=r"expected square matrices of shape \(..., n, n\), got float64\(2, 3\)"):
            call(wide)
    with pytest.raises(ShapeError, match=r"expected matrices of shape \(..., m, n\), got float64\(3,\)"):
        linalg.qr(wide[0])
    with pytest.raises(DTypeError, match=r"expected .* the same for all, got float64\(2, 2\), float32\(2, 2\)"):
        linalg.solve(wide[:, :2], tensor(random(2, 2), dtype="float32"))
    with pytest.raises(ArgumentError, match="pivot must be True"):
        linalg.lu(wide, pivot=False)


def test_the_condition_of_singular_and_other_matrices_has_no_error() -> None:
    A = mg.tensor([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]], device="reference")
    for p, value in ((1, 2.0), (-math.inf, 0.5), ("fro", 2.5), ("nuc", 6 * 0.75)):
        assert mg.linalg.cond(A, p).tolist() == pytest.approx([value, math.inf]), p


def test_tensors_without_elements_are_inverted_and_solved() -> None:
    A = mg.zeros(0, 4, 0, 2, device="reference")
    assert mg.linalg.tensorinv(A).shape == (0, 2, 0, 4)
    assert mg.linalg.tensorsolve(A, mg.zeros(0, 4, device="reference")).shape == (0, 2)


@pytest.mark.parametrize(("m", "n"), [(64, 64), (65, 65), (70, 200), (200, 70), (193, 193)])
def test_large_matrices_are_factored_by_blocks(m: int, n: int) -> None:
    matrix = np.random.default_rng(m).standard_normal((m, n))
    for a in (mg.tensor(matrix), mg.tensor(matrix.T.copy()).T, mg.tensor(matrix + 1j * matrix[::-1])):
        P, L, U = linalg.lu(a)
        np.testing.assert_allclose((P.to(a.dtype) @ L @ U).numpy(), a.numpy(), atol=1e-12)
        LU, pivots = linalg.lu_factor(mg.stack([a, a]))  # a batch is not divided
        np.testing.assert_allclose(linalg.lu_factor(a)[0].numpy(), LU[1].numpy(), atol=1e-11)
        assert linalg.lu_factor(a)[1].tolist() == pivots[0].tolist()
    singular = mg.tensor(matrix)
    singular[:, 66:] = 0
    assert (linalg.lu(singular)[2][min(m, 66) :, 66:] == 0).all()


@pytest.mark.parametrize(("m", "n"), [(64, 64), (65, 65), (70, 200), (200, 70), (129, 129)])
def test_reflections_of_large_matrices_are_applied_by_blocks(m: int, n: int) -> None:
    regular = np.random.default_rng(n).standard_normal((m, n))
    deficient = regular.copy()
    deficient[:, 3], deficient[:, -1] = 0, deficient[:, 0]  # a reflection is omitted
    for matrix in (regular, deficient):
        for a in (mg.tensor(matrix), mg.tensor(matrix.T.copy()).T):
            for mode in ("reduced", "complete"):
                Q, R = (x.numpy() for x in linalg.qr(a, mode))
                np.testing.assert_allclose(Q @ R, matrix, atol=1e-12)
                np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-12)
                assert not np.tril(R, -1).any()
        _, expected = np.linalg.qr(matrix)
        if matrix is regular:
            np.testing.assert_allclose(linalg.qr(mg.tensor(matrix), "r")[1].numpy(), expected, atol=1e-11)
