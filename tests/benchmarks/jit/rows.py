"""The rows of the comparison: a step, its arrays, its threads, and the ratios that are the goals of the project."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from numpy.typing import NDArray

import minigrad as mg
from tests.benchmarks.jit import examples, steps
from tests.benchmarks.jit.steps import Step, digits_data, eager, layers, normal, sequence


def nothing() -> Sequence[NDArray[Any]]:
    """Return no arrays: an example makes its own."""
    return []


@dataclass(frozen=True)
class Row:
    """A step that libraries are compared on.

    step: the name of a function of `steps.py` and of `jax_steps.py`, or of an example.
    arrays: a function that returns the arrays of the step.
    goals: the least ratio of a library's time to that of the program, by library.
    threads: how many threads each library uses.
    rtol: how far results may be apart, relative to the largest value.
    first: the least ratio of the time of JAX's first call to that of the program; with it, first calls are printed.
    """

    step: str
    arrays: Callable[[], Sequence[NDArray[Any]]] = nothing
    goals: dict[str, float] = field(default_factory=dict)
    threads: int = 1
    rtol: float = 1e-4
    first: float | None = None

    @property
    def libraries(self) -> list[str]:
        """The libraries that have the step; minigrad in eager mode and as a program come first."""
        return ["eager", "jit", "jax", *(["compile"] if self.step in examples.EXAMPLES else [])]


def goals(eager: float, jax: float) -> dict[str, float]:
    """Return the goals of a small step."""
    return {"eager": eager, "jax": jax}


OTHERS = {"jax": 1.3, "compile": 1.3}  # the goals of a step of `examples/`
WIDE = partial(layers, 784, 512, 512, 10)
ROWS = {
    "simple_grad": Row("simple_grad", partial(normal, (3,)), goals(30, 4)),
    "50 ops with gradient on 16": Row("fifty_with_gradient", partial(normal, (16,)), goals(120, 5)),
    "digits_mlp.py, batch 32": Row("digits", digits_data, goals(15, 3)),
    "MLP 64-128-10, batch 64": Row("perceptron", partial(layers, 64, 128, 10), goals(6, 2)),
    "the same with optim.SGD": Row("perceptron_with_optimizer", partial(layers, 64, 128, 10)),
    "attention (4, 4, 64, 32)": Row("attention", partial(normal, *[(4, 4, 64, 32)] * 3), goals(2, 2)),
    "10 ops on 1e6": Row("ten", partial(normal, (1_000_000,)), goals(12, 1.1)),
    "10 ops with gradient on 1e6": Row("ten_with_gradient", partial(normal, (1_000_000,)), goals(15, 1.5)),
    "MLP 784-512-512-10, batch 64": Row("perceptron", WIDE, goals(1.7, 1), threads=2),
    "RNN of 2000 steps with gradient": Row("recurrent", partial(sequence, 2000), {"jax": 1}, first=5),
    **{f"loop of {n} steps": Row("looped", partial(normal, (n, 64)), {"jax": 1}) for n in (10, 100, 1000, 10_000)},
    "digits_cnn.py, batch 64": Row("CNN", goals=OTHERS, rtol=1e-3),
    "lstm_names.py, batch 64": Row("LSTM", goals=OTHERS, rtol=1e-3),
    "char_transformer.py, batch 32": Row("transformer", goals=OTHERS, rtol=1e-3),
}


def step_of(library: str, name: str) -> Step:
    """Return the step of a row for a library.  Only that of JAX imports JAX."""
    row = ROWS[name]
    example = row.step in examples.EXAMPLES
    if library == "jax" and example:
        made: Step = importlib.import_module("tests.benchmarks.jit.jax_examples").step_of(row.step)
    elif library == "jax":
        made = getattr(importlib.import_module("tests.benchmarks.jit.jax_steps"), row.step)(*row.arrays())
    elif library == "compile":
        torch = importlib.import_module("torch")
        torch.set_num_threads(row.threads)
        made = examples.step_of(row.step, "torch", eager, torch.compile)
    else:
        record = mg.jit if library == "jit" else eager
        if example:
            made = examples.step_of(row.step, "minigrad", record, eager)
        else:
            made = getattr(steps, row.step)(record, *row.arrays())
    return made
