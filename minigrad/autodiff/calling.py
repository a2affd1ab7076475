"""One plain call of a `mg.Function`: forward runs, and a `FunctionNode` is recorded, which runs backward.

A call on values of transforms is passed to their transform like that of any op, by the rules of `user_op.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from minigrad.autodiff.arguments import heads_for
from minigrad.autodiff.barriers import alias, barred, beneath, depends
from minigrad.autodiff.context import Context, Placeholder, among, code_of, has, nonzero
from minigrad.autodiff.definition import fitted
from minigrad.autodiff.holding import Marker, saved_values
from minigrad.autodiff.owning import sole
from minigrad.autodiff.user_op import UserOp
from minigrad.autodiff.watching import versions
from minigrad.backends.registry import backend_of
from minigrad.config import settings
from minigrad.core.op import Spec
from minigrad.errors import GradientError
from minigrad.ops.casting import clone
from minigrad.runtime.graph import BackpropOp, Output, ids
from minigrad.runtime.noting import noted
from minigrad.runtime.planning import CallPlan
from minigrad.runtime.rebasing import RETURNED, current, ground_under, owner_of, rebase
from minigrad.runtime.recording import mode, no_grad
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.writing import is_stale


class FunctionCall(UserOp):
    """Store one call of a Function, for its backward pass.

    context: the attributes that the user stored in ctx, without the saved tensors.
    positions: for each entry of `save_for_backward`, the index of the tensor among the saved values of the node, or
    None for a saved None.
    first: an id that is smaller than the ids of all tensors that `forward` makes.
    placeholders: one placeholder per operand.
    """

    __slots__ = ("context", "first", "placeholders", "positions")

    def value_name(self, k: int) -> str:
        """Return the name of a saved value: an operand, a result, or an intermediate value of forward."""
        if k >= len(self.operands):
            return f"a value between, {k - len(self.operands)}"
        return super().value_name(k)

    # ---- forward ----

    def run(self, operands: tuple[Tensor, ...]) -> Any:
        """Call forward without recording, and record the call as a whole."""
        args = self.filled(operands)
        ctx = Context(tuple([isinstance(x, Tensor) and x.requires_grad for x in args]))
        edges = tuple(map(edge, operands)) if mode.enabled else ()
        self.tensors, self.first = (), next(ids)
        before = versions(operands)
        grounds = {k: ground_under(x) for k, x in enumerate(operands) if edges and is_part(x)}
        with no_grad():
            if has(self.cls, "setup_context"):
                output = self.cls.forward(*args)
                self.cls.setup_context(ctx, args, output)
            else:
                output = self.cls.forward(ctx, *args)
        results = self.read(output)
        # A function that writes its argument through x.data and returns it forgoes the mark: it means the same.
        ctx._dirty += tuple(
            x
            for x, then, now in zip(operands, before, versions(operands), strict=True)
            if None is not then != now
            and x.requires_grad
            and among(x, results)
            and is_stale(x, then)
            and not among(x, ctx._dirty)
        )
        self.check_writes(ctx, operands, results, before)
        self.dirtied = tuple([k for k, x in enumerate(operands) if among(x, ctx._dirty)])
        if self.forward_context:
            self.forward_context = copy.copy(ctx)
        carries = [y.dtype.is_inexact and not among(y, ctx._constant) for y in results]
        self.zeros = ctx._zeros
        if not any(edge is not None for edge in edges) or not any(carries):
            results = [constant(y, ctx) for y in results]
            return results[0] if self.result is None else self.result(*results)
        node = self.record(ctx, operands, results, edges)
        for k, ground in grounds.items():
            if among(operands[k], ctx._dirty) and among(operands[k], results):
                i = [y is operands[k] for y in results].index(True)
                written = operands[k]
                rebase(written, owner_of(written), ground, node if self.result is None else Output(node, i))
        return self.handed_out(ctx, node, operands, results, carries)

    def check_writes(self, ctx: Context, operands: Any, results: Any, before: Any) -> None:
        """Raise GradientError if `forward` wrote into an argument in a way that is not allowed.

        An argument that `forward` writes must be marked with `ctx.mark_dirty` and must be returned.  A marked argument
        must not be a leaf or a view of one.
        """
        for x in ctx._dirty:
            if not among(x, operands) or not among(x, results):
                raise GradientError(
                    f"{self.name}: ctx.mark_dirty expects an argument of forward that forward also returns, got "
                    f"{describe(x)}; return the argument that forward writes"
                )
        for x, then in zip(operands, before, strict=True):
            if among(x, ctx._dirty):
                if mode.enabled and (x.is_variable or (x.base is not None and not is_part(x))):
                    what = "a Var" if x.is_variable else "a view of memory that must not change"
                    raise GradientError(
                        f"{self.name}: forward writes into {describe(x)}, {what}, which a recorded function must not "
                        "change; pass x.clone() to apply"
                    )
                # This counts the write if the function wrote without a count, for example through NumPy.
                x.storage.version += x.storage.version == then
        for name, x, then, now in zip(self.operands, operands, before, versions(operands), strict=True):
            if now != then and mode.enabled and x.requires_grad and not ctx._writes and not among(x, ctx._dirty):
                raise GradientError(
                    f"{self.name}: forward wrote into its argument {name!r}, {describe(x)}, which requires a gradient; "
                    f"compute a new tensor, or call ctx.mark_dirty({name}) and return it"
                )

    def record(self, ctx: Context, operands: Any, results: Any, edges: tuple[Any, ...]) -> BackpropOp:
        """Return the node of a call.

        Under a transform, it saves all operands and results and uses the rules of the op.
        """
        kept = [*operands, *[y.detach() for y in results]] if self.over else self.keep(ctx, operands, results)
        device = operands[0].device
        specs = tuple([Spec(x.layout, x.dtype) for x in operands])
        outs = [Spec(y.layout, y.dtype) for y in results]
        plan = CallPlan(backend_of(results[0].device), results[0].device, specs, None, *outs)
        plan.source = device
        node = (BackpropOp if self.over else FunctionNode)(self, plan, {}, edges, 0, tuple(kept))
        if self.result is not None:
            node.ids = (node.id, *[next(ids) for _ in results[1:]])
        node.source = noted(node, operands) if settings.noting else None
        return node

    def keep(self, ctx: Context, operands: Any, results: Any) -> list[Tensor]:
        """Return the tensors to save for backward: operands unchanged, results without their op, other tensors."""
        codes: list[int] = []
        kept: list[Tensor] = []
        positions: list[int | None] = []
        for x in ctx._kept:
            if x is None:
                positions.append(None)
                continue
            code = code_of(x, () if among(x, ctx._dirty) else operands, results)
            positions.append(len(kept))
            codes.append(len(operands) + len(kept) if code is None else code)
            made_here = x.id >= self.first if code is None else code < 0
            kept.append(x.detach() if made_here else x)
        for k, y in enumerate(results):
            # The version identifies this state of the memory in the graph: writes in `forward` are not later changes.
            written = y.storage.version and not shares_memory(y, operands)
            if (written or among(y, ctx._dirty)) and -1 - k not in codes:
                codes.append(-1 - k)
                kept.append(Marker(y))
        ctx._kept = ()
        self.context, self.positions, self.saves = ctx, tuple(positions), (tuple(codes),)
        self.placeholders = tuple([Placeholder(x.shape, x.dtype, x.device) for x in operands])
        return kept

    def handed_out(
        self, ctx: Context, node: BackpropOp, operands: Any, results: list[Tensor], carries: list[bool]
    ) -> Any:
        """Return the results as parts of the graph."""
        last, made = {id(y): k for k, y in enumerate(results)}, dict[int, Tensor]()
        for k, (y, carry) in enumerate(zip(results, carries, strict=True)):
            if last[id(y)] != k:  # a tensor that forward returns twice is one tensor: the last, as in PyTorch
                continue
            edge: Any = node if self.result is None else Output(node, k)
            dirty = among(y, ctx._dirty)
            part = with_edge(y, edge, dirty, operands) if carry else constant(y, ctx)
            if carry and not dirty and shares_memory(part, operands):
                part.base = RETURNED
            made[id(y)] = part
        # A node that stores its own result would be a cycle, and would keep the graph alive.
        ctx._dirty = ctx._constant = ()
        return made[id(results[0])] if self.result is None else self.result(*[made[id(y)] for y in results])


class FunctionNode(BackpropOp):
    """The node of a plain call.  It calls the user's backward with the saved values.  Its op is the `FunctionCall`."""

    __slots__ = ()

    def pull(self, gradients: Any, wanted: set[int] | None, create: bool) -> list[tuple[Any, Any]]:
        """Return (parent, partial gradient) for each operand that requires a gradient, by the user's backward."""
        call: Any = self.op
        asked = tuple([parent is not None and (wanted is None or parent.id in wanted) for parent in self.parents])
        # Backward may write into its gradients.  The engine has a variable for the gradient of a single result.
        own = [mode.enabled or sole(gradients, k, self.ids is None) for k in range(len(gradients))]
        gradients = [g if g is None or mine else clone(g) for g, mine in zip(gradients, own)]
        heads = heads_for(self, call.joint, gradients)
        if heads is None or not any(asked):
            return []
        saved = saved_values(self, create)
        parts = self.guarded_back(heads, saved, asked) if mode.enabled else self.back(call.context, heads, saved, asked)
        edges = zip(self.parents, self.plan.specs, parts)
        return [(parent, fitted(g, spec)) for parent, spec, g in edges if g is not None]

    def back(self, ctx: Context, heads: Any, saved: Sequence[Tensor], asked: tuple[bool, ...]) -> list[Tensor | None]:
        """Call backward with the saved values in a copy of its context."""
        call: Any = self.op
        again = copy.copy(ctx)
        again._kept = tuple([None if at is None else saved[at] for at in call.positions])
        return call.call_back(again, heads, saved, call.placeholders, asked)

    def guarded_back(self, heads: Any, saved: Sequence[Tensor], asked: tuple[bool, ...]) -> list[Tensor | None]:
        """Call backward in a graph that is recorded; a result with a wrong derivative becomes a barrier."""
        call: Any = self.op
        heads = tuple([None if g is None else clone(alias(g)) for g in heads])
        safe = [self.guarded(x) if k >= len(self.parents) else x for k, x in zip(call.saves[0], saved)]
        ctx = copy.copy(call.context)
        for name, x in vars(ctx).items():
            if isinstance(x, Tensor):
                setattr(ctx, name, self.guarded(x))
        partials = self.back(ctx, heads, safe, asked)
        return [g if g is None or depends(g, heads) or not nonzero(g) else self.ended(g, heads) for g in partials]

    def guarded(self, x: Tensor) -> Tensor:
        """Return a barrier for an intermediate value of forward: its dependence on the inputs is unknown.

        Other values are returned unchanged.
        """
        call: Any = self.op
        if x.id < call.first or x.requires_grad or not x.dtype.is_inexact:
            return x
        return barred(
            x, self.parents, self.name,
            f"backward of {self.name} computes with {describe(x)}, which forward made in between, so its own "
            f"derivative is not known; save inputs and outputs, and compute it from them in backward, or hand it in as "
            f"an argument if it does not depend on them",
        )  # fmt: skip

    def ended(self, g: Tensor, heads: Sequence[Tensor | None]) -> Tensor:
        """Return a barrier for a gradient that was computed as a plain value."""
        above = [beneath(head).op for head in heads if head is not None]
        return barred(
            g.detach(), (*self.parents, *above), self.name,
            f"{self.name} can be differentiated only once: the gradient that its backward gave, {describe(g)}, was not "
            f"computed from the gradient that it was given by tensor ops that are recorded",
        )  # fmt: skip


