"""Elementwise loops with several results on CUDA: every layout, and results that are operands."""

import math

import numpy as np
import pytest
from cuda_mistakes import text_of

import minigrad as mg
from minigrad.backends.cuda import loops
from minigrad.backends.cuda.elementwise import nest, nest_words
from minigrad.core.dtype import bool_, f32, i32, i64


@mg.elementwise(dtype=mg.rules.to_float, outputs=("sine", "total"))
def sine_and_total(a, b):
    """The sine of a, and a + b."""
    return math.sin(a), a + b


def numbers(shape):
    return np.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize("long", [False, True], ids=["32 bits", "64 bits"])
def test_every_operand_in_its_own_layout(simulator, monkeypatch, long):
    if long:
        monkeypatch.setattr(loops, "COUNT_32", 1)
    a, b = numbers((5, 12)), numbers((12, 5))
    x, y = mg.tensor(a, device="cuda"), mg.tensor(b, device="cuda")
    pairs = [
        (x, y.T, b.T),
        (x[::2], y.T[:3].flip(1), b.T[:3, ::-1]),
        (x, y[:, :1].T, b[:, :1].T),
        (x[:0], y.T[:0], 0.0),
    ]
    for left, right, other in pairs:
        sine, total = sine_and_total(left, right)
        np.testing.assert_allclose(sine.numpy(), np.sin(left.numpy()), rtol=1e-12)
        np.testing.assert_allclose(total.numpy(), left.numpy() + other)


def test_results_may_be_operands(simulator):
    a, b = numbers((5, 12)), numbers((5, 12))
    x, y = mg.tensor(a, device="cuda"), mg.tensor(b, device="cuda")
    sine_and_total(x, y, out=(y, x))
    np.testing.assert_allclose(y.numpy(), np.sin(a), rtol=1e-12)
    np.testing.assert_allclose(x.numpy(), a + b)


def written(scalar, *outs):
    words = nest_words(scalar, f32.compute, outs, False)
    return text_of(nest, (f32, *outs), words, f32.compute, rank=1)


def test_each_result_is_stored_in_its_own_dtype(simulator):
    scalar = mg.frexp.op.scalar
    text = written(scalar, i64, i32)
    assert "out_0[to_0] = saturate_int64(mantissa)" in text and "out_1[to_1] = saturate_int32(" in text
    text = written(scalar, f32, bool_)
    assert "out_1[to_1] = np.uint8(bool(" in text
