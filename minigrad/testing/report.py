"""The report of a gradient check, and the guess of the error from the values of a gradient.

A report is true if no element differs, and is shown as text, or as HTML in a notebook.  Each common mistake in a rule
leaves a pattern: `suspect` compares an analytic gradient with the numeric one, and names the first pattern that
explains the difference: a wrong sign, a factor, a transpose or reversal, a sum that is one too many, swapped operands,
or a missing term.  The gradient for twice the incoming gradient shows whether the rule uses its g.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.api.page import Page, styled
from minigrad.errors import GradientError, quantity

SHOWN = 8  # number of ranked elements in a report
SCREEN = 32  # largest number of rows and columns of a picture


class GradcheckError(GradientError, AssertionError):
    """Report that a gradient differs from finite differences.

    message: Text of the error; the report is added as a note.
    facts: Attributes of the error: `argument` and `index` identify the element with the largest excess, `analytic` and
    `numeric` are its two gradients, and `report` is the Report.
    """

    report: Report | None = None

    def __init__(self, message: str = "", **facts: Any) -> None:
        super().__init__(message, **facts)
        if self.report is not None:
            self.add_note(str(self.report))


@dataclass(frozen=True)
class Element:
    """One element of a gradient: both values, and the part of their difference that exceeds the tolerance."""

    argument: str
    index: tuple[int, ...]
    analytic: float
    numeric: float
    excess: float

    def __str__(self) -> str:
        where = f"{self.argument}{list(self.index) if self.index else ''}"
        apart = abs(self.analytic - self.numeric)
        return f"{where}: analytic {self.analytic:.10g}, numeric {self.numeric:.10g}, apart by {apart:.3g}"


@dataclass(repr=False)
class Argument:
    """Store the comparison of the gradient with respect to one argument.

    `compared` is the number of elements that were compared one by one, or 0 if only random directions were compared.
    `largest` is the largest difference at elements without a kink.  `rounding` is the largest difference that rounding
    errors of the function can cause at this step.  `kinks` contains the elements that differ where the derivatives from
    the left and from the right differ; there, the gradients on both sides were compared.  `analytic` and `numeric` are
    the gradients if every element was compared.
    """

    label: str
    shape: tuple[int, ...]
    dtype: str
    eps: float
    compared: int = 0
    largest: float = 0.0
    rounding: float = 0.0
    kinks: list[tuple[int, ...]] = field(default_factory=list)
    analytic: NDArray[np.float64] | None = None
    numeric: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        how = quantity(self.compared, "element") if self.compared else "random projections"
        line = f"{self.label} {self.dtype}{self.shape}: {how}, step {self.eps:.1g}, largest error {self.largest:.2g}"
        line += f" (rounding {self.rounding:.1g})"
        if self.kinks:
            positions = ", ".join(map(str, self.kinks[:3])) + (" ..." if len(self.kinks) > 3 else "")
            line += f", {quantity(len(self.kinks), 'kink')} at {positions}, compared on both sides"
        return line


@dataclass(repr=False)
class Report(Page):
    """Store the result of a gradient check; `print` shows it as text.

    arguments: Comparison of each argument.
    checks (list): Pairs of a property that the modes must have, as text, and whether the modes have this property.
    notes: Comparisons that were not made, with the reasons.
    ranked: Elements whose gradients differ by more than the tolerance, in descending order of the excess.
    curve (list): Pairs of a step and the error of the worst element at this step.
    verdict: Text that begins with "wrong rule" or "bad step", or "" if no element differs.
    suspect: Probable mistake in the rule, guessed from the values.
    """

    name: str = "gradcheck"
    arguments: list[Argument] = field(default_factory=list)
    checks: list[tuple[str, bool]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ranked: list[Element] = field(default_factory=list)
    curve: list[tuple[float, float]] = field(default_factory=list)
    verdict: str = ""
    suspect: str | None = None

    def __bool__(self) -> bool:
        return not self.ranked and all(held for _, held in self.checks)

    @property
    def kinks(self) -> list[tuple[str, tuple[int, ...]]]:
        """The pairs (argument, index) of all kinks that were found."""
        return [(a.label, index) for a in self.arguments for index in a.kinks]

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        result = [f"{self.name}: {'agrees' if self else 'differs'}"]
        result += [f"  {'ok ' if held else 'NOT'} {words}" for words, held in self.checks]
        result += [f"  --  {words}" for words in self.notes]
        result += [f"  {a!r}" for a in self.arguments]
        result += [f"  {element}" for element in self.ranked[:SHOWN]]
        if len(self.ranked) > SHOWN:
            result.append(f"  and {len(self.ranked) - SHOWN} more")
        if self.curve:
            result.append("  step   " + " ".join(f"{h:>8.0e}" for h, _ in self.curve))
            result.append("  error  " + " ".join(f"{error:>8.1e}" for _, error in self.curve))
        result += [f"  {words}" for words in (self.verdict, self.suspect) if words]
        return result

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        body = [f"<pre>{html.escape(str(self))}</pre>"]
        wrong = {element.argument for element in self.ranked}
        body += [picture(a) for a in self.arguments if a.analytic is not None and a.label in wrong]
        return styled("".join(body))


def picture(a: Argument) -> str:
    """Return the gradient of an argument as an HTML table; the larger the difference, the stronger the red."""
    assert a.analytic is not None and a.numeric is not None
    rows, other = as_rows(a.analytic), as_rows(a.numeric)
    cut = "" if rows.size == a.analytic.size else f", the first {rows.shape[0]} rows of {rows.shape[1]} elements"
    scale = max(float(np.nanmax(np.abs(other), initial=0.0)), 1e-12)
    lines = []
    for mine, theirs in zip(rows, other, strict=True):
        cells = [cell(float(x), float(y), scale) for x, y in zip(mine, theirs, strict=True)]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    caption = f"{html.escape(a.label)}: above the rule's, below the quotient{cut}"
    return f'<div class="mg-wide"><table><caption>{caption}</caption>{"".join(lines)}</table></div>'


def as_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a gradient as a matrix with its last dim along the rows, cut to SCREEN rows and columns."""
    return np.atleast_2d(values.reshape(-1, values.shape[-1]) if values.ndim else values)[:SCREEN, :SCREEN]


