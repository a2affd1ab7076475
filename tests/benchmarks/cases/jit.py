"""Steps that minigrad runs as programs of `mg.jit`, compared with PyTorch's eager mode.

The first run of a row is eager and the second is recorded; the timed runs are programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.benchmarks.case import Table, normal
from tests.benchmarks.cases import networks, training

TABLE = Table("jit")
Build = Callable[..., Callable[[], Any]]


def jitted(build: Build) -> Build:
    """Return a row whose function minigrad records, and PyTorch runs eagerly."""

    def made(m: Any, *tensors: Any) -> Callable[[], Any]:
        run = build(m, *tensors)
        recorded: Callable[[], Any] = m.jit(run) if m.__name__ == "minigrad" else run
        return recorded

    return made


def update(m: Any, x: Any, w: Any) -> Callable[[], Any]:
    """Return a training step: a matrix product, its gradient, and an update without an optimizer."""

    def run() -> Any:
        w.grad = None
        loss = ((x @ w) ** 2).mean()
        loss.backward()
        with m.no_grad():
            w.sub_(w.grad * 1e-3)
        return loss

    return run


def fifty(m: Any, x: Any) -> Callable[[], Any]:
    """Return a function of fifty ops and their gradient."""

    def run() -> Any:
        y = x
        for _ in range(25):
            y = m.tanh(y * 1.01)
        x.grad = None
        y.sum().backward()
        return x.grad

    return run


def ten(m: Any, x: Any) -> Callable[[], Any]:
    """Return a function of ten ops and their gradient."""

    def run() -> Any:
        y = x
        for _ in range(5):
            y = m.sigmoid(y) * 1.5
        x.grad = None
        y.sum().backward()
        return x.grad

    return run


def cheap(m: Any, x: Any) -> Any:
    """Compute ten operations whose arithmetic takes less time than their memory accesses."""
    y = x
    for _ in range(2):
        y = m.maximum(y * 1.01 + x - 0.5, x) * 0.5
    return y


def cheap_alone(m: Any, x: Any) -> Callable[[], Any]:
    """Return a function of ten cheap operations."""

    def run() -> Any:
        with m.no_grad():
            return cheap(m, x)

    return run


def cheap_with_gradient(m: Any, x: Any) -> Callable[[], Any]:
    """Return a function of ten cheap operations and their gradient."""

    def run() -> Any:
        x.grad = None
        cheap(m, x).sum().backward()
        return x.grad

    return run


def simple_grad(m: Any, x: Any) -> Callable[[], Any]:
    """Return the example of the README: a polynomial and its gradient."""

    def run() -> Any:
        x.grad = None
        (x * x + x * 5.0 + 4.0).sum().backward()
        return x.grad

    return run


def attention(m: Any, q: Any, k: Any, v: Any) -> Callable[[], Any]:
    """Return attention, written as its formula, with a loss and its gradient."""

    def run() -> Any:
        q.grad = k.grad = v.grad = None
        y = m.nn.functional.gelu(m.softmax((q @ k.mT) * 0.125, -1) @ v)
        loss = (y * y).mean()
        loss.backward()
        return [loss.detach(), q.grad, k.grad, v.grad]

    return run


def swapped(build: Build) -> Build:
    """Return the same row with its operands exchanged, because the first operands require a gradient."""
    return lambda m, w, x: build(m, x, w)


TABLE.add("update of (8, 4) x (4, 4)", normal((4, 4), (8, 4)), build=jitted(swapped(update)), tracks=1)
TABLE.add("50 ops with gradient on 16", normal((16,)), build=jitted(fifty), tracks=1)
TABLE.add("10 ops with gradient on 1e6", normal((1_000_000,)), build=jitted(ten), tracks=1)
TABLE.add("10 cheap ops on 1e6", normal((1_000_000,)), build=jitted(cheap_alone))
TABLE.add("10 cheap ops with gradient on 1e6", normal((1_000_000,)), build=jitted(cheap_with_gradient), tracks=1)
TABLE.add("simple_grad", normal((3,)), build=jitted(simple_grad), tracks=1)
TABLE.add("attention (4, 4, 64, 32)", normal(*[(4, 4, 64, 32)] * 3), build=jitted(attention), tracks=3)
for case in (*training.TABLE.cases, *networks.TABLE.cases):
    assert case.build is not None
    TABLE.add(case.name, case.arrays, build=jitted(case.build), tracks=case.tracks, rtol=case.rtol)
