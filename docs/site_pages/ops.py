"""A page for each op of the schema: what it says of itself, formula and gradient as formulas, its curve, its dtypes, an
example that was run, and the loop that is compiled for it.

The operands of examples are those that the tests of the op use, so each op that is tested has a page.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import op_table
from op_support import arrays

import minigrad as mg
from minigrad.errors import MinigradError
from minigrad.insight.flow import flow
from minigrad.insight.formula import barred, forward_of, rules_of
from minigrad.ops.record import schema
from minigrad.runtime.tensor import Tensor
from minigrad.viz.film import declared, operand_name
from minigrad.viz.mathematics import mathml, plain
from minigrad.viz.picture import COOL, LINE, drawing, label

WIDTH, HEIGHT, MARGIN = 420, 220, 30


def rows() -> dict[str, Any]:
    """For each op one row of the table that proves it."""
    found: dict[str, Any] = {}
    for row in op_table.ROWS:
        for name in row.ops or (row.name,):
            if name in schema:
                found.setdefault(name, row)
    return found


def family(name: str) -> str:
    """The file that declares an op, as a word."""
    return Path(schema[name].where.rpartition(":")[0]).stem


def index() -> str:
    """The ops by family."""
    families: dict[str, list[str]] = {}
    for name in rows():
        families.setdefault(family(name), []).append(name)
    parts = ["# The ops", "", "A page for each: formula, gradient, dtypes, an example, the loop.", ""]
    for title, names in sorted(families.items()):
        parts += [
            "```{toctree}",
            ":maxdepth: 1",
            f":caption: {title}",
            "",
            *[f"ops/{n}" for n in sorted(names)],
            "```",
            "",
        ]
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """The text of every page, by the name of its op."""
    return {name: "\n".join(page(name, row)) for name, row in rows().items()}


def page(name: str, row: Any) -> Iterator[str]:
    """One page."""
    op = schema[name]
    yield from (f"# {name}", "", "```text", op.doc.strip(), "```", "")
    yield from (f"Declared in `{declared(op.where)}`, kind *{op.kind}*.", "")
    step = walked(row, name)
    if step is not None:
        yield from formulas(step)
    if row.elementwise and len(row.domains) == 1 and step is not None:
        yield from curve(row)
    yield from ("## Dtypes", "", f"It takes {', '.join(f'`{d}`' for d in row.dtypes)}.", "")
    yield from example(row)
    yield from loop(row)


def walked(row: Any, name: str) -> Any:
    """The step back through the op, at the operands of its tests; None where it has no derivative."""
    given = [mg.tensor(x) if kind == "bool" else mg.Var(x) for x, kind in zip(arrays(row), row.domains, strict=True)]
    try:
        y = row.fn(*given)
        steps = flow(y if isinstance(y, Tensor) else y[0]).steps
    except MinigradError:
        return None
    return next((step for step in steps if step.node.op.name == name), None)


def formulas(step: Any) -> Iterator[str]:
    """What it computes, and what each operand gets."""
    node = step.node
    yield from ("## Formula", "", html(mathml(forward_of(node), "y")), "")
    rules = [rule for rule in rules_of(step) if rule.term is not None]
    if rules:
        yield from ("## Gradient", "")
        for rule in rules:
            yield from (html(mathml(rule.term, barred(operand_name(node, rule.operand)))), "")
        yield from ("As text:", "", "```text")
        yield from (f"{operand_name(node, rule.operand)} gets {plain(rule.term)}" for rule in rules)
        yield from ("```", "")


def html(text: str) -> str:
    """HTML as it is."""
    return f"```{{raw}} html\n<p>{text}</p>\n```"


def curve(row: Any) -> Iterator[str]:
    """The function and its slope over a range of its domain."""
    values = arrays(row)[0]
    x = np.linspace(values.min(), values.max(), 161)
    at = mg.Var(x)
    y = row.fn(at)
    if not isinstance(y, Tensor) or y.shape != at.shape or not y.dtype.is_float:
        return
    slope = y.sum().backward()[at].numpy()
    lines = [(y.detach().numpy(), COOL, "the function"), (slope, "#d97706", "its slope")]
    yield from ("## Curve", "", html(f'<div style="overflow-x:auto">{plot(x, lines)}</div>'), "")


def plot(x: Any, lines: list[tuple[Any, str, str]]) -> str:
    """A line for each, on common axes."""
    finite = np.concatenate([y[np.isfinite(y)] for y, _, _ in lines])
    low, high = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    high = high if high > low else low + 1.0

    def place(a: float, b: float) -> str:
        left = MARGIN + (a - x[0]) / (x[-1] - x[0]) * (WIDTH - 2 * MARGIN)
        return f"{left:.1f},{HEIGHT - MARGIN - (b - low) / (high - low) * (HEIGHT - 2 * MARGIN):.1f}"

    parts = [f'<polyline points="{place(x[0], 0)} {place(x[-1], 0)}" stroke="{LINE}" fill="none"/>']
    for k, (y, colour, name) in enumerate(lines):
        points = " ".join(place(a, b) for a, b in zip(x, y, strict=True) if np.isfinite(b))
        parts.append(f'<polyline points="{points}" stroke="{colour}" fill="none" stroke-width="2"/>')
        parts.append(label(MARGIN + 110 * k, 16, name, 12, "start", fill=colour))
    parts.append(label(MARGIN, HEIGHT - 8, f"{x[0]:.3g}", 11, "start"))
    parts.append(label(WIDTH - MARGIN, HEIGHT - 8, f"{x[-1]:.3g}", 11, "end"))
    parts.append(label(4, MARGIN + 4, f"{high:.3g}", 10, "start"))
    parts.append(label(4, HEIGHT - MARGIN, f"{low:.3g}", 10, "start"))
    return drawing(WIDTH, HEIGHT, "the function and its slope", parts)


def example(row: Any) -> Iterator[str]:
    """A call that was made when this page was written, with what it gave."""
    given = [
        mg.tensor(x) if kind == "bool" else mg.tensor(x, dtype="float32")
        for x, kind in zip(arrays(row), row.domains, strict=True)
    ]
    try:
        y = row.fn(*given)
    except MinigradError:
        return
    yield from ("## Example", "", "```text")
    for k, x in enumerate(given):
        yield f"x{k + 1} = {x!r}"
    yield from (f"{row.name} gives {y!r}", "```", "")


def loop(row: Any) -> Iterator[str]:
    """The text of the kernel that the example ran."""
    given = [
        mg.tensor(x) if kind == "bool" else mg.Var(mg.tensor(x, dtype="float32"))
        for x, kind in zip(arrays(row), row.domains, strict=True)
    ]
    try:
        y = row.fn(*given)
        y = y if isinstance(y, Tensor) else y[0]
        files = mg.viz.kernels(y)
    except MinigradError:
        return
    if files:
        yield from (
            "## The loop",
            "",
            f"`{escape(files[0].name)}`",
            "",
            "```python",
            files[0].read_text(encoding="utf-8"),
            "```",
            "",
        )
