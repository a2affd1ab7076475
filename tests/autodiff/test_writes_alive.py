"""Records of writes: which objects they keep alive, when they are freed, and the warnings of `mg.debug()`."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from points import leaf

import minigrad as mg
from minigrad.errors import StorageError

DTYPE: Any = {"dtype": "float64", "device": "reference"}


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def fill(x: Any) -> Any:
    out, a = mg.empty(3, **DTYPE), x[0]
    view = out[1:]
    for k in range(3):
        out[k] = a
        a = a * x[1]
    return [out, view, view * 2.0]


def activations(x: Any) -> Any:
    y = x * 2.0
    y.sin_().cos_()
    y[:1].add_(x[1:])
    y.exp_()
    return [y, y[::-1]]


def itself(x: Any) -> Any:
    y = x * 2.0
    v = y[:1]
    y.mul_(y)
    v.mul_(y[1:])
    y += y[::-1]
    return [v, y.sum()]


def by_a_mask(x: Any) -> Any:
    y = x * x
    y[x > 1.5] = x[0]
    return [y]


def out_of_a_view(x: Any) -> Any:
    b = mg.zeros(2, **DTYPE)
    b[:1].mul_(x[1])
    return [b[1:]]


@pytest.mark.parametrize("make", [fill, activations, itself, by_a_mask, out_of_a_view])
@pytest.mark.parametrize("walked", [False, True])
def test_a_graph_with_writes_dies_with_its_last_tensor(
    make: Callable[[Any], list[Any]], walked: bool, no_collector: None
) -> None:
    x = leaf(1.0, 2.0)
    mg.grad(make(x)[-1].sum(), x, create_graph=True)  # the numbers that a program uses are kept
    before = mg.memory_stats().live
    kept = make(x)
    if walked:
        mg.grad(kept[-1].sum(), x, create_graph=True)
    nodes = [weakref.ref(t.grad_fn) for t in kept]
    del kept
    assert [ref() for ref in nodes] == [None] * len(nodes)
    assert mg.memory_stats().live == before


def test_a_buffer_that_is_overwritten_as_a_whole_keeps_no_chain(no_collector: None) -> None:
    x, h = leaf(1.0, 2.0), mg.zeros(2, **DTYPE)
    h.copy_(x * 2.0)
    first = weakref.ref(h.op)
    h.copy_(x * 3.0)
    assert first() is None
    h.zero_()
    assert h.op.parents == (None, None)


def test_a_view_keeps_what_it_shows_when_the_whole_is_gone(no_collector: None) -> None:
    x = leaf(1.0, 2.0)
    y = x * 2.0
    v = y[:1]
    y.mul_(x)
    del y
    assert mg.grad(v.sum(), x).tolist() == [4.0, 0.0]


# ---- under mg.debug() -----------------------------------------------------------------------------------------------


def test_a_write_that_makes_a_saved_value_stale_is_named_where_it_happens() -> None:
    x = leaf(1.0, 2.0)
    with mg.debug():
        y = x * 2.0
        z = y * y
        for write in (lambda: y.add_(1.0), lambda: y[1:].zero_(), lambda: y.detach().fill_(3.0)):
            message = (
                r"^\w+ at .*test_writes_alive\.py:\d+: this write would change float64\(2,\), which mul\(2,\) of "
                r".*test_writes_alive\.py:\d+ saved for its gradient at version 0; clone\(\) the tensor before"
            )
            with pytest.raises(StorageError, match=message):
                write()
        with mg.no_grad(), pytest.raises(StorageError, match="saved for its gradient"):
            x.data = x * 2.0
            x.mul_(2.0)
            y.mul_(2.0)
        for name, write in (("copy_", lambda: y.copy_(x)), ("copy_", lambda: y.__setitem__(0, x[1])),
                            ("copy_", lambda: y.copy_(mg.tensor([1, 2]))), ("fill_", y.zero_)):  # fmt: skip
            with pytest.raises(StorageError, match=f"^{name} at .*: this write would change"):
                write()
        assert y.tolist() == [2.0, 4.0] and mg.grad(z.sum(), x).tolist() == [8.0, 16.0]


def test_a_write_that_harms_nobody_is_let_pass_under_debug() -> None:
    x = leaf(1.0, 2.0)
    with mg.debug():
        y = x * 2.0
        (y * y).sum()  # nobody has its result
        y.mul_(y)
        y.sin_()
        y[0] = x[1]
        kept = (y.exp_() * 2.0).sum()
        kept.backward()  # which frees what was saved
        y.add_(1.0)
        with mg.no_grad():
            x.sub_(0.5)
    assert x.grad is not None and x.tolist() == [0.5, 1.5]


def test_the_line_of_a_write_is_in_its_record() -> None:
    x = leaf(1.0, 2.0)
    with mg.debug():
        y = x * 2.0
        y.exp_()
        assert "test_writes_alive.py:" in y.op.source == y.op.parents[1].source
        with mg.no_grad(), pytest.raises(StorageError, match=r"add_? at .* which exp\(2,\) of .* saved"):
            y.add_(1.0)
        y.add_(1.0)  # recorded: exp gets a copy
        assert mg.grad((y * 1.0).sum(), x).tolist() == pytest.approx([14.7781122, 109.1963])
