"""Labels on the boxes of a graph, and their colors: the size of a gradient, or the bytes that are saved."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from minigrad.autodiff.grads import GradStore
from minigrad.core.op import Op
from minigrad.core.roles import Choice
from minigrad.core.shape import Window
from minigrad.diagnostics.flow import flow, values
from minigrad.diagnostics.shown import as_text
from minigrad.diagnostics.tape import in_units, size_of
from minigrad.runtime.data import host_array, wide
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer
from minigrad.viz.known import Known
from minigrad.viz.svg import NONE, ODD, STEPS

SHOWN = 6  # largest number of elements of a gradient or a value that a label shows

# The texts of earlier labels, so that a picture after backward can show them again; tensors are not stored.
_written: weakref.WeakKeyDictionary[BackpropOp, dict[int, list[str]]] = weakref.WeakKeyDictionary()


def of_op(node: BackpropOp, known: Known, gradient: Tensor | None = None) -> str:
    """Return the label of an op: name, result, gradient if it is given, parameters and saved values, line by line."""
    lines = [node.op.label, f"{node.plan.dtype}{node.plan.layout.shape}"]
    name, result = known.result(node)
    lines += remembered(node, -1, [" = ".join(part for part in (name, short(result)) if part)])
    lines += [f"grad {short(gradient)}"] if short(gradient) else []
    params = [item for item in node.params.items() if item[1] != node.op.params.get(item[0])]
    shown = [item for item in params if not isinstance(item[1], (tuple, dict)) or len(item[1]) < 6]
    lines += [text for key, value in shown if (text := argument(key, value))]
    if node.saved is None and node.op.saves[node.mask]:
        lines.append("saved values freed")
    elif node.saved:
        names = [node.op.value_name(k) for k in node.op.saves[node.mask]]
        lines.append("saves " + ", ".join(f"{n} {t.dtype}{t.shape}" for n, t in zip(names, node.saved, strict=True)))
    return "\n".join(lines)


def argument(name: str, value: Any) -> str:
    """Return an argument as the user wrote it; windows have several, of which those are omitted that are defaults."""
    if isinstance(value, Window):
        return str(value)
    return f"{name}={value.label if isinstance(value, Op) else value}"


def hint(node: BackpropOp) -> str:
    """Return the tooltip: the first line of the op's documentation, and under mg.debug the user's line."""
    first = node.op.doc.strip().splitlines()[0]
    return f"{first}  ({node.source})" if node.source else first


def of_var(x: Any, grads: GradStore | None, known: Known, gradient: Tensor | None = None) -> str:
    """Return a Var's name, shape and gradient: taken from `grads` if given, and otherwise only shown if it is small."""
    lines = [x.name or known.names.get(id(x)) or f"Var #{x.id}", f"{x.dtype}{x.shape}"]
    lines += [short(x)] if short(x) else []
    if grads is not None:
        g = grads.get(x)
        small = g is not None and g.numel() <= SHOWN
        length = 0.0 if g is None else np.linalg.norm(wide(host_array(g)))
        lines.append("no gradient" if g is None else f"grad {values_text(g)}" if small else f"|grad| {length:.4g}")
    elif short(gradient):
        lines.append(f"grad {short(gradient)}")
    return "\n".join(lines)


def of_constant(node: BackpropOp, k: int, known: Known) -> str:
    """Return the name and value of a constant operand, if they are known; a number without a name is only its value."""
    spec = node.plan.specs[k]
    name, value = known.constant(node, k)
    kind, numbers = f"{spec.dtype}{spec.shape}", short(value)
    lines = [numbers] if not name and spec.layout.numel == 1 else [name or "constant", kind, numbers]
    shown = remembered(node, k, lines if name or numbers else [])
    return "\n".join(shown or ["constant", kind])


def remembered(node: BackpropOp, k: int, lines: list[str]) -> list[str]:
    """Return the nonempty lines for operand k, or for the result if k is -1; if there are none, those of earlier."""
    lines = [line for line in lines if line]
    earlier = _written.setdefault(node, {})
    if lines:
        earlier[k] = lines
    return lines or earlier.get(k, [])


def short(x: Tensor | complex | None) -> str:
    """Return a number or the values of a small tensor as text, otherwise ""."""
    if isinstance(x, Tensor):
        return values_text(x) if not isinstance(x, Tracer) and x.numel() <= SHOWN else ""
    return "" if x is None else f"{x:.4g}"


def values_text(x: Tensor) -> str:
    """Return the values of a small tensor as nested brackets, as the stepper does."""
    return as_text(wide(host_array(x)))


# ---- colors for quantities -------------------------------------------------------------------------------------------

STRENGTH = ("", NONE, *STEPS, ODD)

Legend = list[tuple[str, str]]


def tinted(colour: str | None, y: Tensor, order: Mapping[str, tuple[str, Any]]) -> tuple[dict[str, str], Legend]:
    """Return the color of each box by id, and a legend; nothing if it is None.

    `order` contains the vertices of the picture.  Raises ArgumentError unless `colour` is "gradient", "bytes" or None.
    """
    Choice("gradient", "bytes", None).expect("viz.graph", colour=colour)
    if colour is None:
        return {}, []
    return by_gradient(y, order) if colour == "gradient" else by_bytes(order)


def by_gradient(y: Tensor, order: Mapping[str, tuple[str, Any]]) -> tuple[dict[str, str], Legend]:
    """Color by the largest element of the incoming gradient, in powers of ten below the overall maximum."""
    gradients = flow(y, name="viz.graph").gradients
    sizes = {}
    for key, (kind, item) in order.items():
        ids = (item.ids or (item.id,)) if isinstance(item, BackpropOp) else (item.id,) if kind == "var" else ()
        parts = [np.abs(values(gradients[i])).max(initial=0.0) for i in ids if i in gradients]
        if kind != "constant":
            sizes[key] = float(np.max(parts, initial=0.0))  # NumPy's max, because it returns nan if any value is nan
    finite = [size for size in sizes.values() if 0 < size < math.inf]
    top = math.floor(math.log10(max(finite))) if finite else 0

    def tint(size: float) -> str:
        if not math.isfinite(size):
            return ODD
        return NONE if size == 0 else STEPS[max(0, 4 - max(0, top - math.floor(math.log10(size))))]

    legend = [(STEPS[4 - k], f"|g| from 1e{top - k}" if k < 4 else f"below 1e{top - 3}") for k in range(5)]
    return {key: tint(size) for key, size in sizes.items()}, [*legend, (NONE, "0"), (ODD, "not finite")]


def by_bytes(order: Mapping[str, tuple[str, Any]]) -> tuple[dict[str, str], Legend]:
    """Color by the bytes that an op saves for its backward rule; each storage counts for every op that saved it."""
    sizes = {}
    for key, (kind, item) in order.items():
        if kind == "op":
            held = {id(x.storage): x.storage for x in item.saved or () if hasattr(x.storage, "buffer")}
            sizes[key] = sum(map(size_of, held.values()))
    most = max(sizes.values(), default=0) or 1
    legend = [(STEPS[k], f"up to {in_units(most * (k + 1) / 5)}") for k in range(5)]
    return {key: STEPS[min(4, 5 * size // most)] if size else NONE for key, size in sizes.items()}, [
        *legend,
        (NONE, "0"),
    ]
