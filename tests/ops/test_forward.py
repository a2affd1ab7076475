"""Every row's values against NumPy: over layouts, shapes, dtypes, on both backends."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import over, unless_full
from layouts import LAYOUTS, broadcast
from op_rows.linalg import FACTORED
from op_rows.row import ALL, FLOATS, Row
from op_support import arrays, assert_close, operands, result_of, wide
from op_table import DEVICES, ROWS
from selection import (
    base_dtype,
    dtype_once_a_family,
    layout_once_a_family,
    over_rows,
    with_kernels,
)

import minigrad as mg
from minigrad.errors import DTypeError

rows = over_rows(items=120)
devices = pytest.mark.parametrize("device", DEVICES)


@rows
@devices
@unless_full(layout_once_a_family)
@over("layout", [*LAYOUTS, "broadcast"])
def test_values_do_not_depend_on_the_layout(row: Row, device: str, layout: str) -> None:
    dtype = base_dtype(row)
    make = LAYOUTS.get(layout, broadcast)
    given = [make(x) for x in operands(row, arrays(row), dtype, device)]
    before = [wide(x).copy() for x in given]
    got = result_of(row, given, dtype)
    assert_close(row, got, row.numpy(*before), dtype)
    for x, old in zip(given, before, strict=True):
        np.testing.assert_array_equal(wide(x), old, err_msg=f"{row.name} changed its operand")


@over_rows([r for r in ROWS if r.elementwise], items=60)
@devices
@unless_full(with_kernels)
@over("shape", [(), (0,), (3, 0, 2), (1, 1), (2, 1, 3, 1, 2)], ids=str)
def test_scalars_empties_and_five_dims(row: Row, device: str, shape: tuple[int, ...]) -> None:
    dtype = base_dtype(row)
    given = operands(row, arrays(row, (shape,) * len(row.domains)), dtype, device)
    assert_close(row, result_of(row, given, dtype), row.numpy(*[wide(x) for x in given]), dtype)


@over_rows([r for r in ROWS if r.elementwise and len(r.domains) > 1], items=10)
@devices
@unless_full(lambda row, device: layout_once_a_family(row, device, "broadcast"))
def test_operands_broadcast(row: Row, device: str) -> None:
    dtype = base_dtype(row)
    shapes = [(2, 1, 4), (3, 1), (), (4,)][: len(row.domains)]
    given = operands(row, arrays(row, shapes), dtype, device)
    assert_close(row, result_of(row, given, dtype), row.numpy(*[wide(x) for x in given]), dtype)


def result_dtype(row: Row, dtype: str) -> str:
    kind = mg.as_dtype(dtype)
    if row.result == "float":
        return dtype if kind.is_float else "float32"
    if row.result == "sum":
        return dtype if kind.is_float else "int64"
    return row.result or dtype


def by_dtype(wanted: Callable[[Row, str], bool]) -> Any:
    cases = [(row, dtype) for row in ROWS for dtype in ALL if wanted(row, dtype)]
    return over(("row", "dtype"), cases, ids=lambda v: getattr(v, "name", v), items=120)


@by_dtype(lambda row, dtype: dtype not in row.dtypes and row.refuses)
@devices
def test_other_dtypes_are_refused(row: Row, device: str, dtype: str) -> None:
    given = operands(row, arrays(row), dtype, device)
    before = mg.memory_stats().allocations
    with pytest.raises(DTypeError, match=r"; "):
        row.fn(*given)
        pytest.fail(f"{row}: dtypes= leaves out {dtype}, and the op accepts it; add it there, or pass refuses=False")
    made = mg.memory_stats().allocations - before
    assert made == 0, (
        f"{row}: with {dtype}, fn raises DTypeError after {made} allocation{'s' * (made > 1)}; check the dtype of the "
        "operands first, or pass refuses=False"
    )


@by_dtype(lambda row, dtype: dtype in row.dtypes)
@devices
@unless_full(dtype_once_a_family)
def test_dtypes(row: Row, device: str, dtype: str) -> None:
    given = operands(row, arrays(row), dtype, device)
    with np.errstate(all="ignore"):
        seen = [wide(x) for x in given]
        want = row.numpy(*[x * 1.0 if row.result == "float" else x for x in seen])
    got = result_of(row, given, dtype)
    expected = result_dtype(row, dtype)
    assert str(got.dtype) == expected, f"{row}: result= promises {expected} of {dtype}, and fn returned {got.dtype}"
    assert_close(row, got, want, dtype)


ELEMENTWISE = [r for r in ROWS if r.elementwise and len(r.ops) == 1 and mg.schema[r.ops[0]].result is None]


@over_rows(ELEMENTWISE, items=60)
@devices
@unless_full(lambda row, device: layout_once_a_family(row, device, "stepped"))
def test_out_and_in_place_equal_the_functional_form(row: Row, device: str) -> None:
    dtype = base_dtype(row)
    given = operands(row, arrays(row), dtype, device)
    op = mg.schema[row.ops[0]]
    want = op.public(*given)
    wider = mg.zeros(3, 8, dtype=want.dtype, device=device)
    out = wider[:, ::2]
    assert op.public(*given, out=out) is out
    np.testing.assert_array_equal(wide(out), wide(want))
    assert wide(wider)[:, 1::2].any() == np.False_, "out= wrote between its elements"
    if want.dtype is given[0].dtype:
        x = given[0].clone()
        version = x.storage.version
        # An op behind a function of another signature has no in-place form of its own: tests/test_in_place.py.
        write = getattr(x, op.name + "_", None) or functools.partial(op.public, x, out=x)
        assert write(*given[1:]) is x
        assert x.storage.version == version + 1
        np.testing.assert_array_equal(wide(x), wide(want))


@pytest.mark.parametrize("name", FLOATS)
def test_float_rows_exist_for_every_float(name: str) -> None:
    # As in PyTorch, which refuses float16 and bfloat16 there.
    wide = {"cholesky", "solve_triangular", "nextafter", "cov", "corrcoef", "quantile", "nanquantile"}
    wide |= {row.name for row in FACTORED} | {"tapped", "tapped-back"}  # grid_sample widens before these
    rows = [
        row for row in ROWS if row.smooth and (name in ("float32", "float64") or wide.isdisjoint((row.name, *row.ops)))
    ]
    assert all(name in row.dtypes for row in rows)


@pytest.mark.usefixtures("serial")
@pytest.mark.parametrize("name", ["norm", "std", "var", "logsumexp", "softmax", "log_softmax"])
def test_rows_of_halves_do_not_overflow_on_the_way(name: str) -> None:
    # 200 squared, and 70000 ones together, are more than 65504, the largest float16.
    x = mg.tensor([-200.0, 200.0], dtype="float16")
    ones = mg.tensor([1.0], dtype="float16").expand(70000)
    found = {
        "norm": x.norm(), "std": x.std(), "var": (x * 0.8).var(),
        "logsumexp": ones.logsumexp(0), "softmax": ones.softmax(0)[0], "log_softmax": ones.log_softmax(0)[0],
    }[name]  # fmt: skip
    wanted = {
        "norm": 282.84, "std": 282.84, "var": 51200.0, "logsumexp": 12.156, "softmax": 1 / 70000, "log_softmax": -11.156
    }  # fmt: skip
    assert found.dtype is mg.float16 and found.item() == pytest.approx(wanted[name], rel=3e-3)


@pytest.mark.usefixtures("serial")
@pytest.mark.parametrize("name", ["mean", "amax"])
def test_a_gradient_shared_by_many_halves_is_not_lost(name: str) -> None:
    x = mg.Var(np.ones(70000), dtype="float16")
    getattr(x, name)().backward()
    assert x.grad[0].item() == pytest.approx(1 / 70000, rel=3e-3)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_the_sign_of_a_negative_zero_is_zero(dtype):
    result = mg.sign(mg.tensor([-0.0, 0.0, -3.0, 2.0], device="reference").to(dtype)).numpy()
    assert result.tolist() == [0, 0, -1, 1] and not np.signbit(result[:2]).any()
