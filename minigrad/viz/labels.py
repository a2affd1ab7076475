"""Labels on the boxes of a graph."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from minigrad.autodiff.grads import GradStore
from minigrad.core.op import Op
from minigrad.diagnostics.shown import as_text
from minigrad.runtime.data import host_array
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer
from minigrad.viz.known import Known

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
    lines += [f"{key}={value.label if isinstance(value, Op) else value}" for key, value in shown]
    if node.saved is None and node.op.saves[node.mask]:
        lines.append("saved values freed")
    elif node.saved:
        names = [node.op.value_name(k) for k in node.op.saves[node.mask]]
        lines.append("saves " + ", ".join(f"{n} {t.dtype}{t.shape}" for n, t in zip(names, node.saved, strict=True)))
    return "\n".join(lines)


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
        length = 0.0 if g is None else np.linalg.norm(host_array(g).astype(float))
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


def short(x: Tensor | float | None) -> str:
    """Return a number or the values of a small tensor as text, otherwise ""."""
    if isinstance(x, Tensor):
        return values_text(x) if not isinstance(x, Tracer) and x.numel() <= SHOWN else ""
    return "" if x is None else f"{x:.4g}"


def values_text(x: Tensor) -> str:
    """Return the values of a small tensor as nested brackets, as the stepper does."""
    return as_text(host_array(x).astype(float))
