"""Constants, evenly spaced numbers, and Philox random numbers, straight from the CPU backend."""

import numba
import numpy as np
import pytest
from asking import Asking
from cases import over, unless_full
from compiled_dtypes import ALL, INTS

from minigrad.backends.cpu import filling
from minigrad.backends.registry import backend_of
from minigrad.config import override
from minigrad.core.device import as_device
from minigrad.core.dtype import FLOATS, bfloat16, bool_, f16, f32, f64, i8, i32, i64, to_logical, u8, u32, u64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.kernels import philox
from minigrad.kernels.specialize import write_loop

backend = Asking(backend_of(as_device("cpu")))


def draw(kind, dtype, n, key=7, counter=0, low=0.0, high=1.0):
    buffer = np.zeros(n, dtype.storage)
    backend.random(kind, Spec(Layout.contiguous((n,)), dtype))(buffer, key, counter, low, high)
    return to_logical(buffer, dtype)


# ---- fill and arange


@unless_full(lambda dtype: dtype in (bool_, i32, bfloat16, f64))
@over("dtype", ALL, ids=str)
@over("shape", [(), (7,), (3, 5), (200, 100)])
def test_fill_writes_every_element_of_a_run_and_nothing_else(dtype, shape):
    layout = Layout.contiguous(shape, 2)
    buffer = np.zeros(layout.numel + 4, dtype.storage)
    backend.fill(Spec(layout, dtype))(buffer, 1)
    values = to_logical(buffer, dtype)
    assert (values[2:-2] == np.ones((), dtype.numpy)).all()
    assert not buffer[:2].any() and not buffer[-2:].any()


def test_fill_of_a_transposed_stepped_view_leaves_the_gaps():
    buffer = np.zeros((4, 6), np.float32)
    layout = Layout.contiguous((4, 6)).slice(1, None, None, -2).transpose(0, 1)
    backend.fill(Spec(layout, f32))(buffer.reshape(-1), 2.5)
    assert (buffer[:, 1::2] == 2.5).all() and (buffer[:, ::2] == 0).all()


def test_fill_of_an_empty_layout_writes_nothing():
    buffer = np.zeros(3, np.float32)
    backend.fill(Spec(Layout.contiguous((0, 3)), f32))(buffer, 1)
    assert not buffer.any()


@unless_full(lambda dtype: dtype in (f64, bfloat16, i64))
@pytest.mark.parametrize("dtype", [f32, f64, f16, bfloat16, i8, i64, u32], ids=str)
def test_arange_multiplies_instead_of_adding_up(dtype):
    buffer = np.zeros(20, dtype.storage)
    backend.arange(Spec(Layout.contiguous((20,)), dtype))(buffer, 3, 5)
    assert to_logical(buffer, dtype).astype(np.float64).tolist() == [3 + 5 * i for i in range(20)]


def test_arange_of_tenths_is_rounded_once():
    buffer = np.zeros(40_000, np.float32)
    backend.arange(Spec(Layout.contiguous((40_000,)), f32))(buffer, 0.0, 0.1)
    assert np.array_equal(buffer, (np.arange(40_000) * 0.1).astype(np.float32))


def test_arange_goes_backward_through_a_negative_stride():
    buffer = np.zeros(5, np.int64)
    backend.arange(Spec(Layout.contiguous((5,)).flip(), i64))(buffer, 0, 1)
    assert buffer.tolist() == [4, 3, 2, 1, 0]


# ---- Philox


