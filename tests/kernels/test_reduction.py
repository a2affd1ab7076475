"""Reductions and positions of min/max on the CPU backend, compared with NumPy over random layouts."""

import numba
import numpy as np
import pytest
from asking import Asking
from cases import covering, over, unless_full
from compiled_dtypes import ALL
from selection import runs_in

import minigrad as mg
from minigrad.backends.cpu import reduction_plans
from minigrad.backends.registry import backend_of
from minigrad.config import override
from minigrad.core.device import as_device
from minigrad.core.dtype import (
    FLOATS,
    bfloat16,
    bool_,
    cast_array,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    to_logical,
    u8,
    u32,
)  # fmt: skip
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.declare.record import schema
from minigrad.ops.reduction.extremes import GREATER, LESS

pytestmark = pytest.mark.usefixtures("serial")  # the tests of threads ask for the others
backend = Asking(backend_of(as_device("cpu")))
SERIAL, PARALLEL = 10**12, 0


# name: the same in NumPy, and how the dtypes follow from that of the operand; the folds are those of the schema
REDUCTIONS = {
    "sum": (np.sum, "wide"),
    "prod": (np.prod, "wide"),
    "amax": (np.max, "same"),
    "amin": (np.min, "same"),
    "any": (np.any, "truth"),
    "all": (np.all, "truth"),
}
MEAN = (np.mean, "wide")


def reduced(shape, dims):
    return tuple(1 if d in dims else n for d, n in enumerate(shape))


def run_reduction(name, dtype, buffer, layout, dims, out=None):
    """The fold of `layout` of a storage buffer, as an array of numbers in the shape with length 1 at each of dims."""
    _, kind = REDUCTIONS.get(name, MEAN)
    compute = np.dtype(dtype.accumulator) if kind == "wide" else dtype.compute
    result = dtype if name == "mean" else {"wide": dtype.sum_dtype, "same": dtype, "truth": bool_}[kind]
    out = out or Layout.contiguous(reduced(layout.shape, dims))
    memory = np.full(out.span()[1] + 3, 77, result.storage)
    backend.reduce(schema[name].reducer, compute, Spec(out, result), Spec(layout, dtype), dims)(buffer, memory)
    assert (memory[out.span()[1] :] == memory.dtype.type(77)).all()
    return view(to_logical(memory, result), out)


def run_search(better, dtype, buffer, layout, dim):
    out = Layout.contiguous(reduced(layout.shape, (dim,)))
    memory = np.full(out.numel, -1, np.int64)
    backend.argreduce(better, Spec(out, i64), Spec(layout, dtype), dim)(buffer, memory)
    return memory.reshape(out.shape)


def view(array, layout):
    if layout.numel == 0:
        return np.zeros(layout.shape, array.dtype)
    steps = [s * array.itemsize for s in layout.strides]
    return np.lib.stride_tricks.as_strided(array[layout.offset :], layout.shape, steps)


def random_layout(rng, rank, longest):
    """A view of a run: transposed, stepped, reversed, repeated, sometimes empty; and the length of the run."""
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, longest, rank))
    layout = whole = Layout.contiguous(shape, int(rng.integers(0, 3)))
    order = rng.permutation(rank)
    layout = Layout.make(tuple(shape[d] for d in order), tuple(whole.strides[d] for d in order), whole.offset)
    for d in range(rank):
        way = rng.random()
        if way < 0.2:
            layout = layout.slice(d, None, None, 2)
        elif way < 0.4:
            layout = layout.slice(d, None, None, -1)
        elif way < 0.5 and layout.shape[d]:
            layout = layout.narrow(d, 0, 1)
            layout = layout.expand((*layout.shape[:d], 3, *layout.shape[d + 1 :]))
    return layout, whole.offset + whole.numel + 1


def whole_numbers(rng, n):
    """Small enough that float32 holds every sum, so that results are compared bit for bit."""
    return rng.integers(-50, 50, n).astype(np.float32)


# ---- layouts


