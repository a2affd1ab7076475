"""Curves: a function with its derivatives over a range, or values of a training run by step.

Each curve of a function is computed by one call on all sample points.  If two neighbors differ much, the function is
sampled again between them, more and more densely.  A difference that remains is a jump or a pole, and is drawn as a
gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.core.roles import Number
from minigrad.declare.record import lookalikes, schema
from minigrad.diagnostics.flow import values
from minigrad.errors import ArgumentError
from minigrad.func import grad
from minigrad.ops.creation import tensor
from minigrad.runtime.data import wide
from minigrad.runtime.tensor import Tensor, describe
from minigrad.viz.axes import Chart, Line, as_svg, as_text, widened
from minigrad.viz.picture import Picture

Array = NDArray[np.float64]
Function = Callable[[Tensor], Any]

POINTS = 401  # odd, so that the middle of a range, where kinks often are, is a sample point
CLOSER = 64  # number of parts into which a large step is divided; a part may be divided again
WIDE = 0.02  # a step larger than this fraction of the height is examined for a jump
STAYS = 0.5  # a step is a jump if one of its parts has at least this fraction of its height
FAR = 8.0  # the ends of a curve are cut off if its range exceeds that of most of its values by this factor
LARGEST = 1e300  # upper bound of heights, so that the difference of two heights does not overflow
# Largest number of values of a training run that are drawn; for a longer run, the extrema of each section are drawn.
DRAWN = 1000


@dataclass(frozen=True)
class Curve:
    """Heights `y` at sample points `x`; `jumps` are the indices of the points after which the line has a gap."""

    name: str
    x: Array
    y: Array
    jumps: Sequence[int] = ()


class Curves(Picture):
    """A plot, with the plotted values as attributes.

    Attributes:
        values (dict of str to (ndarray, ndarray)): Sample points and heights of each curve, as float64 arrays.
    """

    def __init__(self, chart: Chart, curves: Sequence[Curve]) -> None:
        self.values = {curve.name: (curve.x, curve.y) for curve in curves}
        super().__init__(chart.title, as_text(chart), svg=as_svg(chart))


def curves(
    f: Any, *, over: tuple[float, float] = (-3.0, 3.0), orders: int = 1, names: Sequence[str] | None = None,
    log: bool = False,
) -> Curves:  # fmt: skip
    """Draw functions with their derivatives, or the values of a training run against the steps.

    f (function, str, sequence or dict): An elementwise function of one tensor, such as `mg.tanh`, a lambda, or
    `mg.func.vmap` of a function of one number; the name of an op; or values, such as the losses of a training run.
    Values are a sequence, an array or a tensor, or a pair (steps, values). A dict maps names to functions or values;
    each entry is drawn as one curve.
    over: Range of the argument of a function. The function is computed in float64.
    orders: Number of derivatives to draw.
    names: Names of all curves, in order.
    log: Whether the heights are on a logarithmic scale. Values that are not positive are left out and counted.

    Raises ArgumentError if `f` is another object, contains functions and values together, or is not elementwise. Errors
    that `f` and its derivatives raise are not changed.

    >>> sorted(mg.viz.curves(mg.tanh, orders=2).values)
    ['tanh', "tanh'", "tanh''"]
    """
    sources = {str(name): each for name, each in f.items()} if isinstance(f, Mapping) else {"": f}
    kinds = {name: isinstance(each, str) or (callable(each) and not isinstance(each, Tensor))
             for name, each in sources.items()}  # fmt: skip
    if not sources or len(set(kinds.values())) > 1:
        raise ArgumentError(
            "viz.curves: f must contain either functions or sequences of numbers, got none or both; pass mg.tanh, for "
            "example"
        )
    functions = all(kinds.values())
    if functions:
        check_range(over, orders)
        shown = [curve for name, each in sources.items() for curve in with_derivatives(name, each, over, orders)]
    else:
        shown = [Curve(name or "value", *numbers_of(name, each)) for name, each in sources.items()]
    if names is not None:
        if len(names) != len(shown):
            raise ArgumentError(
                f"viz.curves: names must have one entry per curve, got {len(names)} names {list(names)} for "
                f"{len(shown)} curves; pass {len(shown)} names"
            )
        shown = [replace(curve, name=str(name)) for name, curve in zip(names, shown)]
    return drawn(shown, "" if functions else "step", log, cut=functions)


def check_range(over: Any, orders: int) -> None:
    """Raise ArgumentError for an invalid range or an invalid number of derivatives."""
    try:
        low, high = map(float, over)
        right = (high - low) / POINTS > math.ulp(max(abs(low), abs(high))) and high - low < LARGEST
    except (TypeError, ValueError):
        right = False
    if not right:
        raise ArgumentError(
            f"viz.curves: over must be (from, to), two increasing numbers with space for {POINTS} points, got "
            f"{over!r}; pass over=(-2.0, 2.0), for example"
        )
    Number(0, whole=True, example=1).expect("viz.curves", orders=orders)


# ---- functions ------------------------------------------------------------------------------------------------------


def with_derivatives(name: str, f: Any, over: tuple[float, float], orders: int) -> list[Curve]:
    """Return the curves of a function and of its derivatives."""
    fn, name = named(f, name)
    x = np.linspace(float(over[0]), float(over[1]), POINTS)
    dtype = check_single(fn, name, x).dtype
    if orders and not dtype.is_float:
        raise ArgumentError(f"viz.curves: {name} returns {dtype}, which has no derivatives; pass orders=0")
    curves = []
    for order in range(orders + 1):
        y = heights(fn, x)
        suffix = "'" * order if order < 4 else f"^({order})"
        curves.append(Curve(name + suffix, x, y, jumps(fn, x, y)))
        fn = derivative(fn)
    return curves


def named(f: Any, name: str) -> tuple[Function, str]:
    """Return a function and its name; a str is the name of an op."""
    if isinstance(f, str):
        op = schema.get(f)
        if op is None or op.public is None:
            near = " or ".join(map(repr, lookalikes(f)))
            raise ArgumentError(
                f"viz.curves: no op is called {f!r}; {f'did you mean {near}?' if near else 'pass a name such as tanh'}"
            )
        if op.kind != "elementwise" or len(op.operands) != 1 or op.result is not None:
            raise ArgumentError(
                f"viz.curves: f must be the name of an elementwise op with one operand and one result, got {f!r}; pass "
                "'tanh', for example"
            )
        return op.public, name or f
    called = getattr(f, "__name__", "f")
    return f, name or ("f" if called == "<lambda>" else called)


def derivative(fn: Function) -> Function:
    """Return the derivative of an elementwise function: the gradient of its sum, as each term depends on one point."""
    return grad(lambda x: fn(x).sum())


def heights(fn: Function, x: Array) -> Array:
    """Return the values at all sample points, computed by one call."""
    return wide(values(fn(tensor(x))))


def check_single(fn: Function, name: str, x: Array) -> Tensor:
    """Return the result of f; raise ArgumentError unless each element depends on exactly one point."""
    y = fn(tensor(x))
    advice = "a curve needs a function of single elements; mg.func.vmap(f) makes one of a function of one number"
    if not isinstance(y, Tensor) or y.shape != x.shape or y.dtype.is_complex:
        raise ArgumentError(
            f"viz.curves: {name} must return one real value per point, got {describe(y)} for "
            f"{describe(tensor(x))}; {advice}"
        )
    half = len(x) // 2
    if not np.allclose(heights(fn, x[:half]), wide(values(y))[:half], equal_nan=True):
        raise ArgumentError(
            f"viz.curves: {name} must compute each element separately, but its values change with the number of "
            f"points; {advice}"
        )
    return y


def jumps(fn: Function, x: Array, y: Array) -> list[int]:
    """Return the indices of the points after which the function jumps."""
    steps = distances(y)
    known = np.isfinite(steps)
    if not known.any():
        return []
    low, high = value_range([y])
    asked = np.flatnonzero(known & (steps > WIDE * (high - low)))
    left, right, most = x[asked], x[asked + 1], steps[asked]
    for _ in range(2):
        if not len(asked):
            break
        inner = np.linspace(left, right, CLOSER + 1, axis=1)
        within = heights(fn, inner.reshape(-1)).reshape(inner.shape)
        parts = distances(within)
        parts[~np.isfinite(parts)] = math.inf  # one end of such a part is not finite, so the part counts as a jump
        widest = parts.argmax(axis=1)
        rows = np.arange(len(asked))
        stays = parts[rows, widest] >= STAYS * most
        at = rows[stays], widest[stays]
        asked, left, right, most = asked[stays], inner[at], inner[at[0], at[1] + 1], parts[at]
    return [int(k) for k in asked]


def distances(y: Array) -> Array:
    """Return the distances between neighbors, which are nan next to a value that is not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.abs(np.diff(y))


