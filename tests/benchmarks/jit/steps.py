"""The functions that are compared: small steps in minigrad, with the arrays that every library receives.

A step is built with `record`, which is `mg.jit` or a function that returns its argument (eager mode).  Built steps take
no arguments and return their results; a training step returns its loss.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import minigrad as mg
from minigrad.nn import functional as F

Step = Callable[[], Sequence[Any]]
Record = Callable[[Callable[..., Any]], Callable[..., Any]]
RATE, MOMENTUM = 0.05, 0.9


def normal(*shapes: tuple[int, ...]) -> list[NDArray[Any]]:
    """Return arrays of normally distributed numbers."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def layers(*sizes: int, batch: int = 64) -> list[NDArray[Any]]:
    """Return a weight and a bias for each layer, then a batch and its labels."""
    rng, arrays = np.random.default_rng(0), list[NDArray[Any]]()
    for ins, outs in itertools.pairwise(sizes):
        weight = rng.standard_normal((outs, ins)) / math.sqrt(ins)
        arrays += [weight.astype(np.float32), np.zeros(outs, np.float32)]
    return [*arrays, rng.standard_normal((batch, sizes[0])).astype(np.float32), rng.integers(0, sizes[-1], batch)]


def digits_data(images: int = 1442, hidden: int = 64, batch: int = 32) -> list[NDArray[Any]]:
    """Return the four parameters of `examples/digits_mlp.py`, all images, all labels, and the indices of a batch."""
    rng = np.random.default_rng(0)
    first, second = 0.2 * rng.standard_normal((64, hidden)), 0.2 * rng.standard_normal((hidden, 10))
    parameters = [first, np.zeros(hidden), second, np.zeros(10)]
    pixels, labels = rng.standard_normal((images, 64)), rng.integers(0, 10, images)
    return [*[x.astype(np.float32) for x in (*parameters, pixels)], labels, rng.integers(0, images, batch)]


def polynomial(x: Any) -> Any:
    """Return the polynomial of the README."""
    return x * x + x * 5.0 + 4.0


