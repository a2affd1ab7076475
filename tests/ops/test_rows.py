"""Fused rows and the same functions composed of other ops: values, first and second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.backends.cpu import rows as backend_rows
from minigrad.config import override
from minigrad.errors import DTypeError, ShapeError
from minigrad.ops import composed

pytestmark = pytest.mark.usefixtures("float64")

F = mg.nn.functional


def composed_layer_norm(x: Any, w: Any, b: Any) -> Any:
    deviation = x - x.mean(-1, keepdim=True)
    return deviation * ((deviation * deviation).mean(-1, keepdim=True) + 1e-5).rsqrt() * w + b


PAIRS: dict[str, tuple[int, Callable[..., Any], Callable[..., Any]]] = {
    "softmax": (1, lambda x: mg.softmax(x, -1), lambda x: composed.softmax(x, -1)),
    "softmax-0": (1, lambda x: mg.softmax(x, 0), lambda x: composed.softmax(x, 0)),
    "log_softmax": (1, lambda x: mg.log_softmax(x, -1), lambda x: composed.log_softmax(x, -1)),
    "log_softmax-0": (1, lambda x: mg.log_softmax(x, 0), lambda x: composed.log_softmax(x, 0)),
    "layer_norm": (3, lambda x, w, b: F.layer_norm(x, x.shape[-1], w, b), composed_layer_norm),
    "rms_norm": (
        2, lambda x, w: F.rms_norm(x, x.shape[-1], w, 1e-5),
        lambda x, w: x * ((x * x).mean(-1, keepdim=True) + 1e-5).rsqrt() * w,
    ),
}  # fmt: skip


@pytest.mark.usefixtures("serial")
@pytest.mark.parametrize("shape", [(5, 3), (7, 130), (40, 300)], ids=str)
@pytest.mark.parametrize("name", PAIRS)
def test_fused_and_composed_agree_to_the_third_order(name: str, shape: tuple[int, int]) -> None:
    count, fused, plain = PAIRS[name]
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(shape if k == 0 else shape[1]) for k in range(count)]
    cotangent = mg.tensor(rng.standard_normal(shape))

    def orders(fn: Callable[..., Any]) -> list[np.ndarray]:
        xs = [mg.Var(v) for v in values]
        found = [fn(*xs)]
        total = (found[0] * cotangent).sum()
        for _ in range(3):
            grads = mg.grad(total, xs, create_graph=True, allow_unused=True)
            grads = [mg.zeros_like(x) if g is None else g for x, g in zip(xs, grads, strict=True)]
            found += grads
            total = mg.stack([(g * (g.detach() * 0.5).sin()).sum() for g in grads]).sum()
        return [np.array(y.tolist()) for y in found]

    for got, want in zip(orders(fused), orders(plain), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-7 * max(1.0, np.abs(want).max()))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (3, 7), (300, 64), (2, 70, 33)], ids=str)
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_all_gradients_from_one_reading_are_those_of_the_single_rules(name: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    count = 3 if name == "layer_norm" else 2
    xs = [mg.Var(rng.standard_normal(shape if k == 0 else shape[-1:])) for k in range(count)]
    cotangent = mg.tensor(rng.standard_normal(shape))

    def gradients(inputs: list[mg.Var]) -> list[np.ndarray]:
        y = getattr(F, name)(xs[0], shape[-1:], *xs[1:])
        return [g.numpy() for g in mg.grad(y, inputs, cotangent)]

    alone = [gradients([x])[0] for x in xs]
    for got, want in zip(gradients(xs), alone, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_gradients_of_one_reading_share_no_memory_with_a_leaf() -> None:
    x, w, b = mg.Var(mg.randn(5, 3)), mg.Var(mg.ones(3)), mg.Var(mg.zeros(3))
    F.layer_norm(x, 3, w, b).backward(mg.ones(5, 3))
    before = x.grad.tolist()
    b.grad.add_(1.0)
    w.grad.add_(1.0)
    assert b.grad.tolist() == [6.0, 6.0, 6.0] and x.grad.tolist() == before


def test_softmax_of_numbers_that_would_overflow() -> None:
    x = mg.tensor([[1000.0, 1000.0], [-1e30, 0.0]])
    assert x.softmax(1).tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert x.log_softmax(1)[1].tolist() == [np.float32(-1e30), 0.0]


BITWISE: dict[str, Callable[[Any, Any], Any]] = {
    "layer_norm": lambda x, w: F.layer_norm(x, x.shape[-1], w, w),
    "softmax": lambda x, w: x.softmax(-1),
    "log_softmax-0": lambda x, w: x.log_softmax(0),
}


@pytest.mark.parametrize("name", BITWISE)
def test_thread_count_and_serial_twins_give_the_same_bits(name: str) -> None:
    values, g = np.random.default_rng(0).standard_normal((2, 64, 700))
    found = []
    for threshold in (0, 1 << 60):
        with override(parallel_threshold=threshold):
            x, w = mg.Var(values), mg.Var(values[0])
            y = BITWISE[name](x, w)
            grads = mg.grad(y, [x, w], mg.tensor(g), allow_unused=True)
            found.append([v.tolist() for v in (y, *grads) if v is not None])
    assert found[0] == found[1]


# The logarithm of a softmax is a text of the same template, with the same number of operands.
@pytest.mark.shared(by=lambda dtype, name: dtype == "float64" and not name.startswith("log"))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["layer_norm", "softmax", "log_softmax"])
def test_results_stored_past_the_caches_are_the_same_bits(name: str, dtype: str, monkeypatch: Any) -> None:
    function = {**BITWISE, "log_softmax": lambda x, w: x.log_softmax(-1)}[name]
    values, g = np.random.default_rng(0).standard_normal((2, 74, 517))
    found = []
    # Another shape is another plan; the rows are the same.  What is so large is always shared by threads.
    for lead, threshold in (((2, 37), 1 << 60), ((74,), 0)):
        with override(parallel_threshold=threshold):
            x = mg.Var(values.reshape(*lead, 517), dtype=dtype)
            y = function(x, mg.tensor(np.linspace(0.5, 1.5, 517), dtype=dtype))
            slope = mg.grad(y, x, mg.tensor(g.reshape(*lead, 517), dtype=dtype))
        found.append([np.array(v.tolist()).reshape(74, 517) for v in (y, slope)])
        monkeypatch.setattr(backend_rows, "STREAMED", 0)
    np.testing.assert_array_equal(*found)


def test_a_cotangent_of_a_sum_is_stretched_without_memory() -> None:
    x = mg.Var([[1.0, 2.0, 4.0]])
    F.layer_norm(x, 3).sum().backward()
    assert x.grad.abs().max().item() < 1e-6  # a shift of the row changes nothing


def test_wrong_shapes_and_dtypes_are_named() -> None:
    x = mg.zeros(2, 3, 4)
    with pytest.raises(ShapeError, match=r"layer_norm: the last dims of float64\(2, 3, 4\) .* normalized_shape \(3,\)"):
        F.layer_norm(x, 3)
    with pytest.raises(ShapeError, match=r"layer_norm: float64\(3,\) must have the normalized_shape \(4,\)"):
        F.layer_norm(x, 4, mg.zeros(3))
    with pytest.raises(ShapeError, match=r"rms_norm: the last dims"):
        F.rms_norm(x, (2, 2, 3, 4))
    with pytest.raises(DTypeError, match=r"layer_norm: int64\(2, 3\) needs a floating dtype"):
        F.layer_norm(mg.ones(2, 3, dtype="int64"), 3, mg.ones(3, dtype="int64"))


def test_arguments_of_another_type_are_named() -> None:
    x = mg.ones(2, 3)
    for call, word in (
        (lambda: mg.nn.functional.layer_norm(x, (3,), eps="a"), "eps must be a number"),
        (lambda: mg.nn.functional.rms_norm(x, 3, eps=[1]), "eps must be a number"),
        (lambda: mg.nn.functional.layer_norm(x, None), "a size must be an int"),
        (lambda: mg.nn.functional.conv1d(mg.ones(1, 2, 5), mg.ones(2, 2, 3), stride=mg.tensor(1.5)), "stride must be"),
    ):
        with pytest.raises(mg.MinigradError, match=word):
            call()
    assert mg.addmm(mg.ones(2, 2), x, x.t(), alpha=np.float32(2)).tolist() == [[7.0, 7.0], [7.0, 7.0]]
