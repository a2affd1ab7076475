"""The register tile in the shapes that other machines give it: AVX2, NEON and SSE, whatever this one has."""

from __future__ import annotations

import numpy as np
import pytest
from cases import over
from numba import njit

from minigrad.kernels import objects
from minigrad.kernels.cpu import processor
from minigrad.kernels.cpu.lanes import python_lanes, sums_of_lanes
from minigrad.kernels.cpu.processor import tile_shape
from minigrad.kernels.cpu.tile import register_tile
from minigrad.kernels.cpu.vectors import copy_of_row, transpose_block

SHAPES = {"avx512": (64, 8, 2), "avx2": (32, 6, 2), "neon": (16, 8, 2), "sse": (16, 4, 2)}
DTYPES = ["float32", "float64", "int8", "int32"]


def sizes(machine: str, dtype: str) -> tuple[int, int, int]:
    width, rows, vectors = SHAPES[machine]
    return width // np.dtype(dtype).itemsize, rows, vectors


@over("machine", SHAPES)
@over("dtype", DTYPES)
def test_a_tile_reads_both_operands_in_place_and_writes_inside_its_edges(machine: str, dtype: str) -> None:
    lanes, rows, vectors = sizes(machine, dtype)
    tile = register_tile(dtype, lanes, rows, vectors)

    @njit
    def run(a, am, ak, b, wide, c, depth, h, w, alpha, add, ahead):
        tile(a, 1, am, ak, b, 2, len(b) // depth, wide, c, 3, 2 * lanes + 3, depth, h, w, alpha, add, ahead)

    rng = np.random.default_rng(0)
    depth, columns, ldc = 5, vectors * lanes, vectors * lanes + 3
    a, b = rng.integers(-2, 3, (rows, depth)).astype(dtype), rng.integers(-2, 3, (depth, columns)).astype(dtype)
    left = [(np.r_[a.dtype.type(0), a.ravel()], depth, 1), (np.r_[a.dtype.type(0), a.T.ravel()], 1, rows)]
    for h, w in ((rows, columns), (rows - 1, columns), (rows, columns - 1), (2, lanes), (1, 1), (rows, lanes + 1)):
        for wide in {w, columns}:
            # Where w columns may be read, what follows them belongs to nobody.
            right = np.r_[np.zeros(2, dtype), b[:, :wide].ravel()]
            for values, am, ak in left:
                c = np.full(3 + rows * ldc, 7, dtype)
                run(values, am, ak, right, wide, c, depth, h, w, c.dtype.type(1), False, 0)
                inside = c[3:].reshape(rows, ldc).copy()
                np.testing.assert_array_equal(inside[:h, :w], (a @ b)[:h, :w])
                inside[:h, :w] = 7
                assert (inside == 7).all() and (c[:3] == 7).all(), "the tile wrote beside itself"
                # The address of the next tile may be outside the memory of the process.
                run(values, am, ak, right, wide, c, depth, h, w, c.dtype.type(-3), True, 1 << 40)
                np.testing.assert_array_equal(c[3:].reshape(rows, ldc)[:h, :w], (-2 * (a @ b))[:h, :w])


@pytest.mark.parametrize("machine", SHAPES)
@pytest.mark.parametrize("by", ["rows", "depth"])
def test_a_table_says_where_rows_start(machine: str, by: str) -> None:
    lanes, rows, vectors = sizes(machine, "float32")
    tile = register_tile("float32", lanes, rows, vectors, by)
    depth, columns = 4, vectors * lanes
    image = np.random.default_rng(0).integers(-3, 4, 200).astype(np.float32)
    dense = np.random.default_rng(1).integers(-3, 4, depth * max(rows, columns)).astype(np.float32)
    starts = np.array([99, 7, 0, 31, 5, 12, 40, 41, 80][: 1 + max(rows, depth)], np.int64)
    c = np.zeros(rows * columns, np.float32)
    one = np.float32(1)
    if by == "rows":
        run = njit(lambda a, b, c, t: tile(a, 3, (t, 1), 2, b, 0, columns, columns, c, 0, columns, depth, rows, columns,
                                           one, False))  # fmt: skip
        run(image, dense, c, starts)
        left = np.array([image[3 + s : 3 + s + 2 * depth : 2] for s in starts[1 : 1 + rows]])
        right = dense[: depth * columns].reshape(depth, columns)
    else:
        run = njit(lambda a, b, c, t: tile(a, 0, 1, rows, b, 3, (t, 1), columns, c, 0, columns, depth, rows, columns,
                                           one, False))  # fmt: skip
        run(dense, image, c, starts)
        left = dense[: depth * rows].reshape(depth, rows).T
        right = np.array([image[3 + s : 3 + s + columns] for s in starts[1 : 1 + depth]])
    np.testing.assert_array_equal(c.reshape(rows, columns), left @ right)


@over("machine", SHAPES)
@over("dtype", DTYPES)
def test_a_square_is_turned_around_in_registers(machine: str, dtype: str) -> None:
    lanes = sizes(machine, dtype)[0]
    size = min(lanes, 8)
    transpose = transpose_block(dtype, lanes)
    run = njit(lambda x, z: transpose(x, 1, 11, z, 2, 9))
    x, z = np.arange(1 + 11 * 8).astype(dtype), np.zeros(2 + 9 * 8, dtype)
    run(x, z)
    square = x[1:].reshape(8, 11)[:size, :size]
    np.testing.assert_array_equal(z[2:].reshape(8, 9)[:size, :size], square.T)
    assert np.count_nonzero(z) == size * size


@over("count", [4, 6, 8, 32])
@over("dtype", DTYPES)
def test_a_row_is_copied_to_any_position(count: int, dtype: str) -> None:
    copy_row = copy_of_row(dtype, count)
    run = njit(lambda x, z: copy_row(x, 3, z, 5))
    x, z = np.arange(1, 4 + count).astype(dtype), np.zeros(7 + count, dtype)
    run(x, z)
    np.testing.assert_array_equal(z, [0] * 5 + [*x[3:]] + [0, 0])


@pytest.mark.parametrize(
    ("features", "shape"),
    [("avx512f avx2", (16, 8, 2)), ("avx2", (8, 6, 2)), ("neon", (4, 8, 2)), ("", (4, 4, 2))],
)  # fmt: skip
def test_the_shape_follows_the_machine(
    features: str, shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "features", lambda: frozenset(features.split()))
    assert tile_shape("float32") == shape


@pytest.mark.parametrize(
    ("name", "told", "found"),
    [("haswell", "+avx2,-avx512f,+fma", {"avx2", "fma"}), ("generic", "", set())],
)
def test_the_features_are_those_that_numba_is_told(
    name: str, told: str, found: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CPU_NAME", name)
    monkeypatch.setenv("NUMBA_CPU_FEATURES", told)
    assert processor.features.__wrapped__() == found


def test_a_zen_is_known_by_the_name_that_numba_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("znver3", "znver5", "sapphirerapids"):
        monkeypatch.setenv("NUMBA_CPU_NAME", name)
        assert processor.is_zen.__wrapped__() is name.startswith("znver")


def test_the_level_of_a_processor_is_the_highest_that_it_has_all_of(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, wanted in processor.LEVELS.items():
        monkeypatch.setattr(processor, "features", lambda wanted=wanted: wanted | {"sse2"})
        assert processor.level.__wrapped__() == name
        monkeypatch.setattr(processor, "features", lambda wanted=wanted: wanted - {"popcnt"})
        assert processor.level.__wrapped__() == ""


def test_vectors_are_wide_where_that_does_not_slow_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    def tuning(*features: str) -> str:
        monkeypatch.setattr(processor, "features", lambda: frozenset(features))
        return processor.tuning.__wrapped__()

    assert tuning("avx512f", "avx512vbmi2") == "-prefer-256-bit"
    assert tuning("avx512f") == tuning("avx2") == ""


def test_object_code_records_the_tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    for tuning in ("", "-prefer-256-bit"):
        monkeypatch.setattr(objects, "tuning", lambda tuning=tuning: tuning)
        assert ("-prefer-256-bit" in objects.fits.__wrapped__().split("; ")) == bool(tuning)


@over("machine", SHAPES)
@over("dtype", DTYPES)
def test_vectors_of_channels_are_multiplied_and_summed(machine: str, dtype: str) -> None:
    lanes, _, _ = sizes(machine, dtype)
    tile, plain_tile = sums_of_lanes(dtype, lanes, 8), python_lanes(lanes)
    rng, depth, ldc = np.random.default_rng(0), 5, lanes + 3
    image, weights = (rng.integers(-2, 3, n).astype(dtype) for n in (99 + lanes, 1 + depth * (lanes + 1)))
    places, depths = (np.array(table, np.int64) for table in ([80, 7, 0, 31, 5, 12, 40, 41, 33], [90, 3, 0, 18, 2, 9]))
    lane = np.arange(lanes)
    pixels = image[places[1:, None, None] + depths[None, 1:, None] + lane]
    right = (pixels * weights[1 + np.arange(depth)[:, None] * (lanes + 1) + lane]).sum(1).astype(dtype)

    @njit
    def compiled(a, p, d, b, c, h, add):
        tile(a, (p, 1), (d, 1), b, 1, lanes + 1, c, 3, ldc, depth, h, add)

    def plain(a, p, d, b, c, h, add):
        plain_tile(a, (p, 1), (d, 1), b, 1, lanes + 1, c, 3, ldc, depth, h, add)

    for run in (compiled, plain):
        for h in (8, 3):
            c = np.full(3 + 8 * ldc, 7, dtype)
            run(image, places, depths, weights, c, h, False)
            run(image, places, depths, weights, c, h, True)
            inside = c[3:].reshape(8, ldc)
            np.testing.assert_array_equal(inside[:h, :lanes], (right + right)[:h])
            inside[:h, :lanes] = 7
            assert (c == 7).all(), "the tile wrote beside itself"
