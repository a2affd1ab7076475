"""Conditions on operands and limits of parameters: each accepts exactly the values that it states, and names the rest.

One property per role: a reference predicate decides which values are valid, and every other value raises one error that
names the op, the parameter, the value and a remedy.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Annotated, Any

import pytest

import minigrad as mg
from minigrad.core.conditions import (
    Boolean,
    Filled,
    Floating,
    Integral,
    Like,
    Ndim,
    Numeric,
    Shaped,
    Square,
    Wide,
    expect_same,
    expect_shape,
    expect_shapes,
)
from minigrad.core.roles import Choice, Number
from minigrad.errors import ArgumentError, DTypeError, ShapeError

SHAPES = [(), *[shape for n in (1, 2, 3, 4) for shape in product((0, 1, 2), repeat=n)]]
TENSORS = [mg.empty(shape) for shape in SHAPES]
DTYPES = (mg.bool, mg.uint8, mg.int32, mg.int64, mg.float16, mg.bfloat16, mg.float32, mg.float64)

OF_SHAPES: list[tuple[Any, Any]] = [
    (Ndim(1), lambda s: len(s) == 1),
    (Ndim(2, 3), lambda s: len(s) in (2, 3)),
    (Ndim(0, 1), lambda s: len(s) < 2),
    (Ndim(least=2, layout="(N, C, ...)"), lambda s: len(s) >= 2),
    (Ndim(most=2, advice="reshape it"), lambda s: len(s) <= 2),
    (Filled(), lambda s: 0 not in s),
    (Filled(1, "spatial dim"), lambda s: 0 not in s[-1:]),
    (Square, lambda s: len(s) > 1 and s[-1] == s[-2]),
    (Shaped("m, n, n"), lambda s: len(s) == 3 and s[1] == s[2]),
    (Shaped("n, ..., 2*n"), lambda s: len(s) > 1 and s[-1] == 2 * s[0]),
    (Shaped("..., 2"), lambda s: s[-1:] == (2,)),
]
OF_DTYPES: list[tuple[Any, Any]] = [
    (Floating, lambda d: d.is_float),
    (Integral, lambda d: d.is_int),
    (Numeric, lambda d: d is not mg.bool),
    (Boolean, lambda d: d is mg.bool),
    (Wide, lambda d: d in (mg.float32, mg.float64)),
]


def failing(call: Any, error: Any, *parts: str) -> bool:
    """Return whether a call raises `error`, whose message has the form `op: ..., got ...; remedy` and the parts."""
    try:
        call()
    except error as wrong:
        message = str(wrong)
        assert message.startswith("op: ") and ", got " in message and wrong.op == "op", message
        assert message.partition("; ")[2], f"no remedy: {message}"
        assert all(part in message for part in parts), message
        return True
    return False


@pytest.mark.parametrize(("condition", "holds"), OF_SHAPES, ids=[each.wanted for each, _ in OF_SHAPES])
def test_a_condition_on_the_shape_accepts_exactly_these_shapes(condition: Any, holds: Any) -> None:
    for x in TENSORS:
        wrong = failing(lambda x=x: condition.expect("op", x=x), ShapeError, f"float32{tuple(x.shape)}")
        assert wrong != holds(tuple(x.shape)), x.shape


@pytest.mark.parametrize(("condition", "holds"), OF_DTYPES, ids=[each.wanted for each, _ in OF_DTYPES])
def test_a_condition_on_the_dtype_accepts_exactly_these_dtypes(condition: Any, holds: Any) -> None:
    for dtype in DTYPES:
        x = mg.empty(2, dtype=dtype)
        wrong = failing(lambda x=x: condition.expect("op", x=x), DTypeError, f"{dtype}(2,)")
        assert wrong != holds(dtype), dtype


def test_a_condition_shows_the_other_operands_and_allows_none() -> None:
    x, index = mg.ones(2, 3), mg.ones(4)
    assert failing(lambda: Integral.expect("op", x, index, index=index), DTypeError, "float32(4,) with float32(2, 3)")
    Integral.expect("op", index=None)
    changed = Integral.but(error=ShapeError, advice="do this")
    assert failing(lambda: changed.expect("op", index=index), ShapeError, "index must have an integer", "; do this")


def test_an_operand_like_the_first_one() -> None:
    x = mg.ones(2, 3)
    for shape, dtype in product(SHAPES, DTYPES):
        y = mg.empty(shape, dtype=dtype)
        shown = f"of input float32(2, 3), got {dtype}{tuple(y.shape)}"
        assert failing(lambda y=y: Like("shape").expect("op", x, y=y), ShapeError, shown) == (shape != (2, 3))
        assert failing(lambda y=y: Like("dtype").expect("op", x, y=y), DTypeError, shown) == (dtype is not mg.float32)


def test_several_operands_with_the_same_shape_dtype_or_number_of_dims() -> None:
    for a, b in product(TENSORS[:20], repeat=2):
        same = [len(a.shape) == len(b.shape), a.shape == b.shape]
        for what, holds in zip(("dims", "shape"), same):
            wrong = failing(
                lambda what=what, a=a, b=b: expect_same(what, "op", a=a, b=b), ShapeError, "a and b must have the same"
            )
            assert wrong != holds
    half = mg.ones(1, dtype=mg.float16)
    assert failing(lambda: expect_same("dtype", "op", a=mg.ones(1), b=half), DTypeError, "float32(1,) and float16(1,)")


def test_an_operand_of_one_shape() -> None:
    owner = mg.ones(2, 3)
    for x in TENSORS:
        wrong = failing(
            lambda x=x: expect_shape("op", (2,), "one per row of", owner, b=x), ShapeError, "b must have shape"
        )
        assert wrong != (x.shape == (2,))
    expect_shape("op", (2,), "one per row of", owner, b=None)


def test_patterns_relate_the_sizes_of_several_operands() -> None:
    for a, b in product(TENSORS, repeat=2):
        wrong = failing(
            lambda a=a, b=b: expect_shapes("op", "transpose b", "..., n, k; k, m", a=a, b=b),
            ShapeError,
            "; transpose b",
        )
        assert wrong == (a.ndim < 2 or b.ndim != 2 or a.shape[-1] != b.shape[0])
        wrong = failing(
            lambda a=a, b=b: expect_shapes("op", "reshape", "*, n; *, m", a=a, b=b), ShapeError, "(*, n) and (*, m)"
        )
        assert wrong == (not a.ndim or not b.ndim or a.shape[:-1] != b.shape[:-1])


def test_a_choice_accepts_exactly_its_words() -> None:
    role = Choice("mean", "sum", 1, None)
    for value in ("mean", "sum", 1, None):
        assert role.read(value, "op", "how", ()) == value
    for value in ("MEAN", "max", 2, True, [], 1.5):
        assert failing(lambda value=value: role.expect("op", mg.ones(2), how=value), ArgumentError,
                       f"how must be 'mean', 'sum', 1 or None, got {value!r} for float32(2,); pass ")  # fmt: skip


LIMITS: list[tuple[Any, Any]] = [
    (Number(0), lambda v: v >= 0),
    (Number(above=0, example=1.0), lambda v: v > 0),
    (Number(0, 1, noun="probability", example=0.5), lambda v: 0 <= v <= 1),
    (Number(1, whole=True, example=2), lambda v: v.__class__ is int and v >= 1),
    (Number(0, whole=True), lambda v: v.__class__ is int and v >= 0),
]


@pytest.mark.parametrize(("role", "holds"), LIMITS)
def test_a_number_accepts_exactly_its_range(role: Any, holds: Any) -> None:
    for value in (-math.inf, -1, -1e-300, 0, 0.5, 1, 2, 1.5, math.inf, math.nan):
        if holds(value):
            assert role.read(value, "op", "p", ()) == value
        else:
            assert failing(lambda value=value: role.expect("op", p=value), ArgumentError, "p must ", repr(value)), value
    assert failing(lambda: role.expect("op", p="a"), ArgumentError, "p must be a", "'a'")


def test_none_is_a_number_only_where_it_is_optional() -> None:
    assert Number(0, 1, optional=True).read(None, "op", "p", ()) is None
    assert failing(lambda: Number(0, 1).expect("op", p=None), ArgumentError, "p must be a number")


# ---- in declarations ------------------------------------------------------------------------------------------------


def halved(x: Annotated[mg.Tensor, Ndim(2), Floating], *, how: Annotated[str, Choice("up", "down")] = "up") -> Any:
    """Return half of a matrix."""
    return x * 0.5


def pasted(*xs: Annotated[mg.Tensor, Ndim(1)]) -> Any:
    """Return the sum of vectors."""
    return sum(xs)


CALLS: list[tuple[Any, Any, str]] = [
    (
        lambda: mg.composed(method=False)(halved)(mg.ones(3)),
        ShapeError,
        "halved: x must have 2 dims, got float32(3,); ",
    ),
    (
        lambda: mg.composed(method=False)(halved)(mg.ones(2, 3, dtype=mg.int32)),
        DTypeError,
        "halved: x must have a float",
    ),
    (
        lambda: mg.composed(method=False)(halved)(mg.ones(2, 3), how="on"),
        ArgumentError,
        "how must be 'up' or 'down', got",
    ),
    (
        lambda: mg.composed(method=False)(pasted)(mg.ones(3), mg.ones(1, 1)),
        ShapeError,
        "pasted: each tensor must have 1",
    ),
    (
        lambda: mg.trace(mg.ones(3)),
        ShapeError,
        "trace: input must have 2 dims, got float32(3,); use diagonal for other",
    ),
    (
        lambda: mg.trace(mg.ones(1, 1, 1), out=mg.zeros(())),
        ShapeError,
        "trace: input must have 2 dims, got float32(1, 1",
    ),
]


@pytest.mark.parametrize("k", range(len(CALLS)))
def test_a_declared_condition_is_checked_before_anything_is_made(k: int) -> None:
    call, error, match = CALLS[k]
    with pytest.raises(error) as caught:
        call()
    assert match in str(caught.value)


def test_a_call_with_a_plan_skips_the_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    ((name, condition),) = mg.trace.op.signature.conditions
    calls: list[Any] = []
    monkeypatch.setattr(condition, "holds", lambda x, operands: not calls.append(x))
    x = mg.ones(7, 11)
    assert mg.trace(x).item() == mg.trace(x + 1).item() / 2 == 7
    assert name == "input" and len(calls) == 1


def test_the_signature_shows_no_conditions() -> None:
    assert "Ndim" not in str(mg.trace.__signature__) and "input: 'Tensor'" in str(mg.trace.__signature__)
    assert "indexing: 'str | None' = None" in str(mg.meshgrid.__signature__)
