"""Small programs as their users write them, a step at a time, and what such programs are full of.

Parameters are updated by hand under no_grad, in both libraries by the same lines.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.benchmarks.case import Table

TABLE = Table("programs")
RATE = 0.05
Arrays = list[np.ndarray]


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Weights: numbers of deviation 1 over the root of how many are added up."""
    return (rng.standard_normal(shape) / max(1, int(np.prod(shape[1:]))) ** 0.5).astype(np.float32)


def steps(loss_of: Callable[..., Any], count: int) -> Callable[..., Callable[[], Any]]:
    """A row that takes a step along the gradient of loss_of(m, parameters, data); count: how many parameters."""

    def build(m: Any, *tensors: Any) -> Callable[[], Any]:
        parameters, data = tensors[:count], tensors[count:]

        def run() -> Any:
            loss = loss_of(m, parameters, data)
            loss.backward()
            with m.no_grad():
                for p in parameters:
                    p -= RATE * p.grad
                    p.grad = None
            return [loss, *parameters]

        return run

    return build


# ---- logistic regression --------------------------------------------------------------------------------------------


def regression(rng: np.random.Generator) -> Arrays:
    x = normal(rng, 200, 20) * 4
    return [np.zeros((20, 1), np.float32), np.zeros(1, np.float32), x, (x[:, :1] > 0).astype(np.float32)]


def regression_loss(m: Any, parameters: Sequence[Any], data: Sequence[Any]) -> Any:
    (w, b), (x, y) = parameters, data
    p = m.sigmoid(x @ w + b)
    return -(y * m.log(p + 1e-7) + (1 - y) * m.log(1 - p + 1e-7)).mean() + 0.01 * (w * w).sum()


# ---- a small convolutional network ----------------------------------------------------------------------------------


def images(rng: np.random.Generator) -> Arrays:
    shapes = ((8, 1, 3, 3), (8,), (16, 8, 3, 3), (16,), (10, 64), (10,))
    return [*[normal(rng, *shape) for shape in shapes], normal(rng, 32, 1, 8, 8) * 8, rng.integers(0, 10, 32)]


def images_loss(m: Any, parameters: Sequence[Any], data: Sequence[Any]) -> Any:
    (w1, b1, w2, b2, w3, b3), (x, labels) = parameters, data
    f = m.nn.functional
    h = f.max_pool2d(f.relu(f.conv2d(x, w1, b1, padding=1)), 2)
    h = f.max_pool2d(f.relu(f.conv2d(h, w2, b2, padding=1)), 2)
    return f.cross_entropy(f.linear(h.flatten(1), w3, b3), labels)


# ---- a recurrent network with attention -----------------------------------------------------------------------------

SIZE, WORDS, LENGTH = 32, 20, 12


def sentences(rng: np.random.Generator) -> Arrays:
    shapes = ((WORDS, SIZE), (SIZE, 3 * SIZE), (SIZE, 3 * SIZE), (3 * SIZE,), (SIZE, SIZE), (2 * SIZE, WORDS))
    return [
        *[normal(rng, *shape) for shape in shapes], rng.integers(0, WORDS, (16, LENGTH)), rng.integers(0, WORDS, 16)
    ]  # fmt: skip


def sentences_loss(m: Any, parameters: Sequence[Any], data: Sequence[Any]) -> Any:
    """A gated recurrent unit over the words, then attention of the last state over all of them."""
    (words, wx, wh, b, wa, wo), (text, following) = parameters, data
    f = m.nn.functional
    inputs = f.embedding(text, words) @ wx + b
    h, states = m.zeros(16, SIZE), []
    for t in range(LENGTH):
        x, g = inputs[:, t], h @ wh
        reset = m.sigmoid(x[:, :SIZE] + g[:, :SIZE])
        update = m.sigmoid(x[:, SIZE : 2 * SIZE] + g[:, SIZE : 2 * SIZE])
        new = m.tanh(x[:, 2 * SIZE :] + reset * g[:, 2 * SIZE :])
        h = update * h + (1 - update) * new
        states.append(h)
    seen = m.stack(states, 1)
    weights = m.softmax((seen @ wa @ h.unsqueeze(2)).squeeze(2) / SIZE**0.5, 1)
    context = (weights.unsqueeze(2) * seen).sum(1)
    return f.cross_entropy(m.cat([context, h], 1) @ wo, following)


for name, arrays, loss_of, count in (
    ("step of logistic regression, 200x20", regression, regression_loss, 2),
    ("step of a small CNN, 32 images of 8x8", images, images_loss, 6),
    ("step of a GRU with attention, 16x12 words", sentences, sentences_loss, 6),
):
    TABLE.add(name, arrays, tracks=count, build=steps(loss_of, count), goal=1.0, rtol=1e-3)

# ---- what they are full of ------------------------------------------------------------------------------------------


def slices(m: Any, x: Any) -> Any:
    return x[0, 1:], x[:, 2], x[1:3, ::2], x[..., -1], x[2:4, None]


TABLE.add("five small slices of 8x16", lambda rng: [normal(rng, 8, 16)], slices, goal=0.9)
TABLE.add(
    "stack of 30 vectors of 10", lambda rng: [normal(rng, 10) for _ in range(30)], lambda m, *xs: m.stack(xs), goal=0.9
)
TABLE.add(
    "30 numbers of a matrix, one at a time", lambda rng: [normal(rng, 5, 6)],
    lambda m, x: [x[i, j] for i in range(5) for j in range(6)], goal=0.9,
)  # fmt: skip
