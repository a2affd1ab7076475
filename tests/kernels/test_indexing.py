"""Reading and adding by index, straight from the CPU backend, held to NumPy loops over many layouts."""

import threading

import numba
import numpy as np
import pytest
from asking import Asking
from cases import over, unless_full
from compiled_dtypes import ALL, INTS
from strided import WAYS, arrange, blank, contents

from minigrad.backends.lowering.functions import HIGHEST, LOWEST, PRODUCT, SECOND
from minigrad.backends.lowering.indexing import scatter_in_runs
from minigrad.backends.registry import backend_of
from minigrad.backends.steps import Steps
from minigrad.config import override
from minigrad.core.device import as_device
from minigrad.core.dtype import bfloat16, bool_, f16, f32, f64, i8, i32, i64, u8, u32
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.requests import Scatter

backend = Asking(backend_of(as_device("cpu")))
rng = np.random.default_rng(1)


def launch(prepare, out, *operands, dim=None):
    params = () if dim is None else (dim,)
    prepare(out[1], *(spec for _, spec in operands), *params)(*(buffer for buffer, _ in operands), out[0])
    return contents(*out)


def whole(shape, dtype):
    low, high = (0, 2) if dtype is bool_ else (0, 9)
    return rng.integers(low, high, shape).astype(dtype.numpy)


def positions(size, shape):
    """Indices of both signs."""
    return rng.integers(-size, size, shape)


def numpy_scatter_add(a, index, src, dim):
    result = a.copy()
    for place in np.ndindex(index.shape):
        target = list(place)
        target[dim] = index[place]
        result[tuple(target)] += src[place]
    return result


def numpy_index_add(a, index, src, dim):
    result = a.copy()
    for j, k in enumerate(index):
        result[(slice(None),) * dim + (k,)] += src.take(j, dim)
    return result


def wide_or_narrow(test):
    """Loops over layouts and threads in float64, which the op table compiles anyway, and with --full in float32."""
    return unless_full(lambda dtype: dtype is f64)(over("dtype", [f64, f32], ids=str)(test))


# ---- scatters with another function than a sum


@pytest.mark.parametrize(("join", "ufunc", "dtype", "dim"), [
    (HIGHEST, np.maximum, f64, 0), (PRODUCT, np.multiply, i32, 1), (SECOND, lambda a, b: b, bfloat16, 1),
    (LOWEST, np.minimum, f32, 1),
])  # fmt: skip
@pytest.mark.parametrize("way", ["dense", "stepped"])
def test_scatter_join_takes_the_function_in_index_order(join, ufunc, dtype, dim, way):
    a, src, index = whole((4, 6), dtype), whole((3, 5), dtype), positions((4, 6)[dim], (3, 5))
    if dtype is f64:
        a[0, 0] = src[1, 2] = np.nan
    wanted = a.copy()
    for place in np.ndindex(index.shape):
        target = (index[place], place[1]) if dim == 0 else (place[0], index[place])
        wanted[target] = ufunc(wanted[target], src[place])
    operands = arrange(a, dtype, way), arrange(index), arrange(src, dtype, way)

    def scatter(out, *specs):
        return backend.prepare(Scatter(dim, join), out, *specs)

    def composed(out, *specs):  # on a device whose own loops only add
        steps = Steps(backend_of(as_device("reference")), (out,), specs)
        scatter_in_runs(steps, dim, join)
        return steps.launch

    for way_of_it in (scatter, composed):
        np.testing.assert_array_equal(launch(way_of_it, blank((4, 6), dtype, way), *operands), wanted)
    operands[1][0][0] = 9
    out = blank((4, 6), dtype)
    for way_of_it in (scatter, composed):
        assert way_of_it(out[1], *[spec for _, spec in operands])(*[buffer for buffer, _ in operands], out[0])


# ---- reading


