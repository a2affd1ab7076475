"""grad, value_and_grad, vjp, jvp, linearize, jacobians, hessian and hvp: arguments, structures, errors."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from points import row

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, GradientError, ShapeError, StorageError

f = mg.func
Pair = namedtuple("Pair", ["a", "b"])


def matrix() -> mg.Tensor:
    return mg.tensor([[1.0, 2.0, 0.5], [-1.0, 0.3, 2.0]], dtype="float64", device="reference")


def lists(value: Any) -> Any:
    if isinstance(value, mg.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: lists(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [lists(each) for each in value]
    return value


X, Y = row(1.0, 2.0), row(3.0, -1.0)
squares = lambda x: (x * x).sum()


# ---- reverse mode ---------------------------------------------------------------------------------------------------


def test_the_remedy_for_an_integer_argument_is_one_that_the_transform_has() -> None:
    n = mg.tensor([2, 3], device="reference")
    ones = mg.ones_like(X)
    for call in (
        lambda: f.jvp(lambda x, n: x * n, (X, n), (ones, ones)),
        lambda: f.vjp(lambda x, n: x * n, X, n),
        lambda: f.hvp(lambda x, n: (x * n).sum(), (X, n), (ones, ones)),
        lambda: f.linearize(lambda x, n: x * n, X, n),
    ):
        with pytest.raises(DTypeError, match=r"or leave it out of the primals, lambda x: f\(x, n\)") as error:
            call()
        assert "argnums" not in str(error.value)
    with pytest.raises(DTypeError, match="or remove its index from argnums"):
        f.grad(lambda x, n: (x * n).sum(), argnums=1)(X, n)


def test_argnums_say_which_argument() -> None:
    both = lambda x, y: (x * x * y).sum()
    assert f.grad(both)(X, Y).tolist() == [6.0, -4.0]
    assert f.grad(both, argnums=1)(X, Y).tolist() == f.grad(both, argnums=-1)(X, Y).tolist() == [1.0, 4.0]
    assert lists(f.grad(both, argnums=(0, 1))(X, Y)) == [[6.0, -4.0], [1.0, 4.0]]
    assert lists(f.grad(both, argnums=(1,))(X, Y)) == [[1.0, 4.0]]
    scaled = lambda x, *, by: (x * by).sum()
    assert f.grad(scaled)(X, by=3.0).tolist() == [3.0, 3.0]


def test_values_and_aux() -> None:
    value, slope = f.value_and_grad(squares)(X)
    assert value.item() == 5.0 and slope.tolist() == [2.0, 4.0] and not value.requires_grad
    slope, value = f.grad_and_value(squares)(X)
    assert value.item() == 5.0 and slope.tolist() == [2.0, 4.0]
    more = lambda x: (squares(x), {"twice": x * 2.0, "n": 3})
    assert lists(f.grad(more, has_aux=True)(X)) == [[2.0, 4.0], {"twice": [2.0, 4.0], "n": 3}]
    assert lists(f.value_and_grad(more, has_aux=True)(X)) == [[5.0, {"twice": [2.0, 4.0], "n": 3}], [2.0, 4.0]]
    assert lists(f.grad_and_value(more, has_aux=True)(X)) == [[2.0, 4.0], [5.0, {"twice": [2.0, 4.0], "n": 3}]]
    aux = f.grad(more, has_aux=True)(X)[1]["twice"]
    assert not aux.requires_grad
    assert lists(f.vmap(f.grad(lambda x: (x * x, x * 2.0), has_aux=True))(X)) == [[2.0, 4.0], [2.0, 4.0]]


def test_nested_arguments_keep_their_structure() -> None:
    tree = {"w": X, "rest": [Y, (X, None)], "pair": Pair(X, 3)}

    def loss(t: Any) -> Any:
        return (t["w"] * t["rest"][0]).sum() + (t["rest"][1][0] * t["pair"].b).sum() + squares(t["pair"].a)

    slope = f.grad(loss)(tree)
    assert lists(slope) == {"w": [3.0, -1.0], "rest": [[1.0, 2.0], [[3.0, 3.0], None]], "pair": [[2.0, 4.0], None]}
    assert type(slope["pair"]) is Pair and list(slope) == ["w", "rest", "pair"]
    once, pull = f.vjp(loss, tree)
    assert lists(pull(mg.ones_like(once))[0]) == lists(slope)


def test_an_input_that_is_not_used_has_zeros() -> None:
    assert f.grad(lambda x, y: squares(x), argnums=1)(X, Y).tolist() == [0.0, 0.0]
    assert f.grad(lambda x: mg.tensor(2.0))(X).tolist() == [0.0, 0.0]
    assert f.grad(lambda x: x)(mg.tensor(2.0)).item() == 1.0
    assert f.vmap(f.grad(lambda x: mg.tensor(2.0)))(X).tolist() == [0.0, 0.0]
    _, moved = f.jvp(lambda x: Y * 1.0, (X,), (X,))
    assert moved.tolist() == [0.0, 0.0]
    with pytest.raises(GradientError, match="must depend on the primals"):
        f.jvp(lambda x: Y * 1.0, (X,), (X,), strict=True)


def test_a_pullback_may_be_called_again_and_nests_outputs() -> None:
    y, pull = f.vjp(lambda a, b: {"p": a * b, "s": a.sum()}, X, Y)
    assert lists(y) == {"p": [3.0, -2.0], "s": 3.0}
    one = mg.tensor(1.0, dtype="float64", device="reference")
    for _ in range(2):
        assert lists(pull({"p": row(1.0, 1.0), "s": one})) == [[4.0, 0.0], [1.0, 2.0]]
    _, pull, aux = f.vjp(lambda a: (a * 2.0, a), X, has_aux=True)
    assert lists(pull(X)[0]) == [2.0, 4.0] and lists(aux) == [1.0, 2.0]


def test_a_cotangent_of_integers_is_cast_to_the_dtype_of_the_output() -> None:
    (gradient,) = f.vjp(lambda x: x * 3.0, X)[1](mg.tensor([1, 2], device=X.device))
    assert gradient.tolist() == [3.0, 6.0] and gradient.dtype is X.dtype


def test_what_a_function_gives_shares_nothing_with_its_input() -> None:
    x = row(1.0, 2.0)
    slope = f.grad(lambda t: (t * Y).sum())(x)
    slope.mul_(0.0)
    assert Y.tolist() == [3.0, -1.0] and x.tolist() == [1.0, 2.0]


# ---- forward mode ---------------------------------------------------------------------------------------------------


def test_jvp_of_nested_arguments() -> None:
    fn = lambda t, n: {"p": t["a"] * t["b"], "q": [t["a"].sum() * n]}
    y, dy = f.jvp(fn, ({"a": X, "b": Y}, 2.0), ({"a": Y, "b": X}, None))
    assert lists(y) == {"p": [3.0, -2.0], "q": [6.0]} and lists(dy) == {"p": [10.0, 5.0], "q": [4.0]}
    y, dy, aux = f.jvp(lambda x: (x * x, x + 1.0), (X,), (Y,), has_aux=True)
    assert lists([dy, aux]) == [[6.0, -4.0], [2.0, 3.0]]


def test_linearize_runs_the_function_once() -> None:
    runs: list[int] = []

    def fn(x: Any, y: Any) -> Any:
        runs.append(1)
        return {"a": x * x * y, "b": [y.exp().sum()]}

    y, linear = f.linearize(fn, X, Y)
    for tangents in ((X, Y), (Y, X)):
        assert lists(linear(*tangents)) == lists(f.jvp(fn, (X, Y), tangents)[1])
    assert len(runs) == 3 and lists(y) == lists(fn(X, Y))
    assert lists(f.vmap(linear)(mg.stack([X, Y]), mg.stack([Y, X]))["a"]) == [
        lists(linear(X, Y)["a"]), lists(linear(Y, X)["a"]),
    ]  # fmt: skip


# ---- jacobians ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [f.jacrev, f.jacfwd, f.jacobian], ids=lambda fn: fn.__name__)
def test_a_jacobian_has_the_dims_of_output_and_input(make: Any) -> None:
    x = matrix()
    found = make(lambda t: (t * t) @ Y3)(x)
    assert found.shape == (2, 2, 3)
    want = [[[2 * t * y for t, y in zip(line, Y3.tolist())] if i == j else [0.0] * 3
             for j, line in enumerate(x.tolist())] for i in range(2)]  # fmt: skip
    assert found.tolist() == want
    nested = make(lambda a, b: {"p": a * b, "s": (a * a).sum()}, argnums=(0, 1))(X, Y)
    assert lists(nested) == {
        "p": [[[3.0, 0.0], [0.0, -1.0]], [[1.0, 0.0], [0.0, 2.0]]], "s": [[2.0, 4.0], [0.0, 0.0]],
    }  # fmt: skip
    assert lists(make(lambda t: (t * t, t * 3.0), has_aux=True)(X)) == [[[2.0, 0.0], [0.0, 4.0]], [3.0, 6.0]]
    assert make(lambda t: t[:0])(X).shape == (0, 2)


Y3 = row(3.0, -1.0, 2.0)


def test_a_jacobian_in_chunks() -> None:
    fn = lambda x: (x.unsqueeze(0) * matrix()).exp()
    want = f.jacrev(fn)(Y3)
    for size in (1, 2, 4, 9):
        assert f.jacrev(fn, chunk_size=size)(Y3).tolist() == want.tolist()
    for other in (f.jacobian(fn, mode="forward"), f.jacfwd(fn)):
        np.testing.assert_allclose(other(Y3).tolist(), want.tolist(), rtol=1e-14)


def test_a_hessian_and_its_products() -> None:
    fn = lambda x, y: (x * x * y).sum() + (x[0] * y[1])
    blocks = f.hessian(fn, argnums=(0, 1))(X, Y)
    assert lists(blocks) == [
        [[[6.0, 0.0], [0.0, -2.0]], [[2.0, 1.0], [0.0, 4.0]]],
        [[[2.0, 0.0], [1.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]],
    ]  # fmt: skip
    assert lists(f.hvp(fn, (X, Y), (Y, X))) == [[18.0 + 2.0 + 2.0, 2.0 + 8.0], [6.0, 3.0 - 4.0]]
    assert f.hvp(squares, (X,), (Y,)).tolist() == [6.0, -2.0]
    assert lists(f.hvp(lambda t: squares(t["a"]), ({"a": X},), ({"a": Y},))) == {"a": [6.0, -2.0]}
    assert f.hvp(lambda x: x.sum(), (X,), (Y,)).tolist() == [0.0, 0.0]
    assert f.hessian(lambda t: squares(t["a"]) * 2.0)({"a": X})["a"]["a"].tolist() == [[4.0, 0.0], [0.0, 4.0]]


# ---- errors ---------------------------------------------------------------------------------------------------------


def test_bad_use_is_answered_in_a_sentence() -> None:
    ints = mg.tensor([1, 2], device="reference")
    bad: list[tuple[Any, type[Exception], str]] = [
        (lambda: f.grad(lambda x: x)(X), GradientError, r"grad: the function .* must return a scalar float of shape"),
        (lambda: f.grad(lambda x: 3.0)(X), GradientError, r"must return a scalar float.*got float 3.0"),
        (lambda: f.grad(lambda x: (squares(x), 1))(X), GradientError, r"has_aux=True for more values"),
        (lambda: f.grad(squares, has_aux=True)(X), ArgumentError, r"with has_aux=True .* must return \(output, aux\)"),
        (lambda: f.grad(squares)(3.0), GradientError, r"expected at least one tensor .*, got float 3.0; .* mg.tensor"),
        (lambda: f.grad(squares)(ints), DTypeError, r"grad: only tensors with a floating dtype .* int64\(2,\)"),
        (lambda: f.grad(squares, argnums=1)(X), ArgumentError, r"an index .* 1 positional arguments, got 1"),
        (lambda: f.jvp(squares, (X,), (X, X)), ArgumentError, r"jvp: tangents must be nested as the primals"),
        (lambda: f.jvp(squares, (X,), (row(1.0),)), ShapeError, r"the tangent must have .* got float64\(1,\)"),
        (lambda: f.jvp(squares, X, X), ArgumentError, r"jvp: primals and tangents must be tuples"),
        (lambda: f.vjp(squares, X)[1](X), ShapeError, r"vjp: the cotangent must have .* got float64\(2,\)"),
        (lambda: f.vjp(squares, X)[1]([X]), ArgumentError, r"vjp: cotangents must be nested .* got list\(\*\)"),
        (lambda: f.vjp(squares), ArgumentError, r"vjp: expected primals for"),
        (lambda: f.vjp(lambda x: 3, X), ArgumentError, r"vjp: the function .* must return tensors, got int 3"),
        (lambda: f.jacrev(squares, chunk_size=0), ArgumentError, r"jacrev: chunk_size must be positive"),
        (lambda: f.jacobian(squares, mode="up"), ArgumentError, r"jacobian: mode must be 'reverse' or 'forward'"),
        (lambda: f.hvp(squares, X, X), ArgumentError, r"hvp: primals and tangents must be tuples"),
    ]  # fmt: skip
    for call, error, message in bad:
        with pytest.raises(error, match=message):
            call()


def test_what_was_saved_and_written_since_is_noticed() -> None:
    w, one = row(1.0, 2.0), mg.tensor(1.0, dtype="float64", device="reference")
    _, pull = f.vjp(lambda x: (x * w).sum(), X)
    w.add_(1.0)
    with pytest.raises(StorageError, match="was changed in place since"):
        pull(one)

    def inside(x: Any) -> Any:
        _, pull = f.vjp(lambda t: (t * w).sum(), x)
        w.add_(1.0)
        return pull(one)[0]

    with pytest.raises(
        StorageError, match=r"vjp: mul\(2,\) saved float64\(2,\) at version 1, but this tensor was changed"
    ):
        f.vmap(inside)(mg.stack([X, X]))


def test_python_may_write_its_own_tensors_inside() -> None:
    def fn(x: Any) -> Any:
        offsets = mg.zeros(2, dtype="float64", device="reference")
        offsets[0] = 5.0
        return ((x + offsets) * x).sum()

    assert f.grad(fn)(X).tolist() == f.vmap(f.grad(fn))(mg.stack([X]))[0].tolist() == [7.0, 4.0]


@pytest.mark.parametrize("transform", [f.grad, f.value_and_grad, f.jacrev, f.jacfwd, f.hessian])
def test_argnums_name_each_argument_once(transform: Any) -> None:
    for argnums, problem in (((0, 0), "twice"), ((0, -2), "twice"), ((), "empty")):
        with pytest.raises(mg.errors.ArgumentError, match=f"argnums .*{problem}"):
            transform(lambda x, y: (x * y).sum(), argnums=argnums)(X, Y)
