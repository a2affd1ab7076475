"""A plan is stored for a call; the key distinguishes everything that a rule may distinguish."""

from __future__ import annotations

import inspect
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.core.roles import Dim, Dims, Flag, Int, Scalar, Shape, Size, role_of
from minigrad.declare.rules import promote, same_shape
from minigrad.errors import ArgumentError, DTypeError, MinigradError
from minigrad.runtime.operands import keyed


@dataclass(frozen=True)
class Pair:
    a: Any
    b: Any


ALIKE = [
    [0, 0.0, -0.0, False, np.float64(0.0), np.float64(-0.0), np.int64(0), np.bool_(False)],
    [1, 1.0, True, np.float32(1.0), np.int8(1)],
    [(1, 2), (1.0, 2), (True, 2), [1, 2], ((1, 2),)],
    [Pair(0.0, 1), Pair(-0.0, 1), Pair(0, 1), Pair(0.0, True)],
    [frozenset({0}), frozenset({False}), frozenset({0.0})],
]  # fmt: skip


@pytest.mark.parametrize("values", ALIKE, ids=str)
def test_values_that_are_equal_but_not_alike_have_keys_of_their_own(values: list[Any]) -> None:
    for a, b in itertools.combinations(values, 2):
        assert keyed(a) != keyed(b), f"{a!r} and {b!r}"
        assert hash(keyed(a)) is not None


def test_a_key_of_nan_finds_itself_again() -> None:
    assert keyed(math.nan) == keyed(float("nan"))
    assert keyed((1, math.nan)) == keyed((1, float("nan")))


def test_a_float_factor_of_integers_raises_before_and_after_the_int_has_been_used() -> None:
    a = mg.tensor([[1, 2], [3, 4]], device="reference")
    for _ in range(2):
        with pytest.raises(DTypeError, match=r"addmm: alpha must be an int for int64, got float 2\.5"):
            mg.addmm(a, a, a, alpha=2.5)
        assert mg.addmm(a, a, a, alpha=2).tolist() == [[15, 22], [33, 48]]


VIEW_CALLS = {
    "narrow": lambda x, n: x.narrow(0, n, 1), "select": lambda x, n: x.select(n, 0), "slice": lambda x, n: x[n:],
    "transpose": lambda x, n: x.transpose(0, n), "unfold": lambda x, n: x.unfold(0, n, 1),
    "permute": lambda x, n: x.permute(0, n), "reshape": lambda x, n: x.reshape(n, 4), "sum": lambda x, n: x.sum(n),
    "softmax": mg.softmax, "cumsum": mg.cumsum, "flip": lambda x, n: x.flip(n),
    "expand": lambda x, n: x.expand(n, 2, 2),
    "unsqueeze": lambda x, n: x.unsqueeze(n), "gather": lambda x, n: x.gather(n, mg.zeros_like(x, dtype="int64")),
    "diagonal": lambda x, n: x.diagonal(n), "roll": lambda x, n: x.roll(1, n), "topk": lambda x, n: x.topk(n),
}  # fmt: skip


@over("name", VIEW_CALLS)
def test_a_float_where_an_int_belongs_raises_whatever_was_called_before(name: str) -> None:
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]], device="reference")
    for _ in range(2):
        with pytest.raises(MinigradError):
            VIEW_CALLS[name](x, 1.0)
        VIEW_CALLS[name](x, 1)


def test_the_two_zeros_are_two_parameters() -> None:
    @mg.kernel(dtype=lambda op, specs, *, n: specs[0].dtype, shape=lambda op, x, *, n: x.shape)
    def filled(backend, out, x, *, n):
        """The sign of n everywhere."""
        return lambda _x, y: y.fill(math.copysign(1.0, n))

    x = mg.zeros(2, device="reference")
    assert [filled(x, n=n).tolist()[0] for n in (0.0, -0.0, 0.0)] == [1.0, -1.0, 1.0]


@pytest.mark.parametrize("name", ["device", "op", "out", "params", "operands", "key", "plan"])
def test_a_parameter_of_a_users_kernel_may_have_any_name(name: str) -> None:
    def filled(backend, y, x, **params):
        """A number everywhere."""
        return lambda a, b: b.fill(params[name])

    keyword = inspect.Parameter.KEYWORD_ONLY
    parts = [inspect.Parameter(p, inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in ("backend", "y", "x")]
    filled.__signature__ = inspect.Signature([*parts, inspect.Parameter(name, keyword)])
    rules = {"dtype": lambda op, specs, /, **p: specs[0].dtype, "shape": lambda op, x, /, **p: x.shape}
    body = mg.kernel(**rules)(filled)
    x = mg.zeros(2, device="reference")
    assert body(x, **{name: 3}).tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match=rf"filled\(\) missing .* '{name}'"):
        body(x)
    with pytest.raises(TypeError, match=r"filled\(\) got an unexpected keyword argument 'other'"):
        body(x, **{name: 3, "other": 4})


ROLES = {
    "Dim": (Dim, [(-1, 1), (0, 0), (np.int64(1), 1)], [1.0, "0", None, 2, -3]),
    "Dims": (Dims, [(None, (0, 1)), (-1, (1,)), ([1, 0], (0, 1)), (np.array([0]), (0,))], [1.5, (0, 0), 2]),
    "Shape": (Shape, [(3, (3,)), ([2, 3], (2, 3)), ((), ())], [-1, 1.5, (2, "3")]),
    "Int": (Int, [(-3, -3), (np.int8(2), 2)], [1.0, True, "1"]),
    "Size": (Size, [(0, 0), (5, 5)], [-1, 2.0, None]),
    "Scalar": (Scalar, [(1, 1), (0.5, 0.5), (np.float32(0.5), 0.5)], ["1", None, (1,)]),
    "Flag": (Flag, [(True, True), (np.bool_(False), False), (1, True)], [2, "yes", None, 0.0]),
}