@wide_or_narrow
@over("dim", [0, 1, 2])
@over("way", WAYS)
def test_gather_under_any_layout(way, dim, dtype):
    a, shape = whole((4, 5, 6), dtype), [4, 5, 6]
    shape[dim] = 3
    index = positions(a.shape[dim], shape)
    right = np.take_along_axis(a, index, dim)
    for ways in ((way, "dense", "dense"), ("dense", way, "dense"), ("dense", "dense", way), (way,) * 3):
        out, x, i = blank(shape, dtype, ways[0]), arrange(a, dtype, ways[1]), arrange(index, i64, ways[2])
        assert np.array_equal(launch(backend.gather, out, x, i, dim=dim), right)


def test_gather_by_a_shorter_index_reads_the_corner():
    a, index = whole((4, 6), f64), positions(4, (2, 3))
    result = launch(backend.gather, blank((2, 3), f64), arrange(a), arrange(index, i64), dim=0)
    assert np.array_equal(result, a[index, np.arange(3)])


@unless_full(lambda dtype: dtype is f64)
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_gather_moves_every_dtype(dtype):
    a, index = whole((7,), dtype), np.array([-1, 0, 3, 3, -7])
    assert np.array_equal(
        launch(backend.gather, blank((5,), dtype), arrange(a, dtype), arrange(index), dim=0), a[index]
    )


@unless_full(lambda dtype: dtype in (u32, i64))
@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_every_integer_dtype_is_an_index(dtype):
    index = np.array([2, 0, 1, 1] if dtype.kind == "uint" else [2, -3, 1, -2]).astype(dtype.numpy)
    a = whole((3, 4), f64)
    result = launch(backend.index_select, blank((4, 4), f64), arrange(a), arrange(index, dtype), dim=0)
    assert np.array_equal(result, a[[2, 0, 1, 1]])
    assert backend.index_bounds(arrange(index, dtype)[1])(arrange(index, dtype)[0]) == (index.min(), index.max())


def test_a_nan_keeps_its_payload_on_the_way():
    a = np.array([0x7FF8000012345678, 0x3FF0000000000000], np.uint64).view(np.float64)
    result = launch(backend.gather, blank((2,), f64), arrange(a), arrange(np.array([1, 0])), dim=0)
    assert result.view(np.uint64).tolist() == [0x3FF0000000000000, 0x7FF8000012345678]


@wide_or_narrow
@over("dim", [0, 1, 2])
@over("way", WAYS)
def test_index_select_under_any_layout(way, dim, dtype):
    a = whole((4, 5, 6), dtype)
    index = positions(a.shape[dim], 7)
    right = a.take(index, dim)
    for ways in ((way, "dense", "dense"), ("dense", way, "dense"), (way, way, "stepped")):
        out, x, i = blank(right.shape, dtype, ways[0]), arrange(a, dtype, ways[1]), arrange(index, i64, ways[2])
        assert np.array_equal(launch(backend.index_select, out, x, i, dim=dim), right)


@wide_or_narrow
def test_strips_of_rows_and_blocks_of_columns_cover_every_element(dtype):
    a = whole((3, 700, 90), dtype)
    index = positions(700, (3, 1300, 90))
    with override(parallel_threshold=0):
        by_rows = launch(backend.gather, blank(index.shape, dtype), arrange(a), arrange(index), dim=1)
        rows = launch(backend.index_select, blank((3, 700, 90), dtype), arrange(a), arrange(index[0, :700, 0]), dim=1)
    assert np.array_equal(by_rows, np.take_along_axis(a, index, 1))
    assert np.array_equal(rows, a[:, index[0, :700, 0]])


@wide_or_narrow
def test_long_rows_are_cut_into_blocks(dtype):
    a, index = whole((3, 20_000), dtype), np.array([2, 0, -1])
    with override(parallel_threshold=0):
        out = launch(backend.index_select, blank(a.shape, dtype), arrange(a), arrange(index), dim=0)
    assert np.array_equal(out, a[index])


# ---- positions that do not exist

WRONG = [5, -6, 1 << 40, -(1 << 62), np.iinfo(np.int64).max, np.iinfo(np.int64).min]


