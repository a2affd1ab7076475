"""Elementwise ops of three, four and more operands: one launch each, and one for each gradient."""

from __future__ import annotations

import numpy as np
import pytest
from cases import over
from running import requests_of

import minigrad as mg


@mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g: g,) * 5)
def sum_of_five(out, b, c, x0, y):
    """The sum of five operands, some of which have names of a template's own."""
    return out + b + c + x0 + y


def leaves(n, size):
    """Leaves of a size that no other test has, so that each launch is prepared here."""
    return [mg.Var(np.arange(1.0, size + 1) + k, device="reference") for k in range(n)]


@pytest.mark.parametrize("name", ["lerp", "addcmul", "addcdiv"])
def test_a_blend_is_one_loop_and_so_is_each_gradient(name):
    xs, g = leaves(3, 7), mg.ones(7, device="reference", dtype=mg.float64)
    assert len(requests_of(lambda: getattr(mg, name)(*[x.detach() for x in xs]))) == 1
    y = getattr(mg, name)(*xs)
    for x in xs:
        loops = [ask for ask in requests_of(lambda x=x: mg.grad(y, x, g, retain_graph=True)) if hasattr(ask, "scalar")]
        assert len(loops) <= 1


def test_an_elementwise_op_takes_more_operands_than_three():
    xs = leaves(5, 4)
    y = sum_of_five(*xs)
    assert y.tolist() == [15.0, 20.0, 25.0, 30.0]
    assert [g.tolist() for g in mg.grad(y.sum(), xs)] == [[1.0] * 4] * 5
    assert sum_of_five(*[x.detach() for x in xs[:4]], 1.0).tolist() == [11.0, 15.0, 19.0, 23.0]


def test_the_value_of_a_product_scales_it_and_writes_where_it_is_told():
    x, a, b = (mg.tensor(v, device="reference") for v in ([1, 2], [3, 4], [5, 6]))
    out = mg.zeros(2, dtype=mg.int64, device="reference")
    assert mg.addcmul(x, a, b, value=2, out=out) is out and out.tolist() == [31, 50]
    assert x.addcmul_(a, b).tolist() == [16, 26] == x.tolist()
    assert mg.addcdiv(x.double(), a, b, value=0.5).tolist() == pytest.approx([16.3, 26 + 1 / 3])
    with pytest.raises(mg.DTypeError, match=r"addcdiv: .* two divisions"):
        mg.addcdiv(x, a, b)
    with pytest.raises(mg.DTypeError, match="not defined for bool"):
        mg.addcmul(x > 0, a > 0, b > 0)


def test_an_interpolation_ends_exactly_where_it_is_told():
    a, b = mg.tensor([1e8], device="reference"), mg.tensor([0.1], device="reference")
    assert mg.lerp(a, b, 1.0).tolist() == b.tolist() and mg.lerp(a, b, 0.0).tolist() == a.tolist()


X, A, B = (mg.full((2, 2), value, device="reference") for value in (1.0, 3.0, 4.0))
BATCH = A.reshape(1, 2, 2)


@over(("call", "value"), [
    pytest.param(lambda: mg.addcmul(X, 2, A, B), 25, id="addcmul"),
    pytest.param(lambda: X.addcdiv(2, A, B), 2.5, id="addcdiv"),
    pytest.param(lambda: X.clone().addcmul_(-1, A, B), -11, id="addcmul_"),
    pytest.param(lambda: mg.addmm(2, X, 3, A, B), 74, id="addmm"),
    pytest.param(lambda: X.addmm(2, A, B), 26, id="addmm-beta"),
    pytest.param(lambda: X[0].addmv(2, 3, A, B[0]), 74, id="addmv"),
    pytest.param(lambda: X.addr(2, 3, A[0], B[0]), 38, id="addr"),
    pytest.param(lambda: X.clone().addbmm_(2, 3, BATCH, BATCH), 56, id="addbmm_"),
    pytest.param(lambda: mg.baddbmm(2, BATCH, 3, BATCH, BATCH), 60, id="baddbmm"),
])  # fmt: skip
def test_numbers_between_the_operands_are_the_factors_of_pytorchs_older_forms(call, value):
    np.testing.assert_array_equal(call().numpy().ravel()[:2], [value] * 2)


def test_an_older_form_with_another_count_of_arguments_is_refused():
    for wrong in (lambda: mg.addcmul(X, A, B, 2, 3), lambda: mg.addcmul(X, 2, 3, A, B), lambda: X.addmm(A, B, A)):
        with pytest.raises(TypeError, match=r"takes 3 positional arguments but . were given"):
            wrong()


def test_an_outer_product_of_booleans_is_added_by_or():
    x = mg.tensor([[True, False], [False, False]], device="reference")
    a, b = mg.tensor([True, False], device="reference"), mg.tensor([False, True], device="reference")
    assert mg.addr(x, a, b).tolist() == [[True, True], [False, False]]
    assert mg.addr(x, a, b, beta=0).tolist() == [[False, True], [False, False]]
    assert mg.addr(x, a, b, alpha=0).tolist() == x.tolist()
