"""Reverse mode as a transform: it records calls over values that carry another transform.

Dispatch itself records plain tensors, which is fast.  Under `vmap` or forward mode there are no plain tensors, so a
`Tracked` records the call and passes it on to the value inside it.  The engine traverses its nodes like any other: the
saved values belong to the outer transforms, so each rule runs there, and the outer transforms record derivatives of
higher order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.autodiff.checks import check_rules, describe_node, node_of, seed
from minigrad.autodiff.engine import leading_to, pull_back, reachable
from minigrad.autodiff.owning import NeverOwned
from minigrad.autodiff.replacing import ReplacingTransform
from minigrad.config import settings
from minigrad.core.op import Op, Spec
from minigrad.errors import StorageError
from minigrad.runtime.dispatch import apply
from minigrad.runtime.graph import BackpropOp, Output, ids
from minigrad.runtime.planning import CallPlan
from minigrad.runtime.rebasing import INPUT
from minigrad.runtime.recording import among_casts, mode, user_line
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer, derives
from minigrad.runtime.writing import is_stale


class Tracked(Tracer):
    """A value that may require a gradient of this transform. value: its value outside the transform."""

    __slots__ = ("value",)

    def __init__(self, value: Tensor, transform: TrackedTransform, node: Any = None) -> None:
        super().__init__(transform, value.layout, value.dtype, value.device)
        self.value, self.op = value, node

    @property
    def requires_grad(self) -> bool:
        """Always True: a value that is not recorded is not wrapped."""
        return True


class Facts:
    """The layouts, dtypes and devices of operands and results that a node needs, in the form of a plan."""

    __slots__ = ("device", "layout", "outs", "source", "specs")

    def __init__(self, operands: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        self.specs = tuple([Spec(x.layout, x.dtype) for x in operands])
        self.outs = tuple([Spec(y.layout, y.dtype) for y in results])
        self.layout = self.outs[0].layout
        self.source, self.device = operands[0].device, results[0].device

    fact = CallPlan.fact


class Record(BackpropOp):
    """A call on tracked values. saved: these values outside the transform, where rules run."""

    __slots__ = ()

    def __init__(
        self, op: Op, params: dict[str, Any], parents: list[Any], mask: int, inner: Sequence[Tensor],
        results: Sequence[Tensor],
    ) -> None:  # fmt: skip
        self.id = next(ids)
        self.ids = None if op.result is None else (self.id, *[next(ids) for _ in results[1:]])
        self.hooks = None
        self.op, self.params, self.parents = op, params, tuple(parents)
        self.mask = 0 if op.variadic or op.kind == "function" else mask
        self.plan = Facts(inner, results)
        self.saved = tuple([inner[k] if k >= 0 else results[-1 - k] for k in op.saves[self.mask]])
        self.versions = tuple([x.id if isinstance(x, Tracer) else x.storage.version for x in self.saved])
        self.source = user_line() if settings.debugging and settings.debug else None


class TrackedTransform(ReplacingTransform):
    """Implement reverse mode as a transform that can be nested with other transforms.

    below: whether calls are also recorded in the graph outside the transform; False if the transform was entered under
    `no_grad`.
    higher: whether the gradients may be differentiated again, because a value in the computation carries a derivative
    of another transform.
    """

    def __init__(self) -> None:
        super().__init__()
        self.below = mode.enabled
        self.higher = False

    def leaf(self, x: Tensor) -> Tracked:
        """Return x as a value of this transform, so that calls on it are recorded."""
        self.higher = self.higher or derives(x, self.below)
        result = Tracked(x, self)
        result.base = INPUT
        return result

    def constant(self, x: Tensor) -> Tensor:
        return Tracked(x, self) if x.dtype.is_inexact else x

    def detached(self, x: Tracked) -> Tensor:
        return x.value.detach()

    def elements(self, x: Tracked) -> Tensor:
        return x.value

    def replace(self, x: Any, y: Any) -> None:
        x.value, x.op = (y.value, y.op) if self.owns(y) else (y, None)

    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        inner: list[Tensor] = []
        parents: list[Any] = []
        mask, bit = 0, 1
        for x in operands:
            if x.__class__ is Tracked and x.transform is self:
                inner.append(x.value)
                parents.append(x if x.op is None else x.op)
                mask |= bit
            else:
                inner.append(x)
                parents.append(None)
            bit <<= 1
        if not mode.enabled:
            return apply(op, tuple(inner), params)
        result = self.outside(op, tuple(inner), params)
        results = (result,) if op.result is None else tuple(result)
        if not any(y.dtype.is_inexact for y in results):
            return result
        self.higher = self.higher or any(derives(x, self.below) for x in inner)
        node = Record(op, params, parents, mask, inner, results)
        if op.result is None:
            return Tracked(result, self, node)
        return op.result(
            *[Tracked(y, self, Output(node, k)) if y.dtype.is_inexact else y for k, y in enumerate(results)]
        )  # fmt: skip

    def outside(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        """Run the call without this transform."""
        if self.below:
            return apply(op, operands, params)
        mode.enabled = False
        try:
            return apply(op, operands, params)
        finally:
            mode.enabled = True

    def owns(self, x: Any) -> bool:
        """Return whether x is a value of this transform."""
        return x.__class__ is Tracked and x.transform is self

    def pull(
        self, ys: Sequence[Any], cotangents: Sequence[Tensor | None], leaves: Sequence[Tracked], name: str,
        create: bool | None = None,
    ) -> list[Tensor | None]:  # fmt: skip
        """Return the gradients of the leaves, given incoming gradients of this transform's results.

        The gradient is None for a leaf on which the results do not depend.
        create: whether the gradients can be differentiated again; by default, they can if `higher` is True or an
        incoming gradient carries a derivative.
        """
        targets: dict[int, Any] = {leaf.id: leaf for leaf in leaves}
        nodes, _ = reachable([node_of(y) for y in ys])
        nodes, wanted = leading_to(nodes, targets)
        for node in nodes:
            check_unchanged(node, name)
            if not node.op.complete:
                check_rules(node, wanted, name)
        if create is None:
            create = self.higher or any(g is not None and derives(g, mode.enabled) for g in cotangents)
        seeds = [(node_of(y), seed(y, g)) for y, g in zip(ys, cotangents, strict=True)]
        with among_casts(None):
            _, table = pull_back(nodes, seeds, wanted, create=create, owned=NeverOwned())
        return [table.get(leaf.id) for leaf in leaves]


def check_unchanged(node: BackpropOp, name: str) -> None:
    """Raise StorageError for a saved tensor that was written after it was saved."""
    for x, version in zip(node.saved or (), node.versions):
        if x.id != version if isinstance(x, Tracer) else is_stale(x, version):
            when = "" if isinstance(x, Tracer) else f" at version {version}"
            now = "" if isinstance(x, Tracer) else f" and is at version {x.storage.version}"
            raise StorageError(
                f"{name}: {describe_node(node)} saved {describe(x)}{when}, but this tensor was changed in place "
                f"since{now}; clone() the tensor before the change"
            )
