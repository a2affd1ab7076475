"""On `cpu` compiled kernels do all work: a launch receives addresses of buffers, and NumPy reads no element.

Each launch is given arrays that begin where the buffers do and have no elements.  A kernel reads by address, so it
does not notice; an expression of NumPy would find nothing there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from op_rows.row import Row
from op_support import arrays, assert_close, operands, wide
from op_table import ROWS
from selection import base_dtype, is_view, over_rows

import minigrad as mg
from minigrad.backends.base import services
from minigrad.backends.cpu import CpuBackend
from minigrad.config import announce
from minigrad.core import requests
from minigrad.core.op import Spec

LAUNCHED: list[int] = []


@pytest.fixture(autouse=True)
def by_address(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every launch of the CPU gets arrays without elements."""
    prepare = CpuBackend.prepare

    def prepared(self: CpuBackend, request: Any, outs: Any, *specs: Spec) -> Any:
        launch = prepare(self, request, outs, *specs)

        def run(*buffers: np.ndarray) -> Any:
            LAUNCHED.append(len(buffers))
            return launch(*[buffer[:0] for buffer in buffers])

        return run

    announce()
    LAUNCHED.clear()
    with monkeypatch.context() as patch:
        patch.setattr(CpuBackend, "prepare", prepared)
        yield
    announce()


@over_rows([row for row in ROWS if row.kernels], items=40)
def test_values_are_made_by_kernels(row: Row) -> None:
    dtype = base_dtype(row)
    given = operands(row, arrays(row), dtype, "cpu")
    LAUNCHED.clear()
    got = row.fn(*given)
    assert LAUNCHED or is_view(row) or row.name == "transfer"  # which hands memory from one device to another
    assert_close(row, got, row.numpy(*[wide(x) for x in given]), dtype)


@over_rows([row for row in ROWS if row.smooth and row.kernels], items=40)
def test_gradients_are_made_by_kernels(row: Row) -> None:
    def gradients(device: str) -> list[Any]:
        xs = [
            mg.tensor(v, device=device) if v.dtype == bool else mg.Var(v, dtype="float64", device=device)
            for v in arrays(row)
        ]
        wanted = [x for x in xs if x.requires_grad]
        return [None if g is None else g.tolist() for g in mg.grad(row.fn(*xs), wanted, allow_unused=True)]

    for got, want in zip(gradients("cpu"), gradients("reference"), strict=True):
        np.testing.assert_allclose(np.float64(got), np.float64(want), rtol=1e-10, atol=1e-12)


def test_a_launch_that_computes_with_numpy_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = mg.tensor([3.0, 1.0, 4.0], dtype="float64"), mg.zeros(3, dtype="float64")
    negative = lambda steps, request: lambda a, out: np.negative(a, out)
    monkeypatch.setitem(services[requests.Elementwise], CpuBackend, negative)
    assert mg.neg(x, out=y).tolist() == [0.0, 0.0, 0.0]
