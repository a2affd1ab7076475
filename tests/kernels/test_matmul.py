"""Matrix products straight from the CPU backend, held to NumPy over shapes, strides and dtypes."""

import numba
import numpy as np
import pytest
from asking import Asking
from cases import over, unless_full
from compiled_dtypes import ALL
from numpy.lib.stride_tricks import as_strided

from minigrad.backends.cpu import product
from minigrad.backends.cpu.product import DEPTH, PACKED, Panels, Problem, is_inner_products, pays_transposed
from minigrad.backends.cpu.texts import tile_size
from minigrad.backends.registry import backend_of
from minigrad.config import override
from minigrad.core.device import as_device
from minigrad.core.dtype import bfloat16, bool_, f16, f32, f64, i8, i32, i64, to_logical, u8
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.requests import Product

backend = Asking(backend_of(as_device("cpu")))
rng = np.random.default_rng(0)


def whole_numbers(size, dtype, low=-3, high=4):
    """Small integers, which every dtype multiplies exactly, as they lie in memory."""
    low = max(low, 0) if dtype.kind in ("bool", "uint") else low
    return rng.integers(low, 2 if dtype is bool_ else high, size).astype(dtype.numpy).view(dtype.storage)


def seen(buffer, layout, dtype):
    """The NumPy view of a layout."""
    values = to_logical(buffer, dtype)
    strides = tuple(s * values.itemsize for s in layout.strides)
    return as_strided(values[layout.offset :], layout.shape, strides)


def expected(x, y, dtype):
    if dtype is bool_:
        return (x.astype(int) @ y.astype(int)) > 0
    if dtype.is_float:
        return (x.astype(np.float64) @ y.astype(np.float64)).astype(dtype.numpy)
    return x @ y


def multiply(a, b, dtype, left=None, right=None, fill=7):
    """The product of two layouts over random buffers; returns (result, NumPy's)."""
    left = whole_numbers(a.span()[1] if a.numel else 1, dtype) if left is None else left
    right = whole_numbers(b.span()[1] if b.numel else 1, dtype) if right is None else right
    shape = (*a.shape[:-1], b.shape[-1])
    out = Layout.contiguous(shape, 3)
    buffer = np.full(out.numel + 6, fill, dtype.storage)
    backend.matmul(Spec(out, dtype), Spec(a, dtype), Spec(b, dtype))(left, right, buffer)
    untouched = np.full(3, fill, dtype.storage)
    assert buffer[:3].tobytes() == untouched.tobytes() == buffer[-3:].tobytes(), "written outside of the output"
    return seen(buffer, out, dtype), expected(seen(left, a, dtype), seen(right, b, dtype), dtype)


EDGES = [
    (1, 1, 1), (1, 300, 100), (300, 1, 100), (13, 31, 14), (14, 32, 15), (15, 33, 13), (31, 13, 32), (32, 15, 33),
    (33, 14, 31), (100, 100, 1), (100, 33, 300), (300, 100, 31), (14, 64, 384), (28, 33, 385), (15, 1030, 20),
    (2, 3, 769),
]  # fmt: skip


@unless_full(lambda dtype: dtype is f32)
@over("dtype", [f32, f64], ids=str)
@over(("m", "n", "k"), EDGES)
def test_sizes_at_the_edges_of_the_tile(m, n, k, dtype):
    for a in (Layout.contiguous((m, k)), Layout.contiguous((k, m)).transpose(0, 1)):
        for b in (Layout.contiguous((k, n)), Layout.contiguous((n, k)).transpose(0, 1)):
            for threshold in (0, 1 << 40):
                with override(parallel_threshold=threshold):
                    result, right = multiply(a, b, dtype)
                assert np.array_equal(result, right)


@pytest.mark.parametrize("dtype", [f16, bfloat16], ids=str)
@pytest.mark.parametrize(("m", "n", "k"), [(3, 4, 5), (15, 33, 13), (31, 40, 100), (15, 1030, 20), (28, 33, 400)])
def test_halves_accumulate_in_float32_and_round_once(m, n, k, dtype):
    for b in (Layout.contiguous((k, n)), Layout.contiguous((n, k)).transpose(0, 1)):
        result, right = multiply(Layout.contiguous((m, k)), b, dtype)
        assert np.array_equal(result, right)


