"""The gradients on every edge of a graph: a backward pass that stores the gradients that the engine drops.

`flow` is the engine's own backward pass, over nodes that record their incoming gradients and the gradients that they
pass to each parent.  The graph is kept, and no `.grad` changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.autodiff.checks import check, end_of, node_of, seed
from minigrad.autodiff.convention import conjugated
from minigrad.autodiff.engine import leading_to, pull_back, reachable
from minigrad.autodiff.hooks import Around
from minigrad.errors import GradientError
from minigrad.kernels.store import running_time
from minigrad.runtime.data import host_array
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe, expect_tensors
from minigrad.runtime.tracers import Tracer


@dataclass
class Step:
    """Describe the step of a backward pass at one node.

    `arrived` contains the incoming gradient of each result, or None for a result without a gradient.  `passed` contains
    pairs (node of an operand, partial gradient) in the order of the VJP rules.  `seconds` is the duration of the VJP
    rules of the node in seconds.
    """

    node: BackpropOp
    arrived: list[Tensor | None]
    passed: list[tuple[Any, Tensor]]
    seconds: float


@dataclass
class Flow:
    """A backward pass from y: its steps in order, and the gradient of each leaf and each result that was reached.

    A complex gradient is in the convention of the rules in a step, and in that of users in `gradients`: see
    `autodiff/convention.py`.
    """

    steps: list[Step] = field(default_factory=list)
    gradients: dict[int, Tensor] = field(default_factory=dict)

    def record(
        self, node: BackpropOp, gradients: Sequence[Tensor | None], pull: Callable[[], list[tuple[Any, Tensor]]]
    ) -> list[tuple[Any, Tensor]]:
        """Run the `pull` of a node, and record its time and its gradients."""
        start = running_time()
        passed = pull()
        self.steps.append(Step(node, list(gradients), passed, running_time() - start))
        self.gradients.update({key: g for key, g in zip(node.ids or (node.id,), gradients) if g is not None})
        return list(passed)  # the caller gets a copy, because the backward pass empties the list that it receives


class Watched(Around):
    """A node whose `pull` another function runs: `around(node, gradients, pull)` returns the result of `pull()`."""

    __slots__ = ("around",)
    hooks = None  # an inspection does not call the user's hooks

    def __init__(self, node: Any, around: Callable[..., Any]) -> None:
        super().__init__(node)
        self.around = around

    def pull(self, gradients: Sequence[Tensor | None], wanted: set[int] | None, create: bool) -> Any:
        """Run the node's `pull` inside `around`."""
        return self.around(self.node, gradients, lambda: self.node.pull(gradients, wanted, create))


def flow(y: Tensor, x: Tensor | None = None, name: str = "explain_grad") -> Flow:
    """Run a backward pass from y, with ones as the incoming gradient, and return its steps.

    If x is a tensor, the pass visits only the paths from y to x.  Hooks are not called.  `name` is the name of the
    calling function, for error messages.
    Raises GradientError if y does not require a gradient, or if its graph was freed.
    """
    nodes, _ = reachable([end_of(y)])
    wanted = None
    if x is not None:
        nodes, wanted = leading_to(nodes, {node_of(x).id: node_of(x)})
    check(nodes, wanted, name)
    way = Flow()
    with no_grad():
        _, table = pull_back([Watched(node, way.record) for node in nodes], [(end_of(y), seed(y, None))], wanted)
    with no_grad():
        way.gradients = {key: conjugated(g) for key, g in (way.gradients | table).items()}
    return way


def vertex_of(edge: Any) -> Any:
    """Return the node or the leaf at which an edge of the graph starts."""
    return edge.node if isinstance(edge, Output) else edge


def expect_values(name: str, x: Any) -> None:
    """Raise DTypeError unless x is a tensor, and GradientError for a value inside a transform, which has none."""
    expect_tensors(name, x)
    if isinstance(x, Tracer):
        raise GradientError(
            f"{name}: {describe(x)} belongs to a transform and has no values; call {name} outside the transform"
        )


def values(x: Tensor) -> NDArray[Any]:
    """Return the elements as a NumPy array for computation: float16 and bfloat16 are converted to float32."""
    result: NDArray[Any] = host_array(x)
    return result.astype(np.float32) if x.dtype.is_float and x.dtype.itemsize < 4 else result
