"""User reductions: loops rely only on what they declare, for any size, layout and number of threads.

Most kernels run as plain Python here, with pieces, blocks and lanes cut so short that small sizes cross all of them."""

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from asking import Asking
from plain_kernels import interpreted
from strided import WAYS, arrange, blank, broadcast, check_gaps, contents

import minigrad as mg
from minigrad.backends.cpu import mapped, reduction_plans
from minigrad.backends.cpu import reduction as family
from minigrad.backends.cpu import scan as scan_family
from minigrad.backends.registry import backend_of
from minigrad.config import override
from minigrad.core import reducer, requests
from minigrad.core.device import as_device
from minigrad.core.dtype import f16, f32, f64, i32, i64
from minigrad.core.op import Spec
from minigrad.declare import partials as reducers
from minigrad.declare.partials import declared
from minigrad.declare.record import schema
from minigrad.errors import DeclarationError

REFERENCE = Asking(backend_of(as_device("reference")))


def add(a, b):
    return a + b


def squares(acc, x):
    return acc + x * x


def farthest(acc, x):
    return abs(x) if abs(x) > acc else acc


def above(acc, x):
    return acc + (1 if x > 2 else 0)


def digits(acc, x):
    return acc * 3 + x


def highest(acc, x):
    return x if x > acc or x != x else acc


def bits(acc, x):
    return acc | x


def square(x):
    return x * x


def gap(x, t):
    return abs(x - t)


def farther(acc, x):
    return acc + 3 * x


def and_count(acc, n):
    return acc * 2 + n


REDUCTIONS = {
    "squares": declared(squares, "zero", combine=add),
    "farthest": declared(farthest, "zero", order="sum"),
    "above": declared(above, "zero", combine=add),
    "digits": declared(digits, "one", order="sequential"),
    "mapped": declared(add, "zero", order="sum", map=square, finish=and_count),
    "mapped extreme": declared(highest, "lowest", order="extreme", map=square),
    "mapped digits": declared(digits, "one", order="sequential", map=square),
}


def hold(backend, reducer, a, dims, out_way="dense", compute=np.int64):
    """Hold one fold to the reference; whole numbers, so that every order of a sum gives the same bits."""
    shape = tuple(1 if d in dims else n for d, n in enumerate(a[1].shape))
    out = blank(shape, i64 if np.dtype(compute).kind == "i" else f64, out_way)
    results = []
    for device in (backend, REFERENCE):
        memory = out[0].copy()
        device.reduce(reducer, np.dtype(compute), out[1], a[1], dims)(a[0], memory)
        check_gaps(memory, out[1])
        results.append(contents(memory, out[1]))
    np.testing.assert_array_equal(*results)


def numbers(shape):
    return np.random.default_rng(1).integers(-4, 5, shape)


@pytest.fixture
def short(monkeypatch):
    """The interpreted backend, and cuts so small that these sizes stand on both sides of every one."""
    for name, size in {"PIECE": 40, "LANES": 12, "COLUMNS": 10, "CHUNK": 30, "TINY": 20, "FEW": 4}.items():
        monkeypatch.setattr(reduction_plans, name, size)
        monkeypatch.setattr(mapped, name, size, raising=False)
    monkeypatch.setattr(reducer, "SHORT", 4)
    monkeypatch.setattr(family, "lanes", lambda compute: 16)
    return interpreted(monkeypatch)[0]


BOUNDARIES = sorted({n + k for n in (8, 12, 16, 20, 40, 80, 120) for k in (-1, 0, 1)} | {0, 1, 2, 333})