def test_a_long_half_sum_does_not_stop_at_2048():
    """In float16 arithmetic 2048 + 1 is 2048; 4000 ones must give 4000."""
    ones = np.ones(4000 * 4, np.float16).view(np.uint16)
    a, b = Layout.contiguous((4, 4000)), Layout.contiguous((4000, 4))
    result, _ = multiply(a, b, f16, ones, ones)
    assert (result == 4000).all()


@unless_full(lambda dtype: dtype in (bool_, i8, i32))
@pytest.mark.parametrize("dtype", [d for d in ALL if not d.is_float], ids=str)
def test_integers_and_bools_multiply_at_any_size(dtype):
    for m, n, k in ((3, 4, 5), (40, 30, 50)):
        for a in (Layout.contiguous((m, k)), Layout.contiguous((k, m)).transpose(0, 1)):
            result, right = multiply(a, Layout.contiguous((k, n)), dtype)
            assert np.array_equal(result, right)


def test_integers_wrap_around():
    full = np.full(16, 100, np.int8)
    result, right = multiply(Layout.contiguous((4, 4)), Layout.contiguous((4, 4)), i8, full, full)
    assert (result == np.int8(40_000 % 256 - 256 if 40_000 % 256 > 127 else 40_000 % 256)).all()
    assert np.array_equal(result, right)


def test_a_bool_product_is_any_of_and():
    a = np.array([1, 0, 0, 0], np.bool_)
    result, _ = multiply(Layout.contiguous((2, 2)), Layout.contiguous((2, 2)), bool_, a, np.ones(4, np.bool_))
    assert result.tolist() == [[True, True], [False, False]]


BASE = Layout.contiguous((3, 40, 50), 5)
PATTERNS = {
    "stepped": BASE.slice(1, 1, None, 2).slice(2, None, None, 3),
    "flipped": BASE.flip(),
    "rows repeated": BASE.narrow(1, 7, 1).expand((3, 20, 50)),
    "columns repeated": BASE.narrow(2, 7, 1).expand((3, 40, 20)),
    "batch repeated": BASE.narrow(0, 1, 1).expand((4, 40, 50)),
    "batch innermost": BASE.permute((2, 0, 1)),
    "one number": BASE.narrow(0, 0, 1).narrow(1, 0, 1).narrow(2, 0, 1).expand((2, 30, 33)),
}


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("size", [2, 33])
def test_operands_of_any_strides(name, size):
    pattern = PATTERNS[name]
    batch, _, k = pattern.shape
    other = Layout.contiguous((batch, k, size))
    for a, b in ((pattern, other), (other.transpose(1, 2), pattern.transpose(1, 2))):
        result, right = multiply(a, b, f32)
        assert np.array_equal(result, right)


WHOLE = Layout.contiguous((4, 7, 6), 2)


@pytest.mark.parametrize("out", [WHOLE.narrow(1, 1, 5), WHOLE.narrow(2, 0, 5), WHOLE.permute((1, 2, 0)), WHOLE.flip()])
@pytest.mark.parametrize("added", [False, True])
def test_results_of_any_strides(out, added):
    (batch, m, n), k = out.shape, 3
    a, b = Layout.contiguous((batch, m, k)), Layout.contiguous((batch, k, n))
    left, right, buffer = (whole_numbers(size, f32) for size in (a.numel, b.numel, 2 + WHOLE.numel))
    wanted = buffer.copy()
    values = seen(wanted, out, f32)
    values[...] = expected(seen(left, a, f32), seen(right, b, f32), f32) + (values if added else 0)
    specs = [Spec(layout, f32) for layout in (out, a, b)]
    if added:
        backend.addmm(*specs, specs[0], alpha=1, beta=1)(left, right, buffer, buffer)
    else:
        backend.matmul(*specs)(left, right, buffer)
    assert np.array_equal(buffer, wanted)