def chain(x: Any, maximum: Callable[..., Any], ops: int) -> Any:
    """Apply `ops` cheap elementwise operations, a multiple of five."""
    y = x
    for _ in range(ops // 5):
        y = maximum(y * 1.01 + x - 0.5, x) * 0.5
    return y


def simple_grad(record: Record, array: NDArray[Any]) -> Step:
    """Return the example of the README: a polynomial and its gradient."""
    x = mg.Var(array)

    @record
    def step(x: Any) -> Any:
        y = polynomial(x)
        return y, mg.grad(y, x)

    return lambda: step(x)


def chain_with_gradient(ops: int) -> Callable[..., Step]:
    """Return the builder of a chain of operations and its gradient."""

    def build(record: Record, array: NDArray[Any]) -> Step:
        x = mg.Var(array)

        @record
        def step(x: Any) -> Any:
            y = chain(x, mg.maximum, ops)
            return y, mg.grad(y, x)

        return lambda: step(x)

    return build


def chain_alone(ops: int) -> Callable[..., Step]:
    """Return the builder of a chain of operations without a gradient."""

    def build(record: Record, array: NDArray[Any]) -> Step:
        x = mg.tensor(array)

        @record
        def step(x: Any) -> Any:
            return (chain(x, mg.maximum, ops),)

        return lambda: step(x)

    return build


def perceptron_of(record: Record, parameters: Sequence[NDArray[Any]]) -> Callable[..., Any]:
    """Return a training step of linear layers: cross entropy, gradients, and momentum written by hand."""
    leaves = [mg.Var(array) for array in parameters]
    velocities = [mg.zeros_like(leaf.as_tensor()) for leaf in leaves]

    @record
    def step(x: Any, labels: Any) -> Any:
        loss = loss_of_layers(leaves, x, labels)
        update(leaves, velocities, mg.grad(loss, leaves))
        return (loss.detach(),)

    return step


def perceptron(record: Record, *arrays: NDArray[Any]) -> Step:
    """Return a training step of linear layers with its batch."""
    *parameters, x, labels = arrays
    step, data = perceptron_of(record, parameters), [mg.tensor(x), mg.tensor(labels)]
    return lambda: step(*data)


def loss_of_layers(leaves: Sequence[Any], x: Any, labels: Any) -> Any:
    """Return the cross entropy of linear layers with ReLU between them."""
    h = x
    for k in range(0, len(leaves), 2):
        h = F.linear(F.relu(h) if k else h, leaves[k], leaves[k + 1])
    return F.cross_entropy(h, labels)


def perceptron_with_optimizer(record: Record, *arrays: NDArray[Any]) -> Step:
    """Return the same training step with `mg.optim.SGD`."""
    *parameters, x, labels = arrays
    leaves, data = [mg.Var(array) for array in parameters], [mg.tensor(x), mg.tensor(labels)]
    optimizer = mg.optim.SGD(leaves, RATE, MOMENTUM)

    @record
    def step(x: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of_layers(leaves, x, labels)
        loss.backward()
        optimizer.step()
        return (loss.detach(),)

    return lambda: step(*data)


def digits(record: Record, *arrays: NDArray[Any]) -> Step:
    """Return the training step of `examples/digits_mlp.py`: a batch by index, and log_softmax with gather."""
    *parameters, images, labels, indices = arrays
    leaves, batch = [mg.Var(array) for array in parameters], mg.tensor(indices)
    velocities = [mg.zeros_like(leaf.as_tensor()) for leaf in leaves]
    pixels, targets = mg.tensor(images), mg.tensor(labels)

    @record
    def step(batch: Any) -> Any:
        w1, b1, w2, b2 = leaves
        scores = mg.log_softmax(mg.relu(pixels[batch] @ w1 + b1) @ w2 + b2, 1)
        loss = -scores.gather(1, targets[batch].unsqueeze(1)).mean()
        update(leaves, velocities, mg.grad(loss, leaves))
        return (loss.detach(),)

    return lambda: step(batch)


def update(leaves: Sequence[Any], velocities: Sequence[Any], gradients: Sequence[Any]) -> None:
    """Update parameters by gradients with momentum, as the examples do."""
    with mg.no_grad():
        for leaf, velocity, g in zip(leaves, velocities, gradients, strict=True):
            velocity.mul_(MOMENTUM).add_(g)
            leaf.sub_(velocity * RATE)


def attention(record: Record, *arrays: NDArray[Any]) -> Step:
    """Return attention, written as its formula, with a loss and the gradients of its three operands."""
    leaves = [mg.Var(array) for array in arrays]
    scale = 1 / math.sqrt(arrays[0].shape[-1])

    @record
    def step(q: Any, k: Any, v: Any) -> Any:
        y = F.gelu(mg.softmax((q @ k.mT) * scale, -1) @ v)
        loss = (y * y).mean()
        gradients = mg.grad(loss, [q, k, v])
        return (loss.detach(), *gradients)

    return lambda: step(*leaves)


def sequence(steps: int, batch: int = 4, features: int = 8, hidden: int = 16) -> list[NDArray[Any]]:
    """Return a sequence and the two weights of a recurrent network."""
    x, w, u = normal((steps, batch, features), (features, hidden), (hidden, hidden))
    return [x, 0.3 * w, 0.2 * u]


def recurrent(record: Record, *arrays: NDArray[Any]) -> Step:
    """Return the loss of a recurrent network over a sequence, and the gradients of its weights."""
    x, w, u = mg.tensor(arrays[0]), mg.Var(arrays[1]), mg.Var(arrays[2])
    first = mg.zeros(x.shape[1], u.shape[0])

    @record
    def step(x: Any) -> Any:
        h, _ = mg.func.scan(lambda h, x: ((x @ w + h @ u).tanh(), None), first, x)
        loss = (h * h).mean()
        return loss, *mg.grad(loss, [w, u])

    return lambda: step(x)


def looped(record: Record, array: NDArray[Any]) -> Step:
    """Return a loop of three elementwise operations over the rows of an array."""
    xs, first = mg.tensor(array), mg.zeros(array.shape[1])

    @record
    def step(xs: Any) -> Any:
        return (mg.func.scan(lambda h, x: ((h * 0.99 + x).tanh(), None), first, xs)[0],)

    return lambda: step(xs)


def eager(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function itself: the `record` of eager mode."""
    return function


fifty_with_gradient, ten_with_gradient, ten = chain_with_gradient(50), chain_with_gradient(10), chain_alone(10)
