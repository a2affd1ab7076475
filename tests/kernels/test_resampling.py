"""Weighted sums along a dim, straight from the CPU backend and the lowering, held to NumPy over many layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import over
from strided import WAYS, arrange, blank, run

from minigrad.backends.base import Backend
from minigrad.backends.registry import backend_of
from minigrad.config import override
from minigrad.core.device import as_device
from minigrad.core.dtype import f64
from minigrad.core.requests import Resample

INDEX = np.array([[0, 2, 1, -1, 4], [1, 2, -1, -1, 0]])
WEIGHT = np.array([[0.5, 1.0, -2.0, 3.0, 0.25], [1.5, -1.0, 7.0, 2.0, 4.0]])
SIZE = 6


def in_numpy(a: np.ndarray, dim: int, back: bool) -> np.ndarray:
    matrix = np.zeros((INDEX.shape[1], SIZE))
    for k, o in np.ndindex(INDEX.shape):
        if INDEX[k, o] >= 0:
            matrix[o, INDEX[k, o]] += WEIGHT[k, o]
    return np.moveaxis(np.tensordot(matrix.T if back else matrix, a, (1, dim)), 0, dim)


def lowered(backend: Backend) -> Any:
    return backend.lower


# The lowering is made of requests that have tests of their own.
CASES = [*((way, threshold, "served") for way in WAYS for threshold in (1 << 20, 0)), ("stepped", 1 << 20, "lowered")]


@over(("way", "threshold", "prepare"), CASES)
@over("back", [False, True])
@over("dim", [0, 1, 2])
def test_sums_and_their_adjoint(way: str, dim: int, back: bool, threshold: int, prepare: str) -> None:
    shape = [4, 3, 5]
    shape[dim] = INDEX.shape[1] if back else SIZE
    a = np.random.default_rng(dim).normal(size=shape)
    want = in_numpy(a, dim, back)
    backend = backend_of(as_device("cpu" if prepare == "served" else "reference"))
    ask = backend.prepare if prepare == "served" else lowered(backend)
    with override(parallel_threshold=threshold):
        got = run(lambda out, *specs: ask(Resample(dim, back), out, *specs), blank(want.shape, f64, way),
                  arrange(a, f64, way), arrange(INDEX), arrange(WEIGHT, f64, way))  # fmt: skip
    np.testing.assert_allclose(got, want, atol=1e-14)


def test_nothing_is_summed_where_there_is_nothing() -> None:
    backend, empty = backend_of(as_device("cpu")), np.zeros((0, 6))
    run(lambda out, *specs: backend.prepare(Resample(1, False), out, *specs), blank((0, 5), f64), arrange(empty),
        arrange(INDEX), arrange(WEIGHT))  # fmt: skip