@pytest.mark.parametrize("name", ROLES)
def test_a_role_makes_a_parameter_canonical_or_refuses_it(name: str) -> None:
    annotation, good, bad = ROLES[name]

    @mg.kernel(dtype=lambda op, specs, *, p: specs[0].dtype, shape=lambda op, x, *, p: x.shape)
    def seen(backend, out, x, *, p):
        """Nothing but what it was given."""
        found.append(p)
        return backend.prepare(mg.requests.Copy(), out, x)

    seen.op.roles = {"p": role_of(annotation)}
    x = mg.zeros(2, 3, device="reference")
    for given, wanted in good:
        found: list[Any] = []
        seen(x, p=given)
        assert found == [wanted] and type(found[0]) is type(wanted)
    for given in bad:
        with pytest.raises(MinigradError, match="seen"):
            seen(x, p=given)


def test_a_list_where_no_role_copies_it_is_refused() -> None:
    @mg.kernel(dtype=lambda op, specs, *, p: specs[0].dtype, shape=lambda op, x, *, p: x.shape)
    def kept(backend, out, x, *, p):
        """A copy."""
        return backend.prepare(mg.requests.Copy(), out, x)

    with pytest.raises(ArgumentError, match="kept: p is list"):
        kept(mg.zeros(2, device="reference"), p=[1, 2])


def test_a_role_is_read_from_the_annotation() -> None:
    @mg.kernel(dtype=lambda op, specs, *, dim: promote(op, specs)[1], shape=same_shape)
    def along(backend, out, x, *, dim: Dim):
        """A copy, told along which dim."""
        return backend.prepare(mg.requests.Copy(), out, x)

    assert along.op.roles["dim"].name == "Dim"
    x = mg.zeros(2, 3, device="reference")
    y = along(mg.Var(x), dim=-1)
    assert y.op.params == {"dim": 1}
    assert along(mg.Var(7.0, device="reference"), dim=-1).shape == ()


def test_a_kernel_runs_a_plan_that_its_arguments_find(monkeypatch: pytest.MonkeyPatch) -> None:
    x, index = mg.tensor([[3.0, 1.0], [2.0, 4.0]], device="reference"), mg.tensor([[1], [0]], device="reference")
    calls: list[tuple[Any, list[Any]]] = [
        (lambda: x.cumsum(1), [[3.0, 4.0], [2.0, 6.0]]),
        (lambda: x.gather(1, index), [[1.0], [2.0]]),
        (lambda: mg.cat([x, x], -1), [[3.0, 1.0, 3.0, 1.0], [2.0, 4.0, 2.0, 4.0]]),
        (lambda: mg.stack((x[0], x[1])), [[3.0, 1.0], [2.0, 4.0]]),
        (lambda: mg.nn.functional.linear(x, x), [[10.0, 10.0], [10.0, 20.0]]),
        (lambda: mg.nn.functional.linear(x, x, x[0]), [[13.0, 11.0], [13.0, 21.0]]),
        (lambda: x.max(1).values, [3.0, 4.0]),
    ]
    for call, wanted in calls:
        assert call().tolist() == wanted
    monkeypatch.setattr(mg.declare.forms, "apply", None)  # the general path
    for call, wanted in calls:
        assert call().tolist() == wanted


def test_a_plan_is_not_found_by_arguments_that_are_not_its_own() -> None:
    x, index = mg.tensor([3.0, 1.0], device="reference"), mg.tensor([1, 0], device="reference")
    assert x.cumsum(0).tolist() == [3.0, 4.0]
    for wrong in (False, 0.0):  # they equal 0
        with pytest.raises(ArgumentError, match="dim must be an int"):
            x.cumsum(wrong)
    assert x.index_add(0, index, x).tolist() == [4.0, 4.0]
    assert x.index_add(0, index, x, alpha=2).tolist() == [5.0, 7.0]
    scalar = mg.tensor(2.0, device="reference")
    assert scalar.cumsum(0).shape == () and scalar.cumsum(0).item() == 2.0
    assert mg.cat([x, mg.zeros(0, device="reference")]).tolist() == [3.0, 1.0]
    out = mg.zeros(2, device="reference")
    assert x.cumsum(0, out=out) is out and out.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_number_next_to_half_precision_is_rounded_by_sums_but_not_by_products(dtype: str) -> None:
    x = mg.tensor(np.linspace(-3, 3, 200), dtype=dtype, device="reference")
    tenth, rounded = (mg.tensor(0.1, dtype=each, device="reference") for each in ("float32", dtype))
    for _ in range(2):  # the second time, the numbers are known
        assert (x * 0.1).tolist() == (x.float() * tenth).to(dtype).tolist()
        assert (x / 0.1).tolist() == (x.float() / tenth).to(dtype).tolist()
        assert (x + 0.1).tolist() == (x.float() + rounded.float()).to(dtype).tolist()
        assert (x * 0.1).tolist() != (x * rounded).tolist() and (x * 0.5).dtype == (x * 0.1).dtype == x.dtype
