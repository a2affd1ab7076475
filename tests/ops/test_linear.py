"""What `linear=` claims is so: the op of a weighted sum is the weighted sum of the op, in each group that is claimed.

Every call that the rows of the op table make on `reference` in float64, of several results too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_calls import OpCall, calls, like
from op_rows.row import Row
from op_table import ROWS
from selection import over_rows

import minigrad as mg
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import each, floating, joint, promote, same_shape
from minigrad.errors import DeclarationError

S, T = 0.75, -1.5


def group_numbers(call: OpCall, group: tuple[str, ...]) -> list[int]:
    if call.op.variadic:
        return list(range(len(call.primals)))
    return [call.op.operands.index(name) for name in group]


def assert_linear(call: OpCall) -> None:
    """f(s*x + t*x') == s*f(x) + t*f(x') in every group of the claim, the other operands held."""
    rng = np.random.default_rng(7)
    narrow = any(x.dtype.is_float and x.dtype is not mg.float64 for x in call.primals)  # random numbers are float32
    for group in call.op.linear.groups:
        numbers = group_numbers(call, group)
        first = {k: call.primals[k] for k in numbers}
        other = {k: like(call.primals[k], rng) for k in numbers}
        both = {k: first[k] * S + other[k] * T for k in numbers}
        if call.op.name == "spanned":  # its result is all memory of its operand, so the sum is one of memories
            memory = call.results[0]
            random = like(memory, rng)
            other, both = ({0: mg.as_strided(x, **call.params)} for x in (random, memory * S + random * T))
        f, g, h = (call.again([given.get(k, x) for k, x in enumerate(call.primals)]) for given in (first, other, both))
        for k, (a, b, c) in enumerate(zip(f, g, h, strict=True)):
            if c.dtype.is_inexact:
                want = np.asarray((a * S + b * T).tolist())
                text = f"{call} is not linear in {group}, result {k}"
                rtol = 1e-5 if narrow else 1e-9
                np.testing.assert_allclose(np.asarray(c.tolist()), want, rtol=rtol, atol=1e-11, err_msg=text)


CLAIMING = [row for row in ROWS if row.smooth or row.slope]


@over_rows(CLAIMING, items=4)
def test_a_claim_is_true(row: Row) -> None:
    with mg.no_grad():
        for call in calls(row):
            if call.op.linear is not None:
                assert_linear(call)


# Ops of complex operands or results, which no row has.  A claim of theirs is of real factors.
FOURIER = {"fourier", "real_fourier", "hermitian_fourier"}  # tests/ops/test_fourier.py compares their tangents
COMPLEX = {"as_complex", "as_real", "complex", "conj_physical", "imag_copy", "real_copy", "real_part"}


@pytest.mark.parametrize("name", sorted(COMPLEX))
def test_a_claim_about_complex_numbers_is_true(name: str) -> None:
    op = mg.schema[name]
    pairs = mg.tensor([[0.5, -2.0], [1.5, 0.25]], dtype="float64", device="reference")
    x = pairs if name in ("as_complex", "complex") else mg.view_as_complex(pairs)
    assert_linear(OpCall(op, {}, (x,) * len(op.operands), (), None))


def test_every_claim_is_tried_by_some_row() -> None:
    tried = {call.op.name for row in CLAIMING for call in calls(row)}
    claimed = {
        name
        for name, op in mg.schema.items()
        if op.linear is not None and "/minigrad/ops/" in op.where.replace("\\", "/")
    }
    assert claimed - tried == COMPLEX | FOURIER
    assert {"add", "cat", "matmul", "conv", "recurrence", "layer_norm", "narrow", "softmax_backward"} <= claimed
    assert {name for row in ROWS if row.slope for name in row.ops} <= claimed


# ---- claims that are not true, and claims that say nothing ----------------------------------------------------------


def call_of(op: Any, *primals: Any) -> OpCall:
    return OpCall(op.op, {}, primals, (), None)


def numbers(*values: float) -> Any:
    return mg.tensor(values, dtype="float64", device="reference")


def test_a_claim_that_is_not_true_is_noticed() -> None:
    @mg.elementwise(dtype=promote, vjp=(lambda g, x: g * x * 2.0,), linear=True)
    def bent(x):
        """A square that calls itself linear."""
        return x * x

    @mg.elementwise(dtype=promote, vjp=(lambda g, b: g * b, lambda g, a: g * a), linear=joint("a", "b"))
    def crossed(a, b):
        """A product that calls itself jointly linear."""
        return a * b

    @mg.elementwise(dtype=promote, vjp=(lambda g: g, lambda g: g), linear=each("a", "b"))
    def shifted(a, b):
        """A sum, which is affine in each of its operands while the other is held."""
        return a + b

    with pytest.raises(AssertionError, match="not linear in"):
        assert_linear(call_of(bent, numbers(0.5, 2.0)))
    for op in (crossed, shifted):
        with pytest.raises(AssertionError, match="not linear in"):
            assert_linear(call_of(op, numbers(0.5, 2.0), numbers(1.5, -1.0)))


def declared(linear: Any, operands: int = 2) -> Any:
    if operands == 1:

        @kernel(dtype=floating, shape=same_shape, vjp=(lambda g: g,), linear=linear)
        def claimed_alone(backend, out, x):
            """One operand."""

        return claimed_alone

    @kernel(dtype=floating, shape=same_shape, vjp=(lambda g: g, None), linear=linear)
    def claimed(backend, out, x, w):
        """Two operands."""

    return claimed


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (True, r"linear=True is ambiguous for the operands x, w"),
        (joint("x", "z"), r"linear must contain names of operands \(x, w\), got 'z'"),
        (each("x", "out"), r"got 'out'"),
        (joint("x", "x"), r"contains an operand of \('x', 'x'\) twice"),
        (joint(), r"linear must be True, joint\(\.\.\.\) or each"),
        (each("x", ()), r"linear must be True"),
        ("x", r"got 'x'"),
    ],
    ids=str,
)
def test_a_claim_that_names_what_is_not_there_is_refused(claim: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=rf"test_linear\.py:\d+: claimed: .*{message}"):
        declared(claim)


def test_a_declaration_that_was_refused_is_not_in_the_schema() -> None:
    with pytest.raises(DeclarationError):
        declared(joint("nobody"))
    assert all(op.public is not None for op in mg.schema.values())


def test_what_a_claim_says_is_in_the_schema() -> None:
    assert mg.schema["add"].linear.groups == (("input", "other"),)
    assert mg.schema["mul"].linear.groups == (("input",), ("other",))
    assert mg.schema["addmm"].linear.groups == (("c", "a"), ("c", "b"))
    assert mg.schema["transpose"].linear.groups == (("input",),)
    assert mg.schema["max_pool_back"].linear.groups == (("output",),)
    assert mg.schema["exp"].linear is None
    assert declared(True, operands=1).op.linear.groups == (("x",),)
    assert declared(False).op.linear is None
    assert (mg.rules.joint, mg.rules.each) == (joint, each), "as a user finds them"
