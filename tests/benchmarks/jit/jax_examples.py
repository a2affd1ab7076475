"""The training steps of `examples.py` for JAX, as its users write them.

Parameters are a dict from the names of the example's network to arrays.  Images have their channels last, the layout
for which XLA has its convolutions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.benchmarks.jit.examples import EXAMPLES, started
from tests.benchmarks.jit.jax_steps import cross_entropy, training
from tests.benchmarks.jit.steps import Step

State = dict[str, Any]
EPS, MOMENTUM = 1e-5, 0.1  # of normalizations, and of the running statistics of batch_norm
BETAS, ADAM_EPS = (0.9, 0.999), 1e-8
WEIGHT_DECAY = {"AdamW": 0.01, "Adam": 0.0}  # the defaults of the optimizers


def linear(p: State, name: str, x: Any) -> Any:
    """Apply a linear layer by its name."""
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def layer_norm(p: State, name: str, x: Any) -> Any:
    """Apply layer normalization by its name."""
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + EPS) * p[f"{name}.weight"] + p[f"{name}.bias"]


# ---- the CNN


def block(p: State, statistics: State, name: str, x: Any) -> Any:
    """Apply a convolution, batch normalization and ReLU; write the new running statistics."""
    kernel = p[f"{name}.0.weight"].transpose(2, 3, 1, 0)
    x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    mean, variance, n = x.mean((0, 1, 2)), x.var((0, 1, 2)), x.size // x.shape[-1]
    for part, value in (("running_mean", mean), ("running_var", variance * (n / (n - 1)))):
        key = f"{name}.1.{part}"
        statistics[key] = (1 - MOMENTUM) * statistics[key] + MOMENTUM * lax.stop_gradient(value)
    x = (x - mean) * lax.rsqrt(variance + EPS) * p[f"{name}.1.weight"] + p[f"{name}.1.bias"]
    return jax.nn.relu(x)


def pool(x: Any) -> Any:
    """Return the maximum of each square of four pixels; on the CPU, `lax.reduce_window` would take longer."""
    n, height, width, channels = x.shape
    return x.reshape(n, height // 2, 2, width // 2, 2, channels).max((2, 4))


def classifier(p: State, statistics: State, x: Any) -> tuple[Any, State]:
    """Return the scores of images, and the new running statistics."""
    statistics = dict(statistics)
    x = block(p, statistics, "features.0", x.transpose(0, 2, 3, 1))
    x = pool(block(p, statistics, "features.1", x))
    x = pool(block(p, statistics, "features.3", x))
    return linear(p, "scores", x.transpose(0, 3, 1, 2).reshape(len(x), -1)), statistics


# ---- the LSTM


def speller(p: State, statistics: State, x: Any) -> tuple[Any, State]:
    """Return the scores of the character after each character of names."""
    inputs = p["letters.weight"][x.T] @ p["lstm.weight_ih_l0"].T + p["lstm.bias_ih_l0"] + p["lstm.bias_hh_l0"]
    recurrent = p["lstm.weight_hh_l0"].T

    def cell(carry: Any, gates: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(gates + h @ recurrent, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((len(x), len(recurrent)), inputs.dtype)
    _, hidden = lax.scan(cell, (zeros, zeros), inputs)
    return linear(p, "scores", hidden.swapaxes(0, 1).reshape(x.size, -1)), statistics


# ---- the transformer


def writer(heads: int, count: int) -> Callable[..., Any]:
    """Return a GPT with `count` layers."""

    def attention(p: State, name: str, x: Any) -> Any:
        n, length, size = x.shape
        q, k, v = linear(p, f"{name}.parts", x).reshape(n, length, 3, heads, -1).transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        scores = jnp.where(jnp.tri(length, dtype=bool), scores, -jnp.inf)
        y = jax.nn.softmax(scores, -1) @ v
        return linear(p, f"{name}.joined", y.swapaxes(1, 2).reshape(n, length, size))

    def scores(p: State, statistics: State, text: Any) -> tuple[Any, State]:
        x = p["letters.weight"][text] + p["positions.weight"][: text.shape[1]]
        for k in range(count):
            name = f"layers.{k}"
            x = x + attention(p, name, layer_norm(p, f"{name}.norm1", x))
            h = jax.nn.gelu(linear(p, f"{name}.maps.0", layer_norm(p, f"{name}.norm2", x)), approximate=False)
            x = x + linear(p, f"{name}.maps.2", h)
        return linear(p, "scores", layer_norm(p, "norm", x)).reshape(text.size, -1), statistics

    return scores


# ---- the step


def adam(p: State, m: State, v: State, g: State, count: Any, rate: float, decay: float) -> tuple[State, State, State]:
    """Return the parameters and the moments after a step of AdamW."""
    first, second = BETAS
    m = jax.tree.map(lambda m, g: first * m + (1 - first) * g, m, g)
    v = jax.tree.map(lambda v, g: second * v + (1 - second) * g * g, v, g)
    size = rate / (1 - first**count)
    scale = 1 / jnp.sqrt(1 - second**count)

    def moved(p: Any, m: Any, v: Any) -> Any:
        return p * (1 - rate * decay) - size * m / (jnp.sqrt(v) * scale + ADAM_EPS)

    return jax.tree.map(moved, p, m, v), m, v


def clipped(gradients: State, most: float) -> State:
    """Return the gradients, scaled so that their norm is at most `most`."""
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
    return jax.tree.map(lambda g: g * jnp.minimum(most / (norm + 1e-6), 1.0), gradients)


def step_of(name: str) -> Step:
    """Return the training step of an example."""
    example = EXAMPLES[name]
    state, x, labels = started(name)
    p = {key: value for key, value in state.items() if value.dtype == np.float32 and "running" not in key}
    statistics = {key: value for key, value in state.items() if "running" in key}
    scores = {"CNN": classifier, "LSTM": speller, "transformer": writer(4, 2)}[name]
    decay = example.options.get("weight_decay", WEIGHT_DECAY[example.optimizer])

    def loss_of(p: State, statistics: State, x: Any, labels: Any) -> tuple[Any, State]:
        rows, statistics = scores(p, statistics, x)
        return cross_entropy(rows, labels), statistics

    def step(state: Any, x: Any, labels: Any) -> Any:
        p, m, v, statistics, count = state
        (loss, statistics), g = jax.value_and_grad(loss_of, has_aux=True)(p, statistics, x, labels)
        g = g if example.clip is None else clipped(g, example.clip)
        p, m, v = adam(p, m, v, g, count, example.options["lr"], decay)
        return loss, (p, m, v, statistics, count + 1)

    zeros = {key: np.zeros_like(value) for key, value in p.items()}
    return training(step, (p, zeros, zeros, statistics, np.float32(1)), x, labels)
