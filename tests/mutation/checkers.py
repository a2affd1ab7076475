"""The checks of the suite that should notice a mutant.

Derivative rules are held against difference quotients, forward mode against reverse mode and quotients, a batch
against a loop, machinery by the tests that were written for it, which run here without pytest.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest
from cases import Loop
from op_calls import calls
from op_rows.row import Row
from op_support import arrays
from op_table import ROWS

import minigrad as mg
from minigrad.autodiff.batching import batch_kind
from minigrad.core.op import Op
from minigrad.testing import gradcheck, gradgradcheck
from tests.autodiff import test_batching, test_forward
from tests.func import test_table
from tests.ops import test_gradients, test_index_writes

OTHERS = 8  # rows that only use an op, beside those that are its own


@functools.cache
def own_rows() -> dict[str, list[Row]]:
    """The smooth rows of each op."""
    found: dict[str, list[Row]] = {}
    for row in ROWS:
        for name in row.ops:
            if row.smooth:
                found.setdefault(name, []).append(row)
    return found


@functools.cache
def rows_with(name: str) -> tuple[Row, ...]:
    """The rows of an op, and some of those that call it on the way."""
    mine = [row for row in ROWS if name in row.ops]
    others = [row for row in ROWS if name not in row.ops and any(call.op.name == name for call in calls(row))]
    return (*mine, *others[:OTHERS])


# ---- reverse mode ---------------------------------------------------------------------------------------------------


def derivatives(name: str) -> None:
    """First and second derivatives of an op's rows, against quotients."""
    for row in own_rows().get(name, []):
        given = [
            mg.tensor(v, device="reference") if v.dtype == bool else mg.Var(v, "float64", "reference")
            for v in arrays(row)
        ]
        gradcheck(row.fn, given)
        if row.order2:
            gradgradcheck(row.fn, given)
        test_gradients.test_a_gradient_that_lies_otherwise_in_memory_is_the_same(row)
    if name in ("maximum", "minimum"):
        test_gradients.test_the_larger_and_the_smaller_of_equals_share_a_gradient(name)
    if name == "pow":
        test_gradients.test_the_gradient_of_a_power_in_its_exponent_at_zero()


# ---- forward mode ---------------------------------------------------------------------------------------------------


def forward(name: str) -> None:
    """<u, J v> = <J' u, v> for the rows that call an op, each of its calls against the transpose of its transpose, and
    tangents against quotients."""
    for row in rows_with(name):
        if row.smooth:
            test_forward.test_each_op_of_a_row_against_the_derivative_of_its_derivative(row)
            test_forward.test_the_adjoint_of_a_row(row)
        if row.smooth and name in row.ops:
            test_forward.test_a_tangent_is_the_limit_of_difference_quotients(row)
            if row.name in test_forward.DIFFERENTIATED:
                test_forward.test_a_pushforward_is_tensor_code_that_can_be_differentiated(row.name)
    if name in ("amax", "amin"):
        test_forward.test_the_tangent_of_an_extreme_is_shared_by_ties_and_zero_where_it_is_nan(name)
    if name in ("layer_norm", "rms_norm"):
        test_forward.test_the_tangent_of_rows_is_differentiated_in_the_tangent_and_in_the_rows_alone(name)
    if name == "as_strided":
        test_forward.test_a_view_of_a_tangent_that_lies_otherwise_than_its_operand()


# ---- batches --------------------------------------------------------------------------------------------------------


