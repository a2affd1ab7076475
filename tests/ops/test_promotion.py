"""Operands of several dtypes: tensors with dims are promoted first, then 0-d tensors, then Python numbers."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.core import dtype as engine

# PyTorch 2.13's `result_type` has no rules for wide unsigned integers, which tests/core/test_dtype.py covers, and
# tests/core/test_complex_dtypes.py covers complex dtypes.
NAMES = [
    dtype.name for dtype in engine.ALL if dtype.name not in ("uint16", "uint32", "uint64") and not dtype.is_complex
]
ORDER = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
# torch.promote_types: one row per first operand, one column per second operand; each digit is an index into ORDER.
TABLE = """
0123456789
1133456789
2323456789
3333456789
4444456789
5555556789
6666666889
7777778789
8888888889
9999999999
""".split()


def promote(a: str, b: str) -> str:
    """Return the common dtype of two dtypes, from PyTorch's table."""
    return ORDER[int(TABLE[ORDER.index(a)][ORDER.index(b)])]


def category(name: str) -> int:
    return 0 if name == "bool" else 1 if "int" in name else 2


def combine(higher: str | None, lower: str | None) -> str | None:
    """Return the result of PyTorch's `combine_categories` (ATen/native/TypeProperties.cpp), without complex numbers."""
    if higher is None or lower is None:
        return higher or lower
    if category(higher) == 2:
        return higher
    return promote(higher, lower) if category(higher) == 0 or category(lower) == 2 else higher


def result_type(*operands: tuple[str, Any]) -> str:
    """Return PyTorch's `result_type` for operands (dtype, number of dims) and (dtype, "number")."""
    met: dict[str, str | None] = {"dims": None, "scalars": None, "numbers": None}
    for name, rank in operands:
        kind = "numbers" if rank == "number" else "dims" if rank else "scalars"
        known = met[kind]
        met[kind] = name if known is None else promote(known, name)
    found = combine(met["dims"], combine(met["scalars"], met["numbers"]))
    assert found is not None
    return found


NUMBERS = {"bool": True, "int64": 1, "float32": 1.0}
PAIRS = [
    (a, b) for a, b in product([(n, r) for n in NAMES for r in (0, 1)],
                               [*[(n, r) for n in NAMES for r in (0, 1)], *[(n, "number") for n in NUMBERS]])
]  # fmt: skip


def operand(name: str, rank: Any) -> Any:
    if rank == "number":
        return NUMBERS[name]
    return mg.tensor(np.ones((1,) * rank), dtype=name, device="reference")


@pytest.mark.parametrize("name", NAMES)
def test_two_operands_meet_as_in_pytorch(name: str) -> None:
    pairs = [(a, b) for a, b in PAIRS if a[0] == name]
    wrong = []
    for a, b in pairs:
        expected, x, y = result_type(a, b), operand(*a), operand(*b)
        found = {"maximum": mg.maximum(x, y), "+": x + y, "right": y + x, "where": mg.where(x > 0, x, y)}
        wrong += [(way, a, b, z.dtype.name, expected) for way, z in found.items() if z.dtype.name != expected]
    assert not wrong and len(pairs) > 40


def test_the_table_is_that_of_the_engine() -> None:
    for a, b in product(NAMES, NAMES):
        assert engine.promote(engine.as_dtype(a), engine.as_dtype(b)).name == promote(a, b)


def test_three_operands_meet_as_in_pytorch() -> None:
    some = ["bool", "uint8", "int64", "float16", "float64"]
    for kinds in product(product(some, (0, 1)), repeat=3):
        lo, x, hi = (operand(*kind) for kind in kinds)
        if any(kind[0] == "bool" for kind in kinds):
            continue
        assert mg.clamp(x, lo, hi).dtype.name == result_type(*kinds), kinds


def test_a_comparison_is_made_in_the_dtype_in_which_operands_meet() -> None:
    x = mg.tensor([0.1], device="reference")
    exact = mg.tensor(0.1, dtype="float64", device="reference")
    assert (x == exact).tolist() == [True] and (x.reshape(()) == exact).item() is False
    assert (mg.tensor([255], dtype="uint8", device="reference") == mg.tensor(-1, device="reference")).tolist() == [True]


def test_a_write_takes_a_scalar_of_a_wider_dtype() -> None:
    x, two = mg.tensor([1.0, 2.0], device="reference"), mg.tensor(2.0, dtype="float64", device="reference")
    out = mg.empty(2, device="reference")
    assert x.mul_(two) is x and x.tolist() == [2.0, 4.0]
    assert mg.add(x, two, out=out) is out and out.tolist() == [4.0, 6.0]


def test_a_gradient_has_the_dtype_of_its_operand() -> None:
    x = mg.Var([1.0, 2.0], dtype="float16", device="reference")
    scale = mg.Var(3.0, dtype="float64", device="reference")
    y = x * scale
    assert y.dtype is mg.float16
    y.sum().backward()
    assert x.grad.dtype is mg.float16 and x.grad.tolist() == [3.0, 3.0]
    assert scale.grad.dtype is mg.float64 and scale.grad.tolist() == 3.0
    assert mg.func.jvp(lambda s: x.detach() * s, (scale.detach(),), (scale.detach(),))[1].dtype is mg.float16


@pytest.mark.parametrize("name", ["float16", "float64", "int64"])
def test_one_of_a_batch_meets_others_as_it_would_alone(name: str) -> None:
    scalars = mg.ones(3, dtype=name, device="reference")
    rows = mg.ones(3, 2, device="reference")
    one = mg.tensor(1.0, device="reference")
    assert mg.func.vmap(lambda s, r: s * r)(scalars, rows).dtype is (scalars[0] * rows[0]).dtype
    assert mg.func.vmap(lambda s: s * one)(scalars).dtype is (scalars[0] * one).dtype
    assert mg.func.vmap(lambda s: mg.where(s > 0, s, rows[0]))(scalars).dtype is mg.float32