KNOWN = [
    ((0, 0, 0, 0), 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((0xFFFFFFFF,) * 4, 0xFFFFFFFFFFFFFFFF, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        0x299F31D0A4093822,
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_philox_gives_the_published_blocks(counter, key, words):
    block = philox.philox(np.uint64(key), *map(np.uint64, counter))
    assert " ".join(f"{int(w):08x}" for w in block) == words


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_compiled_philox_gives_the_published_blocks(counter, key, words):
    compiled = numba.njit(philox.philox)
    block = compiled(np.uint64(key), *map(np.uint64, counter))
    assert " ".join(f"{int(w):08x}" for w in block) == words


# Without --full each kind in one width.
SOME = (("uniform", bfloat16), ("uniform", f32), ("normal", f16), ("normal", f64), ("integer", i32))
CASES = [("uniform", d) for d in FLOATS] + [("normal", d) for d in FLOATS] + [("integer", d) for d in (u8, i32, i64)]


@unless_full(lambda kind, dtype: (kind, dtype) in SOME)
@pytest.mark.parametrize(("kind", "dtype"), CASES, ids=str)
def test_element_i_comes_from_its_own_block(kind, dtype):
    """11 elements leave a block half used; each agrees with the plain Python text on that block."""
    low, high = (2, 90) if kind == "integer" else (1.5, 4.0)
    values = draw(kind, dtype, 11, key=123, counter=(1 << 32) - 2, low=low, high=high)
    per = philox.per_block(kind, dtype)
    function = philox.value_function(kind, dtype)
    limits = philox.limits(kind, dtype, low, high)
    between = limits.view(np.uint64) if kind == "integer" else limits
    for i, value in enumerate(values):
        place = (1 << 32) - 2 + i // per
        words = philox.philox(*map(np.uint64, (123, place & 0xFFFFFFFF, place >> 32, 0, 0)))
        expected = function(*words, *between)[i % per]
        assert value == pytest.approx(float(np.asarray(expected).astype(dtype.numpy)), rel=1e-5)


@pytest.mark.parametrize(
    ("kind", "dtype"), [("uniform", f32), ("normal", f64), ("normal", f16), ("integer", i32)], ids=str
)
def test_random_numbers_do_not_depend_on_the_number_of_threads(kind, dtype):
    low, high = (0, 1000) if kind == "integer" else (0.0, 1.0)
    serial = draw(kind, dtype, 9_001, low=low, high=high)
    results = []
    for threads in (1, 2):
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
        with override(parallel_threshold=0):
            results.append(draw(kind, dtype, 9_001, low=low, high=high))
    for result in results:
        assert np.array_equal(serial, result)


def test_a_later_counter_continues_the_stream():
    whole = draw("uniform", f32, 1000)
    assert philox.blocks("uniform", f32, 400) == 100
    assert np.array_equal(whole[400:], draw("uniform", f32, 600, counter=100))


def test_random_into_a_strided_view_numbers_the_elements_in_row_major_order():
    buffer = np.zeros((5, 4), np.float32)
    layout = Layout.contiguous((5, 4)).transpose(0, 1)
    backend.random("uniform", Spec(layout, f32))(buffer.reshape(-1), 7, 0, 0.0, 1.0)
    assert np.array_equal(buffer.T.reshape(-1), draw("uniform", f32, 20))


@unless_full(lambda dtype: dtype in (bfloat16, f32))
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_uniform_stays_below_high_and_reaches_low(dtype):
    values = draw("uniform", dtype, 50_000, low=1.0, high=1.25).astype(np.float64)
    assert values.min() >= 1.0 and values.max() < 1.25
    assert abs(values.mean() - 1.125) < 0.003


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_largest_words_of_all_stay_below_high(dtype):
    most = (np.uint64(0xFFFFFFFF),) * 4
    for low, high in ((0.0, 1.0), (0.0, 0.1), (-3.0, 1e-3), (1000.0, 1001.0)):
        values = philox.value_function("uniform", dtype)(*most, *philox.limits("uniform", dtype, low, high))
        assert float(np.asarray(values[0]).astype(dtype.numpy)) < high


def test_uniform_float32_has_24_random_bits():
    values = draw("uniform", f32, 20_000)
    multiples = values.astype(np.float64) * 2**24
    assert np.array_equal(multiples, np.rint(multiples)) and (multiples % 2 == 1).any()


def test_normal_has_its_mean_deviation_and_kurtosis():
    for dtype in (f32, f64):
        with override(parallel_threshold=1 << 60):
            z = draw("normal", dtype, 200_000, low=2.0, high=3.0).astype(np.float64)
        z = (z - 2.0) / 3.0
        assert abs(z.mean()) < 0.01 and abs(z.std() - 1) < 0.01 and abs((z**4).mean() - 3) < 0.1
        assert abs(np.corrcoef(z[::2], z[1::2])[0, 1]) < 0.01


def test_integers_fill_their_range_evenly():
    counts = np.bincount(draw("integer", i8, 60_000, low=10, high=16), minlength=16)
    assert counts[:10].sum() == 0 and counts.size == 16
    assert np.abs(counts[10:] - 10_000).max() < 400


@unless_full(lambda dtype: dtype in (i8, i64, u32))
@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integers_may_span_the_whole_dtype(dtype):
    values = draw("integer", dtype, 1000, low=dtype.lowest, high=dtype.highest + 1)
    middle = (int(dtype.lowest) + int(dtype.highest)) // 2
    assert 400 < (values > middle).sum() < 600


def test_integers_are_the_upper_half_of_the_exact_product():
    words = philox.philox(*map(np.uint64, (5, 6, 0, 0, 0)))
    span = 12_345_678_901_234_567
    values = philox.integer64(*words, *philox.limits("integer", i64, -7, span - 7).view(np.uint64))
    first, second = (int(words[0]) << 32 | int(words[1])), (int(words[2]) << 32 | int(words[3]))
    assert [int(v) for v in values] == [(first * span >> 64) - 7, (second * span >> 64) - 7]


def test_random_booleans_are_a_fair_coin():
    assert 450 < draw("integer", bool_, 1000, low=0, high=2).sum() < 550


def test_no_random_numbers_are_an_empty_result():
    assert draw("normal", f32, 0).size == 0


# ---- permutations


def keys_of(n, key, counter):
    """Return the positions that sort the uniform numbers of a state."""
    return np.argsort(draw("uniform", f64, n, key, counter), kind="stable")


@pytest.mark.parametrize("n", [0, 1, 2, 8, 9, 17, 64, 1000, 2047, 2048, 2049, 4097, 70_000])
def test_a_permutation_sorts_uniform_numbers(n):
    for key, counter in ((7, 0), (2**64 - 1, 2**32 - 5)):
        out = np.zeros(n + 3, np.int64)
        backend.permutation(Spec(Layout.contiguous((n,), 2), i64))(out, key, counter)
        assert np.array_equal(out[2:-1], keys_of(n, key, counter)) and not out[:2].any() and not out[-1:].any()


def test_a_permutation_into_a_strided_view():
    out = np.zeros(60, np.int64)
    backend.permutation(Spec(Layout.make((20,), (-3,), 59), i64))(out, 5, 9)
    assert np.array_equal(out[::-3], keys_of(20, 5, 9)) and not out[::3].any()


def test_equal_keys_keep_the_order_of_their_positions(monkeypatch):
    """The steps after the draw as plain Python, on a few different keys."""
    space = {}
    _, text = write_loop(filling.permutation, (i64, u64, i64))
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    exec(text, space)
    for n, kinds in ((5, 1), (40, 3), (300, 2), (600, 90)):
        keys = np.random.default_rng(n).integers(0, kinds, n).astype(np.uint64) << np.uint64(46)
        words, ends, out = np.zeros(n, np.uint64), np.zeros(1, np.int64), np.zeros(n, np.int64)
        space["divide"](keys, n, np.uint64(0), words, ends)
        space["sort_part"](words, np.zeros(n, np.uint64), np.zeros(4096, np.int64), np.uint64(2047), out)
        assert np.array_equal(out, np.argsort(keys, kind="stable"))