@wide_or_narrow
@over("wrong", WRONG)
@over("way", ["dense", "stepped", "transposed"])
@over("dim", [0, 1])
def test_a_position_that_does_not_exist_is_told_and_touches_nothing(dim, way, wrong, dtype):
    a, src = whole((5, 5), dtype), whole((5, 5), dtype)
    grid, line = positions(5, (5, 5)), positions(5, 5)
    grid[3, 2] = line[4] = wrong
    for threshold in (0, 1 << 40):
        with override(parallel_threshold=threshold):
            for method, index, *more in (
                ("gather", grid), ("index_select", line), ("scatter_add", grid, src), ("index_add", line, src),
            ):  # fmt: skip
                out, x, i = blank((5, 5), dtype, way), arrange(a, dtype, way), arrange(index, i64, way)
                operands = [x, i, *(arrange(y, dtype, way) for y in more)]
                outside = np.ones(out[0].size, bool)
                outside[list(out[1].layout.offsets())] = False
                before = out[0][outside].tobytes()
                run = getattr(backend, method)(out[1], *(spec for _, spec in operands), dim)
                assert run(*(buffer for buffer, _ in operands), out[0])
                assert out[0][outside].tobytes() == before


def test_a_position_that_changes_meanwhile_is_either_right_or_told():
    """Another thread writes what does not exist; a check in a pass of its own would let some of it through."""
    a, index = arrange(np.arange(40_000, dtype=np.float64)), arrange(np.arange(40_000)[::-1].copy())
    out, stop = blank((40_000,), f64), threading.Event()
    run = backend.gather(out[1], a[1], index[1], 0)

    def disturb():
        while not stop.is_set():
            index[0][30_000] = 1 << 50
            index[0][30_000] = 9_999

    other = threading.Thread(target=disturb)
    other.start()
    try:
        found = [(run(a[0], index[0], out[0]), out[0][30_000]) for _ in range(300)]
    finally:
        stop.set()
        other.join()
    assert all(value == 9_999 for wrong, value in found if not wrong)


@unless_full(lambda dtype: dtype in (i8, u8))
@pytest.mark.parametrize("dtype", [i8, u8, i32], ids=str)
def test_narrow_positions_are_compared_as_numbers(dtype):
    """200 is -56 in int8, and there is no place -56 in a line of 5."""
    index = np.array([0, 200 if dtype is u8 else -56]).astype(dtype.numpy)
    a, out = arrange(whole((5,), f64)), blank((2,), f64)
    assert backend.gather(out[1], a[1], arrange(index, dtype)[1], 0)(a[0], arrange(index, dtype)[0], out[0])


def test_a_dim_of_length_zero_has_no_position():
    none, index, src = arrange(np.zeros((0, 3), np.float64)), arrange(np.array([0, 0])), arrange(whole((2, 3), f64))
    out = blank((2, 3), f64)
    assert backend.index_select(out[1], none[1], index[1], 0)(none[0], index[0], out[0])
    out = blank((0, 3), f64)
    assert backend.index_add(out[1], none[1], index[1], src[1], 0)(none[0], index[0], src[0], out[0])


# ---- adding


@wide_or_narrow
@over("dim", [0, 1, 2])
@over("way", WAYS)
def test_scatter_add_under_any_layout(way, dim, dtype):
    a, shape = whole((4, 5, 6), dtype), [4, 5, 6]
    shape[dim] = 8
    index, src = positions(a.shape[dim], shape), whole(shape, dtype)
    right = numpy_scatter_add(a, index, src, dim)
    for ways in ((way, "dense", "dense", "dense"), ("dense", way, way, "dense"), ("dense", "dense", "dense", way)):
        out, x = blank(a.shape, dtype, ways[0]), arrange(a, dtype, ways[1])
        i, y = arrange(index, i64, ways[2]), arrange(src, dtype, ways[3])
        assert np.array_equal(launch(backend.scatter_add, out, x, i, y, dim=dim), right)