def batches(name: str) -> None:
    """The calls of an op, with each operand batched and with all of them, against one call after another."""
    with mg.no_grad():
        for row in rows_with(name):
            for call in [*calls(row), *test_batching.plain_calls(row)]:
                if call.op.name == name and batch_kind(call.op) != "loop":
                    for flags in test_batching.patterns(len(call.primals)):
                        test_batching.assert_batches(call.op, call.params, call.primals, flags)
        if name in test_batching.ALONG:
            test_batching.test_a_batch_of_scalars_along_a_dim(name)
        if name == "embedding":
            test_batching.test_each_table_of_a_batch_learns_its_own_shares()
        if name == "index_copy":
            test_index_writes.test_a_position_that_is_not_there_is_named_in_a_batch_too()
        if name in ("cross_entropy", "minus_named"):
            test_batching.test_the_mean_of_no_row_that_counts_is_that_of_a_batch_too()
        for other, params in test_batching.APART:
            if other == name:
                test_batching.test_a_batch_of_what_gives_places_and_truths(other, params)
        for other, params, operands in test_batching.OF_INTEGERS:
            if other == name:
                test_batching.test_a_batch_of_searches_and_checks(other, params, operands)
        for fn, shape, params in test_batching.VIEWS:
            if fn.op.name == name:
                test_batching.test_parameters_are_shifted_by_their_roles(fn, shape, params)
    for row in own_rows().get(name, []):
        if row.order2:
            test_table.test_gradients_of_a_batch_are_those_one_by_one(row)
        if row in test_table.RULED:
            test_table.test_the_gradient_through_a_batch_is_that_of_its_parts(row)


# ---- tests without pytest -------------------------------------------------------------------------------------------


def claims(path: str, names: Sequence[str] = ()) -> Callable[[], None]:
    """The tests of a module, or those that are named, one after another until one fails."""

    def run() -> None:
        for one in tests_of(path, tuple(names)):
            one()

    return run


@functools.cache
def tests_of(path: str, names: tuple[str, ...]) -> tuple[Callable[[], None], ...]:
    """Every case of every test of a module that asks for no fixture but `monkeypatch`."""
    module = importlib.import_module(path)
    found = [getattr(module, name) for name in names] or [
        value for name, value in vars(module).items() if name.startswith("test_") and callable(value)
    ]
    return tuple(case for test in found for case in cases(module, test))


def cases(module: ModuleType, test: Any) -> Iterator[Callable[[], None]]:
    """The cases of a test: the product of its parametrizations and of the loops inside of its items."""
    loop, left_out = getattr(test, "loop", Loop(test.__name__)), getattr(module, "left_out", lambda name: False)
    sets = []
    known = {name for names, *_ in loop.axes for name in names}
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "skipif" or mark.name == "torch":
            return
        if mark.name == "parametrize":
            names = mark.args[0] if isinstance(mark.args[0], (tuple, list)) else mark.args[0].split(",")
            names = [name.strip() for name in names]
            known |= set(names)
            sets.append([dict(zip(names, values_of(value, len(names)), strict=True)) for value in mark.args[1]])
    fixtures = [n for n in test.__code__.co_varnames[: test.__code__.co_argcount] if n not in known]
    if set(fixtures) - {"monkeypatch"}:
        return
    for chosen in itertools.product(*sets):
        item = {k: v for part in chosen for k, v in part.items()}
        fixed = {k: v for k, v in item.items() if not k.startswith("part_of_")}
        for _, values in loop.cases(item, left_out):
            yield functools.partial(run_case, test, fixed | values, bool(fixtures))


def values_of(value: Any, count: int) -> Sequence[Any]:
    """The values of one case of a parametrization."""
    if hasattr(value, "values") and hasattr(value, "marks"):
        return tuple(value.values)
    return (value,) if count == 1 else tuple(value)


def run_case(test: Any, given: dict[str, Any], patches: bool) -> None:
    """One case of a test."""
    try:
        if not patches:
            test(**given)
            return
        with pytest.MonkeyPatch.context() as monkeypatch:
            test(**given, monkeypatch=monkeypatch)
    except pytest.skip.Exception:
        pass


def ours() -> dict[str, Op]:
    """The ops that minigrad declares, by name."""
    return {name: op for name, op in mg.schema.items() if "/minigrad/ops/" in op.where.replace("\\", "/")}
