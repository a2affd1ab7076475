"""Check the declared properties of a reduction, on which loops rely, with a few numbers.

Parallel loops, SIMD lanes and pieces of long rows each compute a partial result from some of the elements.  The
declaration specifies how partial results are combined; the source of the body is never analysed for this.  With
`order="sum"` and `order="extreme"`, the body combines two accumulators as it adds an element.  `combine=` is a separate
function for this, and `order="sequential"` forbids partial results.  `core/reducer.py` defines the record, and
`docs/decisions/013-what-a-reduction-may-assume.md` explains the reasons.
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

from minigrad.backends.reference.scalars import first_accumulator, tuple_function
from minigrad.core.op import ScalarFn
from minigrad.core.reducer import Reducer
from minigrad.errors import DeclarationError, quantity
from minigrad.kernels.scalar import mapped, parse, scalar_of, separately

IDENTITIES = ("zero", "one", "lowest", "highest")
ORDERS = ("sum", "extreme", "sequential")
NUMBERS = {2: "two", 3: "three", 4: "four"}
CHOICES = (
    'order="sum" if the body joins two partial results as it joins an element, in any order; combine=f with a scalar '
    'function of two partial results; order="extreme" for the largest or smallest; or order="sequential" for one '
    "element after the other"
)
# Rows in two parts, which are reduced separately and together.  The elements times 4 are integers, for bodies that
# accept only integers.
ROWS = (((), ()), ((), (-3.0,)), ((3.0,), (-0.5, 0.75)), ((2.0, -1.25), (0.75, -2.0, 1.5)))
ENDS = (-2.0, 0.0, 0.75, math.inf, -math.inf, math.nan)
CLOSE = 1e-6
OURS = f"{Path(__file__).parent.parent}{os.sep}"


def declared(
    body: Callable[..., Any] | ScalarFn,
    identity: str | tuple[str, ...],
    *,
    order: str | None = None,
    combine: Callable[..., Any] | ScalarFn | None = None,
    map: Callable[..., Any] | ScalarFn | None = None,
    finish: Callable[..., Any] | ScalarFn | None = None,
    linear: bool = False,
    results: int | None = None,
) -> Reducer:
    """Return the checked Reducer of a declaration.

    The parameters are those of `decorators.reduction`.
    results: the number of results.  None stands for one result if there is a `finish` function, and otherwise for one
    result per accumulator.
    Raises DeclarationError if the declaration does not specify how partial results are combined, or if a declared
    property is wrong for some numbers.
    """
    identities = (identity,) if isinstance(identity, str) else tuple(identity)
    count = len(identities)
    scalar = read(body, count, "accumulator")
    ours = scalar.where.startswith(OURS)
    values = None if map is None else read(map, later=ours)
    last = None if finish is None else read(finish, results or 1, later=ours)
    join: ScalarFn | None = scalar
    if combine is not None:
        join = read(combine, count, "accumulator", later=ours)
    elif order == "sequential":
        join = None
    elif count > 1:
        join = separately(scalar)
    reducer = Reducer(scalar, identities, order or "any", join, values, last, linear and count == 1)
    wrong = misfit(reducer, order, combine is not None, results)
    # A test checks this package's reductions; a check here would take a tenth of the time of importing them.
    if not wrong and join is not None and not ours:
        wrong = untrue(reducer)
    if wrong:
        raise DeclarationError(f"{scalar.where}: the reduction {scalar.name} {wrong}", op=scalar.name)
    return reducer if values is None else replace(reducer, scalar=mapped(scalar, values))


def misfit(reducer: Reducer, order: str | None, combines: bool, results: int | None) -> str:
    """Return the message for a missing, invalid or superfluous part of a declaration, or ""."""
    scalar, values, last, count = reducer.scalar, reducer.map, reducer.finish, reducer.accumulators
    for identity in reducer.identities:
        if identity not in IDENTITIES:
            return f"begins at identity={identity!r}; there are {', '.join(map(repr, IDENTITIES))}"
    if order is None and not combines:
        return f"does not say how partial results become one; write {CHOICES}"
    if order is not None and (combines or order not in ORDERS):
        return f"says order={order!r}{' and combine=' if combines else ''}; write one of {CHOICES}"
    accs = "acc" if count == 1 else f"{count} accumulators"
    if last is not None and len(last.args) not in (count, count + 1):
        return f"finishes by {last.name}, which must take ({accs}) or ({accs}, n), not ({', '.join(last.args)})"
    if last is None and results not in (None, count):
        return (
            f"has {quantity(count, 'accumulator')} and {quantity(results, 'result')}; write finish=f with a scalar "
            f"function that makes the results, or name as many outputs= as identity= has entries"
        )
    if values is not None and (not values.args or len(scalar.args) != count + 1):
        return f"maps elements by {values.name}, which must take one, and takes their values as ({accs}, x)"
    # With order="sequential", one accumulator is updated element by element, so the body may read several operands.
    scan = reducer.combine is None and count == 1
    for function, wanted in () if scan else ((scalar, count + 1), (reducer.combine, 2 * count)):
        if function is not None and len(function.args) != wanted:
            needed = NUMBERS.get(wanted, wanted)
            return f"needs {needed} arguments for {function.name}, not ({', '.join(function.args)})"
    return ""


def read(function: Callable[..., Any] | ScalarFn, results: int = 1, of: str = "output", later: bool = True) -> ScalarFn:
    """Return the scalar function, which must have `results` results; for an elementwise op, its body.

    of: see `parse`.  later: whether a function of this package may be parsed at its first use.  It may not be for a
    user's reduction, which may name any function of this package.
    """
    function = getattr(getattr(function, "op", None), "scalar", None) or function
    parsed = scalar_of if later else parse
    scalar = function if isinstance(function, ScalarFn) else parsed(function, results=results, of=of)
    if scalar.results != results:
        raise DeclarationError(
            f"{scalar.where}: the scalar function {scalar.name} must return {results} values, got "
            f"{quantity(scalar.results, 'value')}; return one value per result", op=scalar.name,
        )  # fmt: skip
    return scalar


def average(acc: Any, n: Any) -> Any:
    """Return the mean from the sum `acc` of n elements."""
    return acc / n


def untrue(reducer: Reducer) -> str:
    """Return the message for a declared property that is wrong for some numbers, or ""."""
    if reducer.order == "extreme":
        return no_extreme(reducer) or (disagreement(reducer) if reducer.accumulators > 1 else "")
    return disagreement(reducer) or (no_sum(reducer) if reducer.order == "sum" and reducer.linear else "")


def disagreement(reducer: Reducer) -> str:
    """Return the message for numbers whose reduction in two parts differs from that in one part, or ""."""
    for compute, factor in ((np.dtype(np.float64), 1), (np.dtype(np.int64), 4)):
        start = tuple([first_accumulator(identity, compute) for identity in reducer.identities])
        with np.errstate(all="ignore"):
            try:
                f, join = both(reducer, compute)
                for parts in ROWS:
                    a, b = ([compute.type(x * factor) for x in part] for part in parts)
                    whole, left, right = (reduce(f, row, start) for row in ([*a, *b], a, b))
                    for first, second in ((left, right), (right, left)):
                        if not close(join(*first, *second), whole):
                            return told(reducer, a, b, whole, first, second, join(*first, *second))
            except DeclarationError:  # the body accepts only integers, for example acc | x
                continue
        return ""
    return ""


def no_sum(reducer: Reducer) -> str:
    """Return the message for numbers that a reduction with order="sum" and linear=True does not add, or ""."""
    f, _ = both(reducer, np.dtype(np.float64))
    for acc, x in product((-2.0, 0.0, 0.75, 3.0), repeat=2):
        (joined,) = f((np.float64(acc),), np.float64(x))
        if not close((joined,), (np.float64(acc + x),)):
            return (
                f'declares order="sum" and linear=True, so it must be a sum, but maps {acc:g} and {x:g} to {joined:g}; '
                f"leave one of them out"
            )
    return ""


def told(reducer: Reducer, a: Iterable[Any], b: Iterable[Any], whole: Any, first: Any, second: Any, joined: Any) -> str:
    """Return the message for elements `a` and `b` whose combined partial results differ from the whole reduction."""
    assert reducer.combine is not None
    elements = ", ".join(f"{x:g}" for x in (*a, *b)) or "nothing"
    how = f"combine={reducer.combine.name}" if reducer.order == "any" else f'order="{reducer.order}"'
    begin = ", ".join(f'"{identity}"' for identity in reducer.identities)
    return (
        f"says {how}, but from identity={begin} the elements {elements} give {shown(whole)} one after the "
        f"other and {reducer.combine.name}({shown(first)}, {shown(second)}) = {shown(joined)} in two parts; "
        f"write {CHOICES}"
    )


def shown(accumulators: tuple[Any, ...]) -> str:
    """Return the accumulators as text for messages."""
    text = ", ".join(f"{acc:g}" for acc in accumulators)
    return text if len(accumulators) == 1 else f"({text})"


def no_extreme(reducer: Reducer) -> str:
    """Return the message for numbers for which order="extreme" is wrong, or "".

    The body must keep the larger of two numbers (or the smaller, from "highest"), and nan if either is nan.
    """
    f, _ = both(reducer, np.dtype(np.float64))
    for k, identity in enumerate(reducer.identities):
        if identity not in ("lowest", "highest"):
            return f'says order="extreme", which begins at "lowest" or "highest" and not at {identity!r}'
        sign, best = (">", max) if identity == "lowest" else ("<", min)
        for acc, x in product(map(np.float64, ENDS), repeat=2):
            wanted = np.float64(math.nan) if math.isnan(acc) or math.isnan(x) else best(acc, x)
            held = f((acc,) * reducer.accumulators, x)[k]
            if not close((held,), (wanted,)):
                return (
                    f'says order="extreme", but of {acc:g} and {x:g} it keeps {held:g}; write '
                    f"`return x if x {sign} acc or x != x else acc`, combine=f or another order"
                )
    return ""


def both(reducer: Reducer, compute: np.dtype[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the body and the combining function of a reduction as Python functions.

    The body takes its accumulators as a tuple, and one element that is passed for all operands.
    """
    assert reducer.combine is not None
    step, operands = tuple_function(reducer.scalar, compute), len(reducer.scalar.args) - reducer.accumulators
    return lambda acc, x: step(*acc, *[x] * operands), tuple_function(reducer.combine, compute)


def close(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Return whether two tuples of values are equal up to rounding; two nan are equal."""
    return all(
        a == b or (a != a and b != b) or abs(a - b) <= CLOSE * max(1.0, abs(a), abs(b))
        for a, b in zip(one, other, strict=True)
    )