@pytest.mark.parametrize("threshold", [0, 1 << 40], ids=["parallel", "serial"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_stretches_of_every_length_around_a_cut(short, name, threshold):
    with override(parallel_threshold=threshold):
        for n, way in itertools.product(BOUNDARIES, ("dense", "stepped", "flipped")):
            hold(short, REDUCTIONS[name], arrange(numbers((n,)), way=way), (0,))


@pytest.mark.parametrize("compute", [np.int64, np.float64], ids=["integers", "floats"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_every_layout_over_every_set_of_dims(short, name, compute):
    dtype = i32 if compute is np.int64 else f32
    for shape in [(3, 5, 7), (2, 11, 30), (30, 2, 11), (1, 25, 3)]:
        small = numbers(shape) if "digits" not in name or compute is np.int64 else numbers(shape) % 2
        for way, count in itertools.product(WAYS, range(4)):
            for dims in itertools.combinations(range(3), count):
                if name == "digits" and compute is np.float64 and math.prod(shape[d] for d in dims) > 30:
                    continue  # 3**30 is as far as a float64 holds every whole number
                hold(short, REDUCTIONS[name], arrange(small, dtype, way), dims, "permuted", compute)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_operands_with_strides_of_zero(short, name):
    for shape, dims in [((7, 25), (0,)), ((7, 25), (1,)), ((7, 25), (0, 1)), ((50, 6), (0, 1)), ((3, 4, 30), (0, 2))]:
        for d in range(len(shape)):
            one = arrange(numbers(tuple(1 if k == d else n for k, n in enumerate(shape))))
            hold(short, REDUCTIONS[name], broadcast(one, shape), dims)


@pytest.mark.parametrize("name", ["squares", "digits"])
def test_scans_are_cut_only_where_totals_combine(short, name, monkeypatch):
    monkeypatch.setattr(scan_family, "BLOCK", 10)
    for n, way in itertools.product((19, 20, 21, 99, 320), ("dense", "stepped", "flipped")):
        a, out = arrange(numbers((2, n)), way=way), blank((2, n), i64)
        results = []
        for device in (short, REFERENCE):
            memory = out[0].copy()
            device.scan(REDUCTIONS[name], np.dtype(np.int64), out[1], [a[1]], 1)(a[0], memory)
            results.append(contents(memory, out[1]))
        np.testing.assert_array_equal(*results)


# ---- compiled


@mg.reduction(dtype=mg.rules.widen, identity="zero", combine=add, vjp=(lambda g, x: 2.0 * x * g,))
def sum_of_squares(acc, x):
    """Return the sum of all squares."""
    return acc + x * x


@mg.reduction(dtype=mg.rules.widen, identity="one", order="sequential")
def horner(acc, x):
    """A number from its digits."""
    return acc * 2 + x


@pytest.mark.parametrize("threshold", [0, 1 << 40], ids=["parallel", "serial"])
def test_a_sum_of_squares_squares_each_element_once(threshold):
    with override(parallel_threshold=threshold):
        assert sum_of_squares(mg.full((1000,), 2.0)).item() == 4000
        for n in (32_767, 65_537, 100_000):
            assert sum_of_squares(mg.full((n,), 2.0)).item() == 4 * n
        assert sum_of_squares(mg.full((70_001, 2), 2.0)[:, 0]).item() == 280_004
        assert sum_of_squares(mg.full((20_011, 3), 2.0), 0).tolist() == [80_044.0] * 3


@pytest.mark.parametrize("threshold", [0, 1 << 40], ids=["parallel", "serial"])
def test_a_sequential_fold_takes_one_element_after_the_other(threshold):
    bits = np.random.default_rng(2).integers(0, 2, (50, 60))
    x = mg.tensor(bits)
    with override(parallel_threshold=threshold):
        wrapped = [int("1" + "".join(map(str, row)), 2) for row in bits]
        assert horner(x, 1).tolist() == [n - (n >> 63 << 64) for n in wrapped]
        assert horner(x).item() == horner(x.to("reference")).item()
        assert horner(x[::-1, ::2], 0).tolist() == horner(x.to("reference")[::-1, ::2], 0).tolist()


def test_large_half_precision_folds_accumulate_in_the_compute_dtype():
    reducer = declared(squares, "zero", combine=add)
    a, out = arrange(np.full(5000, 2.0), f16), blank((1,), f32)
    Asking(backend_of(as_device("cpu"))).reduce(reducer, np.dtype(np.float32), out[1], a[1], (0,))(a[0], out[0])
    assert contents(*out) == 20_000


# ---- declarations


def wrong_reducer(match, body, identity="zero", **how):
    with pytest.raises(DeclarationError, match=match):
        declared(body, identity, **how)


def one_only(x):
    return x


def latest(acc, x):
    return x


def mean_of_two(acc, x):
    return (acc + x) / 2


def upper(acc, x):
    return acc if acc > x else x


def triple(acc, n, more):
    return acc + n + more


def test_a_map_and_a_finish_take_what_there_is():
    wrong_reducer(re.escape("finishes by triple, which must take (acc) or (acc, n)"), add, order="sum", finish=triple)
    wrong_reducer("maps elements by one_only, .* takes their values as", one_only, order="sum", map=one_only)
    gaps = declared(add, "zero", order="sum", map=gap)
    assert gaps.scalar.args == ("a", "x", "t") and gaps.unmapped().scalar.args == ("a", "b")


def test_a_function_of_minigrad_that_is_not_a_scalar_function_is_refused_by_the_declaration():
    for named in (mg.tensor, mg.nn.ReLU(), mg.Tensor, mg.is_tensor):
        for part in ("map", "finish", "combine"):
            wrong_reducer("expected a Python function|the scalar function", add, **{"order": None, part: named})


def clash(a, b):
    return a * b


def test_an_accumulator_never_has_the_name_of_an_operand():
    product = declared(add, "zero", order="sum", map=clash)
    assert product.scalar.args == ("a_", "a", "b")
    a, out = arrange(numbers((4, 3))), blank((4, 1), i64)
    REFERENCE.reduce(product, np.dtype(np.int64), out[1], (a[1], a[1]), (1,))(a[0], a[0], out[0])
    np.testing.assert_array_equal(contents(*out)[:, 0], (numbers((4, 3)) ** 2).sum(1))


@pytest.mark.parametrize("dims", [(0,), (1,), (0, 2), (0, 1, 2)], ids=str)
def test_a_reduction_of_several_operands_reads_each_in_its_own_layout(short, dims):
    gaps = declared(add, "zero", order="sum", map=gap, finish=and_count)
    shape = (3, 12, 7)
    x, t = arrange(numbers(shape)), arrange(numbers(shape)[::-1].copy(), way="stepped")
    out = blank(tuple(1 if d in dims else n for d, n in enumerate(shape)), i64)
    wanted = 2 * np.abs(numbers(shape) - numbers(shape)[::-1]).sum(dims, keepdims=True)
    for device in (short, REFERENCE):
        device.reduce(gaps, np.dtype(np.int64), out[1], (x[1], t[1]), dims)(x[0], t[0], out[0])
        np.testing.assert_array_equal(contents(*out), wanted + np.prod([shape[d] for d in dims]))


PAIRS = {
    "sum": declared(add, "zero", order="sum", map=gap, finish=and_count),
    "highest": declared(highest, "lowest", combine=highest, map=gap),
    "combined": declared(farther, "zero", combine=add, map=gap),
    "sequential": declared(digits, "one", order="sequential", map=gap),
}


@pytest.mark.parametrize("compute", [np.int64, np.float64], ids=["integers", "floats"])
@pytest.mark.parametrize("name", PAIRS)
def test_a_reduction_of_two_operands_in_every_layout_over_every_set_of_dims(short, name, compute):
    dtype, sequential = (i32, i64) if compute is np.int64 else (f32, f64), name == "sequential"
    for shape in [(333,), (3, 5, 7), (30, 2, 11)]:
        a, b = (x % 2 if sequential else x for x in (numbers(shape), numbers(shape)[::-1].copy()))
        for (one, other), count in itertools.product(zip(WAYS, (*WAYS[2:], *WAYS[:2])), range(len(shape) + 1)):
            for dims in itertools.combinations(range(len(shape)), count):
                if sequential and math.prod(shape[d] for d in dims) > 30:
                    continue  # the digits of more are beyond every dtype
                x, t = arrange(a, dtype[0], one), arrange(b, dtype[0], other)
                out = blank(tuple(1 if d in dims else n for d, n in enumerate(shape)), dtype[1], "permuted")
                found = []
                for device in (short, REFERENCE):
                    memory = out[0].copy()
                    device.reduce(PAIRS[name], np.dtype(compute), out[1], (x[1], t[1]), dims)(x[0], t[0], memory)
                    check_gaps(memory, out[1])
                    found.append(contents(memory, out[1]))
                np.testing.assert_array_equal(*found, f"{shape} {one} {other} {dims}")


def test_a_reduction_of_several_operands_is_one_launch_unless_they_are_transposed(short):
    x, t = arrange(numbers((30, 11)), f32), arrange(numbers((30, 11)), f32)
    across = arrange(numbers((11, 30)), f32)[1]
    turned = Spec(across.layout.transpose(0, 1), f32)
    out = blank((1, 1), f64)[1]
    request = requests.Reduce(PAIRS["sum"], np.dtype(np.float64), (0, 1))
    assert len(short.backend.prepare(request, out, x[1], t[1]).steps) == 1
    assert len(short.backend.prepare(request, out, x[1], turned).steps) > 1


def test_a_reduction_says_how_partial_results_become_one():
    wrong_reducer('the reduction squares does not say how partial results become one; write order="sum" if', squares)
    wrong_reducer("order='any'; write one of order=\"sum\"", add, order="any")
    wrong_reducer("and combine=", add, order="sum", combine=add)
    wrong_reducer("begins at identity='two'; there are 'zero', 'one', 'lowest', 'highest'", add, "two", order="sum")
    wrong_reducer(re.escape("needs two arguments for one_only, not (x)"), one_only, order="sum")


def test_what_a_fold_says_is_tried_on_a_few_numbers():
    wrong_reducer('from identity="zero" the elements .* one after the other and squares', squares, order="sum")
    wrong_reducer('write order="sum"', latest, order="sum")
    wrong_reducer("in two parts", mean_of_two, combine=add)
    wrong_reducer("the elements nothing give 1 one after the other and add.1, 1. = 2", add, "one", order="sum")
    assert declared(bits, "zero", order="sum").combine.name == "bits"


def test_an_extreme_lets_nan_win_and_begins_at_an_end():
    keeps = "of nan and -2 it keeps -2; write `return x if x > acc or x != x else acc`"
    wrong_reducer(keeps, upper, "lowest", order="extreme")
    wrong_reducer('begins at "lowest" or "highest" and not at \'zero\'', upper, order="extreme")


def test_a_refused_fold_leaves_no_op_behind():
    with pytest.raises(DeclarationError, match=r"test_reducers.py:\d+: the reduction half_declared does not say"):

        @mg.reduction(dtype=mg.rules.widen, identity="zero")
        def half_declared(acc, x):
            """A sum of squares."""
            return acc + x * x

    assert not [name for name in schema if "half_declared" in name]


def test_our_own_reductions_are_what_they_say():
    # At import only the reductions of users are tried.
    reduced = {name: op for name, op in schema.items() if op.reducer is not None}
    ours = {name: op.reducer for name, op in reduced.items() if op.where.startswith(reducers.OURS)}
    assert {"sum", "mean", "amax", "amin", "any", "all", "prod"} <= ours.keys()
    assert not {
        name: reducers.untrue(each) for name, each in ours.items() if each.combine is not None and reducers.untrue(each)
    }
    assert 'says order="sum"' in reducers.untrue(replace(ours["sum"], identities=("one",)))
    assert 'says order="extreme"' in reducers.untrue(replace(ours["amax"], identities=("highest",)))
