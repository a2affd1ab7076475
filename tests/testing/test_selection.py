"""A run without --full leaves out products only: every op, dtype, layout and kind of template is still met."""

from __future__ import annotations

import subprocess
import sys

import compiled_dtypes
import pytest
from op_support import arrays, operands
from op_table import DEVICES, ROWS
from selection import (
    COMPOSED,
    STRANGE,
    TEMPLATE_OF,
    base_dtype,
    chosen_dtypes,
    chosen_layouts,
    dtype_once_a_family,
    families,
    family_of,
    gradient_layout_once_a_family,
    is_view,
    kinds_of,
    layout_once_a_family,
    shape_of,
    spread,
)

import minigrad as mg


@pytest.mark.parametrize("device", DEVICES)
def test_every_row_runs_as_it_is_in_its_base_dtype_forward_and_backward(device: str) -> None:
    for row in ROWS:
        runs = row.kernels or device == "reference"
        assert runs == layout_once_a_family(row, device, "dense") == gradient_layout_once_a_family(row, device, "dense")
        assert runs == dtype_once_a_family(row, device, base_dtype(row))
    # Ops of one element may be left to the reference device; each kind of them is compiled for some.
    assert len({family_of(row) for row in ROWS if row.elementwise and row.kernels}) >= 11


def test_the_reference_device_runs_the_whole_product() -> None:
    for row in ROWS:
        assert all(dtype_once_a_family(row, "reference", dtype) for dtype in row.dtypes)
        for choice in (layout_once_a_family, gradient_layout_once_a_family):
            assert all(choice(row, "reference", layout) for layout in STRANGE)


def test_templates_name_ops_that_there_are() -> None:
    assert [op for op in TEMPLATE_OF if op not in mg.schema] == []


def test_a_row_that_counts_as_a_view_copies_nothing() -> None:
    for row in ROWS:
        if is_view(row):
            given = operands(row, arrays(row), base_dtype(row), "reference")
            before = mg.memory_stats().allocations
            row.fn(*given)
            assert mg.memory_stats().allocations == before, row.name


def test_every_family_meets_every_layout() -> None:
    for rows in families(shape_of).values():
        assert {layout for name, layout in chosen_layouts() if name in {row.name for row in rows}} == set(STRANGE)


def test_every_family_meets_every_kind_of_dtype_that_it_takes() -> None:
    for family, rows in families(family_of).items():
        for kind in kinds_of(rows[0]) if family != COMPOSED else ():
            able = [row for row in rows if any(dtype in row.dtypes and dtype != base_dtype(row) for dtype in kind)]
            met = {dtype for name, dtype in chosen_dtypes() if name in {row.name for row in rows}}
            assert not able or met & set(kind) or not all(set(kind) <= set(row.dtypes) for row in able), (family, kind)


def test_every_dtype_is_met_by_several_families() -> None:
    for dtype in map(str, compiled_dtypes.ALL):
        assert sum(dtype == chosen for _, chosen in chosen_dtypes()) >= 3 or dtype == "float64"


def test_things_are_spread_over_all_rows() -> None:
    assert [spread("abc", k, 5) for k in range(5)] == ["a", "b", "c", "a", "b"]  # type: ignore[arg-type]
    assert [spread("abcdef", k, 3) for k in range(3)] == ["a", "c", "e"]  # type: ignore[arg-type]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """One small test file in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/ops/test_views.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


def test_a_run_that_loads_more_kernels_than_it_may_fails() -> None:
    done = run("--kernels", "1")
    assert done.returncode == 1 and " passed" in done.stdout
    assert "kernels are more than the 1 that a run may load; most come with tests/ops/test_views.py (" in done.stdout
    done = run()
    assert done.returncode == 0 and "more than" not in done.stdout and "kernels: " in done.stdout
