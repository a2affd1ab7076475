"""The gradients on every edge of a graph: a backward pass that keeps what the engine throws away.

`flow` walks as the engine does, by falling ids, and notes for each node what arrived and what it passed to each of its
parents.  The graph stays as it was, and no `.grad` changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.autodiff.checks import check, end_of, node_of
from minigrad.autodiff.engine import leading_to, reachable, seed
from minigrad.ops.arithmetic import add
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, host_array


@dataclass
class Step:
    """One node of the walk back.

    arrived: the gradients of its results, None where nothing came.  passed: (operand's node, partial gradient) in the
    order of the rules.  seconds: how long its rules took.
    """

    node: BackpropOp
    arrived: list[Tensor | None]
    passed: list[tuple[Any, Tensor]]
    seconds: float


@dataclass
class Flow:
    """A walk back from y: its steps in order, and the gradient of each leaf, or of each result that was asked for."""

    steps: list[Step] = field(default_factory=list)
    found: dict[int, Tensor] = field(default_factory=dict)


def flow(y: Tensor, x: Tensor | None = None) -> Flow:
    """Walk back from y, of which the gradient is ones, along every path; with x, along those that lead to x.

    Raises GradientError where the engine would: y requires no gradient, or its graph has been freed.
    """
    nodes, _ = reachable([end_of(y)])
    wanted = None
    if x is not None:
        wanted = leading_to(nodes, {node_of(x).id: node_of(x)})
        nodes = [node for node in nodes if not wanted.isdisjoint(node.ids or (node.id,))]
    check(nodes, wanted, "explain_grad")
    result = Flow()
    with no_grad():
        result.found[end_of(y).id] = seed(y, None)
        for node in nodes:
            arrived = [result.found.get(key) for key in node.ids or (node.id,)]
            if all(g is None for g in arrived):
                continue
            start = perf_counter()
            passed = node.pull(arrived, wanted, False)
            result.steps.append(Step(node, arrived, passed, perf_counter() - start))
            for parent, partial in passed:
                old = result.found.get(parent.id)
                result.found[parent.id] = partial if old is None else add(old, partial)
    return result


def values(x: Tensor) -> NDArray[Any]:
    """The elements as a NumPy array that can be computed with: float16 and bfloat16 as float32."""
    found: NDArray[Any] = host_array(x)
    return found.astype(np.float32) if x.dtype.is_float and x.dtype.itemsize < 4 else found
