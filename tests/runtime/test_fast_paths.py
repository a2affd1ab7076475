"""A fast path does the same as the general path: value, layout and record, whichever of its operands are tracked."""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from cases import over
from op_support import arrays, operands
from op_table import ROWS

import minigrad as mg
from minigrad.declare.bodies import fast_path
from minigrad.runtime import dispatch

ELEMENTWISE = {
    row.ops[0]: row
    for row in reversed(ROWS)
    if row.ops and row.domains and mg.schema[row.ops[0]].kind == "elementwise" and mg.schema[row.ops[0]].result is None
}
CASES = {name: row for name, row in ELEMENTWISE.items() if len(row.domains) == len(mg.schema[name].operands)}


def record_of(y: mg.Tensor) -> Any:
    """What a node says, but for its ids; saved values by where they lie, a saved result by its elements."""
    node = y.op
    if node is None:
        return None
    assert node.id < y.id and len(node.saved) == len(node.versions)
    saved = [t.tolist() if t.storage is y.storage else id(t) for t in node.saved]
    assert all(t.op is None or t.storage is not y.storage for t in node.saved), "a saved result would be a cycle"
    parents = [p if p is None or isinstance(p, mg.Var) else id(p) for p in node.parents]
    return node.op, node.plan, node.params, node.mask, parents, saved, node.versions, node.ids, node.hooks


def test_most_elementwise_ops_are_among_these() -> None:
    assert len(CASES) >= 50 and {len(mg.schema[name].operands) for name in CASES} == {1, 2, 3, 4}


@over("name", CASES)
def test_a_fast_path_and_the_road_give_the_same_value_and_record(name: str) -> None:
    op, row = mg.schema[name], CASES[name]
    dtype = "float64" if "float64" in row.dtypes else row.dtypes[-1]
    made = operands(row, arrays(row, ((2, 3),) * len(row.domains)), dtype, "reference")
    fast = fast_path(op)
    for tracks in itertools.product((False, True), repeat=len(made)):
        xs = [mg.Var(x) if track and x.dtype.is_float else x for x, track in zip(made, tracks, strict=True)]
        # Once as leaves and constants, once as views of them: a view of a Var has a record, one of a constant none.
        for given in (xs, [x.narrow(0, 0, 2) for x in xs]):
            got, want = fast(*given), dispatch.apply(op, tuple(given))
            np.testing.assert_array_equal(got.detach().tolist(), want.detach().tolist())
            assert (got.layout, got.dtype, got.device) == (want.layout, want.dtype, want.device)
            assert record_of(got) == record_of(want)
        with mg.no_grad():
            assert fast(*xs).op is None and dispatch.apply(op, tuple(xs)).op is None


@pytest.mark.parametrize("name", [name for name in CASES if len(mg.schema[name].operands) > 2])
def test_numbers_in_any_position_are_operands_as_on_the_general_path(name: str) -> None:
    op, row = mg.schema[name], CASES[name]
    dtype = "float32" if "float32" in row.dtypes else row.dtypes[-1]
    made = operands(row, arrays(row, ((2, 3),) * len(row.domains)), dtype, "reference")
    fast = fast_path(op)
    for where in itertools.product((False, True), repeat=len(made)):
        for value in (0.5, 0.0, -0.0, 1, True, np.float64(0.5)):
            xs = tuple([value if number else x for number, x in zip(where, made, strict=True)])
            results = []
            for call in (lambda xs: fast(*xs), lambda xs: dispatch.apply(op, xs)):
                try:
                    y = call(xs)
                    results.append((y.dtype, y.layout, y.numpy().tobytes()))
                except mg.MinigradError as error:
                    results.append((type(error), str(error)))
            assert results[0] == results[1], (where, value)
    mixed = (made[0], made[1].double(), *made[2:]) if dtype == "float32" and name != "where" else made
    last = (*mixed[:-1], 2)
    assert fast(*last).dtype is dispatch.apply(op, last).dtype


def test_zeros_next_to_tensors_keep_their_sign() -> None:
    x = mg.tensor([1.0], device="reference")
    for zero in (0.0, -0.0, 0, False, -0.0, 0.0):
        assert np.signbit((x * zero).numpy()[0]) == np.signbit(zero)
        assert np.signbit(mg.clamp(x, zero, zero).numpy()[0]) == np.signbit(zero)


def test_the_source_of_each_fast_path_can_be_read() -> None:
    """Functions of the same operands have files of their own: one would show the lines of another in a traceback."""
    x = mg.ones(1, device="reference")
    assert (mg.add(x, x).item(), mg.mul(x, 3.0).item()) == (2.0, 3.0), "the source is written at the first call"
    add, mul = (inspect.getsource(getattr(mg, name).__code__) for name in ("add", "mul"))
    assert "def add(input, other, *, alpha=" in add and "def mul(input, other, *, out=" in mul
    assert "_mg_weak(_mg_op, other" in mul, "a product takes a number beside a tensor"


def test_a_function_is_written_at_its_first_call_and_is_then_as_if_it_had_been_there() -> None:
    program = (
        "import inspect, threading, minigrad as mg\n"
        "f, g = mg.nn.functional.celu, mg.addcdiv\n"
        "assert 'def _first_call' in inspect.getsource(f.__code__)\n"
        "x = mg.tensor([-1.0, 2.0], device='reference')\n"
        "try: f(x, 1.0, False, 3)\n"
        "except TypeError as error: assert 'celu() takes' in str(error), error\n"
        "else: raise AssertionError\n"
        "assert 'celu_' not in f.__code__.co_names and f.__defaults__ and f.__name__ == 'celu'\n"
        "results = []\n"
        "threads = [threading.Thread(target=lambda: results.append(g(x, x, x, value=2).tolist())) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "assert results == [[1.0, 4.0]] * 8, results\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
