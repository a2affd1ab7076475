"""The frames of a backward trace: one frame per node, in the order of the backward pass.

`frames_of(y)` runs a backward pass as `backward()` does.  A frame stores the incoming gradients, the rule as a formula,
the outgoing gradients, their sums at the operands, and the memory that `backward()` frees.  `viz/step.py` shows the
frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from minigrad.autodiff.holding import Holder, values_of
from minigrad.core.storage import Storage
from minigrad.diagnostics.flow import Flow, Step, flow, vertex_of
from minigrad.diagnostics.formula import Rule, barred, forward_of, rules_of
from minigrad.diagnostics.shown import shown
from minigrad.diagnostics.tape import in_units, size_of
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.rebasing import current
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor
from minigrad.viz.explain import files_of
from minigrad.viz.graph import name_of
from minigrad.viz.mathematics import mathml, plain

POSITIONS = 120  # largest number of frames with kernel files, because finding the files takes long


@dataclass(frozen=True)
class Share:
    """Describe the partial gradient that a node passes to one operand.

    `to` and `name` are the id and the name of the vertex that receives the partial gradient; `operand` is the name of
    the operand.  `text` and `markup` are the formula of the VJP rule, as text and as MathML.  `value` is the partial
    gradient, and `total` is the sum of the partial gradients that the vertex has received so far.  The vertex receives
    `of` partial gradients in total, and `number` is the position of this one, counted from 1.
    """

    to: str
    name: str
    operand: str
    text: str
    markup: str
    value: dict[str, Any]
    total: dict[str, Any]
    number: int
    of: int


@dataclass(frozen=True)
class Frame:
    """Describe one step of the backward pass, at one node.

    `node` is the vertex of the node in the picture.  `forward` is the formula of the node's op as text and MathML, and
    `operands` maps the names in the formula to values.  `arrived` contains the incoming gradients of the results,
    `saved` the values that the VJP rules read, and `shares` the gradients that the node passes to its operands.
    `freed` describes the memory that `backward()` frees.  `source` is the user's line of code, which is only stored
    under `mg.debug()`; `declared` is the line that declares the op.  `kernels` contains the source files of the
    kernels.
    """

    node: str
    title: str
    forward: tuple[str, str]
    operands: tuple[tuple[str, str], ...]
    arrived: tuple[tuple[str, dict[str, Any]], ...]
    saved: tuple[tuple[str, dict[str, Any]], ...]
    shares: tuple[Share, ...]
    freed: str
    source: str
    declared: str
    kernels: tuple[str, ...]


@dataclass(frozen=True)
class Walk:
    """The frames of a backward pass, the known values of vertices, and the gradients of the leaves.

    `conjugated` is whether the rules have complex gradients, of which the leaves have the conjugates.
    """

    frames: list[Frame]
    values: dict[str, dict[str, Any]]
    leaves: dict[str, dict[str, Any]]
    conjugated: bool


def frames_of(y: Tensor, names: Mapping[str, str]) -> Walk:
    """Run the backward pass from y and return its frames.

    `names` maps ids of vertices to names.  Raises GradientError in the same cases as `backward()`.
    """
    way = flow(y, name="viz.step")
    steps = [(step, rules_of(step)) for step in way.steps]
    # Several ops may be called mul, so the index of the step identifies the op.
    numbered = {name_of(step.node): f"{step.node.op.label}, step {k}" for k, step in enumerate(way.steps, 1)}
    names = {**names, **numbered}
    expected: dict[int, int] = {}
    for _, rules in steps:
        for rule in rules:
            expected[rule.parent.id] = expected.get(rule.parent.id, 0) + 1
    totals: dict[int, tuple[Tensor, int]] = {}
    frames: list[Frame] = []
    for step, rules in steps:
        shares = tuple(share_of(step.node, rule, names, totals, expected[rule.parent.id]) for rule in rules)
        frames.append(frame_of(step, shares, names, len(frames) < POSITIONS))
    conjugated = any(g.dtype.is_complex for g in way.gradients.values())
    return Walk(frames, known_values(y, way.steps), leaves_of(y, way, steps), conjugated)


def leaves_of(y: Tensor, way: Flow, steps: list[tuple[Step, list[Rule]]]) -> dict[str, dict[str, Any]]:
    """Return the gradients of the leaves of the graph, by the ids of their vertices."""
    ends = {rule.parent.id: rule.parent for _, rules in steps for rule in rules}
    if not steps:
        ends = {y.id: y}
    return {
        name_of(end): shown(way.gradients[key])
        for key, end in ends.items()
        if not isinstance(vertex_of(end), BackpropOp) and key in way.gradients
    }


def share_of(
    node: BackpropOp, rule: Rule, names: Mapping[str, str], totals: dict[int, tuple[Tensor, int]], of: int
) -> Share:
    """Return the share of one operand, and add it to the sum of its target."""
    key = rule.parent.id
    before, count = totals.get(key, (None, 0))
    with no_grad():
        total = rule.value if before is None else before + rule.value
    totals[key] = total, count + 1
    to = name_of(vertex_of(rule.parent))
    operand = operand_name(node, rule.operand)
    text = f"{node.op.label}.backward(\u0233)" if rule.term is None else plain(rule.term)
    markup = f"<mtext>{escape(text)}</mtext>" if rule.term is None else mathml(rule.term)
    return Share(
        to, names.get(to, to), operand, text, markup, shown(rule.value), shown(total), count + 1, of
    )  # fmt: skip


def operand_name(node: BackpropOp, k: int) -> str:
    """Return the name of an operand in the declaration, or x1, x2, ... for a variadic op."""
    return f"x{k + 1}" if node.op.variadic else node.op.operands[k]


def frame_of(step: Step, shares: tuple[Share, ...], names: Mapping[str, str], kernels: bool) -> Frame:
    """Return the frame of one node."""
    node, op = step.node, step.node.op
    term = forward_of(node)
    bound = []
    for k, parent in enumerate(node.parents):
        to = name_of(vertex_of(parent)) if parent is not None else ""
        bound.append((operand_name(node, k), names.get(to, to) if to else "a constant"))
    arrived = tuple(
        (barred(name), shown(g)) for name, g in zip(op.outputs, step.arrived, strict=False) if g is not None
    )
    held = [op.value_name(k) if k < len(node.parents) else f"saved {k}" for k in op.saves[node.mask]]
    saved = tuple((name, shown(x)) for name, x in zip(held, values_of(node), strict=False))
    let_go = [(name, x) for name, x in zip(held, node.saved or (), strict=False)
              if not x.is_variable and not isinstance(x, Holder)]  # fmt: skip
    files = tuple(files_of(node)) if kernels and node.plan.launch is not None else ()
    return Frame(
        name_of(node), op.label, (plain(term), mathml(term, "y")), tuple(bound), arrived, saved, shares,
        freed_of(let_go),
        node.source or "", declared(op.where), files,
    )  # fmt: skip


def freed_of(let_go: Sequence[tuple[str, Tensor]]) -> str:
    """Return a text about freed values and their sizes; values may share memory."""
    pieces: dict[int, tuple[Storage, list[str]]] = {}
    for name, x in let_go:
        pieces.setdefault(id(x.storage), (x.storage, []))[1].append(name)
    return ", ".join(f"{' and '.join(names)} ({in_units(size_of(storage))})" for storage, names in pieces.values())


def declared(where: str) -> str:
    """Return the line that declares an op, relative to the package if the op belongs to it."""
    _, package, after = where.rpartition("minigrad/")
    return package + after if after.startswith(("ops/", "nn/", "autodiff/")) else where


def known_values(y: Tensor, steps: list[Step]) -> dict[str, dict[str, Any]]:
    """Return the known values of vertices: y, leaves, and values that an op saved."""
    result = {name_of(vertex_of(current(y))): shown(y)}
    for step in steps:
        node = step.node
        for k, x in zip(node.op.saves[node.mask], values_of(node), strict=False):
            vertex = node if k < 0 else node.parents[k] if k < len(node.parents) else None
            if vertex is not None and not isinstance(vertex, Output):
                result[name_of(vertex)] = shown(x)
        for parent in node.parents:
            if isinstance(parent, Tensor):
                result[name_of(parent)] = shown(parent)
    return result


def texts_of(frames: list[Frame]) -> dict[str, str]:
    """Return the text of every kernel file that a frame names."""
    files = dict.fromkeys(file for frame in frames for file in frame.kernels)
    return {file: Path(file).read_text(encoding="utf-8") for file in files if Path(file).is_file()}