@pytest.mark.parametrize("tiny", [True, False])
def test_sums_over_random_dims_of_random_layouts_are_exact(tiny, monkeypatch):
    if not tiny:
        monkeypatch.setattr(reduction_plans, "TINY", -1)
    rng = np.random.default_rng(3)
    for trial in range(600):
        rank = int(rng.integers(0, 6))
        layout, length = random_layout(rng, rank, 7 if trial % 5 else 14)
        if layout.numel > 200_000:
            continue
        buffer = whole_numbers(rng, length)
        dims = tuple(int(d) for d in np.flatnonzero(rng.random(rank) < 0.5))
        expected = view(buffer, layout).sum(dims, np.float64, keepdims=True)
        np.testing.assert_array_equal(run_reduction("sum", f32, buffer, layout, dims), expected, str((layout, dims)))


def test_positions_along_random_dims_of_random_layouts():
    rng = np.random.default_rng(4)
    for trial in range(600):
        layout, length = random_layout(rng, int(rng.integers(1, 5)), 7 if trial % 5 else 30)
        dim = int(rng.integers(layout.ndim))
        if layout.numel > 200_000 or not layout.shape[dim]:
            continue
        buffer = whole_numbers(rng, length)
        buffer[rng.random(length) < 0.01] = np.nan
        values = view(buffer, layout)
        expected = np.argmax(values, dim, keepdims=True)
        np.testing.assert_array_equal(run_search(GREATER, f32, buffer, layout, dim), expected, str((layout, dim)))


@pytest.mark.parametrize("name", ["sum", "argmax"])
def test_long_reductions_with_few_outputs_are_cut_into_pieces_without_a_change_in_meaning(name, monkeypatch):
    monkeypatch.setattr(reduction_plans, "PIECE", 2048)
    rng = np.random.default_rng(5)
    for shape in [(9001,), (3, 5000), (5000, 3), (700, 40), (40, 700), (4, 900, 5), (2, 33, 2, 77), (5000, 1, 300)]:
        buffer = whole_numbers(rng, 2 * int(np.prod(shape)))
        for layout in (Layout.contiguous(shape), Layout.contiguous((*shape, 2)).select(len(shape), 1)):
            layout = layout.slice(0, None, None, -1)
            values = view(buffer, layout)
            for dim in range(len(shape)):
                if name == "sum":
                    dims = tuple({0, dim})
                    expected = values.sum(dims, np.float64, keepdims=True)
                    np.testing.assert_array_equal(run_reduction("sum", f32, buffer, layout, dims), expected)
                else:
                    expected = np.argmax(values, dim, keepdims=True)
                    np.testing.assert_array_equal(run_search(GREATER, f32, buffer, layout, dim), expected)


@pytest.mark.parametrize("shape", [(5, 6), (300, 40), (40, 300), (100_000, 2)])
def test_the_output_may_have_any_layout(shape):
    buffer = whole_numbers(np.random.default_rng(6), shape[0] * shape[1])
    for dim in (0, 1):
        size = shape[1 - dim]
        kept = (1, size) if dim == 0 else (size, 1)
        out = Layout.make(kept, (-3, -3), 3 * size)
        expected = buffer.reshape(shape).sum(dim, np.float64, keepdims=True)
        result = run_reduction("sum", f32, buffer, Layout.contiguous(shape), (dim,), out)
        np.testing.assert_array_equal(result, expected)


def test_a_reduction_over_no_dims_is_a_cast():
    buffer = np.arange(6, dtype=np.uint8)
    result = run_reduction("sum", u8, buffer, Layout.contiguous((2, 3)).transpose(0, 1), ())
    assert result.dtype == np.int64 and result.tolist() == [[0, 3], [1, 4], [2, 5]]


# ---- nothing to fold


@covering("name", "shape")
@over("shape", [(2, 0, 700), (0,), (0, 4)])
@over(("name", "nothing"), [("sum", 0), ("prod", 1), ("any", False), ("all", True)])
def test_the_fold_of_nothing_is_the_identity(name, nothing, shape):
    dims = (shape.index(0),)
    result = run_reduction(name, f64, np.zeros(0, np.float64), Layout.contiguous(shape), dims)
    assert result.shape == reduced(shape, dims) and (result == nothing).all()


