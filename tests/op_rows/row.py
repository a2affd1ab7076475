"""A row of the op table, and where the values of its operands come from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.core import dtype as engine

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = tuple(dtype.name for dtype in engine.INTS)
NUMBERS = INTS + FLOATS
ALL = ("bool", *NUMBERS)

# Where the values of an operand are drawn from.  "real" keeps away from 0, so that no test sits on a kink by accident.
DOMAINS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "real": lambda rng, s: rng.uniform(0.2, 2.0, s) * rng.choice([-1.0, 1.0], s),
    "positive": lambda rng, s: rng.uniform(0.3, 2.5, s),
    "unit": lambda rng, s: rng.uniform(-0.9, 0.9, s),
    "above1": lambda rng, s: rng.uniform(1.2, 3.0, s),
    "share": lambda rng, s: rng.uniform(0.1, 0.9, s),
    "small": lambda rng, s: rng.uniform(-1.2, 1.2, s),
    "distinct": lambda rng, s: rng.permutation(math.prod(s)).reshape(s) * 0.37 - 1.1,
    "bool": lambda rng, s: rng.random(s) < 0.5,
    "whole": lambda rng, s: rng.integers(1, 3, s).astype(np.float64),
    "zeros": lambda rng, s: rng.uniform(0.5, 1.5, s) * rng.choice([-1.0, 0.0, 1.0], s, p=[0.4, 0.3, 0.3]),
    "low": lambda rng, s: rng.uniform(-1.5, -0.4, s),
    "high": lambda rng, s: rng.uniform(0.4, 1.5, s),
}


@dataclass(frozen=True)
class Row:
    """fn: the minigrad call; numpy: the oracle; domains: one an operand.

    ops: the names in the schema that the row proves.  shapes: operand shapes, None for elementwise (any shape).
    dtypes: of the operands that work; the others must raise DTypeError.  result: result dtype by operand dtype, when
    it is not the operand's own.  refuses: whether the others must raise.
    constant: whether there is a gradient where all values are equal.  smooth: whether gradients are checked.
    slope: the op is a gradient that runs where no graph is wanted, and has none itself.
    kernels: False for what runs on the reference device only, since other rows test its parts, or its template.
    order2: whether second derivatives are too; not at ties, which are kinks, nor where the gradient is the constant 0.
    """

    name: str
    fn: Callable[..., Any]
    numpy: Callable[..., Any]
    domains: tuple[str, ...] = ("real",)
    ops: tuple[str, ...] = ()
    shapes: tuple[tuple[int, ...], ...] | None = None
    dtypes: tuple[str, ...] = NUMBERS
    result: str | None = None
    smooth: bool = True
    order2: bool = True
    tolerance: float = 1.0
    refuses: bool = True
    constant: bool = True
    slope: bool = False
    kernels: bool = True

    @property
    def elementwise(self) -> bool:
        return self.shapes is None
