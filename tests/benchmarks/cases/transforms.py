"""Derivatives and batches of functions, compared with torch.func, which has the same functions and names.

hvp has no name there; the row takes the faster of the ways that PyTorch's users write, reverse over reverse.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from tests.benchmarks.case import Table

TABLE = Table("transforms")
GOAL = 1.0
Arrays = list[np.ndarray]


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers of deviation 1 over the root of how many are added up."""
    return (rng.standard_normal(shape) / max(1, shape[-1]) ** 0.5).astype(np.float32)


def flat(found: Any) -> list[Any]:
    """The tensors of nested tuples, one after another."""
    return [x for each in found for x in flat(each)] if isinstance(found, (tuple, list)) else [found]


def row(name: str, arrays: Callable[[np.random.Generator], Arrays], call: Callable[..., Any], **more: Any) -> None:
    """A row that calls call(m, *tensors) and shows all tensors of what it gives."""

    def build(m: Any, *tensors: Any) -> Callable[[], Any]:
        return lambda: flat(call(m, *tensors))

    TABLE.add(name, arrays, build=build, goal=GOAL, **more)


# ---- a network of 64, 128 and 10, on 64 samples ---------------------------------------------------------------------


def network(rng: np.random.Generator) -> Arrays:
    weights = [normal(rng, 128, 64), normal(rng, 128), normal(rng, 10, 128), normal(rng, 10)]
    return [*weights, normal(rng, 64, 64) * 8, rng.integers(0, 10, 64)]


def scores(m: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any) -> Any:
    F = m.nn.functional
    return F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)


def loss(m: Any) -> Callable[..., Any]:
    return lambda w1, b1, w2, b2, x, y: m.nn.functional.cross_entropy(scores(m, w1, b1, w2, b2, x), y)


def of_weights(m: Any, x: Any, y: Any) -> Callable[..., Any]:
    return lambda *weights: loss(m)(*weights, x, y)


ALL = (0, 1, 2, 3)
row("grad, 64-128-10", network, lambda m, *t: m.func.grad(loss(m), ALL)(*t))


def value_and_grad(m: Any, *t: Any) -> Any:
    return m.func.grad_and_value(loss(m), ALL)(*t)


def vjp(m: Any, *t: Any) -> Any:
    y, pull = m.func.vjp(lambda *weights: scores(m, *weights, t[4]), *t[:4])
    return pull(y)


def hvp(m: Any, *t: Any) -> Any:
    fn, weights = of_weights(m, *t[4:]), t[:4]
    if hasattr(m.func, "hvp"):
        return m.func.hvp(fn, weights, weights)
    return m.func.vjp(m.func.grad(fn, ALL), *weights)[1](weights)


def per_example(m: Any, *t: Any) -> Any:
    return m.func.vmap(m.func.grad(loss(m), ALL), in_dims=(None, None, None, None, 0, 0))(*t)


row("value_and_grad, 64-128-10", network, value_and_grad)
row("vjp, 64-128-10", network, vjp)
row("jvp, 64-128-10", network, lambda m, *t: m.func.jvp(of_weights(m, *t[4:]), t[:4], t[:4]))
row("hvp, 64-128-10", network, hvp, rtol=2e-4)
row("per-example gradients, 64-128-10", network, per_example)

# ---- whole matrices -------------------------------------------------------------------------------------------------


def rosenbrock(x: Any) -> Any:
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def layer(m: Any) -> Callable[..., Any]:
    return lambda w, x: m.tanh(w @ x) * x + m.sin(x)


def square(rng: np.random.Generator) -> Arrays:
    return [normal(rng, 200, 200), normal(rng, 200)]


row("hessian, 20 parameters", lambda rng: [normal(rng, 20)], lambda m, x: m.func.hessian(rosenbrock)(x), rtol=2e-4)
row("jacrev, 200 to 200", square, lambda m, w, x: m.func.jacrev(layer(m), 1)(w, x))
row("jacfwd, 200 to 200", square, lambda m, w, x: m.func.jacfwd(layer(m), 1)(w, x))

# ---- a linear solve by hand -----------------------------------------------------------------------------------------

SIZE = 6


def systems(rng: np.random.Generator) -> Arrays:
    matrices = rng.standard_normal((64, SIZE, SIZE)) + 4 * np.eye(SIZE)
    return [matrices.astype(np.float32), rng.standard_normal((64, SIZE)).astype(np.float32)]


def solve(m: Any) -> Callable[..., Any]:
    """Gauss and Jordan, a column after another, without pivoting."""

    def one(a: Any, b: Any) -> Any:
        rows = m.cat([a, b.unsqueeze(1)], 1)
        unit = m.eye(SIZE)
        for k in range(SIZE):
            pivot = rows[k] / rows[k, k]
            rows = rows - (rows[:, k] - unit[k]).unsqueeze(1) * pivot
        return rows[:, SIZE]

    return one


row("vmap of a solve, 64 of 6x6", systems, lambda m, a, b: m.func.vmap(solve(m))(a, b), rtol=2e-4)

# ---- a chain in checkpoints -----------------------------------------------------------------------------------------

BLOCKS = 4


def chain(rng: np.random.Generator) -> Arrays:
    return [normal(rng, 128, 128), *[normal(rng, 128, 128) for _ in range(BLOCKS)]]


def checkpointed(m: Any, x: Any, *weights: Any) -> Any:
    """Blocks of three ops; nothing of a block is kept but what it begins with."""
    if hasattr(m, "checkpoint"):
        keep = m.checkpoint
    else:
        keep = partial(import_module("torch.utils.checkpoint").checkpoint, use_reentrant=False)
    for w in weights:
        x = keep(lambda x, w: m.tanh(x @ w) * x + x, x, w)
    return x.sum()


TABLE.add("checkpointed chain, 4 blocks of 128", chain, checkpointed, tracks=1 + BLOCKS, goal=GOAL, rtol=2e-4)
