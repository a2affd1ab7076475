"""A row of the op table, and where the values of its operands come from."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
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


def refusal(function: Callable[..., Any], count: int) -> str:
    """Return why `function` does not accept `count` arguments, or ""."""
    if isinstance(function, np.ufunc):
        return "" if function.nin == count else f"it has {function.nin} operands"
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError as error:
        return str(error)
    except ValueError:  # a function of C without a signature
        return ""
    return ""


@dataclass(frozen=True)
class Row:
    """fn: the minigrad call; numpy: the oracle; domains: one per operand.

    ops: the names in the schema that the row proves.  shapes: operand shapes, None for elementwise (any shape).
    dtypes: of the operands that work; the others must raise DTypeError.  result: result dtype by operand dtype, when
    it is not the operand's own.  refuses: whether the others must raise.
    constant: whether there is a gradient where all values are equal.  smooth: whether gradients are checked.
    slope: the op is a gradient that runs where no graph is wanted, and has none itself.
    kernels: False for what runs on the reference device only, since other rows test its parts, or its template.
    order2: whether second derivatives are too; not at ties, which are kinks, nor where the gradient is the constant 0.
    Raises ValueError for a field that cannot be right; `docs/add_an_op.md` explains what each field promises.
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

    def __new__(cls, *given: Any, **fields: Any) -> Row:
        """Raise ValueError for a field that is not there; the constructor's own error names none that is."""
        known = list(cls.__dataclass_fields__)
        for field in set(fields) - set(known):
            name = given[0] if given else fields.get("name")
            near = ", ".join(get_close_matches(field, known)) or "none that is similar"
            raise ValueError(
                f"{'Row without a name' if name is None else f'Row {name!r}'}: there is no field {field!r}; there are "
                f"{', '.join(known)}; similar: {near}"
            )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        unknown = [domain for domain in self.domains if domain not in DOMAINS]
        if unknown:
            raise ValueError(f"{self}: domains must be among {', '.join(DOMAINS)}, got {unknown[0]!r}")
        wrong = [dtype for dtype in self.dtypes if dtype not in ALL]
        if wrong or not self.dtypes:
            raise ValueError(f"{self}: dtypes must name some of {', '.join(ALL)}, got {self.dtypes}")
        if self.result not in (None, "float", "sum", *ALL):
            raise ValueError(f"{self}: result must be a dtype, 'float', 'sum' or None, got {self.result!r}")
        if self.shapes is not None and len(self.shapes) != len(self.domains):
            raise ValueError(
                f"{self}: shapes and domains must have one entry per operand, got {len(self.shapes)} shapes and "
                f"{len(self.domains)} domains"
            )

        for field in ("fn", "numpy"):
            fault = refusal(getattr(self, field), len(self.domains))
            if fault:
                count = len(self.domains)
                raise ValueError(
                    f"{self}: domains= lists {count} operand{'s' * (count > 1)}, and {field} does not accept {count} "
                    f"argument{'s' * (count > 1)}; correct one of the two: {fault}"
                )
        if not self.tolerance > 0:
            raise ValueError(f"{self}: tolerance must be above 0, a factor on the allowed error, got {self.tolerance}")

    def __str__(self) -> str:
        return f"Row {self.name!r}"

    def check_ops(self, schema: Mapping[str, Any]) -> None:
        """Raise ValueError for an op that is not declared."""
        for name in self.ops:
            if name not in schema:
                near = ", ".join(get_close_matches(name, schema)) or "none that is similar"
                raise ValueError(f"{self}: there is no op {name!r}; declare it, or correct ops=; similar: {near}")

    @property
    def elementwise(self) -> bool:
        return self.shapes is None