# ---- numbers --------------------------------------------------------------------------------------------------------


def numbers_of(name: str, source: Any) -> tuple[Array, Array]:
    """Return sample points and heights, from values or a pair of steps and values."""
    pair = isinstance(source, tuple) and len(source) == 2 and not any(is_number(part) for part in source)
    x, y = (as_numbers(name, part) for part in source) if pair else (None, as_numbers(name, source))
    if x is None:
        x = np.arange(float(len(y)))
    if not (np.abs(x) < LARGEST).all():
        raise ArgumentError(
            f"viz.curves: the steps{f' of {name!r}' if name else ''} must be finite numbers, got nan or infinity; "
            "remove these steps"
        )
    if len(x) != len(y):
        count = f"{name!r} has" if name else "there are"
        raise ArgumentError(f"viz.curves: {count} {len(x)} steps and {len(y)} numbers; pass one step per number")
    return x, y


def is_number(source: Any) -> bool:
    """Return whether an object is a single number; None counts as a missing number."""
    return source is None or (source.shape == () if isinstance(source, Tensor | np.ndarray) else np.isscalar(source))


def plain(source: Any) -> Any:
    """Return a tensor as an array; return any other object unchanged."""
    return values(source) if isinstance(source, Tensor) else source


def as_numbers(name: str, source: Any) -> Array:
    """Return a sequence of numbers as a float64 array."""
    try:
        parts = [plain(each) for each in source] if isinstance(source, list | tuple) else plain(source)
        numbers = np.empty(()) if np.iscomplexobj(parts) else np.asarray(parts, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(())
    if numbers.ndim != 1 or not numbers.size:
        raise ArgumentError(
            f"viz.curves: {repr(name) if name else 'a curve'} must be a function or a sequence of numbers, got "
            f"{describe(source)}; pass a function such as mg.tanh"
        )
    return numbers


def thinned(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the extrema of each section, in order; a section with values that are not finite also has a gap."""
    size = -(-len(x) // (DRAWN // 2))
    if size <= 2:
        return x, y
    kept: list[int] = []
    for start in range(0, len(x), size):
        part = y[start : start + size]
        finite = np.isfinite(part)
        known, breaks = np.flatnonzero(finite), np.flatnonzero(~finite)[:1]
        ends = {known[np.argmin(part[known])], known[np.argmax(part[known])]} if len(known) else set()
        kept += [start + int(k) for k in sorted({*ends, *breaks})]
    return x[kept], y[kept]


# ---- the chart ------------------------------------------------------------------------------------------------------


def drawn(curves: Sequence[Curve], across: str, log: bool, cut: bool) -> Curves:
    """Return the picture of curves; with `cut`, distant ends may be cut off."""
    lines, ys, notes = [], [], []
    for curve in curves:
        y = curve.y
        if log:
            dropped = int((curve.y <= 0).sum())
            notes += [f"{dropped} of {len(curve.y)} numbers of {curve.name} are not above 0"] if dropped else []
            y = np.log10(np.where(y > 0, y, np.nan))
        x, y = (curve.x, y) if curve.jumps else thinned(curve.x, y)
        ys.append(y)
        lines.append(Line(curve.name, pieces(x, y, curve.jumps)))
    left, right = min(curve.x.min() for curve in curves), max(curve.x.max() for curve in curves)
    span = (float(left), float(right)) if right - left > 1 / LARGEST else widened(left, right)
    title = ", ".join(curve.name for curve in curves) + (f" against the {across}" if across else "")
    return Curves(Chart(title, lines, span, widened(*value_range(ys, cut)), log, across, notes), curves)


def value_range(ys: Sequence[Array], cut: bool = True) -> tuple[float, float]:
    """Return the lowest and highest value; with `cut`, values far from most others are ignored, as near a pole."""
    finite = [part for y in ys if (part := y[np.abs(y) < LARGEST]).size]
    if not finite:
        return 0.0, 1.0
    low, high = float(min(y.min() for y in finite)), float(max(y.max() for y in finite))
    inner = [np.percentile(y, (10, 90)) for y in finite]
    most = float(min(a for a, _ in inner)), float(max(b for _, b in inner))
    if cut and most[1] > most[0] and high - low > FAR * (most[1] - most[0]):
        air = 0.3 * (most[1] - most[0])
        return max(low, most[0] - air), min(high, most[1] + air)
    return low, high


def pieces(x: Array, y: Array, breaks: Sequence[int]) -> list[list[tuple[float, float]]]:
    """Return the pieces of a line between jumps and values that are not finite."""
    ends = sorted({-1, len(x) - 1, *breaks, *(k for k in np.flatnonzero(~np.isfinite(y)).tolist())})
    parts = []
    for before, end in pairwise(ends):
        part = [(float(x[k]), float(y[k])) for k in range(before + 1, end + 1) if np.isfinite(y[k])]
        parts += [part] if part else []
    return parts
