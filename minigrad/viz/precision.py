"""The precision microscope: one graph in several dtypes, and the error of each value.

`precision(f, x)` runs f in float64, float32, float16 and bfloat16, and shows the graph once.  Each box has one row per
dtype: the error that arises in the op, and the total error so far, colored by the number of lost digits.
`diagnostics/precision.py` measures the errors.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from minigrad.core.dtype import DType, as_dtype, float64
from minigrad.diagnostics.precision import Error, Vertex, compared, eps_of
from minigrad.diagnostics.shown import aligned, as_text
from minigrad.errors import ArgumentError
from minigrad.ops.creation import tensor
from minigrad.runtime.tensor import Tensor, describe
from minigrad.viz import svg
from minigrad.viz.picture import Picture, scrolling

DTYPES = ("float32", "float16", "bfloat16")
NAME = "viz.precision"
NUMBERS = 3  # number of elements of a value that are printed
LOST = 0.1  # with at least this relative error, not even the first digit is correct
WORTH = 4.0  # if the error of the result is at least this number of eps, its origin is reported
LEGEND = (
    (svg.NONE, "exact"), (svg.STEPS[0], "up to 1 eps"), (svg.STEPS[1], "up to 10"),
    (svg.STEPS[2], "up to 100"), (svg.STEPS[3], "more"), (svg.STEPS[4], "no digit left"),
    (svg.ODD, "not finite"),
)  # fmt: skip


class Precision(Picture):
    """Store the picture that `precision` returns, with the errors as attributes.

    vertices (tuple of Vertex): Inputs, constants and results of ops in the order of their computation. Each has
    `right`, its value in float64, and `errors` by dtype: `own` is the error that arises in the op, and `total` is the
    error so far. The `size` of an error is the relative error of the worst element in units of the dtype's eps.
    """

    def __init__(
        self, title: str, vertices: Sequence[Vertex], ends: set[int], dtypes: Sequence[DType], dark: bool
    ) -> None:
        self.vertices, self.dtypes = tuple(vertices), tuple(dtypes)
        findings = [finding(self.vertices, ends, dtype) for dtype in dtypes]
        text = "\n".join([title, *table(self.vertices, self.dtypes), *findings])
        drawn = svg.draw(
            [box_of(vertex, self.dtypes, vertex.number in ends) for vertex in vertices],
            [svg.Edge(f"p{parent}", f"p{vertex.number}") for vertex in vertices for parent in vertex.parents],
            title=title, legend=LEGEND, dark=dark,
        )  # fmt: skip
        items = "".join(f"<li>{escape(line)}</li>" for line in findings)
        html = (
            f"{scrolling(drawn)}<ul>{items}</ul>"
            f"<details><summary>all numbers</summary><pre>{escape(text)}</pre></details>"
        )
        super().__init__(title, text, html, drawn)


def precision(
    f: Callable[..., Any], *inputs: Any, dtypes: Any = DTYPES, names: Sequence[str] | None = None,
    dark: bool = False,
) -> Precision:  # fmt: skip
    """Show where f loses digits: each value of f(*inputs) in several dtypes, next to the same value in float64.

    f: Function of tensors.
    inputs (tensor, array, number or list): Arguments of `f`. Floats are rounded to each dtype, and this rounding counts
    as an error.
    dtypes (dtype or sequence of dtypes): Dtypes that are compared with float64; by default float32, float16 and
    bfloat16.
    names: Names of the inputs; by default the parameters of `f`.
    dark: Whether the background is black.

    Raises ArgumentError if `f` takes another branch in a dtype or computes nothing from its inputs, or if there is no
    dtype narrower than float64 or no float input.
    Raises DTypeError if `f` raises an error in one of the dtypes.

    Tensors in the closure of `f` are not converted, so they can promote operands to a wider dtype.  If `f` casts a
    float to another float dtype, the box of the operand shows the error.  An op with long sums, such as matmul, is
    one box, so cancellation inside it is part of its own error.  For gradients, pass `mg.func.grad(f)`, whose
    backward pass consists of ordinary ops.
    """
    if not callable(f):
        raise ArgumentError(
            f"{NAME}: f must be a function of the inputs, got {describe(f)}; pass the function itself, as in "
            f"mg.{NAME}(mg.exp, x)"
        )
    wanted = tuple(as_dtype(dtype) for dtype in ((dtypes,) if isinstance(dtypes, (str, DType)) else dtypes))
    if not wanted or any(not dtype.is_float or dtype is float64 for dtype in wanted):
        shown = ", ".join(map(str, wanted)) or "none"
        raise ArgumentError(
            f"{NAME}: dtypes must be some of {', '.join(DTYPES)}, which are compared with float64, got {shown}; pass "
            "one of these names"
        )
    tensors = [as_input(x) for x in inputs]
    if not any(x.dtype.is_float for x in tensors):
        got = ", ".join(map(describe, tensors)) or "none"
        raise ArgumentError(
            f"{NAME}: f must have a float input, whose dtype can be changed, got {got}; convert an input with "
            ".float(), or make complex numbers of floats inside f"
        )
    called = tuple(names) if names is not None else parameters_of(f, len(tensors))
    vertices, ends = compared(f, tensors, called, wanted, NAME)
    name = getattr(f, "__name__", type(f).__name__)
    # Transforms such as func.grad keep the name of the function.
    made = ", transformed," if hasattr(f, "__wrapped__") else ""
    title = f"{name}({', '.join(called)}){made} in {', '.join(map(str, wanted))}, compared with float64"
    return Precision(title, vertices, ends, wanted, dark)


def as_input(x: Any) -> Tensor:
    """Return an input as a tensor; Python numbers become float64, which preserves all their digits."""
    if isinstance(x, Tensor):
        return x.detach()
    data = np.asarray(x)
    written = not isinstance(x, (np.ndarray, np.generic)) and data.dtype.kind in "iuf"
    return tensor(data, float64 if written else None)


def parameters_of(f: Callable[..., Any], count: int) -> tuple[str, ...]:
    """Return the names of the first parameters of f, or x1, x2, ... without names."""
    try:
        names = [p.name for p in inspect.signature(f).parameters.values() if p.kind is not p.VAR_POSITIONAL]
    except (TypeError, ValueError):
        names = []
    return tuple(names[k] if k < len(names) else f"x{k + 1}" for k in range(count))


# ---- numbers as words and colours -----------------------------------------------------------------------------------


def size_text(error: Error, eps: float) -> str:
    """Return an error in eps as text; "!" marks a value without a correct digit."""
    if not error.finite:
        return f"{error.got:g}"
    if not math.isfinite(error.size):
        return "lost"
    mark = "!" if error.size * eps >= LOST else ""
    if error.size < 10 or error.size >= 1e5:
        return f"{error.size:.2g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-") + mark
    return f"{error.size:.0f}{mark}"


def colour_of(error: Error, eps: float) -> str:
    """Return the color for the number of digits that an error costs."""
    if not error.finite:
        return svg.ODD
    if error.size == 0:
        return svg.NONE
    return svg.STEPS[4] if error.size * eps >= LOST else svg.STEPS[sum(error.size > limit for limit in (1, 10, 100))]


def value_text(vertex: Vertex) -> str:
    """Return the value in float64 as text, or its shape if it has many elements."""
    value = vertex.right
    if value.size > NUMBERS or not value.size:
        return str(value.shape)
    return as_text(value, 6)


def finding(vertices: Sequence[Vertex], ends: set[int], dtype: DType) -> str:
    """Return the report on a dtype: the error of the result, and where values become infinite or lose digits."""
    eps = eps_of(dtype)
    rows = [(vertex, vertex.errors[dtype]) for vertex in vertices]
    spoiled = next(((vertex, errors.total) for vertex, errors in rows if not errors.total.finite), None)
    if spoiled is not None:
        vertex, error = spoiled
        return f"{dtype}: {named(vertex)} is {error.got:g}{position_of(error)}, and {error.right:.6g} in float64"
    text = f"{dtype}: "
    off = max((vertices[k].errors[dtype].total for k in ends), key=lambda error: error.size, default=None)
    if off is not None:
        lost = "no digit is correct" if off.size * eps >= LOST else f"off by {size_text(off, eps)} eps"
        text += f"the result is {off.got:.8g}{position_of(off)}, and {off.right:.8g} in float64"
        text += f": {lost}" if off.size else ": exact"
        if off.size < WORTH:
            return text  # the intermediate errors did not affect the result
    came_in = {v: max((vertices[p].errors[dtype].total.size for p in v.parents), default=0.0) for v in vertices}
    vertex = max(under(vertices, ends), key=lambda v: v.errors[dtype].total.size / max(came_in[v], 1.0))
    own, total = (size_text(error, eps) for error in (vertex.errors[dtype].own, vertex.errors[dtype].total))
    shares = f"{came_in[vertex]:.2g} eps in its operands, {own} of its own, {total} in its result"
    return f"{text}; most is lost at {named(vertex)}: {shares}"


def under(vertices: Sequence[Vertex], ends: set[int]) -> list[Vertex]:
    """Return the given vertices with all their ancestors; without any, return all vertices."""
    numbers, pending = set(), list(ends)
    while pending:
        number = pending.pop()
        if number not in numbers:
            numbers.add(number)
            pending += vertices[number].parents
    return [vertex for vertex in vertices if vertex.number in numbers or not ends]


def position_of(error: Error) -> str:
    """Return the index of the worst element as text, if there are several elements."""
    return f" at {list(error.index)}" if error.index else ""


def named(vertex: Vertex) -> str:
    """Return the number and the name of a vertex as text."""
    return f"#{vertex.number} {vertex}"


def table(vertices: Sequence[Vertex], dtypes: Sequence[DType]) -> list[str]:
    """Return a table with one line per vertex, without exact constants."""
    rows = [["", "", "float64", *[word for dtype in dtypes for word in (f"{dtype} own", "all")]]]
    for vertex in vertices:
        if vertex.kind == "constant" and exact(vertex):
            continue
        sizes = [size_text(e, eps_of(d)) for d in dtypes for e in (vertex.errors[d].own, vertex.errors[d].total)]
        rows.append([f"#{vertex.number}", vertex.name, value_text(vertex), *sizes])
    legend = "errors of the worst element, in eps (" + ", ".join(f"{d} {eps_of(d):.2g}" for d in dtypes) + ")"
    columns = "own: the error of the op itself; all: the error so far; !: no digit is correct"
    return [legend, columns, *aligned(rows, 3)]


def exact(vertex: Vertex) -> bool:
    """Return whether the value of a vertex is exact in every dtype."""
    return not any(errors.total.size for errors in vertex.errors.values())


# ---- the picture ----------------------------------------------------------------------------------------------------


def box_of(vertex: Vertex, dtypes: Sequence[DType], end: bool) -> svg.Node:
    """Return the box of a vertex, with its table of errors."""
    kind = "output" if end else {"input": "var", "constant": "constant"}.get(vertex.kind, "op")
    id_ = f"p{vertex.number}"
    if kind == "constant" and exact(vertex):
        return svg.Node(id_, value_text(vertex), kind, "a constant, exact in each dtype")
    rows = [(("", ""), ("own", ""), ("all", ""))]
    for dtype in dtypes:
        errors, eps = vertex.errors[dtype], eps_of(dtype)
        own, total = ((size_text(error, eps), colour_of(error, eps)) for error in (errors.own, errors.total))
        rows.append(((str(dtype), ""), own, total))
    head = value_text(vertex) if kind == "constant" else f"#{vertex.number} {vertex.name}\n{value_text(vertex)}"
    return svg.Node(id_, head, kind, hint(vertex, dtypes), cells=tuple(rows))


def hint(vertex: Vertex, dtypes: Sequence[DType]) -> str:
    """Return the tooltip of a vertex: its worst element in each dtype."""
    errors = []
    for dtype in dtypes:
        error = vertex.errors[dtype].total
        errors.append(f"{dtype}{position_of(error)}: {error.got:.9g}, right is {error.right:.9g}")
    return "\n".join([str(vertex), *errors])