@pytest.mark.parametrize("m", [4, 30])
def test_batches_may_stretch_either_operand(m):
    a = Layout.contiguous((2, 1, 3, m, 20)).expand((2, 5, 3, m, 20))
    b = Layout.contiguous((5, 1, 20, 35)).expand((2, 5, 3, 20, 35))
    for dtype in (f32, i32):
        result, right = multiply(a, b, dtype)
        assert np.array_equal(result, right)


def test_a_batch_with_one_right_operand_is_one_tall_matrix():
    a = Layout.contiguous((8, 10, 6))
    b = Layout.contiguous((6, 4)).expand((8, 6, 4))
    problem = Problem(Layout.contiguous((8, 10, 4)), a, b, None)
    assert (problem.m, problem.n, problem.k, problem.batches) == (80, 4, 6, 1)
    result, right = multiply(a, b, f64)
    assert np.array_equal(result, right)


def test_a_right_operand_that_is_repeated_is_packed_once():
    b = Layout.contiguous((2, 1, 4, 6)).transpose(2, 3).expand((2, 8, 6, 4))
    problem = Problem(Layout.contiguous((2, 8, 10, 4)), Layout.contiguous((2, 8, 10, 6)), b, None)
    panels = Panels(problem, 16)
    assert problem.batches == 16 and panels.capacity == 2 * 16 * 6 and panels.steps == (16 * 6, 0)
    result, right = multiply(Layout.contiguous((2, 8, 10, 6)), b, f32)
    assert np.array_equal(result, right)


def test_a_large_right_operand_is_packed_where_it_could_be_read_in_place():
    n = PACKED // 4 // 300 + 1
    result, right = multiply(Layout.contiguous((64, 300)), Layout.contiguous((300, n)), f32)
    assert np.array_equal(result, right)


@pytest.mark.parametrize(("m", "n", "k"), [(300, 300, 2100), (128, 640, 1800), (256, 300, 1537)])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("added", [False, True])
def test_large_copies_are_made_part_by_part_with_the_same_bits(m, n, k, turned, added, monkeypatch):
    """The same memory serves all parts, in the order in which the inner dim is added up anyway."""
    monkeypatch.setattr(product, "PACKED_LEFT", 1 << 10)
    monkeypatch.setattr(product, "PACKED", 1 << 10)
    monkeypatch.setattr(product, "GATHERED", 0)
    monkeypatch.setattr(product, "pays_transposed", lambda *args: False)
    a = Layout.contiguous((k, m)).transpose(0, 1)
    b = Layout.contiguous((n, k)).transpose(0, 1) if turned else Layout.contiguous((k, n))
    x, y, z = (rng.standard_normal(size).astype(np.float32) for size in (m * k, k * n, n))
    c = [Spec(Layout.contiguous((n,)).expand((m, n)), f32)] if added else []
    results, scratch = [], []
    for copied in (1 << 10, 1 << 30):
        monkeypatch.setattr(product, "COPIED", copied)
        launch = backend_of(as_device("cpu")).prepare(
            Product(0.75, 0.5), (Spec(Layout.contiguous((m, n)), f32),), Spec(a, f32), Spec(b, f32), *c
        )
        out = np.full(m * n, np.nan, np.float32)
        launch(x, y, *([z] if added else []), out)
        results.append(out)
        scratch.append(sum(t.numel for t in launch.temporaries))
    right = 0.75 * seen(x, a, f32).astype(float) @ seen(y, b, f32) + (0.5 * z if added else 0)
    np.testing.assert_allclose(results[0].reshape(m, n), right, rtol=0, atol=1e-4)
    assert results[0].tobytes() == results[1].tobytes()
    part = 2 * DEPTH / k  # beside it, there may be a result that is turned back
    assert scratch[0] < 1.1 * part * scratch[1] + m * n, "the parts use the same memory"


