"""vmap: position of the batch, random numbers, chunks, empty batches, and functions without a batched form."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
import minigrad.nn.functional as F
from minigrad.errors import ArgumentError, GradientError, IndexOutOfRange, ShapeError

f = mg.func


def numbers(*shape: int, start: float = 1.0) -> mg.Tensor:
    return mg.arange(int(np.prod(shape)), dtype="float64", device="reference").reshape(shape) * 0.25 + start


A, B = numbers(3, 4), numbers(4, 3, start=-1.0)


def test_in_dims_and_out_dims_say_where_the_batch_is() -> None:
    add = lambda x, y: x + y * 2.0
    assert f.vmap(add)(A, A).tolist() == (A * 3.0).tolist()
    assert f.vmap(add, in_dims=(0, 1))(A, B).tolist() == (A + B.T * 2.0).tolist()
    assert f.vmap(add, in_dims=(-1, 0), out_dims=1)(A, B).tolist() == (A + B.T * 2.0).tolist()
    assert f.vmap(add, in_dims=(0, None))(A, A[0]).tolist() == (A + A[0] * 2.0).tolist()
    assert f.vmap(add, in_dims=(0, None), out_dims=-1)(A, 2.0).tolist() == (A + 4.0).T.tolist()
    assert f.vmap(lambda x, *, by: x * by)(A, by=A[0]).tolist() == (A * A[0]).tolist()


def test_arguments_and_outputs_may_be_nested() -> None:
    def fn(t: Any, n: int) -> Any:
        return {"sum": t["x"].sum() * n, "both": (t["x"], t["y"][0] + t["x"][0])}

    tree = {"x": A, "y": [numbers(3)]}
    y = f.vmap(fn, in_dims=({"x": 0, "y": 0}, None), out_dims={"sum": 0, "both": (1, 0)})(tree, 2)
    assert y["sum"].tolist() == (A.sum(1) * 2.0).tolist() and y["both"][0].tolist() == A.T.tolist()
    assert y["both"][1].tolist() == (tree["y"][0] + A[:, 0]).tolist()
    assert f.vmap(lambda t: t[0] * t[1])((A, A)).tolist() == (A * A).tolist()


def test_an_output_that_is_the_same_for_all() -> None:
    row = A[0]
    assert f.vmap(lambda x: row, out_dims=1)(A).tolist() == [[v] * 3 for v in row.tolist()]
    assert f.vmap(lambda x: (x, row), out_dims=(0, None))(A)[1] is row
    assert f.vmap(lambda x: ("text", {"n": 2}), out_dims=None)(A) == ("text", {"n": 2})
    with pytest.raises(ArgumentError, match=r"an output that differs over the batch, got None for"):
        f.vmap(lambda x: x, out_dims=None)(A)


def test_a_batch_of_none_and_one_in_chunks() -> None:
    none = A[:0]
    fn = lambda x: (mg.softmax(x, 0) @ B).sum()
    assert f.vmap(fn)(none).shape == (0,) and f.vmap(f.grad(fn))(none).shape == (0, 4)
    assert f.vmap(f.jacrev(lambda x: x * x))(none).shape == (0, 4, 4)
    want = f.vmap(f.grad(fn))(A).tolist()
    for size in (1, 2, 3, 5):
        got = f.vmap(f.grad(fn), chunk_size=size)(A)
        np.testing.assert_allclose(got.tolist(), want, rtol=1e-13)
    halves = f.vmap(lambda x: (x * 2.0, A), out_dims=(1, None), chunk_size=2)(A)
    assert halves[0].tolist() == (A * 2.0).T.tolist() and halves[1] is A


def test_batches_nest() -> None:
    outer = lambda x: f.vmap(lambda y: x * y)(B[:, 0])
    assert f.vmap(outer)(A[:, 0]).tolist() == (A[:, :1] * B[:, 0]).tolist()
    distances = f.vmap(f.vmap(lambda x, y: ((x - y) ** 2).sum(), (None, 0)), (0, None))(A, B.T)
    np.testing.assert_allclose(distances.tolist(), ((A.unsqueeze(1) - B.T) ** 2).sum(2).tolist(), rtol=1e-14)


# ---- random numbers -------------------------------------------------------------------------------------------------


def test_random_numbers_are_asked_for() -> None:
    draw = lambda x: x * 0.0 + mg.randn(4, dtype="float64", device="reference")
    with pytest.raises(GradientError, match=r"randn: random numbers under vmap .* pass randomness='different'"):
        f.vmap(draw)(A)
    mg.manual_seed(3)
    same = f.vmap(draw, randomness="same")(A).tolist()
    assert same[0] == same[1] == same[2]
    mg.manual_seed(3)
    other = f.vmap(draw, randomness="different")(A)
    mg.manual_seed(3)
    assert other.tolist() == mg.randn(3, 4, dtype="float64", device="reference").tolist()
    nested = f.vmap(f.vmap(lambda x: x * 0.0 + mg.rand((), dtype="float64", device="reference"),
                           randomness="different"), randomness="same")(A).tolist()  # fmt: skip
    assert nested[0] == nested[1] and len(set(nested[0])) == 4
    assert len({v for line in f.vmap(f.vmap(lambda x: x + mg.rand_like(x) - x, randomness="different"),
                                     randomness="different")(A).tolist() for v in line}) == 12  # fmt: skip
    spread = f.vmap(lambda x: mg.normal(x, x * 0.0 + 1e-9), randomness="different")(A)
    assert not mg.equal(spread, A) and mg.allclose(spread, A, atol=1e-7)
    chunks = [f.vmap(lambda x: mg.rand_like(x), randomness="same", chunk_size=2)(A).tolist() for _ in range(2)]
    assert all(line == each[0] for each in chunks for line in each) and chunks[0] != chunks[1]
    drawn = f.chunk_vmap(lambda x: mg.rand_like(x), randomness="same", chunks=3)(A).tolist()
    assert drawn[0] == drawn[1] == drawn[2]
    with pytest.raises(ArgumentError, match="randomness must be 'error', 'same' or 'different'"):
        f.vmap(draw, randomness="some")
    assert f.grad(lambda x: (x * mg.rand_like(x)).sum())(A[0]).shape == (4,)


# ---- what is not done -----------------------------------------------------------------------------------------------


def test_bad_use_is_answered_in_a_sentence() -> None:
    bad: list[tuple[Any, type[Exception], str]] = [
        (lambda: f.vmap(mg.add)(A, B), ShapeError, r"vmap: .* must have one batch size, and float64\(3, 4\) has 3"),
        (lambda: f.vmap(mg.add, in_dims=(0,))(A, A), ArgumentError, r"2 arguments of .*, got in_dims=\(0,\)"),
        (lambda: f.vmap(mg.add, in_dims=2)(A, A), IndexOutOfRange, r"must be a dim of float64\(3, 4\), .* got 2"),
        (lambda: f.vmap(mg.exp, in_dims="x")(A), ArgumentError, r"in_dims must be an int or a tuple"),
        (lambda: f.vmap(mg.exp, in_dims=((0, 0),))(A), ArgumentError, r"in_dims must be nested as the arguments"),
        (lambda: f.vmap(mg.add, in_dims=(0, 0))(A, 1.0), ArgumentError, r"that is not a tensor, got 0 for float 1.0"),
        (lambda: f.vmap(mg.exp, in_dims=(None,))(A), ArgumentError, r"must mark at least one argument"),
        (lambda: f.vmap(mg.exp)(), ArgumentError, r"must be called with at least one argument"),
        (lambda: f.vmap(mg.exp)(mg.tensor(1.0)), IndexOutOfRange, r"must be a dim of float32\(\)"),
        (lambda: f.vmap(mg.exp, out_dims=3)(A), IndexOutOfRange, r"out_dims must be an index from -2 to 1 .* got 3"),
        (lambda: f.vmap(mg.exp, out_dims=(0, 0))(A), ArgumentError, r"out_dims must be nested as the output"),
        (lambda: f.vmap(lambda x: 3.0)(A), ArgumentError, r"vmap: the function .* must return tensors, got float 3"),
        (lambda: f.vmap(mg.exp, chunk_size=0), ArgumentError, r"chunk_size must be positive"),
    ]  # fmt: skip
    for call, error, message in bad:
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("sample", [A, A[0]])
def test_a_dim_that_a_sample_does_not_have_is_never_the_batch_dim(sample: Any) -> None:
    views: dict[str, Callable[[Any, int], Any]] = {
        "squeeze": mg.squeeze, "flip": lambda x, d: mg.flip(x, (d,)), "select": lambda x, d: mg.select(x, d, 0),
        "narrow": lambda x, d: mg.narrow(x, d, 0, 1), "transpose": lambda x, d: mg.transpose(x, 0, d),
        "unfold": lambda x, d: x.unfold(d, 1, 1), "sum": mg.sum, "softmax": mg.softmax,
    }  # fmt: skip
    n = max(sample.ndim - 1, 1)
    for name, view in views.items():
        for dim in (-n - 2, -n - 1, n, n + 1):
            with pytest.raises(IndexOutOfRange, match=name):
                f.vmap(lambda x, view=view, dim=dim: view(x, dim))(sample)
    for dim in range(-sample.ndim, sample.ndim):
        expected = mg.stack([mg.unsqueeze(x, dim) for x in sample])
        assert mg.equal(f.vmap(lambda x, dim=dim: mg.unsqueeze(x, dim))(sample), expected)
    for dim in (-sample.ndim - 1, sample.ndim):
        with pytest.raises(IndexOutOfRange, match="unsqueeze"):
            f.vmap(lambda x, dim=dim: mg.unsqueeze(x, dim))(sample)


def test_a_sample_without_dims_is_unfolded_into_one_window() -> None:
    for dim, size, step in itertools.product((0, -1), (0, 1), (1, 2)):
        expected = mg.stack([x.unfold(dim, size, step) for x in A[0]])
        assert mg.equal(f.vmap(lambda x, args=(dim, size, step): x.unfold(*args))(A[0]), expected)


LAYERS: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "conv1d": (F.conv1d, (4, 2, 5), (3, 2, 3)),
    "conv_transpose1d": (lambda x, w: F.conv_transpose1d(x, w, groups=2), (4, 2, 5), (2, 3, 3)),
    "group_norm": (lambda x, w: F.group_norm(x, 3, w), (4, 6, 5), (6,)),
}


@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_an_empty_batch_have_empty_gradients(name: str, dims: tuple[Any, Any]) -> None:
    layer, *sizes = LAYERS[name]
    x, w = (mg.Var(mg.zeros(*[0] * (d == 0), *n, device="reference")) for d, n in zip(dims, sizes))
    y = f.vmap(layer, in_dims=dims)(x, w)
    assert y.shape == (0, *layer(*[mg.zeros(*n, device="reference") for n in sizes]).shape)
    y.sum().backward()
    assert x.grad.shape == x.shape and w.grad.shape == w.shape and not w.grad.any()


def test_a_write_of_nothing_at_positions_that_differ_by_sample() -> None:
    def write(x: Any, k: Any) -> Any:
        x = x.clone()
        x[k, 1:1] = 1.0
        return x

    x, k = mg.ones(2, 3, 2, device="reference"), mg.tensor([[0], [2]], device="reference")
    assert mg.equal(f.vmap(write)(x, k), x)


VALUES = {
    "if": lambda x: x if x[0] > 1.0 else -x,
    "item": lambda x: x * x[0].item(),
    "tolist": lambda x: mg.tensor(x.tolist()),
    "numpy": lambda x: mg.tensor(x.detach().numpy()),
    "a mask": lambda x: x[x > 1.0],
    "nonzero": lambda x: mg.nonzero(x),
    "masked_select": lambda x: mg.masked_select(x, x > 1.0),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_depends_on_values_cannot_be_done_for_many(name: str) -> None:
    with pytest.raises(GradientError, match="belongs to a transform"):
        f.vmap(VALUES[name])(A)
    with pytest.raises(GradientError, match="belongs to a transform"):
        f.vmap(f.grad(lambda x: VALUES[name](x).sum()))(A)


def test_a_place_for_each_of_the_batch_is_gathered() -> None:
    places = mg.tensor([2, 0, -1], device="reference")
    assert f.vmap(lambda x, k: x[k])(A, places).tolist() == [A[0, 2].item(), A[1, 0].item(), A[2, -1].item()]
    assert f.vmap(lambda k: A[0, k], in_dims=0)(places).tolist() == [A[0, k].item() for k in (2, 0, -1)]
    some = mg.tensor([[0, 1], [2, 2], [3, -4]], device="reference")
    assert f.vmap(lambda x, k: x[k])(A, some).tolist() == mg.gather(A, 1, some).tolist()
    slope = f.vmap(f.grad(lambda x, k: x[k] * x[k]))(A, places)
    assert slope[1].tolist() == [2.0 * A[1, 0].item(), 0.0, 0.0, 0.0]
    with pytest.raises(IndexOutOfRange):
        f.vmap(lambda x, k: x[k])(A, places + 2)


# ---- networks: no op of them needs a loop ---------------------------------------------------------------------------


def weights(*shapes: tuple[int, ...]) -> tuple[Any, ...]:
    rng = np.random.default_rng(2)
    return tuple(mg.tensor(rng.standard_normal(shape) * 0.4, device="reference") for shape in shapes)


def mlp(w: Any, x: Any, target: Any) -> Any:
    h = F.layer_norm(F.gelu(F.linear(x, w[0], w[1])), (5,), w[4], w[5])
    return F.cross_entropy(F.linear(h, w[2], w[3]), target)


def cnn(w: Any, x: Any, target: Any) -> Any:
    h = F.max_pool2d(F.conv2d(x.unsqueeze(0), w[0], w[1], padding=1).relu(), 2)
    h = F.avg_pool2d(F.conv2d(h, w[2], groups=2), 2)
    return F.cross_entropy(F.linear(h.reshape(1, -1), w[3], w[4]), target.reshape(1))


NETWORKS = {
    "mlp": (mlp, weights((5, 4), (5,), (3, 5), (3,), (5,), (5,)), (4,), 3),
    "cnn": (cnn, weights((4, 2, 3, 3), (4,), (4, 2, 2, 2), (3, 4), (3,)), (2, 6, 6), 3),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_for_each_sample_and_their_jacobians(name: str) -> None:
    loss, w, shape, classes = NETWORKS[name]
    rng = np.random.default_rng(4)
    x = mg.tensor(rng.standard_normal((3, *shape)), device="reference")
    target = mg.tensor(rng.integers(0, classes, 3), device="reference")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = f.vmap(f.grad(loss), in_dims=(None, 0, 0))(w, x, target)
        bend = f.vmap(f.jacfwd(f.grad(loss, 1), 1), in_dims=(None, 0, 0))(w, x, target)
        ensemble = f.vmap(loss, in_dims=(0, None, None))(tuple(mg.stack([p, p * 0.5]) for p in w), x[0], target[0])
    each = [f.grad(loss)(w, x[k], target[k]) for k in range(3)]
    for k, mine in enumerate(found):
        np.testing.assert_allclose(mine.tolist(), [one[k].tolist() for one in each], rtol=1e-9, atol=1e-13)
    one = f.jacrev(f.grad(loss, 1), 1)(w, x[1], target[1])
    np.testing.assert_allclose(bend[1].tolist(), one.tolist(), rtol=1e-8, atol=1e-12)
    halves = [loss(w, x[0], target[0]).item(), loss(tuple(p * 0.5 for p in w), x[0], target[0]).item()]
    np.testing.assert_allclose(ensemble.tolist(), halves, rtol=1e-12)


def test_the_gradient_of_a_trace_belongs_to_its_sample() -> None:
    for shape in ((3, 3, 3), (4, 2, 2), (2, 2, 3)):
        x = mg.tensor(np.arange(np.prod(shape), dtype=float).reshape(shape), device="reference")
        found = mg.func.vmap(mg.func.grad(lambda x: mg.trace(x) ** 2))(x).numpy()
        for sample, g in zip(x.numpy(), found, strict=True):
            np.testing.assert_allclose(g, 2.0 * np.trace(sample) * np.eye(*shape[1:]))
    eye = np.eye(2).reshape(-1)
    hessian = mg.func.hessian(lambda x: mg.trace(x) ** 2)(mg.ones(2, 2, dtype="float64", device="reference"))
    np.testing.assert_allclose(hessian.numpy().reshape(4, 4), 2.0 * np.outer(eye, eye))


@pytest.mark.parametrize(("chunks", "sizes"), [(1, [3]), (2, [2, 1]), (3, [1, 1, 1]), (7, [1, 1, 1])])
def test_a_batch_is_computed_in_a_number_of_chunks(chunks: int, sizes: list[int]) -> None:
    seen: list[int] = []

    def square(x: Any) -> Any:
        seen.append(len(x.value))
        return x * x

    y = f.chunk_vmap(square, out_dims=1, chunks=chunks)(A)
    assert y.tolist() == (A * A).transpose(0, 1).tolist() and seen == sizes
    with pytest.raises(ArgumentError, match="chunks must be"):
        f.chunk_vmap(square, chunks=0)
