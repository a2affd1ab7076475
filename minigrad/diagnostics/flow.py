"""The gradients on every edge of a graph: a backward pass that keeps the gradients that the engine drops.

`flow` is the engine's own backward pass over nodes that record their incoming gradients and those they passed to each
parent.  The graph stays as it was, and no `.grad` changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.autodiff.checks import check, end_of, node_of, seed
from minigrad.autodiff.engine import leading_to, pull_back, reachable
from minigrad.autodiff.hooks import Around
from minigrad.runtime.data import host_array
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer, Transform


class Annotated(Tracer):
    """A tensor in a transform, with a note about it."""

    __slots__ = ("note", "value")

    def __init__(self, transform: Transform, value: Tensor, note: Any) -> None:
        super().__init__(transform, value.layout, value.dtype, value.device)
        self.value, self.note = value, note


class Annotating(Transform):
    """Ops compute as usual; `call` defines the notes of their results."""

    def detached(self, x: Any) -> Tensor:
        return Annotated(self, x.value.detach(), x.note)

    def derives(self, x: Any, recorded: bool) -> bool:
        return False

    def elements(self, x: Tensor) -> Tensor:
        """Return the tensor inside a value of this transform; another tensor as it is."""
        return x.value if isinstance(x, Annotated) and x.transform is self else x


@dataclass
class Step:
    """One node of the backward pass.

    arrived: the gradients of its results, None where nothing came.  passed: (operand's node, partial gradient) in the
    order of the rules.  seconds: how long its rules took.
    """

    node: BackpropOp
    arrived: list[Tensor | None]
    passed: list[tuple[Any, Tensor]]
    seconds: float


@dataclass
class Flow:
    """A backward pass from y: its steps in order, and the gradient of each leaf, or of each requested result."""

    steps: list[Step] = field(default_factory=list)
    gradients: dict[int, Tensor] = field(default_factory=dict)


class Looked(Around):
    """A node whose step is recorded."""

    __slots__ = ("way",)
    hooks = None  # an inspection does not call the user's hooks

    def __init__(self, node: Any, way: Flow) -> None:
        super().__init__(node)
        self.way = way

    def pull(
        self, gradients: Sequence[Tensor | None], wanted: set[int] | None, create: bool
    ) -> list[tuple[Any, Tensor]]:
        """Run the node's pull, timed."""
        start = perf_counter()
        passed: list[tuple[Any, Tensor]] = self.node.pull(gradients, wanted, create)
        self.way.steps.append(Step(self.node, list(gradients), passed, perf_counter() - start))
        keys = self.node.ids or (self.node.id,)
        self.way.gradients.update({key: g for key, g in zip(keys, gradients) if g is not None})
        return list(passed)  # returned as a copy, because the backward pass empties the list


def flow(y: Tensor, x: Tensor | None = None, name: str = "explain_grad") -> Flow:
    """Run a backward pass from y, with ones as its gradient, along every path; with x, along those that lead to x.

    Hooks are not called.  name: of the calling function, for errors.  Raises GradientError where the engine would: y
    requires no gradient, or its graph has been freed.
    """
    nodes, _ = reachable([end_of(y)])
    wanted = None
    if x is not None:
        nodes, wanted = leading_to(nodes, {node_of(x).id: node_of(x)})
    check(nodes, wanted, name)
    way = Flow()
    with no_grad():
        _, table = pull_back([Looked(node, way) for node in nodes], [(end_of(y), seed(y, None))], wanted)
    way.gradients.update(table)
    return way


def vertex_of(edge: Any) -> Any:
    """Return the node that an edge of the graph comes from, or the leaf."""
    return edge.node if isinstance(edge, Output) else edge


def values(x: Tensor) -> NDArray[Any]:
    """Return the elements as a NumPy array for computation: float16 and bfloat16 as float32."""
    result: NDArray[Any] = host_array(x)
    return result.astype(np.float32) if x.dtype.is_float and x.dtype.itemsize < 4 else result
