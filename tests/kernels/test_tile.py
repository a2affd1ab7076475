"""The register tile in the shapes that other machines give it: AVX2, NEON and SSE, whatever this one has."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from minigrad.kernels.cpu import tile as module
from minigrad.kernels.cpu.tile import register_tile, tile_shape

SHAPES = {"avx512": (64, 14, 2), "avx2": (32, 6, 2), "neon": (16, 8, 2), "sse": (16, 4, 2)}


@pytest.mark.parametrize("machine", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_tile_is_a_sum_of_outer_products(machine: str, dtype: str) -> None:
    width, rows, vectors = SHAPES[machine]
    lanes = width // np.dtype(dtype).itemsize
    tile = register_tile(dtype, lanes, rows, vectors)

    @njit
    def run(a, b, c, depth, ldc, first):
        tile(a, 1, b, 2, c, 3, depth, ldc, first)

    rng = np.random.default_rng(0)
    depth, columns, ldc = 5, vectors * lanes, vectors * lanes + 3
    a, b = rng.integers(-4, 5, 1 + depth * rows), rng.integers(-4, 5, 2 + depth * columns)
    product = a[1:].reshape(depth, rows).T @ b[2:].reshape(depth, columns)
    c = np.full(3 + rows * ldc, 7, dtype)
    for first, want in ((True, product), (False, 2 * product)):
        run(a.astype(dtype), b.astype(dtype), c, depth, ldc, first)
        inside = c[3:].reshape(rows, ldc)
        np.testing.assert_array_equal(inside[:, :columns], want)
        assert (inside[:, columns:] == 7).all() and (c[:3] == 7).all(), "the tile wrote beside itself"


@pytest.mark.parametrize(
    ("features", "shape"),
    [({"avx512f": True, "avx2": True}, (16, 14, 2)), ({"avx2": True}, (8, 6, 2)), ({"neon": True}, (4, 8, 2)),
     ({}, (4, 4, 2))],
)  # fmt: skip
def test_the_shape_follows_the_machine(
    features: dict[str, bool], shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.binding, "get_host_cpu_features", lambda: features)
    assert tile_shape("float32") == shape