def is_part(x: Tensor) -> bool:
    """Return whether x is a view of a tensor whose writes are recorded."""
    return isinstance(x.base, Tensor) and not x.base.is_variable


def edge(x: Tensor) -> Any:
    """Return the target of a gradient of an operand: its op, the Var itself, or None."""
    if x.op is None:
        return current(x) if x.storage.tracked else None
    return current(x) if x.storage.version else x.op


def constant(y: Tensor, ctx: Context) -> Tensor:
    """Return a result without history if it is an argument that `ctx.mark_non_differentiable` was called with."""
    return y.detach() if among(y, ctx._constant) and not among(y, ctx._dirty) and y.requires_grad else y


def shares_memory(y: Tensor, operands: Any) -> bool:
    """Return whether a result and an operand have the same memory."""
    return any(y.storage.memory is x.storage.memory for x in operands)


def with_edge(y: Tensor, node: Any, dirty: bool, operands: Any) -> Tensor:
    """Return a result as a part of the graph; an argument that was written remains the same object."""
    if dirty:
        y.op = Tensor(y.storage, y.layout, node).op
        return y
    if y.storage.version and shares_memory(y, operands):  # `forward` wrote into an argument, as through `x.data`
        y = clone(y.detach())
    return Tensor(y.storage, y.layout, node)