@wide_or_narrow
@over("dim", [0, 1, 2])
@over("way", WAYS)
def test_index_add_under_any_layout(way, dim, dtype):
    a, shape = whole((4, 5, 6), dtype), [4, 5, 6]
    shape[dim] = 8
    index, src = positions(a.shape[dim], 8), whole(shape, dtype)
    right = numpy_index_add(a, index, src, dim)
    for ways in (
        (way, "dense", "dense", "dense"),
        ("dense", way, "stepped", "dense"),
        ("dense", "dense", "dense", way),
    ):
        out, x = blank(a.shape, dtype, ways[0]), arrange(a, dtype, ways[1])
        i, y = arrange(index, i64, ways[2]), arrange(src, dtype, ways[3])
        assert np.array_equal(launch(backend.index_add, out, x, i, y, dim=dim), right)


@unless_full(lambda dtype: dtype in (bool_, i8, f16, f64))
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_sums_of_every_dtype(dtype):
    a, index, src = whole((3,), dtype), np.array([0, 2, 2, -1]), whole((4,), dtype)
    x, i, y = arrange(a, dtype), arrange(index), arrange(src, dtype)
    result = launch(backend.scatter_add, blank((3,), dtype), x, i, y, dim=0)
    assert np.array_equal(result, numpy_scatter_add(a, index, src, 0))


@pytest.mark.parametrize("shape", [(6,), (6, 4)], ids=str)
def test_what_is_added_is_converted_first(shape):
    a, src = whole(shape, i32), rng.standard_normal((3, *shape[1:])).astype(np.float32)
    operands = arrange(a, i32), arrange(np.array([1, 1, -1])), arrange(src)
    result = launch(backend.index_add, blank(shape, f64), *operands, dim=0)
    assert np.array_equal(result, numpy_index_add(a.astype(np.float64), [1, 1, -1], src, 0))


def test_a_shorter_index_leaves_the_other_lines_as_they_were():
    a, index, src = whole((4, 6), f64), positions(6, (2, 9)), whole((2, 9), f64)
    result = launch(backend.scatter_add, blank((4, 6), f64), arrange(a), arrange(index), arrange(src), dim=1)
    right = a.copy()
    np.add.at(right, (np.arange(2)[:, None], index), src)
    assert np.array_equal(result, right)


def test_integer_sums_wrap_around():
    x, i, y = arrange(np.array([100], np.int8)), arrange(np.array([0])), arrange(np.array([100], np.int8))
    assert launch(backend.scatter_add, blank((1,), i8), x, i, y, dim=0).tolist() == [-56]


def test_halves_are_added_in_float32_and_rounded_once():
    x, i, y = arrange(np.zeros(1), f16), arrange(np.zeros(3, np.int64)), arrange(np.array([2048.0, 1.0, 1.0]), f16)
    assert launch(backend.index_add, blank((1,), f16), x, i, y, dim=0).tolist() == [2050.0]


def test_equal_indices_add_in_index_order():
    """1e16 + 1 is 1e16 in float64, so only one order gives 1."""
    src = np.array([[1e16], [-1e16], [1.0]], np.float64).repeat(40, 1)
    x, i, y = arrange(np.zeros((2, 40)), f64), arrange(np.ones(3, np.int64)), arrange(src)
    result = launch(backend.index_add, blank((2, 40), f64), x, i, y, dim=0)
    assert (result[1] == 1).all() and (result[0] == 0).all()


@wide_or_narrow
@pytest.mark.parametrize("shape", [(50, 70), (3, 50, 4)], ids=str)
@pytest.mark.parametrize("method", ["scatter_add", "index_add"])
def test_the_number_of_threads_does_not_change_a_sum(method, shape, dtype):
    dim = len(shape) - 2
    a, src = np.zeros(shape, dtype.numpy), rng.standard_normal(shape).astype(dtype.numpy)
    index = positions(5, shape if method == "scatter_add" else shape[dim])
    results = []
    for threads, threshold in ((1, 0), (2, 0), (1, 1 << 40)):
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
        with override(parallel_threshold=threshold):
            x, i, y = arrange(a), arrange(index), arrange(src)
            results.append(launch(getattr(backend, method), blank(shape, dtype), x, i, y, dim=dim).tobytes())
    assert results[0] == results[1] == results[2]


