"""The small steps of `steps.py` for JAX, as its users write them: pure functions, whose state is donated.

This module imports JAX, so only the process of `jax.jit` imports it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from numpy.typing import NDArray

from tests.benchmarks.jit.steps import MOMENTUM, RATE, Step, chain, polynomial


def pure(function: Callable[..., Any], *arrays: NDArray[Any]) -> Step:
    """Return a compiled function of constant arguments as a step."""
    compiled, given = jax.jit(function), [jnp.asarray(array) for array in arrays]
    return lambda: jax.block_until_ready(compiled(*given))


def training(function: Callable[..., Any], state: Any, *arrays: NDArray[Any]) -> Step:
    """Return function(state, *arrays) -> (loss, state), compiled, as a step that stores the new state."""
    compiled, given = jax.jit(function, donate_argnums=0), [jnp.asarray(array) for array in arrays]
    held = [jax.tree.map(jnp.array, state)]

    def step() -> Any:
        loss, held[0] = jax.block_until_ready(compiled(held[0], *given))
        return (loss,)

    return step


def with_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that returns the result of `function` and the gradient of the sum of this result."""

    def both(x: Any) -> Any:
        y, back = jax.vjp(function, x)
        return y, back(jnp.ones_like(y))[0]

    return both


def simple_grad(array: NDArray[Any]) -> Step:
    """Return the polynomial and its gradient."""
    return pure(with_gradient(polynomial), array)


def chain_with_gradient(ops: int) -> Callable[..., Step]:
    """Return the builder of a chain of operations and its gradient."""
    return lambda array: pure(with_gradient(lambda x: chain(x, jnp.maximum, ops)), array)


def chain_alone(ops: int) -> Callable[..., Step]:
    """Return the builder of a chain of operations without a gradient."""
    return lambda array: pure(lambda x: (chain(x, jnp.maximum, ops),), array)


def cross_entropy(scores: Any, labels: Any) -> Any:
    """Return the mean cross entropy of rows of scores."""
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], 1).mean()


def momentum(loss_of: Callable[..., Any]) -> Callable[..., Any]:
    """Return the training step of a loss of parameters, with momentum."""

    def step(state: Any, *data: Any) -> Any:
        parameters, velocities = state
        loss, gradients = jax.value_and_grad(loss_of)(parameters, *data)
        velocities = [MOMENTUM * v + g for v, g in zip(velocities, gradients, strict=True)]
        return loss, ([p - RATE * v for p, v in zip(parameters, velocities, strict=True)], velocities)

    return step


def perceptron(*arrays: NDArray[Any]) -> Step:
    """Return a training step of linear layers with momentum."""
    *parameters, x, labels = arrays

    def loss_of(parameters: Any, x: Any, labels: Any) -> Any:
        h = x
        for k in range(0, len(parameters), 2):
            h = (jax.nn.relu(h) if k else h) @ parameters[k].T + parameters[k + 1]
        return cross_entropy(h, labels)

    return training(momentum(loss_of), (parameters, [0 * p for p in parameters]), x, labels)


def digits(*arrays: NDArray[Any]) -> Step:
    """Return the training step of `examples/digits_mlp.py`."""
    *parameters, images, labels, indices = arrays

    def loss_of(parameters: Any, images: Any, labels: Any, batch: Any) -> Any:
        w1, b1, w2, b2 = parameters
        return cross_entropy(jax.nn.relu(images[batch] @ w1 + b1) @ w2 + b2, labels[batch])

    return training(momentum(loss_of), (parameters, [0 * p for p in parameters]), images, labels, indices)


def attention(*arrays: NDArray[Any]) -> Step:
    """Return attention with a loss and the gradients of its three operands."""
    scale = 1 / math.sqrt(arrays[0].shape[-1])

    def loss_of(q: Any, k: Any, v: Any) -> Any:
        y = jax.nn.gelu(jax.nn.softmax((q @ k.swapaxes(-1, -2)) * scale, -1) @ v, approximate=False)
        return (y * y).mean()

    def step(q: Any, k: Any, v: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of, argnums=(0, 1, 2))(q, k, v)
        return (loss, *gradients)

    return pure(step, *arrays)


def recurrent(*arrays: NDArray[Any]) -> Step:
    """Return the loss of a recurrent network over a sequence, and the gradients of its weights."""

    def loss_of(w: Any, u: Any, x: Any) -> Any:
        first = jnp.zeros((x.shape[1], u.shape[0]))
        h, _ = jax.lax.scan(lambda h, x: (jnp.tanh(x @ w + h @ u), None), first, x)
        return (h * h).mean()

    def step(x: Any, w: Any, u: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of, argnums=(0, 1))(w, u, x)
        return (loss, *gradients)

    return pure(step, *arrays)


def looped(array: NDArray[Any]) -> Step:
    """Return a loop of three elementwise operations over the rows of an array."""
    first = jnp.zeros(array.shape[1])
    return pure(lambda xs: (jax.lax.scan(lambda h, x: (jnp.tanh(h * 0.99 + x), None), first, xs)[0],), array)


fifty_with_gradient, ten_with_gradient, ten = chain_with_gradient(50), chain_with_gradient(10), chain_alone(10)
perceptron_with_optimizer = perceptron
