"""One call of a `mg.Function` as an op: its operands are the tensors among the arguments, its rules the user's code.

A plain call runs forward and is recorded with what the user saved.  A call on values of transforms goes to their level
like that of any op; rules are then given operands and results, from which `setup_context` makes the context anew.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from minigrad.autodiff.barriers import alias, barred, depends
from minigrad.autodiff.batching import Batch, by_looping
from minigrad.autodiff.context import (
    Context,
    Hole,
    VmapInfo,
    among,
    argument_names,
    check_flat,
    check_gradient,
    code_of,
    has,
    in_front,
    nonzero,
    place_of,
    together,
)
from minigrad.autodiff.watching import check_unwritten, versions
from minigrad.backends.registry import backend_of
from minigrad.config import settings
from minigrad.core.forward import Jvp
from minigrad.core.op import Op, Rule, Spec
from minigrad.errors import GradientError
from minigrad.ops.casting import clone
from minigrad.runtime.graph import BackpropOp, Output, ids
from minigrad.runtime.noting import noted
from minigrad.runtime.planning import CallPlan
from minigrad.runtime.rebasing import current
from minigrad.runtime.recording import mode, no_grad
from minigrad.runtime.tensor import Tensor, describe


class Same:
    """One entry for every mask."""

    def __init__(self, entry: Any) -> None:
        self.entry = entry

    def __len__(self) -> int:
        return 1 << 60  # masks

    def __getitem__(self, mask: int) -> Any:
        return self.entry


class Tracking:
    """For a mask, the operands in it, none of whose rules wants a saved value by itself."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __getitem__(self, mask: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
        return tuple([(k, ()) for k in range(self.count) if mask >> k & 1])


