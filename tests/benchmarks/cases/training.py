"""A training step: forward, loss, backward, SGD with momentum."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.case import Table

TABLE = Table("training")
RATE, MOMENTUM = 0.01, 0.9


def network(*sizes: int, batch: int = 64) -> Callable[[np.random.Generator], list[np.ndarray]]:
    """A weight and a bias for each layer, then a batch and its labels."""

    def arrays(rng: np.random.Generator) -> list[np.ndarray]:
        data: list[np.ndarray] = []
        for rows, cols in itertools.pairwise(sizes):
            data += [(rng.standard_normal((cols, rows)) / rows**0.5).astype(np.float32), np.zeros(cols, np.float32)]
        return [*data, rng.standard_normal((batch, sizes[0])).astype(np.float32), rng.integers(0, sizes[-1], batch)]

    return arrays


def training_step(m: Any, *tensors: Any) -> Callable[[], Any]:
    """A step of training; the first run's loss and parameters are compared."""
    *leaves, x, labels = tensors
    functional = m.nn.functional
    optimizer = m.optim.SGD(leaves, RATE, MOMENTUM, fused=True)  # PyTorch's in its fastest form

    def run() -> Any:
        optimizer.zero_grad()
        h = x
        for k in range(0, len(leaves), 2):
            h = functional.linear(functional.relu(h) if k else h, leaves[k], leaves[k + 1])
        loss = functional.cross_entropy(h, labels)
        loss.backward()
        optimizer.step()
        return [loss, *leaves]

    return run


TABLE.add("step of 64-128-10, batch 64", network(64, 128, 10), tracks=4, build=training_step, goal=1.5, rtol=1e-4)
TABLE.add(
    "step of 784-512-512-10, batch 64", network(784, 512, 512, 10), tracks=6, build=training_step, goal=1.3, rtol=1e-4
)