def test_the_mean_of_nothing_is_nan_and_no_outputs_are_no_work():
    empty = np.zeros(0, np.float64)
    assert np.isnan(run_reduction("mean", f64, empty, Layout.contiguous((0, 3)), (0,))).all()
    assert run_reduction("sum", f64, empty, Layout.contiguous((0, 3)), (1,)).shape == (0, 1)
    assert run_search(GREATER, f64, empty, Layout.contiguous((0, 3)), 1).shape == (0, 1)


# ---- dtypes

ROWS = np.array([[3, 0, 1, 1, 0], [2, 1, 0, 1, 1]])


@unless_full(lambda name, dtype: runs_in(name, dtype.name))
@over("name", REDUCTIONS)
@over("dtype", ALL, ids=str)
def test_every_dtype_folds_as_numpy_folds_wide_numbers(dtype, name):
    buffer = cast_array(ROWS, dtype).reshape(-1)
    numbers = to_logical(buffer, dtype).reshape(2, 5)
    wide = numbers.astype(np.float64 if dtype.is_float else np.bool_ if dtype is bool_ else np.int64)
    for dims in [(0,), (1,), (0, 1)]:
        result = run_reduction(name, dtype, buffer, Layout.contiguous((2, 5)), dims)
        np.testing.assert_array_equal(result.astype(np.float64), REDUCTIONS[name][0](wide, axis=dims, keepdims=True))


LARGE = [(bool_, "any", SERIAL), (u8, "sum", SERIAL), (i8, "amin", SERIAL), (i8, "amin", PARALLEL),
         (i16, "sum", PARALLEL), (u32, "amax", SERIAL), (i32, "sum", SERIAL), (i64, "amin", SERIAL),
         (f16, "sum", SERIAL), (bfloat16, "amax", SERIAL), (f64, "sum", PARALLEL)]  # fmt: skip


# Without --full the kinds of dtype once, with wide sums and extremes; wide floats are what other tests fold.
LARGE_KINDS = ((bool_, SERIAL), (i8, SERIAL), (i16, PARALLEL), (f16, SERIAL))


@unless_full(lambda dtype, threshold: (dtype, threshold) in LARGE_KINDS)
@pytest.mark.parametrize(("dtype", "name", "threshold"), LARGE, ids=lambda v: "" if isinstance(v, int) else str(v))
def test_large_folds_of_other_dtypes(dtype, name, threshold):
    rng = np.random.default_rng(7)
    buffer = cast_array(rng.integers(0, 2, 90 * 700), dtype)
    wide = to_logical(buffer, dtype).reshape(90, 700).astype(np.float64)
    for dims in [(0, 1), (0,), (1,)]:
        with override(parallel_threshold=threshold):
            result = run_reduction(name, dtype, buffer, Layout.contiguous((90, 700)), dims).astype(np.float64)
        # A float16 holds eleven bits of the sum of all.
        tolerance = 2.0**-11 if dtype is f16 and len(dims) == 2 else 0
        np.testing.assert_allclose(result, REDUCTIONS[name][0](wide, axis=dims, keepdims=True), rtol=tolerance)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_extremes_of_every_float_in_one_run_of_memory(dtype):
    """Integers of the same order stand for floats: of each length, in one piece and in several."""
    for n in (511, 512, 513, 5000, 70_001):
        x = mg.tensor(np.random.default_rng(n).standard_normal(n), dtype=dtype)
        values = x.to("float64").numpy()
        assert (x.amax().item(), x.amin().item()) == (values.max(), values.min())


# A fold along memory whose step is not 1, in the dtypes that the random layouts above do not have.
@pytest.mark.parametrize(("dtype", "name"), [(bool_, "all"), (i16, "sum"), (bfloat16, "amax"), (f64, "amin")], ids=str)
def test_large_folds_of_stepped_operands(dtype, name):
    buffer = cast_array(np.random.default_rng(9).integers(0, 2, 90 * 700), dtype)
    layout = Layout.contiguous((90, 700)).slice(1, 0, None, 2)
    wide = to_logical(buffer, dtype).reshape(90, 700)[:, ::2].astype(np.float64)
    for dims in [(0,), (1,)]:
        result = run_reduction(name, dtype, buffer, layout, dims).astype(np.float64)
        np.testing.assert_array_equal(result, REDUCTIONS[name][0](wide, axis=dims, keepdims=True))


