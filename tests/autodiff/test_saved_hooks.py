"""Hooks of saved values: packed when they are saved, unpacked when a rule asks, checked as ever."""

from __future__ import annotations

from typing import Any

import pytest
from points import leaf

import minigrad as mg
from minigrad.autodiff.holding import saved_tensors_hooks
from minigrad.errors import ArgumentError, DTypeError, GradientError, ShapeError, StorageError
from minigrad.viz.explain import explanation


def test_h8_each_saved_value_is_packed_once_and_unpacked_in_each_pass() -> None:
    x, packed, unpacked = leaf(0.5), [], []

    def pack(t: Any) -> Any:
        packed.append(t.item())
        return t.tolist()

    def unpack(v: Any) -> Any:
        unpacked.append(v)
        return mg.tensor(v, dtype="float64", device="reference")

    with saved_tensors_hooks(pack, unpack):
        y = x.exp() + x * x
    assert len(packed) == 3 and not unpacked
    y.backward(retain_graph=True)
    assert len(unpacked) == 3 and x.grad.tolist() == pytest.approx([0.5**1 * 2 + 2.718281828459045**0.5])
    y.backward()
    assert len(packed) == 3 and len(unpacked) == 6


def test_the_inner_pair_of_hooks_wins_and_hooks_end_with_their_block() -> None:
    x, seen = leaf(2.0), []
    with saved_tensors_hooks(lambda t: (seen.append("outer"), t)[1], lambda t: t):
        a = x.exp()
        with saved_tensors_hooks(lambda t: (seen.append("inner"), t)[1], lambda t: t):
            b = x.exp()
        c = x.exp()
    d = x.exp()
    assert seen == ["outer", "inner", "outer"]
    assert mg.grad(a + b + c + d, x).tolist() == pytest.approx((x.exp() * 4.0).tolist())


def test_what_comes_back_is_a_part_of_the_graph() -> None:
    def copied(v: Any) -> Any:
        return mg.tensor(v, dtype="float64", device="reference")

    x, w = leaf(0.5, 2.0), leaf(3.0, 1.5)
    with saved_tensors_hooks(lambda t: t.tolist(), copied):
        y = (x * w).sin() * x * w.exp()
    plain = (x * w).sin() * x * w.exp()
    for inputs in ([x, w], [w]):
        found = mg.grad(y.sum(), inputs, create_graph=True)
        expected = mg.grad(plain.sum(), inputs, create_graph=True)
        again = mg.grad(sum((g * g).sum() for g in found), [x, w], retain_graph=True)
        wanted = mg.grad(sum((g * g).sum() for g in expected), [x, w], retain_graph=True)
        for a, b in zip((*found, *again), (*expected, *wanted), strict=True):
            assert a.tolist() == pytest.approx(b.tolist())


def test_h9_a_value_that_was_written_since_is_noticed_though_it_was_packed() -> None:
    x = leaf(3.0)
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x * x
    with mg.no_grad():
        x += 1.0
    with pytest.raises(StorageError, match=r"mul.* saved its operand 'input'.* at version 0"):
        y.backward()


@pytest.mark.parametrize(
    ("unpack", "error", "message"),
    [
        (
            lambda t: t[:1],
            ShapeError,
            r"must return float64\(2,\) on .*, the tensor that pack received from mul, got float64\(1,\)",
        ),
        (lambda t: t.to(mg.float32), DTypeError, r"unpack must return .*, got float32\(2,\)"),
        (lambda t: 3.0, GradientError, r"unpack must return .*, got float 3\.0"),
    ],
)
def test_h9_what_unpack_gives_is_what_was_packed(unpack: Any, error: Any, message: str) -> None:
    x = leaf(3.0, 4.0)
    with saved_tensors_hooks(lambda t: t, unpack):
        y = (x * x).sum()
    with pytest.raises(error, match=message):
        y.backward()
    assert x.grad is None


def test_pack_may_not_write_and_both_must_be_functions() -> None:
    x = leaf(3.0)
    with (
        pytest.raises(GradientError, match=r"it wrote into float64\(1,\), which exp saves"),
        saved_tensors_hooks(lambda t: t.zero_(), lambda t: t),
    ):
        x.exp()
    with pytest.raises(ArgumentError, match="expected two functions"), saved_tensors_hooks(None, None):
        pass


def test_ops_of_several_results_and_functions_are_packed_too() -> None:
    class Square(mg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.0 * ctx.saved_tensors[0]

    x = mg.Var([[1.0, 3.0], [4.0, 2.0]], dtype="float64", device="reference")
    packed: list[Any] = []

    def pack(t: Any) -> Any:
        packed.append(t)
        return t.clone()

    with saved_tensors_hooks(pack, lambda t: t):
        y = x.max(1).values.sum() + Square.apply(x).sum() + mg.cat([x, x]).sum()
    (g,) = mg.grad(y, [x], create_graph=True)
    assert g.tolist() == [[4.0, 9.0], [11.0, 6.0]] and packed
    assert mg.grad(g.sum(), x).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_nothing_is_kept_but_what_pack_gave_and_pictures_say_what_it_stands_for() -> None:
    import weakref

    x = leaf(0.5)
    with saved_tensors_hooks(lambda t: t.tolist(), lambda v: mg.tensor(v, dtype="float64", device="reference")):
        h = x * 2.0
        memory = weakref.ref(h.storage)
        y = h * h
    del h
    assert memory() is None
    assert "saves       input (float64(1,)), other (float64(1,))" in explanation(y)
    assert mg.viz.graph(y).nodes
    y.backward()
    assert x.grad.tolist() == [4.0]


def test_a_packed_array_on_the_memory_itself_shows_a_write() -> None:
    def value(x: Any) -> Any:
        y = x.exp()
        y.mul_(2.0)
        return (y * y).sum()

    def unpack(array: Any) -> Any:
        return mg.tensor(array, device="reference")

    x = leaf(0.5)
    with saved_tensors_hooks(lambda t: t.numpy(), unpack):
        y = value(x)
    with pytest.raises(StorageError, match="changed in place"):
        mg.grad(y, x)
    with saved_tensors_hooks(lambda t: t.numpy().copy(), unpack):
        y = value(x)
    assert mg.grad(y, x).tolist() == pytest.approx((8.0 * (2.0 * x).exp()).tolist())


def test_what_a_view_of_a_held_value_writes_is_recorded() -> None:
    x = leaf(0.5, 0.25)
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = x.sin()
        y[1:].mul_(x[0])
    assert mg.grad(y.sum(), x).tolist() == pytest.approx(mg.grad(x[0].sin() + x[1].sin() * x[0], x).tolist())


def test_what_writes_in_place_save_is_packed_as_well() -> None:
    def value(x: Any) -> Any:
        y = x + 0.0
        y.exp_()
        y.mul_(x)
        y[1:].sin_()
        return y.sum()

    x, packed = leaf(0.5, 0.25), []
    with saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t, lambda t: t):
        y = value(x)
    assert len(packed) == 4  # the result of exp, both factors, the operand of sin
    first, plain = mg.grad(y, x, create_graph=True), mg.grad(value(x), x, create_graph=True)
    assert first.tolist() == pytest.approx(plain.tolist())
    second, plain = mg.grad(first.sum(), x), mg.grad(plain.sum(), x)
    assert second.tolist() == pytest.approx(plain.tolist())
    again = mg.grad(mg.checkpoint(value, x), x, create_graph=True)
    assert again.tolist() == pytest.approx(first.tolist())
    assert mg.grad(again.sum(), x).tolist() == pytest.approx(second.tolist())
