"""Transforms together with user ops, hooks, Vars, threads and float16, and their cost when unused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from parallel_work import in_threads
from points import row
from two_results import twice_and_thrice

import minigrad as mg
from minigrad.autodiff import batching
from minigrad.autodiff.tracked import TrackedTransform
from minigrad.errors import GradientError
from minigrad.runtime.tracers import stack

f = mg.func


X = row(0.5, -1.5, 2.0)


def test_an_op_of_ones_own_is_as_good(schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, x: g * 3.0 * x * x,))
    def cubed(x):
        """x to the third power."""
        return x * x * x

    for order, want in ((1, 3 * 2.25), (2, 6 * -1.5), (3, 6.0)):
        for way in (f.grad, f.jacfwd, lambda fn: lambda x: f.vmap(f.grad(fn))(x.reshape(1)).reshape(())):
            fn: Any = cubed
            for _ in range(order):
                fn = way(fn)
            assert fn(X[1]).item() == want
    assert f.hessian(lambda x: cubed(x).sum())(X).diagonal().tolist() == [3.0, -9.0, 12.0]

    @mg.kernel(dtype=mg.rules.floating, shape=mg.rules.same_shape, vjp=(lambda g: -g,), linear=True)
    def turned(backend, out, x):
        """Minus x, by a kernel that nobody told how it takes a batch."""
        launch = backend.prepare(mg.requests.Elementwise(mg.neg.op.scalar, x.dtype.compute), out, x)
        return lambda x, y: launch(x, y)

    monkeypatch.setattr(batching, "_looped", set())
    with pytest.warns(
        UserWarning,
        match="turned: vmap has no batching rule for this op, so it calls the op once per sample of the batch",
    ):
        found = f.vmap(f.grad(lambda x: (turned(x) * x).sum()))(mg.stack([X, X * 2.0]))
    np.testing.assert_allclose(found.tolist(), [(X * -2.0).tolist(), (X * -4.0).tolist()])


def test_an_op_of_several_results(schema: Any) -> None:
    op = twice_and_thrice(batch="elementwise")

    def fn(x: Any) -> Any:
        a, b = op(x)
        return (a * b * x).sum()

    slope = (X * X * 18.0).tolist()
    assert f.grad(fn)(X).tolist() == slope and f.vmap(f.grad(fn))(X.unsqueeze(0))[0].tolist() == slope
    assert f.jacfwd(f.grad(fn))(X).diagonal().tolist() == (X * 36.0).tolist()
    values = f.vmap(f.grad(lambda x: mg.sort(x).values[0]))(mg.stack([X, -X]))
    assert values.tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def test_a_hook_sees_the_gradient_on_its_way() -> None:
    seen: list[Any] = []

    def fn(x: Any) -> Any:
        y = x * 2.0
        y.register_hook(lambda g: seen.append(g.shape) or g * 10.0)
        return y.sum()

    assert f.grad(fn)(X).tolist() == [20.0] * 3
    assert f.vmap(f.grad(fn))(mg.stack([X, X])).tolist() == [[20.0] * 3] * 2
    assert seen == [(3,), (3,)]


def test_a_function_may_ask_the_engine_itself() -> None:
    def fn(x: Any) -> Any:
        y = (x * x * x).sum()
        return (mg.grad(y, x, create_graph=True) * x).sum()

    assert f.grad(fn)(X).tolist() == (X * X * 9.0).tolist()


def test_samples_of_a_var_have_gradients_of_their_own() -> None:
    w = mg.Var([1.0, 2.0, 3.0], dtype="float64", device="reference")
    samples = mg.stack([X, X * 2.0])
    loss = lambda w, x: (w * w * x).sum()
    each = f.vmap(f.grad(loss), in_dims=(None, 0))(w, samples)
    assert each.tolist() == (samples * w.detach() * 2.0).tolist() and w.grad is None
    each.sum().backward()
    assert w.grad is not None and w.grad.tolist() == (samples.sum(0) * 2.0).tolist()
    with mg.no_grad():
        assert not f.vmap(f.grad(loss), in_dims=(None, 0))(w, samples).requires_grad
    caught = f.vmap(f.grad(lambda x: loss(w, x)))(samples)
    assert caught.tolist() == [[1.0, 4.0, 9.0]] * 2 and caught.requires_grad


def test_gradients_of_a_batch_run_fused_rules() -> None:
    transforms: list[TrackedTransform] = []

    def fn(x: Any) -> Any:
        transforms.append(x.transform)
        return x.tanh().sum()

    f.vmap(f.grad(fn))(mg.stack([X, X]))
    assert [transform.higher for transform in transforms] == [False]
    f.vmap(f.grad(lambda x: f.grad(fn)(x).sum()))(mg.stack([X, X]))
    assert [transform.higher for transform in transforms] == [False, True]


def test_threads_have_levels_of_their_own() -> None:
    def work(k: int) -> None:
        for _ in range(20):
            fn = lambda x: (x * x * x).sum() * float(k)
            assert f.vmap(f.grad(fn))(mg.stack([X, X]))[1].tolist() == (X * X * 3.0 * k).tolist()
            assert f.hessian(fn)(X).diagonal().tolist() == (X * 6.0 * k).tolist()

    in_threads(4, work)
    assert stack.transforms == []


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_derivatives_keep_the_dtype(dtype: str) -> None:
    x = mg.tensor([0.5, 1.5, 2.0], dtype=dtype, device="reference")
    fn = lambda x: (x * x).sum()
    y, moved = f.jvp(fn, (x,), (x,))
    for found in (
        f.grad(fn)(x),
        y,
        moved,
        f.hessian(fn)(x),
        f.vmap(f.grad(fn))(mg.stack([x, x])),
        f.hvp(fn, (x,), (x,)),
    ):
        assert found.dtype is mg.as_dtype(dtype)
    assert f.grad(fn)(x).tolist() == [1.0, 3.0, 4.0]


def test_outside_of_transforms_random_numbers_ask_nobody() -> None:
    mg.manual_seed(0)
    before = mg.randn(3, device="reference").tolist()
    f.vmap(lambda x: x * 2.0)(X)
    mg.manual_seed(0)
    assert mg.randn(3, device="reference").tolist() == before


def test_writes_and_backward_are_refused_inside() -> None:
    def assigned(x: Any) -> Any:
        x[0] = 1.0
        return x

    def into_another(x: Any) -> Any:
        buffer = mg.zeros(3, dtype="float64", device="reference")
        buffer[0] = x[0]
        return buffer

    inside = (lambda fn: f.vmap(fn)(mg.stack([X, X])), lambda fn: f.jvp(fn, (X,), (X,)),
              lambda fn: f.vmap(f.grad(lambda x: fn(x).sum()))(mg.stack([X, X])))  # fmt: skip
    for transform in inside:
        for fn in (assigned, lambda x: x.add_(1.0)) if transform is not inside[0] else ():
            with pytest.raises(GradientError, match="is an input of a transform, or a view of one; write into a copy"):
                transform(fn)
        with pytest.raises(GradientError, match="belongs to a transform and cannot be written in place"):
            transform(into_another)
        with pytest.raises(GradientError, match=r"a transform leaves no .grad"):
            transform(lambda x: x.sum().backward())
