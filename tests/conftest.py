"""Fixtures for all tests, and the plugins: `cases.py` loops inside of items, `kernel_budget.py` counts kernels.

`selection.py` and the decorators of `cases.py` choose the cases that run without `--full`.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest

# Kernels are counted, here and in the programs that tests start, so nobody compiles what is only likely to be wanted.
os.environ["MINIGRAD_COMPILE_AHEAD"] = "0"
# SciPy reads this variable when it is imported, which another test may do first.
os.environ["SCIPY_ARRAY_API"] = "1"

import minigrad as mg

pytest_plugins = ["cases", "kernel_budget"]


@pytest.fixture
def float64() -> Iterator[None]:
    """Make float64 the default float: it is the dtype of the op table, so its kernels can be used again."""
    before = mg.default_float()
    mg.set_default_float("float64")
    yield
    mg.set_default_float(before)


@pytest.fixture
def reference() -> Iterator[None]:
    """Create tensors on the reference device, which compiles nothing."""
    before = mg.default_device()
    mg.set_default_device("reference")
    yield
    mg.set_default_device(before)


@pytest.fixture
def schema() -> Iterator[Any]:
    """Provide the declared ops; ops that a test declares are removed when it ends."""
    before = dict(mg.schema)
    yield mg.schema
    mg.schema.clear()
    mg.schema.update(before)


@pytest.fixture
def serial() -> Iterator[None]:
    """Run every kernel on one thread, whatever the size of its operands, because parallel kernels compile slowly."""
    with mg.override(parallel_threshold=1 << 60):
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the whole product of ops, dtypes and layouts")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Disable garbage collection, which would traverse millions of test items for four seconds each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """At the end of a file, exclude the remaining objects, such as Numba's tables, from garbage collection."""
    if nextitem is None or nextitem.path != item.path:
        freeze()


def freeze() -> None:
    """Exclude all objects that exist now from later garbage collections."""
    gc.collect()
    gc.freeze()
