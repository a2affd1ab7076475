"""What may a loop assume of a reduction?  What its declaration says, checked on a few numbers.

Parallel loops, lanes of vector registers and pieces of long rows each make a partial result of some of the elements.
How those become one is declared, never read from a body's source: `order="sum"` and `order="extreme"` say that the body
joins accumulators as it joins an element, `combine=` names the function that does, and `order="sequential"` forbids
partial results.  `core/reducer.py` has the record, `docs/decisions/013-what-a-reduction-may-assume.md` the reasons.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.backends.reference.scalars import first_accumulator, python_function
from minigrad.core.op import ScalarFn
from minigrad.core.reducer import Reducer
from minigrad.errors import DeclarationError
from minigrad.kernels.scalar import mapped, parse

IDENTITIES = ("zero", "one", "lowest", "highest")
ORDERS = ("sum", "extreme", "sequential")
CHOICES = (
    'order="sum" if the body joins two partial results as it joins an element, in any order; combine=f with a scalar '
    'function of two partial results; order="extreme" for the largest or smallest; or order="sequential" for one '
    "element after the other"
)
# Rows in two parts that are reduced apart and as one.  Times 4 they are integers, for bodies that only those can run.
ROWS = (((), ()), ((), (-3.0,)), ((3.0,), (-0.5, 0.75)), ((2.0, -1.25), (0.75, -2.0, 1.5)))
ENDS = (-2.0, 0.0, 0.75, math.inf, -math.inf, math.nan)
CLOSE = 1e-6
OURS = f"{Path(__file__).parent.parent}{os.sep}"


def declared(
    body: Callable[..., Any] | ScalarFn,
    identity: str,
    *,
    order: str | None = None,
    combine: Callable[..., Any] | ScalarFn | None = None,
    map: Callable[..., Any] | ScalarFn | None = None,
    finish: Callable[..., Any] | ScalarFn | None = None,
    linear: bool = False,
) -> Reducer:
    """The reduction of a declaration: of elements, or of what `map` makes of those of its operands.

    Raises DeclarationError if it does not say how partial results become one, or if what it says is not so for some
    numbers.
    """
    scalar, values, last = read(body), None if map is None else read(map), None if finish is None else read(finish)

    def refuse(reason: str) -> DeclarationError:
        return DeclarationError(f"{scalar.where}: the reduction {scalar.name} {reason}", op=scalar.name)

    if identity not in IDENTITIES:
        raise refuse(f"begins at identity={identity!r}; there are {', '.join(repr(one) for one in IDENTITIES)}")
    if order is None and combine is None:
        raise refuse(f"does not say how partial results become one; write {CHOICES}")
    if order is not None and (combine is not None or order not in ORDERS):
        raise refuse(f"says order={order!r}{' and combine=' if combine is not None else ''}; write one of {CHOICES}")
    if last is not None and len(last.args) not in (1, 2):
        raise refuse(f"finishes by {last.name}, which must take (acc) or (acc, n), not ({', '.join(last.args)})")
    if values is not None and (not values.args or len(scalar.args) != 2):
        raise refuse(f"maps elements by {values.name}, which must take one, and takes their values as (acc, x)")
    join = read(combine) if combine is not None else None if order == "sequential" else scalar
    reducer = Reducer(scalar, identity, order or "any", join, None, last, linear)
    if reducer.combine is not None:
        for function in (scalar, reducer.combine):
            if len(function.args) != 2:
                raise refuse(f"needs two arguments for {function.name}, not ({', '.join(function.args)})")
        # Our own are tried by a test: it takes a tenth of the time of importing them.
        wrong = "" if scalar.where.startswith(OURS) else untrue(reducer)
        if wrong:
            raise refuse(wrong)
    return reducer if values is None else replace(reducer, scalar=mapped(scalar, values), map=values)


def read(function: Callable[..., Any] | ScalarFn) -> ScalarFn:
    """A scalar function, parsed; that of an elementwise op is its body."""
    function = getattr(getattr(function, "op", None), "scalar", None) or function
    return function if isinstance(function, ScalarFn) else parse(function)


def average(acc: Any, n: Any) -> Any:
    """The last step of a mean."""
    return acc / n


def untrue(reducer: Reducer) -> str:
    """What a reduction says of itself and is not so, or ""."""
    if reducer.order == "extreme":
        return no_extreme(reducer)
    return disagreement(reducer) or (no_sum(reducer) if reducer.order == "sum" and reducer.linear else "")


def disagreement(reducer: Reducer) -> str:
    """How a reduction in two parts differs from the same in one, or ""."""
    assert reducer.combine is not None
    for compute, factor in ((np.dtype(np.float64), 1), (np.dtype(np.int64), 4)):
        f, join, start = (*both(reducer, compute), first_accumulator(reducer, compute))
        with np.errstate(all="ignore"):
            try:
                for parts in ROWS:
                    a, b = ([compute.type(x * factor) for x in part] for part in parts)
                    whole, left, right = (reduce(f, row, start) for row in ([*a, *b], a, b))
                    for first, second in ((left, right), (right, left)):
                        if not close(join(first, second), whole):
                            return told(reducer, a, b, whole, first, second, join(first, second))
            except TypeError:  # a body for integers alone, such as acc | x
                continue
        return ""
    return ""


def no_sum(reducer: Reducer) -> str:
    """Where a reduction that says order="sum" and linear=True does not add its elements, or ""."""
    f, _ = both(reducer, np.dtype(np.float64))
    for acc, x in product((-2.0, 0.0, 0.75, 3.0), repeat=2):
        if not close(f(np.float64(acc), np.float64(x)), np.float64(acc + x)):
            return (
                f'says order="sum" and linear=True, which only a sum is, but of {acc:g} and {x:g} it makes '
                f"{f(np.float64(acc), np.float64(x)):g}; leave one of them out"
            )
    return ""


def told(reducer: Reducer, a: Iterable[Any], b: Iterable[Any], whole: Any, first: Any, second: Any, joined: Any) -> str:
    """A sentence about one disagreement."""
    assert reducer.combine is not None
    elements = ", ".join(f"{x:g}" for x in (*a, *b)) or "nothing"
    how = f'order="{reducer.order}"' if reducer.order == "sum" else f"combine={reducer.combine.name}"
    return (
        f'says {how}, but from identity="{reducer.identity}" the elements {elements} give {whole:g} one after the '
        f"other and {reducer.combine.name}({first:g}, {second:g}) = {joined:g} in two parts; write {CHOICES}"
    )


def no_extreme(reducer: Reducer) -> str:
    """Where a reduction is not the largest or smallest number with nan above all, or ""."""
    if reducer.identity not in ("lowest", "highest"):
        return f'says order="extreme", which begins at "lowest" or "highest" and not at {reducer.identity!r}'
    f, _ = both(reducer, np.dtype(np.float64))
    sign = ">" if reducer.identity == "lowest" else "<"
    for acc, x in product(map(np.float64, ENDS), repeat=2):
        best = max(acc, x) if sign == ">" else min(acc, x)
        wanted = np.float64(math.nan) if math.isnan(acc) or math.isnan(x) else best
        if not close(f(acc, x), wanted):
            return (
                f'says order="extreme", but of {acc:g} and {x:g} it keeps {f(acc, x):g}; write '
                f"`return x if x {sign} acc or x != x else acc`, combine=f or another order"
            )
    return ""


def both(reducer: Reducer, compute: np.dtype[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The body and the joining function of a reduction as Python functions; all operands have the same element."""
    assert reducer.combine is not None
    step, operands = python_function(reducer.scalar, compute), len(reducer.scalar.args) - 1
    return lambda acc, x: step(acc, *[x] * operands), python_function(reducer.combine, compute)


def close(a: Any, b: Any) -> bool:
    """Equal, or but for rounding; two nan are."""
    return bool(a == b or (a != a and b != b) or abs(a - b) <= CLOSE * max(1.0, abs(a), abs(b)))
