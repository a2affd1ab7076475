"""Small graphs, where every microsecond is the cost of a call."""

from typing import Any

import numpy as np

from tests.benchmarks.case import Table

TABLE = Table("graphs")
LENGTH = 50


def simple_grad(m: Any, *tensors: Any) -> Any:
    """The sum of x*x + 5x + 4 over three numbers, and its gradient."""
    (x,) = tensors

    def run() -> Any:
        x.grad = None
        y = (x * x + x * 5.0 + 4.0).sum()
        y.backward()
        return [y, x.grad]

    return run


def chain(m: Any, *tensors: Any) -> Any:
    """50 additions and products in a row, and the gradient of their sum."""
    x, a, b = tensors

    def run() -> Any:
        x.grad = None
        y = x
        for _ in range(LENGTH // 2):
            y = y * a
            y = y + b
        y.sum().backward()
        return [y, x.grad]

    return run


def product(m: Any, *tensors: Any) -> Any:
    """One product; recorded if the operands want a gradient."""
    a, b = tensors
    return lambda: a * b


def small(*shapes: tuple[int, ...]) -> Any:
    return lambda rng: [rng.uniform(0.9, 1.1, shape).astype(np.float32) for shape in shapes]


TABLE.add("a*b of 16, tracked", small((16,), (16,)), build=product, tracks=2, goal=0.9)
TABLE.add("a*b of 16, untracked", small((16,), (16,)), build=product)
TABLE.add("simple_grad with backward", small((3,)), build=simple_grad, tracks=1, goal=1.5)
TABLE.add("chain of 50 ops on 16, backward", small((16,), (16,), (16,)), build=chain, tracks=1, goal=1.3)
