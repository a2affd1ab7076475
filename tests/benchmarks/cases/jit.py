"""The same steps as functions that `mg.jit` records, beside PyTorch's eager mode.

The first two runs of a row are eager and recorded; the timed ones are programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.benchmarks.case import Table, normal
from tests.benchmarks.cases import networks, training

TABLE = Table("jit")
Build = Callable[..., Callable[[], Any]]


def jitted(build: Build) -> Build:
    """A row whose function is recorded here, and runs eagerly in PyTorch."""

    def made(m: Any, *tensors: Any) -> Callable[[], Any]:
        run = build(m, *tensors)
        recorded: Callable[[], Any] = m.jit(run) if m.__name__ == "minigrad" else run
        return recorded

    return made


def update(m: Any, x: Any, w: Any) -> Callable[[], Any]:
    """A product, its gradient and a step by hand."""

    def run() -> Any:
        w.grad = None
        loss = ((x @ w) ** 2).mean()
        loss.backward()
        with m.no_grad():
            w.sub_(w.grad * 1e-3)
        return loss

    return run


def fifty(m: Any, x: Any) -> Callable[[], Any]:
    """Fifty ops and their gradient."""

    def run() -> Any:
        y = x
        for _ in range(25):
            y = m.tanh(y * 1.01)
        x.grad = None
        y.sum().backward()
        return x.grad

    return run


def ten(m: Any, x: Any) -> Callable[[], Any]:
    """Ten ops and their gradient."""

    def run() -> Any:
        y = x
        for _ in range(5):
            y = m.sigmoid(y) * 1.5
        x.grad = None
        y.sum().backward()
        return x.grad

    return run


def swapped(build: Build) -> Build:
    """The same with the operands exchanged: the first ones require a gradient."""
    return lambda m, w, x: build(m, x, w)


TABLE.add("update of (8, 4) x (4, 4)", normal((4, 4), (8, 4)), build=jitted(swapped(update)), tracks=1)
TABLE.add("50 ops with gradient on 16", normal((16,)), build=jitted(fifty), tracks=1)
TABLE.add("10 ops with gradient on 1e6", normal((1_000_000,)), build=jitted(ten), tracks=1)
for case in (*training.TABLE.cases, *networks.TABLE.cases):
    assert case.build is not None
    TABLE.add(case.name, case.arrays, build=jitted(case.build), tracks=case.tracks, rtol=case.rtol)
