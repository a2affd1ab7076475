"""The call path of a value as text: for each op, its kernels, formulas, and the values saved for the backward pass.

`explain(y)` prints this text, and needs no other package or program.  The text contains the line that declares the op,
and the file from which the machine code was compiled, so that a reader can open both.  `explanation(y)` returns the
text.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from minigrad.autodiff.engine import reachable
from minigrad.diagnostics.formula import barred, forward_of, gradients_of
from minigrad.errors import GradientError, quantity
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.planning import make_plan
from minigrad.runtime.rebasing import current
from minigrad.runtime.tensor import Tensor, describe, expect_tensors
from minigrad.viz.mathematics import plain

LIMIT = 30


def explain(y: Tensor, limit: int = LIMIT) -> None:
    """Print how y was computed: the layout of its memory, then each recorded op from the first to the last.

    y: The tensor to explain.
    """
    print(explanation(y, limit))


def explanation(y: Tensor, limit: int = LIMIT) -> str:
    """Return the text that `explain` prints."""
    expect_tensors("explain", y)
    order = "contiguous" if y.is_contiguous() else "not contiguous"
    writes = {0: "not written to", 1: "written to once"}.get(y.storage.version, f"written to {y.storage.version} times")
    lines = [f"{describe(y)} on {y.device}: {address(y)}", f"    {order}, {writes} since it was made"]
    if y.is_leaf:
        end = "a Var: gradients end here" if y.is_variable else "a constant: made from no Var, or under no_grad"
        return "\n".join([*lines, f"    {end}"])
    nodes, leaves = reachable([current(y)])
    listed = nodes[:limit][::-1]
    shown = f", the last {limit}:" if len(nodes) > limit else ":"
    lines.append(f"recorded: {quantity(len(nodes), 'op')} from {quantity(len(leaves), 'Var')}{shown}")
    for node in listed:
        lines += tell(node)
    return "\n".join(lines)


def address(y: Tensor) -> str:
    """Return the position of an element as text, such as "element [i, j] is at 5 + 3*i - j in the storage"."""
    letters = ["ijklmnpq"[d] if y.ndim <= 8 else f"i{d}" for d in range(y.ndim)]
    position = str(y.offset)
    for letter, stride in zip(letters, y.strides, strict=True):
        if stride:
            times = "" if abs(stride) == 1 else f"{abs(stride)}*"
            position += f" {'-' if stride < 0 else '+'} {times}{letter}"
    element = f"element [{', '.join(letters)}]" if letters else "its element"
    return f"{element} is at {position.removeprefix('0 + ')} in the storage"


def tell(node: BackpropOp) -> list[str]:
    """Return the lines of text about one op; an elementwise op has the formulas of its body and of its rules."""
    op, plan = node.op, node.plan
    operands = ", ".join(f"{parent_text(p)} {spec!r}" for p, spec in zip(node.parents, plan.specs, strict=True))
    lines = [f"#{node.id} {op.label}: {operands} -> {plan.dtype}{plan.layout.shape}"]
    if node.source:
        lines.append(f"    called at   {node.source}")
    lines.append(f"    declared at {op.where}")
    lines.append(f"    runs        {kernel_text(node)}")
    lines.append(f"    saves       {saves_text(node)}")
    if op.kind == "elementwise" and op.result is None:
        lines.append(f"    computes    {op.outputs[0]} = {plain(forward_of(node))}")
    for k, term in gradients_of(node):
        derived = ", derived from the body" if op.derived else ""
        lines.append(f"    gradient    {barred(op.operands[k])} = {plain(term)}{derived}")
    return lines


def parent_text(parent: Any) -> str:
    """Return the text of a parent: its id or its name."""
    if parent is None:
        return "constant"
    if isinstance(parent, Output):
        return f"#{parent.node.id}.{parent.op.outputs[parent.index]}"
    return f"#{parent.id}" if isinstance(parent, BackpropOp) else (parent.name or f"Var #{parent.id}")


def saves_text(node: BackpropOp) -> str:
    """Return a text about the values that the op saves for the backward pass."""
    if node.saved is None and node.op.saves[node.mask]:
        return "nothing any more: backward has freed it"
    if not node.saved:
        return "nothing: its rules need no values"
    names = [node.op.value_name(k) for k in node.op.saves[node.mask]]
    return ", ".join(f"{n} ({describe(t)})" for n, t in zip(names, node.saved, strict=True))


def kernels(y: Tensor) -> list[Path]:
    """Return the paths of the generated source files of the op that made y, for reading or for breakpoints.

    Returns: The files. The list is empty for a view, and for a backend that writes no files.

    Raises GradientError if no op is recorded for `y`.
    """
    node = op_of("viz.kernels", y)
    return [] if node.plan.launch is None else [Path(file) for file in files_of(node)]


def op_of(name: str, y: Tensor) -> Any:
    """Return the node of the op that made y; raise GradientError if none is recorded."""
    expect_tensors(name, y)
    if y.is_leaf:
        raise GradientError(f"{name}: {describe(y)} must be the result of a recorded op; compute it from a mg.Var")
    return current(y)


def files_of(node: BackpropOp) -> list[str]:
    """Return the kernel files of an op, which are found by planning its call again."""
    return kernel_files(node.op, [(s.layout, s.dtype) for s in node.plan.specs], node.plan.source, node.params)


def kernel_text(node: BackpropOp) -> str:
    """Return the kernel files of an op as text, or the reason why there are none."""
    if node.plan.launch is None and node.op.kind == "view":
        return "no kernel: a view, arithmetic on strides"
    if node.op.kind == "function":
        return f"no kernel of its own: {node.op.doc.splitlines()[0]}"
    if node.plan.launch is None:
        return "in place: it was written into memory that was there"
    files = files_of(node)
    return ", ".join(files) if files else f"the {node.plan.device} backend, without a kernel file"


def kernel_files(op: Any, specs: list[tuple[Any, Any]], device: Any, params: dict[str, Any]) -> list[str]:
    """Return the generated modules that a call with these layouts and dtypes runs."""
    operands = tuple(SimpleNamespace(layout=layout, dtype=dtype, device=device) for layout, dtype in specs)
    launch = make_plan(op, operands, params).launch  # type: ignore[arg-type]
    return [] if launch is None else list(launch.files)