@pytest.mark.parametrize(("m", "n", "k"), [(64, 130, 70), (256, 300, 129), (70, 257, 300)])
@pytest.mark.parametrize("gathered", [0, 1 << 19])
@pytest.mark.parametrize("far", [1, 1 << 40])
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
def test_ways_to_read_operands_change_no_value(m, n, k, gathered, far, turned, monkeypatch):
    """Threads or launches pack, tiles are wide or not, and the transpose may be computed: the products are exact."""
    monkeypatch.setattr(product, "GATHERED", gathered)
    monkeypatch.setattr(product, "FAR", far)
    a = Layout.contiguous((2, k, m)).transpose(1, 2) if "a" in turned else Layout.contiguous((2, m, k))
    b = Layout.contiguous((2, n, k)).transpose(1, 2) if "b" in turned else Layout.contiguous((2, k, n))
    result, right = multiply(a, b, f32)
    assert np.array_equal(result, right)


@pytest.mark.parametrize(("m", "n", "k"), [(128, 1024, 40), (300, 301, 60), (256, 256, 600)])
@pytest.mark.parametrize("turned", [False, True])
def test_a_zen_packs_what_it_reads_slowly_and_gives_the_same_bits(m, n, k, turned, monkeypatch):
    a = Layout.contiguous((k, m)).transpose(0, 1) if turned else Layout.contiguous((m, k))
    b = Layout.contiguous((k, n))
    x, y = (rng.standard_normal(size).astype(np.float32) for size in (m * k, k * n))
    results, copied = [], []
    monkeypatch.setattr(product, "GATHERED", 0)
    for zen in (False, True):
        monkeypatch.setattr(product, "is_zen", lambda zen=zen: zen)
        launch = backend_of(as_device("cpu")).prepare(
            Product(), (Spec(Layout.contiguous((m, n)), f32),), Spec(a, f32), Spec(b, f32)
        )
        results.append(np.full(m * n, np.nan, np.float32))
        copied.append(sum(t.numel for t in launch.temporaries))
        launch(x, y, results[-1])
    assert results[0].tobytes() == results[1].tobytes()
    assert (copied[1] >= k * n) == (n != 256), "rows of 4096 bytes, and rows that begin anywhere"


LONG = [(3, 4, 9000), (9, 20, 5000), (1, 5, 40000), (6, 1, 40000), (1, 1, 70000), (1, 5000, 70), (5000, 1, 70)]


@pytest.mark.parametrize(("m", "n", "k"), LONG)
def test_a_long_inner_dim_is_cut_into_pieces_that_are_added(m, n, k):
    for a in (Layout.contiguous((m, k)), Layout.contiguous((k, m)).transpose(0, 1)):
        for b in (Layout.contiguous((k, n)), Layout.contiguous((n, k)).transpose(0, 1)):
            for threshold in (0, 1 << 40):
                with override(parallel_threshold=threshold):
                    result, right = multiply(a, b, f32)
                assert np.array_equal(result, right)


@pytest.mark.parametrize("dtype", [f32, f16, i64, bool_], ids=str)
@pytest.mark.parametrize("size", [3, 40])
def test_an_empty_inner_dim_gives_zeros(dtype, size):
    result, _ = multiply(Layout.contiguous((size, 0)), Layout.contiguous((0, size)), dtype)
    assert result.shape == (size, size) and not result.astype(np.float64).any()


@pytest.mark.parametrize("shapes", [((0, 4), (4, 3)), ((3, 4), (4, 0)), ((0, 3, 4), (0, 4, 5))], ids=str)
def test_empty_outer_dims_give_an_empty_result(shapes):
    result, _ = multiply(*map(Layout.contiguous, shapes), f32)
    assert result.size == 0


def test_nan_in_the_output_buffer_is_overwritten():
    for size, k in ((3, 3), (40, 500)):
        result, right = multiply(Layout.contiguous((size, k)), Layout.contiguous((k, size)), f32, fill=np.nan)
        assert np.array_equal(result, right)


