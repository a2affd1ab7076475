"""Writes into values of transforms are the functional calls; what somebody else sees or has kept is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import DTypeError, GradientError, ShapeError, StorageError
from minigrad.func import grad, hessian, jvp, linearize, vjp, vmap

X = mg.tensor(np.arange(1.0, 4.0) / 2.0, device="reference")
MANY = mg.tensor(np.arange(1.0, 7.0).reshape(2, 3) / 3.0, device="reference")
MASK = mg.tensor([True, False, True], device="reference")


def arithmetic(x: Any) -> Any:
    y = x * 1.0
    y += x * x
    y.mul_(x)
    y.sin_()
    return y


def items(x: Any) -> Any:
    y = x * 1.0
    y[0] = x[1] * x[2]
    y[[2, 0]] = y[:2] * 3.0
    y[1:] = x[0]
    y[MASK] = 0.5
    return y * x


def rows(x: Any) -> Any:
    z = mg.stack([x, x * x])
    z[[0, 1], [2, 1]] = x[:2]
    z[:, 0] = x[2]
    z[[0, 1], :, None] = z[:, :, None] * 2.0
    return z


def whole(x: Any) -> Any:
    y, z = x * 1.0, x * 2.0
    y.copy_(x[0] * 3.0)
    z.fill_(2.0)
    return y * z * x + z


def new_memory(x: Any) -> Any:
    y, z = mg.zeros_like(x), x.new_full((2, 3), 3.0)
    for k in range(3):
        y[k] = x[k] * k
    z[0] = y
    z[:, 1] *= x[2]
    w = mg.empty_like(x).copy_(x)
    return z + w.scatter_(0, mg.tensor([1, 0], device="reference"), x[1:] * x.new_ones(2))


def views(x: Any) -> Any:
    y = mg.stack([x, x * x])
    y[0] *= x[2]
    y[:, 1:].add_(x[0])
    y.view(3, 2)[1].mul_(2.0)
    y.flip(1)[:, 0] += x[1]
    y.diagonal().mul_(x[:2])
    v = y.t()[2]
    v *= x[1]
    v += 1.0
    return y + v[:, None]


def without_views(x: Any) -> Any:
    last, flat, line = ([[0.0, 0, 1]] * 2, [[0.0, 0, 1], [1, 0, 0]], [[1.0, 0, 0], [0, 1, 0]])
    masks = (last, flat, line, [0, 1, 1])
    last, flat, line, late = (mg.tensor(each, dtype="float64", device="reference") for each in masks)
    y = (mg.stack([x * x[2], x * x]) + late * x[0]) * (1.0 + flat) + last * x[1]
    y = y * (1.0 - line + line * x)
    y = y * (1.0 - last + last * x[1]) + last
    return y + y[:, 2:]


def without_new_memory(x: Any) -> Any:
    zero, three = x[0] * 0.0, x[0] * 0.0 + 3.0
    rows = [mg.stack([zero, x[1] * x[2], 2.0 * x[2]]), mg.stack([three, 3.0 * x[2], three])]
    return mg.stack(rows) + mg.stack([x[2], x[1], x[2]])


PAIRS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "arithmetic": (arithmetic, lambda x: ((x + x * x) * x).sin()),
    "items": (items, lambda x: mg.stack([0.5 * x[0], x[0] * x[1], 0.5 * x[2]])),
    "rows": (rows, lambda x: mg.stack([mg.stack([x[2], x[1], x[0]]), mg.stack([x[2], x[1], x[2] * x[2]])]) * 2.0),
    "new memory": (new_memory, without_new_memory),
    "views": (views, without_views),
    "whole": (whole, lambda x: x[0] * 6.0 * x + 2.0),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_function_that_writes_is_transformed_as_one_that_does_not(name: str) -> None:
    writes, plain = PAIRS[name]
    assert np.allclose(writes(X.clone()).tolist(), plain(X).tolist())
    v = mg.tensor([1.0, 10.0, 100.0], dtype="float64", device="reference")
    ways: list[Callable[[Any], Any]] = [
        lambda f: jvp(f, (X,), (v,)),
        lambda f: [vmap(f)(MANY)],
        lambda f: [vmap(grad(lambda x: f(x).sum()))(MANY)],
        lambda f: [grad(lambda x: grad(lambda x: f(x).sum())(x).sum())(X)],
        lambda f: [hessian(lambda x: f(x).sum())(X)],
        lambda f: jvp(vmap(f), (MANY,), (MANY,)),
        lambda f: [vmap(lambda x: jvp(f, (x,), (x,))[1])(MANY)],
    ]
    for way in ways:
        for ours, right in zip(way(writes), way(plain), strict=True):
            np.testing.assert_allclose(ours.numpy(), right.numpy(), rtol=1e-12)


SEEN = "another tensor or a saved value shares its memory; write into x.clone"


def an_input(x: Any) -> Any:
    x += 1.0
    return x


def a_view_of_an_input(x: Any) -> Any:
    x[:2].mul_(2.0)
    return x


def with_a_view(x: Any) -> Any:
    y = x * 1.0
    view = y[:2]
    y += 1.0
    return view


def two_views(x: Any) -> Any:
    y = x * 1.0
    first, second = y[:2], y[1:]
    first.mul_(2.0)
    return y + second.sum()


def a_saved_view(x: Any) -> Any:
    y = x * 1.0
    first = y[:2]
    z = first * y.sum()
    first.mul_(2.0)
    return y + z.sum()


def once_in_repeated(x: Any) -> Any:
    y = x * 1.0
    y.expand(3, *y.shape).diagonal().mul_(2.0)
    return y


def repeated(x: Any) -> Any:
    y = x * 1.0
    y[..., :1].expand(y.shape).mul_(2.0)
    return y


def detached(x: Any) -> Any:
    y = x * 1.0
    other = y.detach()
    y += 1.0
    return other * 1.0


def without_recording(x: Any) -> Any:
    y = x * 1.0
    with mg.no_grad():
        y += 1.0
    return y


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (an_input, "is an input of a transform, or a view of one; write into a copy"),
        (a_view_of_an_input, SEEN),
        (with_a_view, SEEN),
        (two_views, SEEN),
        (repeated, SEEN),
        (once_in_repeated, SEEN),
        (detached, SEEN),
        (without_recording, r"cannot detect a write under mg\.no_grad\(\)"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_somebody_else_sees_is_refused(function: Any, words: str) -> None:
    for transformed in (vmap(function), lambda x: jvp(function, (x,), (x,)))[
        function in (an_input, a_view_of_an_input) :
    ]:
        with pytest.raises(GradientError, match=words):
            transformed(MANY)
    with pytest.raises(GradientError, match=words):
        vmap(grad(lambda x: function(x).sum()))(MANY)


def test_a_write_into_an_input_of_vmap_reaches_the_caller_s_tensor() -> None:
    def assigned(x: Any, factor: float = 2.0) -> Any:
        old = x * 1.0
        x[0] = 10.0
        x *= factor
        return old, x.sum()

    for dim, after in ((0, [[20.0, 4.0], [20.0, 8.0]]), (1, [[20.0, 20.0], [6.0, 8.0]])):
        x = mg.tensor([[1.0, 2.0], [3.0, 4.0]], dtype="float64", device="reference")
        old, total = vmap(assigned, dim, out_dims=(dim, 0))(x)
        assert old.tolist() == [[1.0, 2.0], [3.0, 4.0]] and x.tolist() == after
        assert total.tolist() == x.sum(1 - dim).tolist()
    for dim in (0, 1):
        x = mg.tensor([[1.0, 2.0], [3.0, 4.0]], dtype="float64", device="reference")
        y = vmap(lambda row: vmap(mg.Tensor.mul_)(row, row * 1.0), dim, out_dims=dim)(x)
        assert x.tolist() == y.tolist() == [[1.0, 4.0], [9.0, 16.0]] and y.data_ptr() == x.data_ptr()
        assert vmap(vmap(mg.Tensor.zero_, 1), dim)(mg.ones(2, 3, 4, device="reference")).sum().item() == 0.0
    w = mg.Var([[1.0, 2.0]], dtype="float64", device="reference")
    y = w * 1.0
    vmap(lambda x: x.mul_(3.0))(y)
    assert mg.grad((y * y).sum(), w).tolist() == [[18.0, 36.0]]
    with pytest.raises(GradientError, match="cannot write into a Var"):
        vmap(lambda x: x.mul_(3.0))(w)
    y = w * 1.0
    vmap(lambda a, b: a.add_(b))(y, y)
    assert mg.grad((y * y).sum(), w).tolist() == [[8.0, 16.0]]


def test_a_write_into_an_input_of_vmap_is_seen_under_all_names_of_the_memory() -> None:
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]], device="reference")
    rows, columns, whole = vmap(lambda a, b: (a.mul_(3.0), b * 1.0, x * 1.0), (0, 1), (0, 1, None))(x, x)
    assert rows.tolist() == columns.tolist() == whole.tolist() == x.tolist() == [[3.0, 6.0], [9.0, 12.0]]

    def nested(row: Any, same: Any) -> Any:
        return vmap(lambda a: (a.add_(1.0), a.add_(1.0))[1])(row) + same

    assert vmap(nested)(x, x).tolist() == [[10.0, 16.0], [22.0, 28.0]] and x.tolist() == [[5.0, 8.0], [11.0, 14.0]]
    first, rows = vmap(lambda row: (row[:1], vmap(lambda a: a.add_(1.0))(row)))(x)
    assert first.tolist() == [[6.0], [12.0]] and rows.tolist() == x.tolist() == [[6.0, 9.0], [12.0, 15.0]]


def parent_and_child(x: Any) -> None:
    parent = x[:, 1:]
    child = parent[0]
    parent.add_(1.0)
    child.add_(2.0)
    parent.mul_(3.0)
    child.sub_(1.0)


VIEWS: dict[str, Any] = {
    "row": lambda x: x[0].add_(1.0), "more": lambda x: x[None].zero_(),
    "split": lambda x: x.view(2, 3, 1)[1:].mul_(3.0), "parent and child": lambda x: parent_and_child(x),
    "diagonal": lambda x: x.diagonal().copy_(x[0, :2]), "parts": lambda x: [part.mul_(2.0) for part in x.chunk(2)],
    "view of a view": lambda x: x[1:].T[0].sub_(5.0), "both": lambda x: (x[0].add_(x[1]), x[1].add_(x[0]), x.mul_(3.0)),
    "assigned": lambda x: x[0].__setitem__(1, 7.0), "many": lambda x: [x[k % 2].add_(k) for k in range(130)],
    "transposed": lambda x: x.mT.__setitem__((0, 1), x.sum()),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_a_write_into_a_view_of_an_input_of_vmap_reaches_all_views(name: str, dim: int) -> None:
    def written(x: Any) -> Any:
        before, row, corner = x * 1.0, x[1], x[:1, :1]
        VIEWS[name](x)
        return before + row[0] * 2.0 + corner.sum() + x

    data = mg.arange(18.0, dtype="float64", device="reference").reshape(3, 2, 3).movedim(0, dim).contiguous()
    samples = [part.clone() for part in data.unbind(dim)]
    expected = [written(sample) for sample in samples]
    assert vmap(written, dim)(data).tolist() == mg.stack(expected).tolist()
    assert data.tolist() == mg.stack(samples, dim).tolist()
    w = mg.Var(data.clone(), device="reference")
    y = w * 1.0
    vmap(written, dim)(y).sum().backward()
    ours, w.grad, y = w.grad, None, w * 1.0
    for sample in y.unbind(dim):
        y_sample = sample * 1.0
        written(y_sample).sum().backward(retain_graph=True)
    assert ours.tolist() == w.grad.tolist()


def test_what_a_view_of_an_input_of_vmap_cannot_do_is_refused() -> None:
    def kept(x: Any) -> Any:
        row = x[0]
        return grad(lambda w: ((row * w).sum(), x[0].add_(1.0))[0])(x[1] * 1.0)

    x = mg.ones(2, 2, 3, device="reference")
    with pytest.raises(StorageError, match="was changed in place since"):
        vmap(kept)(x)
    with pytest.raises(GradientError, match=SEEN):
        vmap(lambda x: x[:1].expand(4, 3)[1].add_(1.0))(x)

    def a_copy_is_no_view(x: Any) -> Any:
        x.view(-1)  # the strides of the batch allow no view
        kept = x.detach()
        return grad(lambda w: ((kept * w).sum(), x.add_(10.0))[0])(x * 0.0 + 1.0)

    with pytest.raises(GradientError, match="is an input of a transform"):
        vmap(a_copy_is_no_view, 1)(x)

    def refused(x: Any) -> Any:
        with pytest.raises(GradientError, match="cannot write into a Var|" + SEEN):
            x[0].add_(1.0)
        with pytest.raises(GradientError, match="cannot write into a Var|" + SEEN):
            x.add_(1.0)
        return x * 1.0

    w = mg.Var([[1.0, 2.0], [3.0, 4.0]], device="reference")
    assert vmap(refused)(w).tolist() == w.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_result_of_another_dtype_is_converted_as_outside_a_transform() -> None:
    def comparison(x: Any) -> Any:
        y = x * 1.0
        return y.gt_(0.8) + x

    def sum_of_halves(x: Any) -> Any:
        return x.half().add_(x)

    for f, dtype in ((comparison, mg.float64), (sum_of_halves, mg.float16)):
        assert vmap(f)(MANY).tolist() == f(MANY).tolist() and vmap(f)(MANY).dtype is dtype
        assert jvp(f, (X,), (X,))[0].dtype is dtype
    assert jvp(comparison, (X,), (X,))[1].tolist() == X.tolist()


def test_detaching_in_place_drops_the_derivatives_of_a_transform() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        assert y.detach_() is y
        return y * x

    doubled = (2.0 * X).tolist()
    assert jvp(f, (X,), (mg.ones_like(X),))[1].tolist() == grad(lambda x: f(x).sum())(X).tolist() == doubled
    assert vmap(lambda x: jvp(f, (x,), (mg.ones_like(x),))[1])(MANY).tolist() == (2.0 * MANY).tolist()


def test_what_does_not_fit_or_belongs_further_in_is_refused() -> None:
    def further_in(x: Any) -> Any:
        y = x * 1.0

        def inner(z: Any) -> Any:
            nonlocal y
            y += z
            return z.sum()

        return grad(inner)(x) + y

    with pytest.raises(GradientError, match="belongs to an outer transform, and the value that was written"):
        vmap(further_in)(MANY)
    with pytest.raises(ShapeError, match=r"add_: the result is .* is changed in place; shapes must agree"):
        vmap(lambda x: (x * 1.0).sum().add_(x))(MANY)
    with pytest.raises(DTypeError, match="no float64 can be stored there"):
        vmap(lambda x: x.long().add_(x))(MANY)
    with pytest.raises(ShapeError, match="must broadcast"):
        vmap(lambda x: (x * 1.0).__setitem__([0, 1], x))(MANY)
    with pytest.raises(GradientError, match="cannot be written in place"):
        vmap(lambda x: mg.zeros(3, dtype="float64", device="reference").add_(x))(MANY)
    with pytest.raises(GradientError, match="cannot be written in place"):
        linearize(lambda x: (x * 1.0).add_(x), X)


def test_a_value_that_a_derivative_has_kept_is_noticed_when_it_is_written() -> None:
    def kept(u: Any) -> Any:
        y = u * 1.0
        _, pull = vjp(lambda z: (z * y).sum(), u * 1.0)
        y += 1.0
        return pull(mg.tensor(1.0, dtype="float64", device="reference"))[0]

    with pytest.raises(
        StorageError, match=r"mul\(3,\) saved float64\(3,\), but this tensor was changed in place since"
    ):
        vmap(kept)(MANY)


def test_a_gradient_is_nobody_elses() -> None:
    def handed_back(u: Any) -> Any:
        cotangent = u * 1.0
        _, pull = vjp(lambda z: z + 1.0, u * 2.0)
        (g,) = pull(cotangent)
        g += 1.0
        return cotangent

    with pytest.raises(GradientError, match=SEEN):
        vmap(handed_back)(MANY)


@pytest.mark.filterwarnings("ignore:Writes")
def test_a_backward_may_write_into_its_gradient_under_a_transform_too() -> None:
    class Writes(mg.Function):
        @staticmethod
        def forward(x: Any) -> Any:  # type: ignore[override]
            return x * 2.0

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            g *= 2.0
            return g

    assert vmap(grad(lambda x: (Writes.apply(x * 1.0) * x).sum()))(MANY).tolist() == (MANY * 4.0).tolist()


def kept_by_linearize(function: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    x = mg.tensor([0.5, 2.0, 1.0], device="reference")
    return x, *linearize(function, x)


C = mg.tensor([3.0, 3.0, 3.0], device="reference")


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (lambda x: x * x, "operand 'other'"),  # by the derivative rule
        (lambda x: x.softmax(0), "result 'y'"),  # by its own rule
        (lambda x: x @ C.expand(3, 3), "operand"),  # by linearity
        (lambda x: x.cumprod(0), ""),  # by transposing
        (lambda x: x[mg.tensor([2, 0], device="reference")], None),
    ],
)
def test_linearize_refuses_values_that_were_written_since_as_vjp_does(function: Any, named: str | None) -> None:
    x, y, push = kept_by_linearize(function)
    expected = push(x.clone()).tolist()
    for each in (x, y, C):
        each.mul_(1.0)
    if named is None:  # it reads none of them
        assert push(mg.tensor([0.5, 2.0, 1.0], device="reference")).tolist() == expected
        return
    with pytest.raises(StorageError, match=f"linearize: .* saved its {named}.*clone\\(\\) the tensor before"):
        push(mg.tensor([0.5, 2.0, 1.0], device="reference"))


def test_linearize_does_not_mind_a_write_into_what_it_does_not_read() -> None:
    x, _, push = kept_by_linearize(lambda x: x.exp() + x * 2.0)
    x.mul_(10.0)
    assert push(mg.ones(3, device="reference")).tolist() == pytest.approx([2 + np.exp(v) for v in (0.5, 2.0, 1.0)])
