"""Which tests run without `--full`, and how many kernels a run may load.

A test with the mark `once` covers each value of some parameters once instead of their product; one with the mark
`shared` asks a function of `selection.py`.  What is left out is deselected, so `--full` or its whole name runs it.
`kernel_budget.py` counts kernels.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

# Kernels are counted, here and in the programs that tests start, so nobody compiles what is only likely to be wanted.
os.environ["MINIGRAD_COMPILE_AHEAD"] = "0"
# SciPy reads this variable when it is imported, which another test may do first.
os.environ["SCIPY_ARRAY_API"] = "1"

import minigrad as mg

pytest_plugins = ["kernel_budget"]


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
def serial() -> Iterator[None]:
    """Run every kernel on one thread, whatever the size of its operands, because parallel kernels compile slowly."""
    with mg.override(parallel_threshold=1 << 60):
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the whole product of ops, dtypes and layouts")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the items that the marks `shared` and `once` leave out."""
    if config.getoption("--full"):
        return
    by_test: dict[Any, list[Any]] = {}
    for item in items:
        by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {id(item) for group in by_test.values() for item in chosen(group)}
    named = set(config.invocation_params.args)
    left_out = [item for item in items if id(item) not in kept and item.nodeid not in named]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        out = {id(item) for item in left_out}
        items[:] = [item for item in items if id(item) not in out]


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


def chosen(group: list[Any]) -> Iterable[Any]:
    """Return the items of one test function that its marks select."""
    for mark in group[0].iter_markers("shared"):
        group = [item for item in group if mark.kwargs["by"](**wanted(mark.kwargs["by"], item))]
    for mark in group[0].iter_markers("once") if group else ():
        tuples = {id(item): tuple(text(item.callspec.params[name]) for name in mark.args) for item in group}
        covering = cover(list(dict.fromkeys(tuples.values())))
        group = [item for item in group if tuples[id(item)] in covering]
    return group


def wanted(function: Any, item: Any) -> dict[str, Any]:
    """Return the parameters of an item that a function takes; `test` is the name of the test function."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    known = {"test": item.originalname, **getattr(getattr(item, "callspec", None), "params", {})}
    return {name: known[name] for name in names if name in known}


def text(value: Any) -> str:
    """Return the name of a parameter's value."""
    return str(getattr(value, "__name__", None) or getattr(value, "name", None) or value)


def cover(tuples: list[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Return a few tuples that contain each value at each of its positions; equal lists have equal results."""
    left = {(place, value) for values in tuples for place, value in enumerate(values)}
    found = set()
    for new in range(len(tuples[0]), 0, -1):
        for values in tuples:
            here = set(enumerate(values)) & left
            if len(here) >= new:
                found.add(values)
                left -= here
    return found