def cell(x: float, y: float, scale: float) -> str:
    """Return an HTML cell with both values; its background is white if they agree."""
    away = 1.0 if not np.isfinite(x - y) else min(1.0, abs(x - y) / scale)
    light = int(215 - 120 * away) if away > 1e-5 or not np.isfinite(x - y) else 255
    return f'<td style="background:rgb(255,{light},{light});color:#000">{x:.4g}<br>{y:.4g}</td>'


def worst(elements: list[Element]) -> dict[str, Any]:
    """Return the first element as attributes of an error."""
    first = elements[0]
    return {"argument": first.argument, "index": first.index, "analytic": first.analytic, "numeric": first.numeric}


Array = NDArray[np.float64]
LOOSE = 1e-3  # relative error up to which a pattern is reported


def suspect(analytic: Array, numeric: Array, others: Mapping[str, Array], doubled: Array | None = None) -> str | None:
    """Return the pattern as text, or None.

    others: the numeric gradients of the other arguments, by name.
    doubled: the analytic gradient for twice the incoming gradient.
    """
    if not (np.isfinite(analytic).all() and np.isfinite(numeric).all()) or not numeric.size:
        return None
    if not analytic.any() and numeric.any():
        return "it is zero everywhere: the result may be detached, or the rule may return 0"
    if doubled is not None and close(doubled, analytic):
        return "it does not depend on the incoming gradient: the rule must multiply by g"
    for result in (factor(analytic, numeric), permuted(analytic, numeric), unsummed(analytic, numeric)):
        if result is not None:
            return result
    for name, other in others.items():
        if other.shape == analytic.shape and close(analytic, other) and not close(numeric, other):
            return f"it is the gradient of {name!r}: the operands may be swapped"
    return offset(analytic, numeric) or nonlinear(analytic, doubled)


def nonlinear(analytic: Array, doubled: Array | None) -> str | None:
    """Return a text unless twice the incoming gradient doubles the gradient."""
    if doubled is None or close(doubled, 2 * analytic):
        return None
    return "it is not proportional to the incoming gradient: a rule must be linear in g"


def close(a: Any, b: Any) -> bool:
    """Return whether two arrays are nearly equal, relative to the largest element."""
    scale = max(float(np.abs(b).max(initial=0.0)), 1e-12)
    return a.shape == b.shape and bool(np.abs(a - b).max(initial=0.0) <= LOOSE * scale)


def factor(analytic: Array, numeric: Array) -> str | None:
    """Return a text if one factor explains all elements."""
    size = float(np.vdot(numeric, numeric))
    if size == 0.0:
        return None
    ratio = float(np.vdot(numeric, analytic)) / size
    if abs(ratio) < 1e-9 or not close(analytic, ratio * numeric):
        return None
    if abs(ratio + 1) <= LOOSE:
        return "it has the wrong sign"
    if abs(ratio - 1) <= LOOSE:
        return None
    known = next((f" (1/{n})" for n in range(2, 1025) if abs(ratio * n - 1) <= LOOSE), "")
    if numeric.size == 1 and not known and abs(ratio - round(ratio)) > LOOSE:
        return None  # with one value, every ratio fits some factor
    return f"it is {ratio:.6g}{known} times what it should be"


def permuted(analytic: Array, numeric: Array) -> str | None:
    """Return a text if the values are right but at transposed or reversed positions."""
    if not 2 <= analytic.ndim <= 4:
        return None
    for order in permutations(range(analytic.ndim)):
        turned = numeric.transpose(order)
        if turned.shape == analytic.shape and not close(numeric, turned) and close(analytic, turned):
            return f"its values are those of the gradient with the dims in the order {order}: a transpose is missing"
    for dim in range(analytic.ndim):
        flipped = np.flip(numeric, dim)
        if not close(numeric, flipped) and close(analytic, flipped):
            return f"its values are reversed along dim {dim}"
    return None


def unsummed(analytic: Array, numeric: Array) -> str | None:
    """Return a text if each element is the sum of the gradient over a dim."""
    for dim in range(analytic.ndim):
        total = np.broadcast_to(numeric.sum(dim, keepdims=True), numeric.shape)
        if numeric.shape[dim] > 1 and not close(total, numeric) and close(analytic, total):
            return f"it is summed over dim {dim} although the operand has that dim"
    return None


def offset(analytic: Array, numeric: Array) -> str | None:
    """Return a text if all elements are off by the same number."""
    away = analytic - numeric
    if away.size > 1 and np.ptp(away) <= LOOSE * np.abs(away).max() and np.ptp(numeric) > LOOSE * np.abs(away).max():
        return f"it is off by {float(away.mean()):.6g} at every element: a term may be missing"
    return None