def test_infinity_times_zero_stays_inside_its_row_and_column():
    """Padding a tile with zeros must not touch real elements."""
    left, right = np.zeros(33 * 33, np.float32), np.ones(33 * 33, np.float32)
    left[32 * 33 + 5] = np.inf
    a = Layout.contiguous((33, 33))
    result, _ = multiply(a, a, f32, left, right)
    assert np.isinf(result[32]).all() and not result[:32].any()


@pytest.mark.parametrize("dtype", [f32, f16], ids=str)
def test_the_number_of_threads_does_not_change_a_bit(dtype):
    values = rng.standard_normal(400 * 90).astype(dtype.numpy).view(dtype.storage)
    a, b = Layout.contiguous((90, 400)), Layout.contiguous((90, 400)).transpose(0, 1)
    results, long = [], []
    for threads, threshold in ((1, 0), (2, 0), (1, 1 << 40)):
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
        with override(parallel_threshold=threshold):
            results.append(multiply(a, b, dtype, values, values)[0].tobytes())
            row, column = Layout.contiguous((2, 18000)), Layout.contiguous((18000, 2))
            long.append(multiply(row, column, dtype, values, values)[0].tobytes())
    assert long[0] == long[1] == long[2]
    assert results[0] == results[1] == results[2]


def test_many_small_products_do_not_depend_on_the_number_of_threads():
    a, b = Layout.contiguous((50, 10, 9)), Layout.contiguous((50, 9, 8))
    for threads in (1, 2):
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
        with override(parallel_threshold=0):
            result, right = multiply(a, b, f32)
        assert np.array_equal(result, right)


def test_random_numbers_agree_with_numpy_to_rounding():
    a, b = rng.standard_normal((70, 900)).astype(np.float32), rng.standard_normal((900, 50)).astype(np.float32)
    result, _ = multiply(Layout.contiguous((70, 900)), Layout.contiguous((900, 50)), f32, a.reshape(-1), b.reshape(-1))
    assert np.allclose(result, a.astype(np.float64) @ b.astype(np.float64), atol=2e-4)


@pytest.mark.parametrize(("left", "right", "out"), [(i32, f32, f32), (f16, f32, f32), (u8, i32, i32)], ids=str)
@pytest.mark.parametrize("size", [5, 40])
def test_mixed_operands_meet_in_the_dtype_of_the_result(left, right, out, size):
    layout = Layout.contiguous((size, size))
    x, y = whole_numbers(size * size, left), whole_numbers(size * size, right)
    buffer = np.empty(size * size, out.storage)
    backend.matmul(Spec(layout, out), Spec(layout, left), Spec(layout, right))(x, y, buffer)
    square = (size, size)
    product = to_logical(x, left).reshape(square).astype(np.float64) @ to_logical(y, right).reshape(square)
    assert np.array_equal(buffer.reshape(square), product)


ADDED = {"dense": lambda s: Layout.contiguous(s), "one row": lambda s: Layout.contiguous(s[-1:]).expand(s),
         "one column": lambda s: Layout.contiguous((s[-2], 1)).expand(s), "turned": lambda s: Layout.contiguous(
             (*s[:-2], s[-1], s[-2])).transpose(-2, -1)}  # fmt: skip


@over("name", ADDED)
@over("dtype", [f32, f64, bfloat16, i32], ids=str)
@over("shape", [(7, 33, 10), (1, 33, 10), (40, 1, 10), (3, 4, 9000), (2, 9, 40, 12), (3, 4, 0)])
def test_addmm_scales_and_adds(shape, dtype, name):
    *batch, m, n, k = shape
    a, b = Layout.contiguous((*batch, m, k)), Layout.contiguous((*batch, k, n))
    c = ADDED[name]((*batch, m, n))
    x, y, w = (whole_numbers(layout.span()[1] + 1, dtype, -2, 3) for layout in (a, b, c))
    out = Layout.contiguous((*batch, m, n), 3)
    specs = [Spec(layout, dtype) for layout in (out, a, b, c)]
    left, right, added = (seen(q, layout, dtype).astype(np.float64) for q, layout in ((x, a), (y, b), (w, c)))
    for alpha, beta in ((1, 1), (2, -3), (-1, 0)):
        buffer = np.full(out.numel + 6, 7, dtype.storage)
        backend.addmm(*specs, alpha, beta)(x, y, w, buffer)
        assert np.array_equal(seen(buffer, out, dtype), (alpha * (left @ right) + beta * added).astype(dtype.numpy))


