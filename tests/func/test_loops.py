"""`scan`, `map`, `while_loop`, `cond` and `associative_scan` against plain loops, in all transforms and under jit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, RecordingError, ShapeError
from minigrad.func import associative_scan, cond, scan, vmap, while_loop

pytestmark = pytest.mark.usefixtures("reference")

RANDOM = np.random.default_rng(0)
W = RANDOM.uniform(-0.5, 0.5, (3, 3))
X = RANDOM.uniform(-1, 1, (6, 2, 3))


def sequence(xs: Any, w: Any, **more: Any) -> Any:
    h, (doubled, halves) = scan(cell(w), mg.zeros(2, 3, dtype=mg.float64), {"x": xs}, **more)
    return (doubled * xs).sum() + halves[0].sum() * h.sum()


def cell(w: Any) -> Any:
    def step(h: Any, row: Any) -> Any:
        h = (row["x"] + h @ w).tanh()
        return h, (h * 2.0, h * 0.5)

    return step


def plain(xs: Any, w: Any, reverse: bool = False) -> Any:
    h, doubled, halves = mg.zeros(2, 3, dtype=mg.float64), [], []
    for k in [*range(len(xs))][:: -1 if reverse else 1]:
        h = (xs[k] + h @ w).tanh()
        doubled.append(h * 2.0)
        halves.append(h * 0.5)
    order = slice(None, None, -1 if reverse else 1)
    return (mg.stack(doubled[order]) * xs).sum() + halves[order][0].sum() * h.sum()


def test_scan_and_its_gradients_are_those_of_a_loop() -> None:
    xs, w = mg.Var(X), mg.Var(W)
    for reverse in (False, True):
        wanted = plain(xs, w, reverse)
        gradients = mg.grad(wanted, [xs, w])
        for checkpoint in (None, 1, 4, 99):
            result = sequence(xs, w, reverse=reverse, checkpoint=checkpoint, unroll=2)
            assert result.item() == wanted.item()
            for a, b in zip(mg.grad(result, [xs, w]), gradients):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13)


def test_scan_in_transforms() -> None:
    xs, w, batch = mg.Var(X[:3]), mg.Var(W), mg.tensor(X).reshape(2, 3, 2, 3)
    for checkpoint in (None, 2):

        def function(xs: Any, w: Any, checkpoint: Any = checkpoint) -> Any:
            return sequence(xs, w, checkpoint=checkpoint)

        assert mg.testing.gradcheck(function, [xs, w]) and mg.testing.gradgradcheck(function, [xs, w])
        mapped = vmap(function, (0, None))(batch, w)
        assert mapped.tolist() == pytest.approx([plain(x, w).item() for x in batch])
        tangent = mg.tensor(X[3:])
        _, forward = mg.func.jvp(lambda xs, function=function: function(xs, w.detach()), (xs.detach(),), (tangent,))
        assert forward.item() == pytest.approx((mg.grad(plain(xs, w), [xs])[0] * tangent).sum().item())
        hessians = [mg.func.hessian(lambda w, f=f: f(xs.detach(), w))(w.detach()) for f in (function, plain)]
        np.testing.assert_allclose(hessians[0].numpy(), hessians[1].numpy(), atol=1e-12)


def test_a_scan_under_jit_is_stored_once() -> None:
    xs, w = mg.tensor(np.tile(X, (10, 1, 1))), mg.Var(W)
    for checkpoint in (None, 6):
        step = mg.jit(lambda xs, c=checkpoint: mg.grad(sequence(xs, w, checkpoint=c), [w])[0])
        results = [step(xs).numpy() for _ in range(3)]
        assert all(np.array_equal(y, results[0]) for y in results)
        repeats = step.last.tape.repeats
        inside = sum(each.period * each.rounds for each in repeats)
        assert len(repeats) < 4 and inside > 0.85 * len(step.last.tape.items), (checkpoint, repeats)
        assert "for t in range(" in step.source()


def test_scan_without_slices_or_calls() -> None:
    carry, doubled = scan(lambda c, x: (c * 2, (c, x)), 1, length=4)
    assert (carry.item(), doubled[0].tolist(), doubled[1]) == (16, [1, 2, 4, 8], None)
    carry, sums = scan(lambda c, x: (c + x.sum(), x * c), mg.zeros(()), mg.zeros(0, 3))
    assert carry.item() == 0 and sums.shape == (0, 3)


def test_errors_of_scan() -> None:
    x = mg.ones(3, 2)
    for error, words, arguments in (
        (ArgumentError, "got neither", (lambda c, x: (c, x), x)),
        (ShapeError, "3 and 4", (lambda c, x: (c, x), 0.0, x, 4)),
        (ArgumentError, "first dim", (lambda c, x: (c, x), 0.0, mg.ones(()))),
        (ArgumentError, "a pair", (lambda c, x: c, 0.0, x)),
        (ArgumentError, "nested like", (lambda c, x: ((c, c), x), 0.0, x)),
        (ShapeError, "shape and dtype", (lambda c, x: (c + x, x), 0.0, x)),
        (ShapeError, "shape and dtype", (lambda c, x: (c + 0.5, x), 0, x)),
    ):
        with pytest.raises(error, match=words):
            scan(*arguments)
    with pytest.raises(ArgumentError, match="checkpoint"):
        scan(lambda c, x: (c, x), 0.0, x, checkpoint=0)


def test_map() -> None:
    x, w = mg.tensor(X), mg.Var(W)
    wanted = mg.stack([(row @ w).exp() for row in x])
    (gradient,) = mg.grad(wanted.sum(), [w])
    for batch_size in (None, 1, 4):
        mapped = mg.func.map(lambda row: (row @ w).exp(), x, batch_size=batch_size)
        np.testing.assert_allclose(mapped.detach().numpy(), wanted.detach().numpy(), rtol=1e-14)
        np.testing.assert_allclose(mg.grad(mapped.sum(), [w])[0].numpy(), gradient.numpy(), rtol=1e-13)


def halved(x: Any) -> Any:
    count, value = while_loop(lambda v: v[1] > 1.0, lambda v: (v[0] + 1, v[1] * 0.5), (0, x))
    return value * count


def test_while_loop() -> None:
    assert halved(mg.tensor(12.0)).item() == 0.75 * 4 and halved(mg.tensor(0.5)).item() == 0
    x = mg.Var(12.0)
    assert mg.grad(halved(x), [x])[0].item() == 4 / 16
    batch = mg.tensor([12.0, 0.5, 3.0])
    assert vmap(halved)(batch).tolist() == [halved(x).item() for x in batch]
    assert vmap(mg.func.grad(halved))(batch).tolist() == [0.25, 0.0, 0.5]
    assert mg.func.jvp(halved, (mg.tensor(12.0),), (mg.tensor(2.0),))[1].item() == 0.5
    step = mg.jit(halved)
    step(mg.tensor(12.0))
    with pytest.raises(RecordingError, match="scan with a fixed length"):
        step(mg.tensor(12.0))
    counted = mg.jit(lambda x: while_loop(lambda v: v[0] < 3, lambda v: [v[0] + 1, v[1] * x], [0, x])[1])
    with pytest.raises(RecordingError, match="while_loop"):
        [counted(mg.tensor(2.0)) for _ in range(2)]
    with pytest.raises(ShapeError, match="shape and dtype"):
        while_loop(lambda v: True, lambda v: v.reshape(1), mg.tensor(1.0))
    with pytest.raises(ShapeError, match="0-d"):
        while_loop(lambda v: v > 0, lambda v: v - 1, mg.ones(2))


def test_cond() -> None:
    def function(x: Any) -> Any:
        return cond(x > 0, lambda x: (x * 3, x), lambda x: (x.exp(), x), x)[0]

    values = [2.0, -1.0]
    for value in values:
        x = mg.Var(value)
        assert function(x).item() == pytest.approx(3 * value if value > 0 else np.exp(value))
        assert mg.grad(function(x), [x])[0].item() == pytest.approx(3 if value > 0 else np.exp(value))
    assert cond(True, lambda: 1, lambda: 2) == 1
    eager = [function(mg.tensor(v)).item() for v in values]
    assert vmap(function)(mg.tensor(values)).tolist() == eager
    step = mg.jit(function)
    assert [step(mg.tensor(v)).item() for v in values * 2] == eager * 2
    with pytest.raises(ArgumentError, match="same nesting"):
        vmap(lambda x: cond(x > 0, lambda: x, lambda: (x, x)))(mg.tensor(values))
    with pytest.raises(ShapeError, match="0-d"):
        cond(mg.ones(2) > 0, lambda: 1, lambda: 2)


def test_associative_scan() -> None:
    for n in (1, 2, 3, 4, 7, 8, 13):
        a, b = mg.tensor(RANDOM.uniform(-1, 1, (2, n))), mg.tensor(RANDOM.uniform(-1, 1, (2, n)))

        def affine(f: Any, g: Any) -> Any:
            return f[0] * g[0], f[1] * g[0] + g[1]

        for reverse in (False, True):
            order = [*range(n)][:: -1 if reverse else 1]
            h, wanted = mg.zeros(2, dtype=mg.float64), [None] * n
            for k in order:
                h = wanted[k] = h * a[:, k] + b[:, k]  # type: ignore[call-overload]
            result = associative_scan(affine, (a, b), reverse=reverse, axis=1)[1]
            np.testing.assert_allclose(result.numpy(), mg.stack(wanted, 1).numpy(), atol=1e-12)
    x = mg.Var(RANDOM.uniform(0.5, 1, 5))
    assert mg.testing.gradcheck(lambda x: associative_scan(lambda a, b: a * b, x).sum(), [x])
    with pytest.raises(ShapeError, match="one length"):
        associative_scan(lambda a, b: a, (mg.ones(2), mg.ones(3)))


def test_writes_of_functions_that_both_run_are_refused() -> None:
    def chosen(x: mg.Tensor) -> mg.Tensor:
        return cond(x.sum() > 0, lambda y: y.add_(1), lambda y: y.mul_(10), x * 1)

    assert chosen(mg.ones(3)).tolist() == [2.0, 2.0, 2.0]
    jitted = mg.jit(chosen)
    jitted(mg.ones(3))
    with pytest.raises(mg.ArgumentError, match=r"must not write into its arguments .*x \+ 1 instead of x.add_"):
        jitted(-mg.ones(3))
    with pytest.raises(mg.MinigradError, match="shares its memory"):
        vmap(chosen)(mg.ones(2, 3))
    double = lambda n: while_loop(lambda c: c < 10, lambda c: c.mul_(2), n * 1)
    assert double(mg.tensor(3)).item() == 12
    with pytest.raises(mg.MinigradError, match="shares its memory"):
        mg.vmap(double)(mg.tensor([1, 3, 50]))


def test_a_sample_that_has_ended_does_not_disturb_gradients() -> None:
    w, x = mg.tensor(2.0), mg.tensor([2.0, 3.0, 5.5])

    def total(x: Any, w: Any) -> Any:  # the root has an infinite derivative where the count is 1, at the end
        step = lambda v: (v[0] - 1.0, v[1] + (v[0] - 1.0).sqrt() * w)
        return while_loop(lambda v: v[0] > 1.0, step, (x, mg.zeros(())))[1]

    for function in (lambda x, w: vmap(total, (0, None))(x, w).sum(), lambda x, w: sum(total(v, w) for v in x)):
        dx, dw = mg.func.grad(function, (0, 1))(x, w)
        assert np.allclose(dx.tolist(), [1.0, 1.0 + 0.5**0.5, 3.869093]) and np.isclose(dw.item(), 10.919353)
    assert mg.func.vmap(mg.func.grad(total), (0, None))(x, w).tolist() == dx.tolist()


def test_both_branches_have_one_shape_and_dtype_and_any_number_is_a_condition() -> None:
    for other in (lambda x: x.sum(), lambda x: x.long()):
        with pytest.raises(mg.ShapeError, match="one shape and dtype"):
            mg.vmap(lambda x, other=other: cond(x.sum() > 0, other, lambda x: x, x))(mg.ones(2, 3))
    picked = mg.vmap(lambda x: cond(x.sum().long(), lambda x: x + 1, lambda x: x, x))
    assert picked(mg.tensor([[1.0, 1.0], [0.0, 0.0]])).tolist() == [[2.0, 2.0], [0.0, 0.0]]


def test_values_of_an_associative_scan_keep_their_nesting() -> None:
    elems = {"x": mg.tensor([1, 2, 3]), "y": mg.tensor([10, 20, 30])}
    with pytest.raises(mg.ArgumentError, match="nested like elems"):
        associative_scan(lambda a, b: {"y": a["y"] + b["y"], "x": a["x"] * b["x"]}, elems)
    with pytest.raises(mg.ArgumentError, match="must consist of tensors"):
        associative_scan(lambda a, b: a, (mg.ones(2), None))
    assert scan(lambda c, x: (c, None), 0.0, mg.zeros(0))[1] is None