class Call(Op):
    """One call of a Function.  given: its arguments, with a hole for each tensor; slots: what forward returned.

    over: it was called with values of a transform.  edges: where gradients of the operands go.
    """

    __slots__ = ("cls", "context", "edges", "first", "given", "over", "places", "slots", "specs", "tensors")

    def __init__(self, cls: Any, inputs: Sequence[Any]) -> None:
        names = argument_names(cls, len(inputs))
        at = [i for i, x in enumerate(inputs) if isinstance(x, Tensor)]
        super().__init__(cls.__name__, "function", tuple([names[i] for i in at]), {}, place_of(cls.forward))
        self.cls, self.doc = cls, cls.__doc__ or cls.__name__
        self.tensors: tuple[Tensor, ...] = tuple([inputs[i] for i in at])
        self.given = tuple([Hole(names[i], at.index(i)) if i in at else x for i, x in enumerate(inputs)])
        self.over = False
        self.complete, self.batch = True, "function"
        self.edges: tuple[Any, ...] = ()

    def enter_level(self) -> None:
        """Note that operands are values of transforms.  Raises GradientError for a Function that cannot be transformed:
        its ctx belongs to the one run of forward."""
        if not has(self.cls, "setup_context"):
            raise GradientError(
                f"{self.name}: a Function whose forward takes ctx cannot be transformed; write forward(*args) and "
                f"setup_context(ctx, inputs, output)",
                op=self.name,
            )
        self.over, self.tensors = True, ()

    def filled(self, operands: Sequence[Tensor]) -> tuple[Any, ...]:
        """The arguments, with these tensors."""
        return tuple([operands[x.k] if x.__class__ is Hole else x for x in self.given])

    def given_back(self, found: Any) -> Any:
        """The results as forward returned them, from a tensor or a tuple of tensors."""
        if self.result is None:
            return found
        return tuple([found[x.k] if x.__class__ is Hole else x for x in self.slots])

    def value_name(self, k: int) -> str:
        """The name of a saved value: an operand, a result, or something that forward made in between."""
        if k >= len(self.operands):
            return f"a value between, {k - len(self.operands)}"
        return super().value_name(k)

    # ---- forward ----

    def run(self, operands: tuple[Tensor, ...]) -> Any:
        """Call forward, unrecorded, and record the call."""
        args = self.filled(operands)
        ctx = Context(tuple([isinstance(x, Tensor) and x.requires_grad for x in args]))
        edges = tuple(map(edge, operands)) if mode.enabled else ()
        self.tensors, self.first = (), next(ids)
        before = versions(operands)
        with no_grad():
            if has(self.cls, "setup_context"):
                output = self.cls.forward(*args)
                self.cls.setup_context(ctx, args, output)
            else:
                output = self.cls.forward(ctx, *args)
        results = self.read(output)
        self.check_writes(ctx, operands, results, before)
        carries = [y.dtype.is_float and not among(y, ctx._constant) for y in results]
        self.zeros = ctx._zeros
        if not any(edge is not None for edge in edges) or not any(carries):
            return results[0] if self.result is None else self.result(*results)
        node = self.record(ctx, operands, results, edges)
        return self.handed_out(ctx, node, results, carries)

    def read(self, output: Any) -> list[Tensor]:
        """The tensors among what forward returned."""
        parts = (output,) if isinstance(output, Tensor) else output
        if not isinstance(parts, (tuple, list)):
            raise GradientError(
                f"{self.name}: forward gave {describe(output)}; expected a tensor or a tuple of them", op=self.name
            )
        results = [x for x in parts if isinstance(x, Tensor)]
        check_flat(self.name, parts)
        if isinstance(output, Tensor):
            self.outputs, self.result = ("y",), None
        else:
            self.outputs, self.result = tuple([f"y{k}" for k in range(len(results))]), together
        count, slots = 0, []
        for x in parts:
            slots.append(Hole(f"y{count}", count) if isinstance(x, Tensor) else x)
            count += isinstance(x, Tensor)
        self.slots = tuple(slots)
        self.declare()
        return results

    def declare(self) -> None:
        """The rules of this call, when its results are known."""
        all_names = (*self.operands, *self.outputs)
        heads = tuple(range(len(self.outputs)))
        self.picks = Tracking(len(self.operands))  # type: ignore[assignment]
        each = Rule(self.one_back, all_names, ("position",), heads)
        each.foreign = True  # whether it leads back to its g is looked at
        self.rules = (each,) * len(self.operands)
        if self.over:
            codes = (*range(len(self.operands)), *range(-1, -1 - len(self.outputs), -1))
            self.saves = Same(codes)  # type: ignore[assignment]
            self.joint = Rule(self.over_back, all_names, (), heads, asked=True)
        if has(self.cls, "jvp"):
            n, m = len(self.operands), len(self.outputs)
            wants = [("tangent", k) for k in range(n)] + [("value", k) for k in range(n)]
            self.jvp = Jvp(self.forth, (*wants, *[("result", k) for k in range(m)]), ())

    def check_writes(self, ctx: Context, operands: Any, results: Any, before: Any) -> None:
        """Raise GradientError for an argument that was written and not marked, or marked and not returned, or that is a
        leaf or a view, whose memory is not its own."""
        for x in ctx._dirty:
            if not among(x, operands) or not among(x, results):
                raise GradientError(
                    f"{self.name}: mark_dirty was given {describe(x)}, which is not both an argument and returned",
                    op=self.name,
                )
        for x, then in zip(operands, before, strict=True):
            if among(x, ctx._dirty):
                if mode.enabled and (x.is_variable or shows_another(x)):
                    what = "a Var" if x.is_variable else "a view"
                    raise GradientError(
                        f"{self.name}: mark_dirty was given {describe(x)}, {what}, into which nothing that is recorded "
                        f"may write; clone() it first",
                        op=self.name,
                    )
                x.storage.version += x.storage.version == then  # by NumPy, say
        for name, x, then, now in zip(self.operands, operands, before, versions(operands), strict=True):
            if now != then and mode.enabled and x.requires_grad and not among(x, ctx._dirty):
                raise GradientError(
                    f"{self.name}: forward wrote into its argument {name!r}, {describe(x)}, which a gradient is asked "
                    f"of; compute a new tensor, or say ctx.mark_dirty({name}) and return it",
                    op=self.name,
                )

    def record(self, ctx: Context, operands: Any, results: Any, edges: tuple[Any, ...]) -> BackpropOp:
        """The BackpropOp of a plain call."""
        if self.over:
            kept = [*operands, *[y.detach() for y in results]]
        else:
            kept = self.keep(ctx, operands, results)
            self.context, self.edges = ctx, edges
        device = operands[0].device
        specs = tuple([Spec(x.layout, x.dtype) for x in operands])
        outs = [Spec(y.layout, y.dtype) for y in results]
        plan = CallPlan(backend_of(results[0].device), results[0].device, specs, None, *outs)
        plan.source = device
        mask = sum([1 << k for k, parent in enumerate(edges) if parent is not None])
        node = BackpropOp(self, plan, {}, edges, mask, tuple(kept))
        if self.result is not None:
            node.ids = (node.id, *[next(ids) for _ in results[1:]])
        self.specs = specs
        node.source = noted(node) if settings.noting else None
        return node

    def keep(self, ctx: Context, operands: Any, results: Any) -> list[Tensor]:
        """What backward asked to have saved: operands as they are, results without their op, other tensors."""
        codes: list[int] = []
        kept: list[Tensor] = []
        places: list[int | None] = []
        for x in ctx._kept:
            if x is None:
                places.append(None)
                continue
            code = code_of(x, operands, results)
            places.append(len(kept))
            codes.append(len(operands) + len(kept) if code is None else code)
            kept.append(x if code is not None and code >= 0 else x.detach() if x.id >= self.first else x)
        for k, y in enumerate(results):
            if among(y, ctx._dirty) and -1 - k not in codes:  # by its version the graph knows its memory
                codes.append(-1 - k)
                kept.append(y.detach())
        self.places, ctx._kept = tuple(places), ()
        self.saves = Same(tuple(codes))  # type: ignore[assignment]
        names = tuple(map(self.value_name, codes))
        self.joint = Rule(self.back, names, (), tuple(range(len(results))), asked=True)
        return kept

    def handed_out(self, ctx: Context, node: BackpropOp, results: list[Tensor], carries: list[bool]) -> Any:
        """The results as parts of the graph."""
        found = []
        for k, (y, carry) in enumerate(zip(results, carries, strict=True)):
            edge: Any = node if self.result is None else Output(node, k)
            found.append(with_edge(y, edge, among(y, ctx._dirty)) if carry else y)
        return found[0] if self.result is None else self.result(*found)

    # ---- backward ----

    def back(self, *values: Any, asked: tuple[bool, ...]) -> list[Tensor | None]:
        """The gradients of a plain call, from those of its results and what was saved."""
        count = len(self.outputs)
        heads, saved = values[:count], values[count:]
        if not mode.enabled:
            return self.pulled(self.context, heads, saved, asked)
        heads = tuple([None if g is None else alias(g) for g in heads])
        codes: Any = self.saves[0]
        safe = [self.guarded(x) if k >= len(self.operands) else x for k, x in zip(codes, saved)]
        ctx = copy.copy(self.context)
        for name, x in vars(ctx).items():
            if isinstance(x, Tensor):
                setattr(ctx, name, self.guarded(x))
        found = self.pulled(ctx, heads, safe, asked)
        return [g if g is None or depends(g, heads) or not nonzero(g) else self.ended(g, heads) for g in found]

    def guarded(self, x: Tensor) -> Tensor:
        """A value that forward made in between: how it depends on the inputs, nobody knows."""
        if x.id < self.first or x.requires_grad or not x.dtype.is_float:
            return x
        return barred(
            x, self.edges, self.name,
            f"backward of {self.name} computes with {describe(x)}, which forward made in between, so its own "
            f"derivative is not known; save inputs and outputs, and compute it from them in backward, or hand it in as "
            f"an argument if it does not depend on them",
        )  # fmt: skip

    def ended(self, g: Tensor, heads: Sequence[Tensor | None]) -> Tensor:
        """A gradient that was computed as a plain value."""
        above = [head.op for head in heads if head is not None]
        return barred(
            g.detach(), (*self.edges, *above), self.name,
            f"{self.name} can be differentiated only once: the gradient that its backward gave, {describe(g)}, was not "
            f"computed from the gradient that it was given by tensor ops that are recorded",
        )  # fmt: skip

    def pulled(self, ctx: Context, heads: Any, saved: Any, asked: tuple[bool, ...]) -> list[Tensor | None]:
        """Call backward with the values that were saved."""
        again = copy.copy(ctx)
        again._kept = tuple([None if at is None else saved[at] for at in self.places])
        return self.call_back(again, heads, saved, asked)

    def over_back(self, *values: Any, asked: tuple[bool, ...]) -> list[Tensor | None]:
        """The gradients of a call over a transform, from those of its results, its operands and its results."""
        count, n = len(self.outputs), len(self.operands)
        ctx = self.context_of(values[count : count + n], values[count + n :])
        return self.call_back(ctx, values[:count], values[count:], asked)

    def one_back(self, *values: Any, position: int) -> Tensor | None:
        """The gradient of one operand, from everything: what forward mode is derived from."""
        self.specs = values[len(self.outputs) :]
        return self.over_back(*values, asked=tuple([k == position for k in range(len(self.operands))]))[position]

    def context_of(self, operands: Sequence[Tensor], results: Sequence[Tensor]) -> Context:
        """A context as `setup_context` makes it of operands and results."""
        self.needs_setup()
        args = self.filled(operands)
        ctx = Context(tuple([isinstance(x, Tensor) for x in args]))
        output = results[0] if self.result is None else self.given_back(results)
        self.cls.setup_context(ctx, args, output)
        return ctx

    def needs_setup(self) -> None:
        """Raise GradientError for a Function whose forward takes ctx."""
        if not has(self.cls, "setup_context"):
            self.enter_level()

    def call_back(self, ctx: Context, heads: Any, given: Any, asked: tuple[bool, ...]) -> list[Tensor | None]:
        """Call backward, and look at what it gives.  asked: which operands want a gradient."""
        needs = [x.__class__ is Hole and asked[x.k] for x in self.given]
        ctx.needs_input_grad = tuple(needs)
        slots = [heads[x.k] if x.__class__ is Hole else None for x in self.slots] if self.result else heads
        values = (*heads, *given)
        before = versions(values)
        found = self.cls.backward(ctx, *slots)
        names = [*[f"g{k}" for k in range(len(heads))], *[f"saved {k}" for k in range(len(given))]]
        check_unwritten(self, self.whose("backward"), names, values, before)
        partials = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        self.check_number(partials)
        specs = given[: len(self.operands)] if self.over else self.specs
        device = next(g for g in heads if g is not None).device
        result: list[Tensor | None] = [None] * len(self.operands)
        for hole, g in zip(self.given, partials):
            if hole.__class__ is Hole and g is not None and asked[hole.k]:
                check_gradient(self.whose("backward"), hole.name, g, specs[hole.k], device)
                result[hole.k] = g
        return result

    def check_number(self, partials: tuple[Any, ...]) -> None:
        """Raise GradientError unless there is one gradient an argument; Nones at the end may be too many or too few."""
        n, names = len(self.given), ", ".join(argument_names(self.cls, len(self.given)))
        if any(g is not None for g in partials[n:]) or any(x.__class__ is Hole for x in self.given[len(partials) :]):
            raise GradientError(
                f"{self.whose('backward')} gave {len(partials)} gradient{'s' * (len(partials) != 1)}; expected {n}, "
                f"one for each argument of forward ({names}), None where there is none",
                op=self.name,
            )
        for x, g, name in zip(self.given, partials, argument_names(self.cls, n)):
            if x.__class__ is not Hole and g is not None:
                raise GradientError(
                    f"{self.whose('backward')} gave {describe(g)} for {name!r}, which is no tensor; expected None",
                    op=self.name,
                )

    def whose(self, method: str) -> str:
        """A method of the user's as messages name it, with its line."""
        return f"{self.name}: {method} at {place_of(getattr(self.cls, method))}"

    # ---- transforms ----

    def forth(self, *values: Any) -> Any:
        """The tangents of the results by the user's jvp, from those of the operands, the operands and the results."""
        n = len(self.operands)
        tangents, operands, results = values[:n], values[n : 2 * n], values[2 * n :]
        ctx = self.context_of(operands, results)
        found = self.cls.jvp(ctx, *[tangents[x.k] if x.__class__ is Hole else None for x in self.given])
        if self.result is None:
            return found
        parts = found if isinstance(found, (tuple, list)) else (found,)
        return tuple([t for t, x in zip(parts, self.slots) if x.__class__ is Hole])

    def batched(self, call: Batch) -> Any:
        """What it gives of each of a batch: by the user's vmap, else by a loop."""
        if not has(self.cls, "vmap"):
            if call.size == 0:
                raise GradientError(
                    f"{self.name}: what it gives of an empty batch is not known; define vmap", op=self.name
                )
            return by_looping(call)
        dims = tuple([0 if x.__class__ is Hole and call.flags[x.k] else None for x in self.given])
        output, at = self.cls.vmap(VmapInfo(call.size, "error"), dims, *self.filled(call.operands))
        results = self.read(output)
        where = at if isinstance(at, (tuple, list)) else (at,) * len(self.slots)
        kept = [d for d, x in zip(where, self.slots) if x.__class__ is Hole]
        found = [in_front(y, d, call.size) for y, d in zip(results, kept, strict=True)]
        return found[0] if self.result is None else self.result(*found)


def edge(x: Tensor) -> Any:
    """Where a gradient of an operand goes: its op, the Var itself, or None."""
    if x.op is None:
        return current(x) if x.storage.tracked else None
    return current(x) if x.storage.version else x.op


def with_edge(y: Tensor, node: Any, dirty: bool) -> Tensor:
    """A result as a part of the graph: an argument that was written stays the object that it is."""
    if dirty:
        y.op = Tensor(y.storage, y.layout, node).op
        return y
    if y.storage.version:  # its writes belong to forward
        y = clone(y.detach())
    return Tensor(y.storage, y.layout, node)


def shows_another(x: Tensor) -> bool:
    """Whether it is a view of a tensor that tracks."""
    return x.base is not None