@pytest.mark.parametrize("name", ADDED)
@pytest.mark.parametrize("left", ["rows", "columns"])
def test_few_rows_by_a_large_transposed_weight_are_made_as_the_transpose(left, name):
    m, n, k = 12, 300, 400
    a = Layout.contiguous((m, k)) if left == "rows" else Layout.contiguous((k, m)).transpose(0, 1)
    b, out = Layout.contiguous((n, k)).transpose(0, 1), Layout.contiguous((m, n), 3)
    c = ADDED[name]((m, n))
    tile = tile_size(f32)
    assert pays_transposed(Problem(out, a, b, c), f32, *tile)
    assert not pays_transposed(Problem(out, a, Layout.contiguous((k, n)), c), f32, *tile)
    x, y, w = (whole_numbers(layout.span()[1], f32, -2, 3) for layout in (a, b, c))
    buffer = np.full(out.numel + 6, 7, np.float32)
    specs = [Spec(layout, f32) for layout in (out, a, b, c)]
    wanted = 2 * (seen(x, a, f32) @ seen(y, b, f32)) - 3 * seen(w, c, f32)
    for threshold in (0, 1 << 60):
        with override(parallel_threshold=threshold):
            backend.addmm(*specs, 2, -3)(x, y, w, buffer)
            assert np.array_equal(seen(buffer, out, f32), wanted)


@over("name", ADDED)
@over("dtype", [f32, f64, bfloat16, i32], ids=str)
@over("shape", [(64, 10, 300), (2, 5, 16, 257), (7, 2, 5000)])
def test_few_columns_of_long_rows_are_inner_products(shape, dtype, name):
    *batch, m, n, k = shape
    a, b = Layout.contiguous((*batch, m, k)), Layout.contiguous((*batch, n, k)).transpose(-2, -1)
    c, out = ADDED[name]((*batch, m, n)), Layout.contiguous((*batch, m, n), 3)
    problem = Problem(out, a, b, c)
    assert is_inner_products(problem)
    x, y, w = (whole_numbers(layout.span()[1] + 1, dtype, -1, 2) for layout in (a, b, c))
    specs = [Spec(layout, dtype) for layout in (out, a, b, c)]
    left, right, added = (seen(q, layout, dtype).astype(np.float64) for q, layout in ((x, a), (y, b), (w, c)))
    for alpha, beta in ((1, 0), (2, -3)):
        buffer = np.full(out.numel + 6, 7, dtype.storage)
        backend.addmm(*specs, alpha, beta)(x, y, w, buffer)
        assert np.array_equal(seen(buffer, out, dtype), (alpha * (left @ right) + beta * added).astype(dtype.numpy))


@unless_full(lambda dtype: dtype is not i64)
@pytest.mark.parametrize("dtype", [f32, f16, i32, i64], ids=str)
@pytest.mark.parametrize("shape", [(7, 33, 10), (1, 33, 10), (3, 4, 9000)])
def test_addmm_accumulates_into_what_it_adds(shape, dtype):
    m, n, k = shape
    a, b, c = Layout.contiguous((m, k)), Layout.contiguous((k, n)), Layout.contiguous((m, n))
    x, y, w = (whole_numbers(layout.numel, dtype, -2, 3) for layout in (a, b, c))
    wanted = expected(seen(x, a, dtype), seen(y, b, dtype), dtype).astype(np.float64) + seen(w, c, dtype)
    backend.addmm(*(Spec(layout, dtype) for layout in (c, a, b, c)), 1, 1)(x, y, w, w)
    assert np.array_equal(seen(w, c, dtype), wanted.astype(dtype.numpy))
