"""Cholesky factors and triangular systems: the triangle that is read, batches, derivatives, matrices without one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from cases import over
from op_table import DEVICES

import minigrad as mg
from minigrad.backends.registry import backend_of
from minigrad.core import requests
from minigrad.core.device import as_device
from minigrad.core.dtype import int64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.testing import gradcheck

linalg = mg.linalg


def tensor(data: Any, dtype: str = "float64", device: str = "reference") -> mg.Tensor:
    return mg.tensor(data, dtype=dtype, device=device)


def positive(*shape: int) -> np.ndarray:
    x = np.random.default_rng(len(shape)).normal(size=shape)
    return x @ x.swapaxes(-1, -2) + np.eye(shape[-1])


@pytest.mark.parametrize("device", DEVICES)
def test_only_the_triangle_that_is_asked_for_is_read(device: str) -> None:
    a = positive(2, 4, 4)
    want = np.linalg.cholesky(a)
    for upper, read in ((False, np.tril(a)), (True, np.triu(a))):
        got = linalg.cholesky(tensor(read, device=device), upper=upper)
        np.testing.assert_allclose(got.numpy(), want.swapaxes(-1, -2) if upper else want, rtol=1e-12, atol=1e-12)
    strange = tensor(np.tril(a)[::-1, ::-1, ::-1].copy(), device=device).flip(0, 1, 2)
    np.testing.assert_allclose(linalg.cholesky(strange).numpy(), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
@over("left", [True, False])
@over("unit", [True, False])
@over("upper", [True, False])
def test_a_solution_solves_its_system(upper: bool, unit: bool, left: bool, device: str) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(2, 1, 3, 3)) + 3 * np.eye(3)
    b = rng.normal(size=(4, 3, 2) if left else (4, 2, 3))
    x = linalg.solve_triangular(tensor(a, device=device), tensor(b, device=device), upper=upper, left=left,
                                unitriangular=unit).numpy()  # fmt: skip
    whole = np.triu(a) if upper else np.tril(a)
    whole = np.where(np.eye(3), 1.0, whole) if unit else whole
    assert x.shape == (2, *b.shape)
    np.testing.assert_allclose(whole @ x if left else x @ whole, np.broadcast_to(b, x.shape), rtol=1e-10, atol=1e-10)


def test_sizes_of_zero_and_one() -> None:
    for shape in ((0, 0), (0, 3, 3), (2, 0, 0)):
        assert linalg.cholesky(tensor(np.zeros(shape))).shape == shape
    assert linalg.cholesky(tensor([[4.0]])).tolist() == [[2.0]]
    a = tensor(np.eye(3))
    assert linalg.solve_triangular(a, tensor(np.zeros((3, 0))), upper=True).shape == (3, 0)
    assert linalg.solve_triangular(a[:0, :0], tensor(np.zeros((0, 2))), upper=True).shape == (0, 2)


def test_derivatives_of_both_orders_and_directions() -> None:
    rng = np.random.default_rng(1)
    one = mg.eye(3, dtype="float64", device="reference")
    x = mg.Var(rng.normal(size=(2, 3, 3)), device="reference")

    def factor(x: Any) -> Any:
        return linalg.cholesky(x @ x.mT + one)

    assert gradcheck(factor, x, modes=("forward", "batched"))
    assert gradcheck(lambda x: mg.grad(factor(x).sum(), x, create_graph=True), x)
    a, b = mg.Var(rng.normal(size=(3, 3)) + 3 * np.eye(3), device="reference"), x.detach()
    for upper in (True, False):
        for unit in (True, False):
            assert gradcheck(
                lambda a: linalg.solve_triangular(a, b, upper=upper, unitriangular=unit),  # noqa: B023
                a, modes=("forward", "batched"),
            )  # fmt: skip


def test_the_gradient_of_a_factor_is_symmetric() -> None:
    a = mg.Var(np.tril(positive(3, 3)), device="reference")
    g = linalg.cholesky(a).sum().backward()[a].numpy()
    np.testing.assert_allclose(g, g.T)


@pytest.mark.parametrize("device", DEVICES)
def test_a_matrix_that_is_not_positive_definite_is_named(device: str) -> None:
    good, bad = np.eye(3), np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(
        ArgumentError, match=r"the matrix \[1, 0\] of the batch float64\(2, 2, 3, 3\) is not positive.* order 2"
    ):
        linalg.cholesky(tensor(np.array([[good, good], [bad, bad]]), device=device))
    with pytest.raises(ArgumentError, match=r"the matrix float64\(1, 1\) is not positive definite.* of order 1"):
        linalg.cholesky(tensor([[math.nan]], device=device))


def test_other_operands_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"expected square matrices of shape \(..., n, n\), got float64\(2, 3\)"):
        linalg.cholesky(tensor(np.ones((2, 3))))
    with pytest.raises(ShapeError, match="expected square matrices"):
        linalg.cholesky(tensor([1.0]))
    with pytest.raises(DTypeError, match=r"cholesky: expected .*complex numbers, got float16\(2, 2\)"):
        linalg.cholesky(tensor(np.eye(2), "float16"))
    with pytest.raises(
        ShapeError, match=r"solve_triangular: A and B must have the shapes .*, got .* and float64\(2, 1\)"
    ):
        linalg.solve_triangular(tensor(np.eye(3)), tensor([[1.0], [2.0]]), upper=True)


def test_a_device_that_serves_neither_makes_them_of_products() -> None:
    backend, a = backend_of(as_device("reference")), positive(2, 3, 3)
    b = np.random.default_rng(0).normal(size=(2, 3, 2))
    square, right = (Spec(Layout.contiguous(x.shape), mg.float64) for x in (a, b))
    u, x, pivots = np.zeros(18), np.zeros(12), np.ones(6, np.int64)
    launch = backend.prepare(requests.Cholesky(), (square, Spec(Layout.contiguous((2, 3)), int64)), square)
    launch(a.reshape(-1), u, pivots)
    u = u.reshape(2, 3, 3)
    np.testing.assert_allclose(u.swapaxes(-1, -2) @ u, a)
    assert pivots.tolist() == [0] * 6
    for upper in (True, False):
        for unit in (True, False):
            request = requests.SolveTriangular(upper, unit)
            backend.prepare(request, right, square, right)(a.reshape(-1), b.reshape(-1), x)
            whole = np.triu(a) if upper else np.tril(a)
            whole = np.where(np.eye(3), 1.0, whole) if unit else whole
            np.testing.assert_allclose(whole @ x.reshape(2, 3, 2), b)


@pytest.mark.parametrize(("n", "k"), [(63, 70), (64, 5), (65, 129), (130, 3), (200, 64)])
@pytest.mark.parametrize("upper", [False, True])
def test_large_triangular_systems_are_solved_by_blocks(n: int, k: int, upper: bool) -> None:
    rng = np.random.default_rng(n)
    matrix = (np.triu if upper else np.tril)(rng.standard_normal((n, n)) / n) + 2 * np.eye(n)
    right = rng.standard_normal((n, k))
    for unit in (False, True):
        system = matrix - np.diag(np.diag(matrix)) + np.eye(n) if unit else matrix
        for a in (mg.tensor(matrix), mg.tensor(matrix.T.copy()).T):
            found = mg.linalg.solve_triangular(a, mg.tensor(right), upper=upper, unitriangular=unit)
            np.testing.assert_allclose(found.numpy(), np.linalg.solve(system, right), rtol=1e-9, atol=1e-10)
            pair = mg.linalg.solve_triangular(mg.stack([a, a]), mg.tensor(right), upper=upper, unitriangular=unit)
            np.testing.assert_allclose(pair[1].numpy(), found.numpy(), rtol=1e-9, atol=1e-10)
