"""A page for each op of the schema: documentation, formulas, curves or graphs, dtypes, an example and its kernel.

The operands of examples are those that the tests of the op use, so each op that is tested has a page.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import op_table
from op_support import arrays

import minigrad as mg
from minigrad.declare.manual.documentation import documentation
from minigrad.declare.record import schema
from minigrad.diagnostics.flow import flow
from minigrad.diagnostics.formula import barred, forward_of, rules_of
from minigrad.errors import MinigradError
from minigrad.runtime.tensor import Tensor
from minigrad.viz.film import declared, operand_name
from minigrad.viz.mathematics import mathml, plain
from site_pages.pieces import drawn, raw, signature, typeset

NAMESPACES = {
    "mg": mg, "mg.nn.functional": mg.nn.functional, "mg.linalg": mg.linalg, "mg.special": mg.special, "mg.fft": mg.fft,
}  # fmt: skip
DEVICE = "reference"  # formulas, curves and graphs are the same on each device, and this one compiles nothing


def rows() -> dict[str, Any]:
    """Return for each op one row of the table of its tests."""
    found: dict[str, Any] = {}
    for row in op_table.ROWS:
        for name in row.ops or (row.name,):
            if name in schema:
                found.setdefault(name, row)
    return found


def family(name: str) -> str:
    """Return the name of the file that declares an op, without its ending."""
    return Path(schema[name].where.rpartition(":")[0]).stem


def index() -> str:
    """Return the page that lists the ops by family."""
    families: dict[str, list[str]] = {}
    for name in rows():
        families.setdefault(family(name), []).append(name)
    parts = [
        "# The ops",
        "",
        "Each op has a page with its signature, formula, gradient, dtypes, an example and its kernel.",
        "",
    ]
    for title, names in sorted(families.items()):
        parts += [f"## {title}", "", " · ".join(f"[{n}](ops/{n}.md)" for n in sorted(names)), ""]
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """Return the text of every page, by the name of its op."""
    found = {}
    every = rows()
    for count, (name, row) in enumerate(every.items(), 1):
        found[name] = "\n".join(page(name, row))
        if count % 50 == 0 or count == len(every):
            print(f"site: op {count} of {len(every)}", flush=True)
    return found


def calls(name: str) -> Iterator[str]:
    """Yield the line that calls an op, for each public function of its name, with all parameters."""
    for prefix, module in NAMESPACES.items():
        found = getattr(module, name, None) if name in module.__all__ else None
        if callable(found) and not inspect.isclass(found):
            yield f"{prefix}.{name}{signature(found)}"


def page(name: str, row: Any) -> Iterator[str]:
    """Yield the lines of one page."""
    op = schema[name]
    public = list(calls(name))
    yield from (f"# {name}", "", *(["```python", *public, "```", ""] if public else []))
    yield from typeset(documentation(op.public))
    yield from (f"Declared in `{declared(op.where)}`, kind *{op.kind}*.", "")
    step = walked(row, name)
    if step is not None:
        yield from formulas(step)
    if step is not None and step.node.op.kind == "elementwise" and drawable(row, step):
        yield from curves(row, step)
    elif step is not None:
        yield from graphs(row)
    yield from ("## Dtypes", "", f"Accepted dtypes: {', '.join(f'`{d}`' for d in row.dtypes)}.", "")
    yield from example(row)
    yield from loop(row)


def walked(row: Any, name: str) -> Any:
    """Return the backward step of the op, at the operands of its tests; None if it has no derivative."""
    try:
        steps = flow(first(row.fn(*operands(row)))).steps
    except (MinigradError, StopIteration):
        return None
    return next((step for step in steps if step.node.op.name == name), None)


def drawable(row: Any, step: Any) -> bool:
    """Return whether the call of a row is its op on single elements, so that the row has a curve along each operand."""
    given = arrays(row)
    if len(given) != len(step.node.op.operands) or step.node.op.variadic:
        return False
    try:
        y = row.fn(*[mg.tensor(np.resize(x, 3), device=DEVICE) for x in given])
    except MinigradError:
        return False
    return isinstance(y, Tensor) and y.shape == (3,)


def formulas(step: Any) -> Iterator[str]:
    """Yield the formula of the op, and of the gradient with respect to each operand."""
    node = step.node
    yield from ("## Formula", "", raw(f"<p>{mathml(forward_of(node), 'y')}</p>"), "")
    rules = [rule for rule in rules_of(step) if rule.term is not None]
    if rules:
        yield from ("## Gradient", "")
        for rule in rules:
            formula = mathml(rule.term, barred(operand_name(node, rule.operand)))
            yield from (raw(f"<p>{formula}</p>"), "")
        yield from ("As text:", "", "```text")
        yield from (f"{barred(operand_name(node, rule.operand))} = {plain(rule.term)}" for rule in rules)
        yield from ("```", "")


def curves(row: Any, step: Any) -> Iterator[str]:
    """Yield the function and its derivatives as curves; the other operands stay at their median."""
    node, given = step.node, arrays(row)
    at = [bool(x.any()) if x.dtype == bool else float(f"{np.median(x):.1g}") for x in given]
    moved = [k for k, rule in enumerate(node.op.rules) if rule is not None and given[k].dtype != bool]
    yield from ("## Curve" if len(moved) == 1 else "## Curves", "")
    for k in moved:
        names = [operand_name(node, j) for j in range(len(given))]
        fixed = ", ".join(f"{name} = {value}" for j, (name, value) in enumerate(zip(names, at, strict=True)) if j != k)

        def along(x: Any, k: int = k) -> Any:
            x = x.to(DEVICE)
            return row.fn(*[x if j == k else filled(v, x) for j, v in enumerate(at)])

        ends = float(given[k].min()), float(given[k].max())
        picture = mg.viz.curves(along, over=ends, names=[row.name, f"derivative with respect to {names[k]}"])
        yield from ([f"As a function of `{names[k]}`, with `{fixed}`.", ""] if fixed else [])
        yield from (drawn(picture.svg, picture.on_black), "")


def filled(value: float | bool, x: Tensor) -> Tensor:
    """Return a tensor of the shape of x with one value in all elements."""
    return mg.tensor(np.full(x.shape, value), dtype="bool" if isinstance(value, bool) else x.dtype, device=x.device)


def graphs(row: Any) -> Iterator[str]:
    """Yield the graph of the example's call, and the graph of the gradient with respect to each operand."""
    given = operands(row)
    names = {f"x{k + 1}": x for k, x in enumerate(given)}
    y = first(row.fn(*given))
    picture = mg.viz.graph(y, names=names)
    yield from ("## Graph", "", drawn(picture.svg("builtin"), picture.svg(dark=True)), "")
    wanted = {name: x for name, x in names.items() if x.is_variable}
    head = mg.Var(mg.ones(*y.shape, dtype=y.dtype, device=y.device))
    found = mg.grad(y, list(wanted.values()), head, create_graph=True, allow_unused=True)
    yield from ("## Graph of the gradient", "", f"`{barred('y')}` is the incoming gradient.", "")
    for name, gradient in zip(wanted, found, strict=True):
        if gradient is None or not gradient.requires_grad:
            continue
        picture = mg.viz.graph(gradient, names={**names, barred("y"): head})
        yield from (
            f"Gradient with respect to `{name}`:",
            "",
            drawn(picture.svg("builtin"), picture.svg(dark=True)),
            "",
        )


def first(y: Any) -> Tensor:
    """Return the first result that requires a gradient."""
    return y if isinstance(y, Tensor) else next(part for part in y if part.requires_grad)


def operands(row: Any) -> list[Tensor]:
    """Return the operands of the tests, as Vars unless they are boolean."""
    pairs = zip(arrays(row), row.domains, strict=True)
    return [mg.tensor(x, device=DEVICE) if kind == "bool" else mg.Var(x, device=DEVICE) for x, kind in pairs]


def example(row: Any) -> Iterator[str]:
    """Yield a call that ran when this page was generated, with its result."""
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
    yield from (f"{row.name} returns {y!r}", "```", "")


def loop(row: Any) -> Iterator[str]:
    """Yield the source text of the kernel that the example ran."""
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
            "## Kernel",
            "",
            f"`{escape(files[0].name)}`",
            "",
            "```python",
            files[0].read_text(encoding="utf-8"),
            "```",
            "",
        )
