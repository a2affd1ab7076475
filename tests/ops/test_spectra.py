"""Eigenvalues and singular values: every size, clusters, ranks and scales, derivatives, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.backends.registry import backend_of
from minigrad.core import requests
from minigrad.core.device import as_device
from minigrad.core.dtype import float64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.linalg.spectra import eigenvalues_of, singular_values_of
from minigrad.testing import gradcheck

linalg = mg.linalg
DEVICES = ("cpu", "reference")
SHAPES = [(0, 0), (1, 1), (2, 3, 3), (17, 17), (0, 3), (3, 0), (2, 0, 2), (5, 3), (3, 5), (33, 9), (9, 20)]


def tensor(data: Any, device: str = "reference", dtype: str = "float64") -> mg.Tensor:
    return mg.tensor(data, dtype=dtype, device=device)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def hard(n: int) -> dict[str, np.ndarray]:
    """Symmetric matrices with clusters, of low rank, and badly scaled."""
    q = np.linalg.qr(random(n, n))[0]
    half = np.arange(n) < n // 2
    scales = 10.0 ** np.random.default_rng(n).uniform(-8, 8, n)
    whole = random(n, n) + random(n, n).T
    return {
        "zero": np.zeros((n, n)), "identity": np.eye(n), "ones": np.ones((n, n)), "huge": whole * 1e150,
        "tiny": whole * 1e-150, "scaled": scales[:, None] * whole * scales,
        "cluster": q @ np.diag(1 + 1e-14 * random(n)) @ q.T, "two values": q @ np.diag(np.where(half, 1.0, 2.0)) @ q.T,
        "half of the rank": q @ np.diag(np.where(half, 1.0, 0.0)) @ q.T, "shift": np.diag(np.ones(n - 1), 1),
        "hilbert": 1 / (np.arange(n)[:, None] + np.arange(n) + 1),
    }  # fmt: skip


def check_eigh(a: np.ndarray, device: str, name: str = "") -> None:
    size = abs(a).max(initial=0.0) or 1.0
    w, V = (x.numpy() for x in linalg.eigh(tensor(a, device)))
    a = np.tril(a) + np.tril(a, -1).swapaxes(-1, -2)
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a), rtol=0, atol=1e-13 * size, err_msg=name)
    np.testing.assert_allclose(a @ V, V * w[..., None, :], rtol=0, atol=1e-13 * size, err_msg=name)
    one = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    np.testing.assert_allclose(V.swapaxes(-1, -2) @ V, one, rtol=0, atol=1e-13, err_msg=name)


def check_svd(a: np.ndarray, device: str, name: str = "", full: bool = True) -> None:
    size, k = abs(a).max(initial=0.0) or 1.0, min(a.shape[-2:])
    U, S, Vh = (x.numpy() for x in linalg.svd(tensor(a, device), full))
    np.testing.assert_allclose(
        U[..., :k] * S[..., None, :] @ Vh[..., :k, :], a, rtol=0, atol=1e-13 * size, err_msg=name
    )
    if a.size:
        np.testing.assert_allclose(S, np.linalg.svd(a, compute_uv=False), rtol=0, atol=1e-13 * size, err_msg=name)
    for rows in (U.swapaxes(-1, -2), Vh):
        one = np.broadcast_to(np.eye(rows.shape[-2]), (*rows.shape[:-1], rows.shape[-2]))
        np.testing.assert_allclose(rows @ rows.swapaxes(-1, -2), one, rtol=0, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("device", DEVICES)
@over("shape", SHAPES)
def test_vectors_are_orthonormal_and_make_the_matrix_again(shape: tuple[int, ...], device: str) -> None:
    if device == "reference":  # its loops have no blocks that a long dim could fill
        shape = tuple([{17: 6, 33: 8, 20: 12}.get(n, n) for n in shape])
    a = random(*shape)
    for full in (True, False):
        check_svd(a, device, full=full)
    if shape[-1] == shape[-2]:
        check_eigh(a, device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n", [3, 16])
def test_clusters_ranks_and_scales(n: int, device: str) -> None:
    for name, a in hard(n).items():
        check_eigh(a, device, name)
        check_svd(a, device, name)


def test_the_definition_ends_for_two_eigenvalues_of_many_rows() -> None:
    # Of all matrices tried, these need the most sweeps: 12 of 33 rows, 9 of 17; 12 and 13 are made of 12 sweeps.
    for n in (12, 13):
        a = hard(n)["two values"]
        values, matrix = (Spec(Layout.contiguous(shape), float64) for shape in ((n,), (n, n)))
        w, V = np.zeros(n), np.zeros(n * n)
        backend = backend_of(as_device("reference"))
        backend.prepare(requests.Eigh(), (values, matrix), matrix)(a.reshape(-1), w, V)
        V = V.reshape(n, n)
        np.testing.assert_allclose(a @ V, V * w, rtol=0, atol=1e-13)
        np.testing.assert_allclose(V.T @ V, np.eye(n), rtol=0, atol=1e-13)


@pytest.mark.parametrize("device", DEVICES)
def test_only_the_triangle_that_is_asked_for_is_read(device: str) -> None:
    a = random(4, 4)
    for triangle, part in (("L", np.tril(a)), ("U", np.triu(a))):
        got = linalg.eigvalsh(tensor(a, device), triangle).numpy()
        np.testing.assert_allclose(got, np.linalg.eigvalsh(part, triangle), rtol=1e-12)
    with pytest.raises(ArgumentError, match="UPLO must be 'L' or 'U', got 'X'"):
        linalg.eigh(tensor(a, device), "X")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_matrix_that_is_not_finite_is_named(bad: float, device: str) -> None:
    for n in (1, 2, 5):
        a = np.stack([np.eye(n), np.eye(n)])
        a[1, n - 1, 0] = bad
        for name, call, what in (("eigh", linalg.eigh, "eigenvalues"), ("svd", linalg.svd, "singular values")):
            message = (
                rf"^{name}: the matrix \[1\] of the batch float64\(2, {n}, {n}\) contains nan or inf, so its {what} are"
            )
            with pytest.raises(ArgumentError, match=message):
                call(tensor(a, device))
            with pytest.raises(ArgumentError, match=message):
                mg.func.vmap(call)(tensor(a, device))


# ---- derivatives ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_derivatives_of_singular_values_and_vectors(part: int, shape: tuple[int, ...]) -> None:
    a = mg.Var(random(*shape), device="reference")

    def call(x: Any) -> Any:
        return linalg.svd(x, False)[part] ** 2  # whatever the sign of a pair of vectors

    assert gradcheck(call, a, modes=("forward", "batched"))
    assert gradcheck(lambda x: mg.grad((call(x) ** 2).sum(), x, create_graph=True), a)


@pytest.mark.parametrize("call", [
    lambda a: linalg.eigh(a + a.mT)[1] ** 2, lambda a: linalg.eigvalsh(a + a.mT), linalg.pinv, linalg.cond,
    lambda a: eigenvalues_of(a + a.mT), singular_values_of,
    lambda a: linalg.pinv(a[:, :2]), lambda a: linalg.pinv(a[:2]), lambda a: linalg.pinv(a[:, :1] @ a[:1]),
    lambda a: linalg.lstsq(a[:, :2], a[:, 2:])[0], lambda a: linalg.lstsq(a[:, :2], a[:, 2:], driver="gels")[1],
    lambda a: linalg.matrix_norm(a, "nuc"),
])  # fmt: skip
def test_derivatives_of_both_orders_and_directions(call: Callable[..., Any]) -> None:
    a = mg.Var(random(3, 3), device="reference")
    assert gradcheck(call, a, modes=("forward", "batched"))
    assert gradcheck(lambda x: mg.grad((call(x) ** 2).sum(), x, create_graph=True), a)


def test_equal_values_have_a_gradient_and_their_vectors_have_none() -> None:
    a = mg.Var(np.eye(3), device="reference")
    np.testing.assert_allclose(mg.grad(linalg.eigvalsh(a).sum(), a).numpy(), np.eye(3))
    np.testing.assert_allclose(mg.grad(linalg.svdvals(a).sum(), a).numpy(), np.eye(3), atol=1e-15)
    np.testing.assert_allclose(mg.grad(linalg.pinv(a).sum(), a).numpy(), -np.ones((3, 3)), atol=1e-14)
    assert np.isnan(mg.grad(linalg.eigh(a).eigenvectors.sum(), a).numpy()).any()


# ---- pseudoinverses, ranks, least squares ---------------------------------------------------------------------------


def test_small_singular_values_count_as_zero() -> None:
    a = np.diag([4.0, 1.0, 1e-20])
    assert linalg.matrix_rank(tensor(a)).item() == 2
    assert linalg.matrix_rank(tensor(a), rtol=0.5).item() == 1
    assert linalg.matrix_rank(tensor(a), atol=5.0).item() == 0
    assert linalg.matrix_rank(tensor(np.stack([a, a])), atol=tensor([0.5, 2.0]), hermitian=True).tolist() == [2, 1]
    np.testing.assert_allclose(linalg.pinv(tensor(a)).numpy(), np.diag([0.25, 1.0, 0.0]), atol=1e-15)
    np.testing.assert_allclose(linalg.pinv(tensor(a), atol=2.0, hermitian=True).numpy(), np.diag([0.25, 0.0, 0.0]))
    assert linalg.pinv(tensor(np.zeros((0, 3)))).shape == (3, 0)
    assert linalg.matrix_rank(tensor(np.zeros((2, 0, 3)))).tolist() == [0, 0]


def test_least_squares_have_the_parts_that_pytorch_returns() -> None:
    a, b = random(5, 3), random(5, 2)
    want, rest, _, values = np.linalg.lstsq(a, b, rcond=None)
    shapes = {None: ((0,), (), (0,)), "gels": ((2,), (0,), (0,)), "gelsd": ((2,), (), (3,)), "gelss": ((2,), (), (3,))}
    for driver, parts in shapes.items():
        result = linalg.lstsq(tensor(a), tensor(b), driver=driver)
        np.testing.assert_allclose(result.solution.numpy(), want, rtol=1e-12)
        assert tuple(x.shape for x in result[1:]) == parts and result.rank.dtype is mg.int64
        if parts[0] == (2,):
            np.testing.assert_allclose(result.residuals.numpy(), rest, rtol=1e-12)
        if parts[2] == (3,):
            np.testing.assert_allclose(result.singular_values.numpy(), values, rtol=1e-12)
    full = a.copy()
    a[:, 2] = a[:, 0] + a[:, 1]
    result = linalg.lstsq(tensor(a), tensor(b), driver="gelsd")
    np.testing.assert_allclose(result.solution.numpy(), np.linalg.pinv(a) @ b, atol=1e-12)
    assert result.rank.item() == 2 and result.residuals.shape == (0,)
    residuals = mg.vmap(lambda x, y: linalg.lstsq(x, y, driver="gelsd").residuals)  # its samples may differ in rank
    deficient = ((a @ np.linalg.pinv(a) @ b - b) ** 2).sum(0)
    both = residuals(tensor(np.stack([a, full])), tensor(np.stack([b, b])))
    np.testing.assert_allclose(both.numpy(), np.stack([deficient, rest]), rtol=1e-10)
    vectors = linalg.lstsq(tensor(random(2, 5, 3)), tensor(random(2, 5)), driver="gels")
    assert vectors.solution.shape == (2, 3) and vectors.residuals.shape == (2, 1), "as PyTorch's"
    with pytest.raises(ShapeError, match=r"A and B must have the shapes \(\.\.\., m, n\) and"):
        linalg.lstsq(tensor(a), tensor(b[:2]))
    with pytest.raises(ArgumentError, match="driver must be 'gelsy'"):
        linalg.lstsq(tensor(a), tensor(b), driver="qr")


def test_norms_of_matrices_by_singular_values() -> None:
    a = random(2, 3, 4)
    for order in ("nuc", 2, -2):
        want = np.linalg.norm(a, order, (1, 2))
        np.testing.assert_allclose(linalg.matrix_norm(tensor(a), order).numpy(), want, rtol=1e-12)
        turned = linalg.matrix_norm(tensor(a), order, (2, 0), True)
        np.testing.assert_allclose(turned.numpy(), np.linalg.norm(a, order, (2, 0), True), rtol=1e-12)
    assert linalg.norm(tensor([[3.0, 4.0]]), 2).item() == pytest.approx(5.0)
    assert linalg.norm(tensor([3.0, 4.0]), 1).item() == 7.0 and linalg.norm(tensor(a), dim=0).shape == (3, 4)
    assert linalg.cond(tensor(np.diag([4.0, 2.0])), -2).item() == 0.5
    for order in (1, 2, np.inf):
        assert linalg.matrix_norm(tensor(np.zeros((2, 0, 0))), order).tolist() == [0.0, 0.0], "as PyTorch's"
    with pytest.raises(ShapeError, match="dim is required with ord for more than 2 dims"):
        linalg.norm(tensor(a), 2)


def test_the_nuclear_norm_is_a_norm_by_that_name_too() -> None:
    x = mg.Var([[3.0, 0.0], [0.0, -4.0]], device="reference")
    assert mg.norm(x, "nuc").item() == x.norm("nuc").item() == mg.linalg.norm(x, "nuc").item() == 7.0
    assert mg.norm(x, "nuc").backward()[x].tolist() == [[1.0, 0.0], [0.0, -1.0]]
    assert mg.norm(x[None], "nuc", (1, 2), keepdim=True).tolist() == [[[7.0]]]


def test_eigenvalues_without_eigenvectors_are_the_same() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 33):
        for whole in (rng.normal(size=(2, n, n)), rng.normal(size=(2, n, n)) + 1j * rng.normal(size=(2, n, n))):
            x = mg.tensor(whole)
            with mg.no_grad():
                found = linalg.eigvalsh(x)
            np.testing.assert_allclose(found.numpy(), linalg.eigh(x).eigenvalues.numpy(), rtol=1e-12, atol=1e-13)


def test_singular_values_without_vectors_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    for shape in ((7, 7), (8, 8), (2, 3, 9, 17), (17, 9), (65, 33), (9, 70)):  # rotations up to 7, then groups of 32
        for part in (rng.normal(size=shape), rng.normal(size=shape) + 1j * rng.normal(size=shape)):
            for whole in (part, part[..., :1] @ part[..., :1, :], np.where(rng.uniform(size=shape) < 0.8, 0, part)):
                for x in (mg.tensor(whole), mg.tensor(whole.swapaxes(-1, -2).copy()).mT):
                    want = np.linalg.svd(whole, compute_uv=False)
                    np.testing.assert_allclose(linalg.svdvals(x).numpy(), want, rtol=0, atol=1e-14 * want.max())


def test_singular_values_of_a_diagonal_are_exact_at_every_scale() -> None:
    for scale in (1e-300, 1.0, 1e307):
        sizes = np.array([3.0, 0.1, 1.0, 0.0, 1e-5, 1 / 3, 0.7, 2.5]) * scale
        values = linalg.svdvals(mg.tensor(np.diag(sizes * [1, -1, 1, 1, -1, 1, 1, -1]))).numpy()
        assert values.tolist() == sorted(sizes.tolist(), reverse=True)
    assert linalg.svdvals(mg.zeros(8, 8, dtype=mg.float64)).tolist() == [0.0] * 8


def test_rows_that_an_exchange_moved_past_others_are_compared() -> None:
    """The first sweep compares only orthogonal pairs of these rows, although two rows are parallel."""
    rows = np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 4.0]])
    for a in (rows, rows * 1j):
        _, want, _ = np.linalg.svd(a, full_matrices=False)
        u, s, vh = (x.numpy() for x in linalg.svd(mg.tensor(a), full_matrices=False))
        np.testing.assert_allclose(s, want, rtol=0, atol=1e-15 * want.max())
        np.testing.assert_allclose((u * s) @ vh, a, rtol=0, atol=1e-15 * want.max())


def test_the_phases_of_subnormal_numbers_have_length_1() -> None:
    a = np.full((8, 8), 0.5) + 0.5 * np.eye(8) + 0j
    a[0, 0] = 5e-324 * (1 + 1j)
    want = np.linalg.svd(a, compute_uv=False)
    np.testing.assert_allclose(linalg.svdvals(mg.tensor(a)).numpy(), want, rtol=0, atol=1e-14)
    h = a + a.conj().T
    h[0, 1], h[1, 0] = a[0, 0], a[0, 0].conj()
    w, V = (x.numpy() for x in linalg.eigh(mg.tensor(h)))
    np.testing.assert_allclose(w, np.linalg.eigvalsh(h), rtol=0, atol=1e-14)
    np.testing.assert_allclose((V * w) @ V.conj().T, h, rtol=0, atol=1e-14)
    a[1, 0] = a[0, 0]
    w, V = (x.numpy() for x in linalg.eig(mg.tensor(a)))
    np.testing.assert_allclose(a @ V, V * w, rtol=0, atol=1e-13)


@pytest.mark.parametrize("device", DEVICES)
def test_singular_values_of_a_matrix_that_is_not_finite_are_refused(device: str) -> None:
    for n in (2, 8):
        a = np.stack([np.eye(n), np.eye(n)])
        a[1, 1, 0] = math.nan
        with pytest.raises(ArgumentError, match=r"^svdvals: the matrix \[1\] of the batch .* contains nan or inf"):
            linalg.svdvals(tensor(a, device))
