"""Explain why a gradient is None, zero, nan or inf, or through which ops it flows.

`explain_grad(x, y)` follows the paths from x to y: through the graph if gradients flow, and through the journal of
`mg.debug()` if they were cut.  It only computes and reports: no `.grad` and no graph changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape

import numpy as np

from minigrad.api.page import Page, styled
from minigrad.autodiff.checks import end_of, node_of
from minigrad.autodiff.engine import reachable
from minigrad.config import settings
from minigrad.diagnostics.flow import Flow, flow, values
from minigrad.diagnostics.reasons import blocked, not_finite, spoiled, through
from minigrad.errors import GradientError, quantity
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.journal import Entry, entry_of
from minigrad.runtime.tensor import Tensor, describe, expect_tensors

MOST = 8  # largest number of reasons in a report
DEBUG = "run the program under mg.debug() to see where gradients are cut"


@dataclass(frozen=True)
class Explanation(Page):
    """Explain the value of a gradient; `print` shows the explanation as text.

    kind: "none", "zero", "nan", "inf" or "flows".
    what: First sentence: which gradient is explained, and its value.
    reasons: The reasons, one sentence each.
    """

    kind: str
    what: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([self.what, *[f"  - {reason}" for reason in self.reasons]])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(reason)}</li>" for reason in self.reasons)
        return styled(f"<p>{escape(self.what)}</p><ul>{items}</ul>")


def explain_grad(x: Tensor, y: Tensor | None = None) -> Explanation:
    """Explain why the gradient of y with respect to x has its value, or why there is none.

    x: Input whose gradient is explained.
    y: Output of the computation; the incoming gradient is ones. By default, y is the newest result that was computed
    from x and still exists, which requires `mg.debug()`.

    Returns: The explanation: `kind` is "none", "zero", "nan", "inf" or "flows", and `reasons` has one sentence per
    reason.

    Raises GradientError if `y` is missing and cannot be found, or if its graph was freed by a backward pass without
    `retain_graph`.
    """
    expect_tensors("explain_grad", x, *([] if y is None else [y]))
    called = getattr(x, "name", None)
    input_name = f"with respect to {f'{called!r} ' if called else ''}{describe(x)}"
    name = f"the gradient {input_name}"
    if not x.dtype.is_inexact:
        return Explanation("none", f"{name} is None", (inexact_only(x),))
    if not x.requires_grad:
        return Explanation("none", f"{name} is None", (constant(x),))
    y = newest(x) if y is None else y
    name = f"the gradient of {describe(y)} {input_name}"
    if not y.dtype.is_inexact:
        return Explanation("none", f"{name} is None", (inexact_only(y),))
    if not y.requires_grad or not reached(x, y):
        return Explanation("none", f"{name} is None", tuple(cuts(x, y)))
    return followed(x, y, name)


def inexact_only(x: Tensor) -> str:
    """Return the reason why a tensor of integers or bools has no gradient."""
    return f"{x.dtype} carries no gradient; only floats and complex numbers do"


def constant(x: Tensor) -> str:
    """Return the reason why a tensor does not require a gradient."""
    entry = entry_of(x)
    if entry is None or not entry.op:
        return "it is a constant: make it a mg.Var, or call requires_grad_() on it"
    return next(iter(lost(entry)), "it was computed from no Var")


def newest(x: Tensor) -> Tensor:
    """Return the newest result of x from which no other result was computed, according to the journal."""
    entry = entry_of(x)
    ends = [] if entry is None else [e for e in descendants(entry) if not len(e.children) and e is not entry]
    living = sorted((t for e in ends if (t := e.tensor()) is not None), key=lambda t: t.id)
    tracked = [t for t in living if t.dtype.is_inexact]
    if not living:
        raise GradientError(
            f"explain_grad: expected the output y, for example x.explain_grad(loss)"
            f"{'' if settings.debug else '; mg.debug() finds it'}"
        )
    return (tracked or living)[-1]


def reached(x: Tensor, y: Tensor) -> bool:
    """Return whether the graph of y leads to x."""
    nodes, leaves = reachable([end_of(y)])
    target = node_of(x).id
    return target in {leaf.id for leaf in leaves} or any(target in (node.ids or (node.id,)) for node in nodes)


# ---- where it was cut -----------------------------------------------------------------------------------------------


def closure(entry: Entry, beside: Callable[[Entry], Iterable[Entry]]) -> set[Entry]:
    """Return an entry, its neighbors, their neighbors, and so on."""
    seen, stack = {entry}, [entry]
    while stack:
        for other in beside(stack.pop()):
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return seen


def descendants(entry: Entry) -> set[Entry]:
    """Return all results that were computed from a tensor, and the tensor itself."""
    return closure(entry, lambda each: each.children)


def ancestors(entry: Entry) -> set[Entry]:
    """Return all tensors from which a tensor was computed, and the tensor itself."""
    return closure(entry, lambda each: each.parents)


def cuts(x: Tensor, y: Tensor) -> Iterator[str]:
    """Yield a sentence for each cut in the paths from x to y."""
    first, last = entry_of(x), entry_of(y)
    if swapped(x, y):
        yield (
            f"the gradient flows the other way, because {describe(x)} was computed from {describe(y)}: did you mean "
            "x.explain_grad(loss), with the input before the dot?"
        )
        return
    if last is None:
        yield f"the graph of {describe(y)} does not lead to it; {DEBUG}"
        return
    between = set() if first is None else descendants(first) & ancestors(last)
    if first not in between:
        yield f"{describe(y)} was not computed from it by any op"
        yield from exits(x)
        return
    by_age = sorted(between, key=lambda entry: len(ancestors(entry)))  # parents come first
    entries = [entry for entry in by_age if entry is not first]
    yield from list(dict.fromkeys(reason for entry in entries for reason in lost(entry)))[:MOST]


def swapped(x: Tensor, y: Tensor) -> bool:
    """Return whether x was computed from y, according to the graph or to the journal."""
    first, last = entry_of(y), entry_of(x)
    return (y.requires_grad and reached(y, x)) or (first is not None and last is not None and first in ancestors(last))


def exits(x: Tensor) -> Iterator[str]:
    """Yield a sentence about the calls that converted values of x, or of its results, to Python numbers."""
    entry = entry_of(x)
    names = [] if entry is None else list(entry.left)[-MOST:]
    if names:
        yield f"its values left the graph through {', '.join(names)}; a number read from a tensor is a constant"


def lost(entry: Entry) -> Iterator[str]:
    """Yield the reason why a result is not tracked although an operand is."""
    if entry.tracked or not any(parent.tracked for parent in entry.parents):
        return
    at = f" at {entry.source}" if entry.source else ""
    what = f"{entry.op}{entry.shape}{at}"
    if entry.op == "detach":
        yield f"detach(){at} cut the graph"
    elif not entry.dtype.is_inexact:
        yield f"{what} returned {entry.dtype}, and only floats and complex numbers carry gradients"
    elif not entry.enabled:
        yield f"{what} was not recorded: gradients were off there (no_grad)"
    elif entry.differentiable and not any(entry.differentiable):
        yield f"{what} has no derivative"
    else:
        yield f"{what} was not recorded"


# ---- the value of the gradient --------------------------------------------------------------------------------------


def followed(x: Tensor, y: Tensor, name: str) -> Explanation:
    """Explain the value of the gradient by the path on which it was computed."""
    way = flow(y, x)
    g = way.gradients.get(node_of(x).id)
    if g is None:
        return Explanation("none", f"{name} is None", ("the derivative rules on the path declare it to be zero",))
    elements = values(g)
    if np.isnan(elements).any() or np.isinf(elements).any():
        kind = "nan" if np.isnan(elements).any() else "inf"
        count = int((~np.isfinite(elements)).sum())
        already = not_finite(y)
        reasons = ([already] if already else []) + list(spoils(way))
        what = f"{name} is {kind} at {count} of {quantity(elements.size, 'element')}"
        return Explanation(kind, what, tuple(reasons[:MOST]))
    if not elements.any():
        return Explanation("zero", f"{name} is zero", tuple(list(blocks(way))[:MOST]))
    low, high = float(np.abs(elements).min()), float(np.abs(elements).max())
    path = [through(step) for step in way.steps]
    shown = path if len(path) <= MOST else [*path[: MOST // 2], f"through {len(path) - MOST} more", *path[-MOST // 2 :]]
    zeros = elements.size - np.count_nonzero(elements)
    spread = f"|g| is {low:.3g}" if low == high else f"|g| ranges from {low:.3g} to {high:.3g}"
    part = f"{zeros} of {quantity(elements.size, 'element')} are 0, " if zeros else ""
    what = f"{name} exists: {part}{spread}"
    return Explanation("flows", what, tuple(shown))


def spoils(way: Flow) -> Iterator[str]:
    """Yield a sentence for each node that produced nan or inf from a finite gradient."""
    chosen: dict[int, BackpropOp] = {}
    for step in way.steps:
        by = chosen.get(step.node.id)
        if step.node.op.name == "where":
            by = step.node
        finite = all(g is None or np.isfinite(values(g)).all() for g in step.arrived)
        for parent, partial in step.passed:
            if by is not None:
                chosen[parent.id] = by
            if finite and not np.isfinite(values(partial)).all():
                yield spoiled(step, partial, by)


def blocks(way: Flow) -> Iterator[str]:
    """Yield a sentence for each node that received a nonzero gradient and passed zeros towards x."""
    for step in way.steps:
        if not any(g is not None and values(g).any() for g in step.arrived):
            continue
        for parent, partial in step.passed:
            if not values(partial).any():
                yield blocked(step, parent, partial)
    if cancelled(way):
        yield "the gradients of several paths add up to zero"


def cancelled(way: Flow) -> bool:
    """Return whether nonzero partial gradients add up to zero."""
    parts: dict[int, bool] = {}
    for step in way.steps:
        for parent, partial in step.passed:
            parts[parent.id] = parts.get(parent.id, False) or bool(values(partial).any())
    return any(there and not values(way.gradients[key]).any() for key, there in parts.items())