@unless_full(lambda dtype: dtype in (f16, f64))
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_mean_divides_before_it_stores(dtype):
    # The sum, 4000 * 60 = 240,000, is beyond float16.
    buffer = cast_array(np.full(4000, 60.0), dtype)
    assert float(run_reduction("mean", dtype, buffer, Layout.contiguous((4000,)), (0,))[0]) == 60.0
    assert float(run_reduction("mean", dtype, buffer[:4], Layout.contiguous((4,)), (0,))[0]) == 60.0


def test_sums_accumulate_wider_than_they_store():
    values = np.arange(4000, dtype=np.float32)
    assert run_reduction("sum", f32, values, Layout.contiguous((4000,)), (0,))[0] == 7_998_000
    ones = run_reduction("sum", u8, np.ones(4000, np.uint8), Layout.contiguous((4000,)), (0,))
    assert ones.dtype == np.int64 and ones[0] == 4000
    big = np.array([1e8, 1.0, -1e8], np.float32)
    assert run_reduction("sum", f32, big, Layout.contiguous((3,)), (0,))[0] == 1.0


def test_the_ends_of_an_integer_range_are_its_identities():
    ends = np.array([-(2**31), 2**31 - 1], np.int32)
    assert run_reduction("amax", i32, ends[:1], Layout.contiguous((1,)), (0,))[0] == -(2**31)
    assert run_reduction("amin", i32, ends[1:], Layout.contiguous((1,)), (0,))[0] == 2**31 - 1


@unless_full(lambda dtype: runs_in("argmax", dtype.name))
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_positions_of_every_dtype_are_those_of_the_first(dtype):
    buffer = cast_array(np.array([0, 1, 1, 0]), dtype)
    layout = Layout.contiguous((4,))
    assert run_search(GREATER, dtype, buffer, layout, 0)[0] == 1
    if dtype in (bool_, f16, f32):
        assert run_search(LESS, dtype, buffer, layout, 0)[0] == 0


# ---- nan and infinities


@pytest.mark.parametrize("n", [5, 1000, 100_000])
def test_nan_wins_wherever_it_stands(n):
    layout = Layout.contiguous((n,))
    for place in (0, n // 2, n - 1):
        x = np.arange(n, dtype=np.float32)
        x[place] = np.nan
        assert np.isnan(run_reduction("amax", f32, x, layout, (0,))[0])
        assert np.isnan(run_reduction("amin", f32, x, layout, (0,))[0])
        assert run_search(GREATER, f32, x, layout, 0)[0] == place
        x[-1] = np.nan
        assert run_search(LESS, f32, x, layout, 0)[0] == place


def test_infinities_are_not_mistaken_for_the_identity():
    x = np.full(600, -np.inf, np.float32)
    assert run_reduction("amax", f32, x, Layout.contiguous((600,)), (0,))[0] == -np.inf
    assert run_search(GREATER, f32, x, Layout.contiguous((600,)), 0)[0] == 0


# ---- threads

SHAPES = [
    ((1_000_000,), (0,)),
    ((1000, 1000), (0,)),
    ((1000, 1000), (1,)),
    ((100, 100, 100), (1,)),
    ((3, 333_333), (1,)),
]


@pytest.mark.parametrize(("shape", "dims"), SHAPES)
def test_results_are_the_same_bits_for_serial_loops_and_any_number_of_threads(shape, dims):
    n = int(np.prod(shape))
    x = np.random.default_rng(8).standard_normal(n).astype(np.float32)
    layout = Layout.contiguous(shape)
    total, place = run_reduction("sum", f32, x, layout, dims), run_search(GREATER, f32, x, layout, dims[0])
    threads = numba.get_num_threads()
    try:
        for count in {1, threads}:
            numba.set_num_threads(count)
            with override(parallel_threshold=PARALLEL):
                np.testing.assert_array_equal(run_reduction("sum", f32, x, layout, dims), total)
                np.testing.assert_array_equal(run_search(GREATER, f32, x, layout, dims[0]), place)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(place, np.argmax(x.reshape(shape), dims[0], keepdims=True))
    np.testing.assert_allclose(total, x.reshape(shape).sum(dims, np.float64, keepdims=True), rtol=1e-5, atol=1e-4)
