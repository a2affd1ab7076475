"""Elementwise ops with several results: one loop computes them all, on every device, also into their own operands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from launches import launches_of

import minigrad as mg
from minigrad.errors import ArgumentError, DeclarationError, DTypeError, MinigradError, StorageError

X = np.array([[0.3, -1.2, 2.0], [0.0, 4.5, -0.7]])


@mg.elementwise(
    dtype=mg.rules.to_float, outputs=("sine", "cosine"), zeros=True,
    vjp=(lambda g0, g1, sine, cosine: g0 * cosine - g1 * sine,),
)  # fmt: skip
def sincos(x):
    """Sine and cosine."""
    return math.sin(x), math.cos(x)


def _parts(op: Any, specs: Any) -> Any:
    return specs[0].dtype.compute, (specs[0].dtype, mg.int64, mg.bool)


@mg.elementwise(dtype=_parts, outputs=("fraction", "integer", "is_whole"), vjp=(lambda g: g,))
def parts_of(x):
    """The fraction, the integer part, and whether the fraction is 0."""
    integer = math.trunc(x)
    return x - integer, integer, x == integer


@mg.elementwise(dtype=mg.rules.promote, outputs=("parameter", "first", "second"))
def adamw(p, g, m, v, lr, decay=0.01, beta1=0.9, beta2=0.99):
    """One step of AdamW without the correction of its first steps."""
    first = beta1 * m + (1 - beta1) * g
    second = beta2 * v + (1 - beta2) * g * g
    return p * (1 - lr * decay) - lr * first / (math.sqrt(second) + 1e-8), first, second


def reference(values: Any, dtype: str = "float64") -> mg.Tensor:
    return mg.tensor(values, dtype=dtype, device="reference")


def state(device: str, n: int = 3000) -> list[mg.Tensor]:
    """A parameter, its gradient, and the state of the optimizer; enough elements for vectors."""
    rng = np.random.default_rng(0)
    return [mg.tensor(np.abs(rng.normal(size=n)), dtype="float32", device=device) for _ in range(4)]


def stepped(p: Any, g: Any, m: Any, v: Any) -> list[np.ndarray]:
    """What `adamw` returns with lr=0.1."""
    p, g, m, v = (x.numpy().astype(np.float64) for x in (p, g, m, v))
    first, second = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return [p * (1 - 0.001) - 0.1 * first / (np.sqrt(second) + 1e-8), first, second]


def test_results_have_names_shapes_and_dtypes_of_their_own() -> None:
    fraction, integer, is_whole = found = parts_of(reference([1.5, -2.25, 3.0]))
    assert found._fields == ("fraction", "integer", "is_whole")
    assert fraction.tolist() == [0.5, -0.25, 0.0] and integer.tolist() == [1, -2, 3]
    assert is_whole.tolist() == [False, False, True]
    assert (fraction.dtype, integer.dtype, is_whole.dtype) == (mg.float64, mg.int64, mg.bool)


@pytest.mark.parametrize("shape", [(), (1, 3), (4, 1, 3), (0, 1, 3)], ids=str)
def test_operands_broadcast_as_those_of_any_op(shape: tuple[int, ...]) -> None:
    p = np.linspace(0.5, 2.0, math.prod(shape)).reshape(shape)
    found = adamw(reference(p), reference([1.0, 2.0, 3.0]), reference(0.25), reference([[0.5], [2.0]]), 0.1)
    wanted = stepped(*map(reference, (p, [1.0, 2.0, 3.0], 0.25, [[0.5], [2.0]])))
    size = np.broadcast_shapes(shape, (2, 3))
    for y, want in zip(found, wanted, strict=True):
        assert y.shape == size
        np.testing.assert_allclose(y.numpy(), np.broadcast_to(want, size))


@pytest.mark.parametrize("use", [lambda r: r.sine * r.cosine, lambda r: r.sine * 2.0, lambda r: r[1].square()])
def test_gradients_of_both_orders(use: Callable[[Any], mg.Tensor]) -> None:
    x = mg.Var(X, device="reference")
    assert mg.testing.gradcheck(lambda x: use(sincos(x)), [x]) and mg.testing.gradgradcheck(
        lambda x: use(sincos(x)), [x]
    )


def test_a_gradient_flows_through_the_results_that_have_one() -> None:
    x = mg.Var([1.5, -2.25], device="reference")
    fraction, integer, _ = parts_of(x)
    assert not integer.requires_grad
    (fraction * integer).sum().backward()
    assert x.grad.tolist() == [1.0, -2.0]


def test_forward_mode_and_batches_are_derived() -> None:
    x, ones = reference(X), mg.ones(2, 3, dtype="float64", device="reference")
    values, tangents = mg.func.jvp(lambda x: tuple(sincos(x)), (x,), (ones,))
    np.testing.assert_allclose([t.numpy() for t in tangents], [np.cos(X), -np.sin(X)])
    np.testing.assert_allclose([y.numpy() for y in values], [np.sin(X), np.cos(X)])
    _, (fraction, integer) = mg.func.jvp(lambda x: tuple(parts_of(x))[:2], (x,), (ones,))
    assert fraction.tolist() == ones.tolist() and not integer.numpy().any()
    per_row = mg.func.vmap(mg.func.grad(lambda row: (sincos(row).sine * sincos(row).cosine).sum()))(x)
    np.testing.assert_allclose(per_row.numpy(), np.cos(2 * X), atol=1e-12)


@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_a_step_of_an_optimizer_is_one_launch_also_in_place(device: str) -> None:
    adamw.op.plans.clear()
    p, g, m, v = state(device)
    rate = mg.tensor(0.1, dtype="float32", device=device)
    wanted = stepped(p, g, m, v)
    versions = [x.storage.version for x in (p, m, v)]
    for y, x in zip(adamw(p, g, m, v, rate, out=(p, m, v)), (p, m, v), strict=True):
        assert y is x
    for x, want in zip((p, m, v), wanted, strict=True):
        np.testing.assert_allclose(x.numpy(), want, rtol=1e-4, atol=1e-5)
    (plan,) = adamw.op.plans.values()
    if device == "cpu":  # the reference computes one result after the other, and copies the first two
        assert [len(launch.steps) for launch in launches_of(plan)] == [1, 1]
    assert [x.storage.version for x in (p, m, v)] == [version + 1 for version in versions]


def test_results_may_be_written_over_operands_and_each_other_s_operands() -> None:
    x, y = reference(X), reference(np.zeros((2, 3)))
    sincos(x, out=(y, x))
    np.testing.assert_allclose([y.numpy(), x.numpy()], [np.sin(X), np.cos(X)])
    line, other = reference(np.arange(7.0)), reference(np.zeros(6))
    sincos(line[:6], out=(line[1:], other))  # they overlap and are not the same, so the operand is copied
    np.testing.assert_allclose(line.numpy()[1:], np.sin(np.arange(6.0)))


def test_a_write_that_gradients_flow_through_is_recorded() -> None:
    x = mg.Var(X, device="reference")
    outs = reference(np.zeros((2, 3))), reference(np.zeros((2, 3)))
    sine, cosine = sincos(x, out=outs)
    assert sine is outs[0]
    (sine * cosine).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(2 * X))


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (lambda x: (x, x), StorageError, "must not share memory"),
        (lambda x: x, ArgumentError, "out must be a tuple of 2 tensors"),
        (lambda x: (x, "x"), DTypeError, "out must be a tensor, got str 'x'"),
        (lambda x: (x, x.to("int32")), DTypeError, "no float64 can be stored there"),
        (lambda x: (x[:1].expand(2, 3), x), StorageError, "whose elements share memory"),
    ],
)
def test_an_out_that_does_not_fit_is_refused_before_anything_is_written(out: Any, error: Any, message: str) -> None:
    x = reference(X)
    with pytest.raises(error, match=f"^sincos: .*{message}"):
        sincos(x, out=out(x))
    assert x.tolist() == X.tolist()


def one_value(x):
    """One result."""
    return x


def a_pair(x):
    """Two results."""
    return x, -x


def named_pair(x):
    """Two results with names."""
    low = x
    high = x + 1
    return low, high


@pytest.mark.parametrize(
    ("body", "outputs", "message"),
    [
        (
            a_pair,
            None,
            r'a tuple is returned in the scalar function a_pair; only .* with outputs=\("a", "b"\)',
        ),
        (named_pair, None, r'outputs=\("low", "high"\)'),
        (a_pair, ("a", "b", "c"), "2 values returned for 3 outputs in the scalar function a_pair"),
        (one_value, ("a", "b"), "1 value returned for 2 outputs"),
        (a_pair, ("x", "b"), "must be a tuple of at least two different names"),
    ],
)
def test_a_declaration_names_as_many_results_as_its_body_returns(body: Any, outputs: Any, message: str) -> None:
    named = {} if outputs is None else {"outputs": outputs}
    with pytest.raises(DeclarationError, match=message):
        mg.elementwise(dtype=mg.rules.promote, **named)(body)


def test_a_dtype_rule_says_one_dtype_or_one_for_each_result() -> None:
    op = mg.elementwise(dtype=lambda op, specs: (np.dtype("f4"), (mg.float32,) * 3), outputs=("a", "b"))(a_pair)
    with pytest.raises(MinigradError, match=r"must return a NumPy dtype to compute in, .* or a tuple of 2 such dtypes"):
        op(reference([1.0]))


def test_a_helper_has_one_result() -> None:
    with pytest.raises(DeclarationError, match="a tuple is returned"):
        mg.scalar(a_pair)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_frexp_of_zeros_powers_subnormal_and_special_values(dtype: str) -> None:
    powers = [s * 2.0**k for k in (-1074, -1022, -149, -126, -24, -1, 0, 1, 15, 127, 1023) for s in (1, -1)]
    x = reference([0.0, -0.0, math.inf, -math.inf, math.nan, 0.3, -17.0, 1 - 2**-9, *powers], dtype)
    mantissa, exponent = mg.frexp(x)
    m, e = np.frexp(x.to("float64").numpy())
    np.testing.assert_array_equal(mantissa.to("float64").numpy(), m)
    assert np.signbit(mantissa.to("float64").numpy()).tolist() == np.signbit(m).tolist()
    assert exponent.tolist() == np.where(np.isfinite(m), e, 0).tolist()


def test_the_derivative_of_a_mantissa_does_not_vanish_in_half_precision() -> None:
    x = mg.Var([0.0, 0.75, 60000.0], dtype="float16", device="reference")
    mg.frexp(x).mantissa.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 2.0**-16]


def test_the_gradient_of_a_mantissa_of_a_subnormal_number_is_finite():
    x = mg.Var(np.array([1e-5, 6e-8], "float16"), device="reference")
    g = mg.tensor([0.4, 0.001], dtype=mg.float16, device="reference")
    (gradient,) = mg.grad([mg.frexp(x).mantissa], [x], [g])
    np.testing.assert_allclose(gradient.numpy(), [0.4 * 2**16, 0.001 * 2**23], rtol=1e-3)
