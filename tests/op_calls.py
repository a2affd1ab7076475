"""The calls that a row of the op table makes: each op with its parameters, what went in and what came out."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from counting import Counted, Counting
from op_rows.row import Row
from op_support import arrays

import minigrad as mg
from minigrad.autodiff.checks import node_of
from minigrad.autodiff.engine import reachable
from minigrad.core.op import Op
from minigrad.declare.record import picks_for, reads_of
from minigrad.declare.variants import variant
from minigrad.runtime.dispatch import apply
from minigrad.runtime.graph import Output


@dataclass(frozen=True)
class OpCall:
    """One call of an op.

    primals: one value per operand, without history.  results: one value per result, without history.  node: its node in
    the graph, None for a call that was not recorded.
    """

    op: Op
    params: dict[str, Any]
    primals: tuple[Any, ...]
    results: tuple[Any, ...]
    node: Any

    def __repr__(self) -> str:
        return f"{self.op.name}({', '.join(f'{x.dtype}{x.shape}' for x in self.primals)}, {self.params})"

    def again(self, primals: Sequence[Any]) -> tuple[Any, ...]:
        """Return the results of the op for other operands."""
        found = apply(self.op, tuple(primals), self.params)
        return (found,) if self.op.result is None else tuple(found)


@contextmanager
def everything_kept() -> Iterator[None]:
    """Make every op save its operands and results, whatever its rules need."""
    optional = [op for op in mg.schema.values() if op.signature is not None and op.signature.optional and op.rules]
    for op in optional:
        for given in itertools.product((True, False), repeat=len(op.signature.optional)):
            missing = dict(zip(sorted(op.signature.optional), given))
            if op.kind == "kernel" and not all(given):
                variant(op, tuple(missing.get(name, True) for name in op.operands))
    ops = [each for op in mg.schema.values() for each in (op, *op.variants.values())]
    before = [(op, op.saves, op.picks) for op in ops]
    try:
        for op, saves, _ in before:
            results = tuple(range(-1, -1 - len(op.outputs), -1))
            kept = (*results, *(() if op.variadic else range(len(op.operands))))
            op.saves, reads = (kept,) * len(saves), reads_of(op)
            op.picks = tuple(picks_for(reads, mask, kept) for mask in range(len(saves)))
        yield
    finally:
        for op, saves, picks in before:
            op.saves, op.picks = saves, picks


def leaves(row: Row, seed: int = 0) -> list[Any]:
    """Return the operands of a row on `reference`: float64 Vars, or boolean tensors."""
    return [
        mg.tensor(v, device="reference") if v.dtype == bool else mg.Var(v, dtype="float64", device="reference")
        for v in arrays(row, seed=seed)
    ]


def calls_of(y: Any) -> list[OpCall]:
    """Return the calls that computed y, in order.  They must have been made under `everything_kept`."""
    nodes, _ = reachable([node_of(y)]) if y.requires_grad else ([], [])
    found = []
    for node in reversed(nodes):
        count = len(node.op.outputs)
        primals = [result_of(p) for p in node.parents] if node.op.variadic else node.saved[count:]
        found.append(OpCall(node.op, node.params, tuple(x.detach() for x in primals), node.saved[:count], node))
    return found


def result_of(parent: Any) -> Any:
    """Return the value at the end of an edge."""
    if parent.__class__ is Output:
        return parent.node.saved[parent.index]
    return parent if isinstance(parent, mg.Tensor) else parent.saved[0]


@functools.cache
def calls(row: Row) -> tuple[OpCall, ...]:
    """Return the calls that a smooth row makes for its operands.

    If the row proves more ops than these, the calls of its gradient follow.  The calls of a row of a backward op, which
    is not recorded, are noted while it runs.
    """
    if row.slope:
        level = Counting()
        row.fn(*[Counted(level, x.detach()) for x in leaves(row)])
        return tuple(OpCall(*call, None) for call in level.calls)
    if not row.smooth:
        return ()
    xs = leaves(row)
    with everything_kept(), mg.enable_grad():
        y = row.fn(*xs)
        found = calls_of(y)
        if not {call.op.name for call in found}.issuperset(row.ops):
            g = mg.Var(like(y, np.random.default_rng(1)))
            for slope in mg.grad(y, [x for x in xs if x.is_variable], g, create_graph=True, retain_graph=True):
                found += calls_of(slope)
    return tuple(found)


def like(x: Any, rng: np.random.Generator) -> Any:
    """Return random numbers with the shape and dtype of x, none near 0, and never all ones."""
    values = rng.uniform(0.3, 1.7, x.shape) * rng.choice([-1.0, 1.0], x.shape)
    return mg.tensor(values, dtype=x.dtype, device=x.device)


def lying_otherwise(x: Any) -> Any:
    """Return the same numbers with gaps between them, dims in reverse order in memory, and other data before them."""
    back = tuple(range(x.ndim))[::-1]
    turned = x.permute(back)
    return mg.stack([-turned, turned], x.ndim).select(x.ndim, 1).permute(back)


def lying_behind(x: Any) -> Any:
    """Return the same numbers, dense, with other data before them."""
    return mg.stack([-x, x]).select(0, 1)


def inner(a: Sequence[Any], b: Sequence[Any]) -> float:
    """Return the inner product <a, b> over the pairs in which neither value is None."""
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    return float(sum(float((x.to(mg.float64) * y.to(mg.float64)).sum().item()) for x, y in pairs))