def test_nothing_to_add_is_a_copy():
    a = whole((3, 4), f64)
    none = arrange(np.zeros((0, 4)), f64)
    x, i = arrange(a, f64, "transposed"), arrange(np.zeros(0, np.int64))
    assert np.array_equal(launch(backend.index_add, blank((3, 4), f64), x, i, none, dim=0), a)


# ---- adding through a view


def add_through(view, g, dtype=f64, numel=30, offset=2):
    out = np.full(numel + 4, 7).astype(dtype.storage)
    values, spec = g
    backend.view_add(Spec(Layout.contiguous((numel,), offset), dtype), spec, Spec(view, dtype))(values, out)
    assert (out[:offset] == out[-2]).all() and out[:offset].any() and (out[numel + offset :] == out[-2]).all()
    return contents(out, Spec(Layout.contiguous((numel,), offset), dtype))


def numpy_view_add(view, g, numel=30, offset=2):
    result = np.zeros(numel + 4, np.float64)
    np.add.at(result, list(view.offsets()), g.reshape(-1).astype(np.float64))
    return result[offset : offset + numel]


BASE = Layout.contiguous((5, 6), 2)
VIEWS = {
    "transposed": BASE.transpose(0, 1),
    "flipped steps": BASE.slice(1, None, None, -2),
    "overlapping windows": BASE.unfold(1, 3, 1),
    "windows in both dims": BASE.unfold(0, 2, 1).unfold(1, 4, 2),
    "repeated": BASE.narrow(0, 1, 1).expand((4, 6)),
    "repeated inside": BASE.narrow(1, 2, 1).expand((5, 3)),
    "one element": BASE.select(0, 1).select(0, 1),
    "nothing": BASE.narrow(0, 0, 0),
}


@wide_or_narrow
@over("name", VIEWS)
@over("threshold", [0, 1 << 40])
def test_view_add_sums_overlaps(name, threshold, dtype):
    view = VIEWS[name]
    g = whole(view.shape, dtype)
    with override(parallel_threshold=threshold):
        for way in ("dense", "flipped", "transposed"):
            assert np.array_equal(add_through(view, arrange(g, dtype, way), dtype), numpy_view_add(view, g))


@unless_full(lambda dtype: dtype in (f16, i64))
@pytest.mark.parametrize("dtype", [f16, bfloat16, i8, i64, bool_], ids=str)
def test_view_add_in_other_dtypes(dtype):
    view = VIEWS["overlapping windows"]
    g = whole(view.shape, dtype)
    right = numpy_view_add(view, g)
    result = add_through(view, arrange(g, dtype), dtype)
    assert np.array_equal(result.astype(np.float64), right > 0 if dtype is bool_ else right)


# ---- bounds


@pytest.mark.parametrize("way", WAYS)
def test_bounds_see_the_view_and_not_the_gaps(way):
    values = np.array([[3, -2, 5], [0, 7, -6]])
    buffer, spec = arrange(values, i64, way)
    assert backend.index_bounds(spec)(buffer) == (-6, 7)


@pytest.mark.parametrize("dtype", [u8, u32, i32], ids=str)
def test_bounds_of_one_number_and_of_none(dtype):
    buffer, spec = arrange(np.array(200 if dtype is u8 else 1 << 30), dtype)
    assert backend.index_bounds(spec)(buffer) == (int(buffer[0]), int(buffer[0]))
    lowest, highest = backend.index_bounds(Spec(Layout.contiguous((0, 3)), dtype))(buffer)
    assert lowest >= 0 and highest < 0
