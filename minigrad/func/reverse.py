"""One run of a function to differentiate: on plain tensors with the engine, otherwise with a transform.

The inputs are replaced by placeholders, which are leaves of this run only.  So the gradients of another transform or of
the surrounding program are never confused with those of this run, and no `.grad` changes.  If an input or a tensor in
the function's closure is tracked outside, the placeholders are views and the gradients are recorded: then the run is a
part of the surrounding graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.autodiff.checks import check, end_of, node_of, seed
from minigrad.autodiff.convention import conjugated
from minigrad.autodiff.engine import leading_to, pull_back, reachable
from minigrad.autodiff.owning import NeverOwned, handed_out
from minigrad.autodiff.replacing import alike
from minigrad.autodiff.tracked import TrackedTransform
from minigrad.func.trees import tree_map
from minigrad.ops.shape.views import expand
from minigrad.runtime.graph import BackpropOp, ids
from minigrad.runtime.rebasing import INPUT
from minigrad.runtime.recording import mode, pause_casts, resume_casts
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer, derives, stack
from minigrad.runtime.var import Var


class PlainRun:
    """A run on plain tensors, which dispatch records as usual; use it as a `with` block around the function."""

    def __init__(self, xs: Sequence[Tensor], name: str) -> None:
        self.name = name
        self.recording = mode.enabled
        self.first = next(ids)
        # Without recording outside, the ops of this run belong to no other graph.
        self.tracks = self.recording and any(x.requires_grad for x in xs)
        self.placeholders: list[Any] = [
            expand(x, shape=x.shape) if self.recording and x.requires_grad else Var.placeholder(x) for x in xs
        ]
        for x in self.placeholders:
            if not x.is_variable:
                x.base = INPUT
        self.targets: dict[int, Any] = {node_of(x).id: node_of(x) for x in self.placeholders}
        self.begin = next(ids)  # nodes that the function records have larger ids than the placeholders

    def __enter__(self) -> PlainRun:
        mode.enabled = True
        return self

    def __exit__(self, *error: object) -> None:
        mode.enabled = self.recording

    def graph(self, ys: Sequence[Tensor]) -> tuple[list[BackpropOp], bool]:
        """Return the nodes of this run below some results, by decreasing id, and whether they reach outside nodes."""
        older: list[Any] = []
        nodes, _ = reachable([end_of(y) for y in ys], self.begin, older)
        for x in older:
            if x.id < self.first and (isinstance(x, BackpropOp) or x.is_variable):
                return nodes, True
        return nodes, False

    def pull(self, ys: Sequence[Tensor], cotangents: Sequence[Any], retain: bool = True) -> list[Tensor | None]:
        """Return the gradients of the inputs from cotangents of some results; None for an input that is not reached."""
        nodes, beyond = self.graph(ys)
        nodes, wanted = leading_to(nodes, self.targets)
        check(nodes, wanted, self.name)
        over = [g for g in cotangents if isinstance(g, Tracer)]
        plain = self.recording and (self.tracks or beyond or any(g is not None and derives(g) for g in cotangents))
        create = plain or any(derives(g) for g in over)
        owned = NeverOwned() if over or create else None
        before, mode.enabled, casts = mode.enabled, mode.enabled and create, pause_casts()
        try:
            seeds = [(end_of(y), conjugated(seed(y, g))) for y, g in zip(ys, cotangents)]
            _, table = pull_back(nodes, seeds, wanted, retain=retain or create, create=create, owned=owned)
            return self.arrived(table, create)
        finally:
            mode.enabled = before
            resume_casts(casts)

    def arrived(self, table: dict[int, Tensor], create: bool) -> list[Tensor | None]:
        """Return the gradients that arrived at the placeholders, each in separate memory."""
        keys = [node_of(x).id for x in self.placeholders]
        pairs = [(key, table.pop(key)) for key in keys if key in table]
        if not any(isinstance(g, Tracer) for _, g in pairs):
            pairs = handed_out(pairs, False, create)
        known = dict(pairs)
        return [alike(conjugated(known[key])) if key in known else alike(None) for key in keys]

    def reached(self, y: Any) -> bool:
        """Return whether a result was computed from a tracked tensor."""
        return isinstance(y, Tensor) and not isinstance(y, Tracer) and y.requires_grad

    def release(self, tree: Any) -> Any:
        """Return results without the graph of this run; the graph of the surrounding program remains."""
        return tree_map(self._released, tree)

    def _released(self, y: Any) -> Any:
        if not self.reached(y):
            return y
        if not self.recording or not (self.tracks or self.graph([y])[1]):
            return y.detach() if end_of(y).id >= self.first else y
        return y


class TransformRun(TrackedTransform):
    """A run inside other transforms, in which reverse mode is a transform, too."""

    def __init__(self, xs: Sequence[Tensor], name: str) -> None:
        super().__init__()
        self.name, self.recording = name, mode.enabled
        self.placeholders: list[Any] = [self.leaf(x) for x in xs]

    def __enter__(self) -> TransformRun:
        mode.enabled = True
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        mode.enabled = self.recording

    def reached(self, y: Any) -> bool:
        """Return whether a result is a value of this transform."""
        return self.owns(y)

    def pull(  # type: ignore[override]
        self, ys: Sequence[Tensor], cotangents: Sequence[Any], retain: bool = True
    ) -> list[Tensor | None]:
        """Return the gradients of the inputs from cotangents of some results; None for an input that is not reached."""
        inside = [conjugated(seed(y, g)) for y, g in zip(ys, cotangents)]
        return [
            alike(g if g is None else conjugated(g)) for g in super().pull(ys, inside, self.placeholders, self.name)
        ]

    def release(self, tree: Any) -> Any:
        """Return results as they are outside the transform."""
        return tree_map(lambda y: y.value if self.owns(y) else y, tree)


def run_of(xs: Sequence[Tensor], name: str) -> PlainRun | TransformRun:
    """Return a TransformRun if a transform is active, otherwise a PlainRun."""
    if stack.transforms or any(isinstance(x, Tracer) for x in xs):
        return TransformRun(xs, name)
    return PlainRun(xs, name)
