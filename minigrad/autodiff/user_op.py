"""An op whose rules a user wrote in a `mg.Function`; they receive operands and results like any rule.

Its operands are the tensors among the arguments.  `setup_context` makes a new context from the operands and results of
a rule, so transforms treat it like other ops.  `calling.py` is the plain call: it runs forward once and stores its
context.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from minigrad.autodiff.batches import Batched, BatchTransform
from minigrad.autodiff.batching import Batch, each_sample, warn_of_loop
from minigrad.autodiff.context import (
    Context,
    Hole,
    VmapInfo,
    argument_names,
    check_flat,
    check_gradient,
    has,
    in_front,
    nonzero,
    together,
)
from minigrad.autodiff.convention import all_conjugated, conjugated
from minigrad.autodiff.watching import check_unwritten, versions
from minigrad.core.forward import Jvp
from minigrad.core.op import Op, Rule
from minigrad.errors import GradientError, quantity
from minigrad.ops.casting import clone
from minigrad.ops.reduction.sums import sum
from minigrad.runtime.recording import definition_of, is_grad_enabled
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import derivatives_on, stack


class UserOp(Op):
    """Define the op of one call of a Function.

    arguments: the arguments of the call, with a placeholder for each tensor.
    slots: the values that `forward` returned, with a placeholder for each tensor.
    over: whether the call had values of a transform as arguments.
    dirtied: the indices of the operands that forward has marked as dirty.
    forward_context: the context that forward received, for a jvp of the same call; otherwise None.

    The tables `saves` and `picks` have only one entry, so the mask of the nodes is always 0.
    """

    __slots__ = ("__weakref__", "arguments", "cls", "dirtied", "forward_context", "over", "slots", "tensors")

    def __init__(self, cls: Any, inputs: Sequence[Any]) -> None:
        names = argument_names(cls, len(inputs))
        at = [i for i, x in enumerate(inputs) if isinstance(x, Tensor)]
        super().__init__(cls.__name__, "function", tuple([names[i] for i in at]), {}, definition_of(cls.forward))
        self.cls, self.doc = cls, cls.__doc__ or cls.__name__
        self.tensors: tuple[Tensor, ...] = tuple([inputs[i] for i in at])
        self.arguments = tuple([Hole(names[i], at.index(i)) if i in at else x for i, x in enumerate(inputs)])
        self.over = False
        self.forward_context: Any = None
        self.dirtied: tuple[int, ...] = ()
        self.complete, self.batch, self.zeros = True, "function", True  # a batched call may run no setup_context

    def enter_transform(self, transform: Any) -> None:
        """Record that operands are values of transforms; the errors are those of `needs_setup`.

        Forward mode runs forward once, so the jvp of a Function can have the context of this run.
        """
        self.tensors = ()
        if transform.inside == "primal" and has(self.cls, "jvp") and not has(self.cls, "setup_context"):
            self.forward_context = True
            return
        self.needs_setup()
        self.over = True

    def needs_setup(self) -> None:
        """Raise GradientError for a Function that cannot be transformed: its ctx belongs to one run of forward."""
        if not has(self.cls, "setup_context"):
            raise GradientError(
                f"{self.name}: a Function whose forward has the parameter ctx cannot be used inside a transform; "
                "define forward(*args) and setup_context(ctx, inputs, output) instead"
            )

    def filled(self, operands: Sequence[Tensor]) -> tuple[Any, ...]:
        """Return the arguments of the call, with `operands` instead of the holes."""
        return tuple([operands[x.k] if x.__class__ is Hole else x for x in self.arguments])

    def as_returned(self, results: Any) -> Any:
        """Return the results in the form that forward returned: a tensor, or a tuple that may contain other values."""
        if self.result is None:
            return results
        return tuple([results[x.k] if x.__class__ is Hole else x for x in self.slots])

    def read(self, output: Any) -> list[Tensor]:
        """Return the tensors in the returned value of forward."""
        parts = (output,) if isinstance(output, Tensor) else output
        if not isinstance(parts, (tuple, list)):
            raise GradientError(
                f"{self.name}: forward must return a tensor or a tuple of tensors, got {describe(output)}; convert a "
                "number with mg.tensor(...)"
            )
        results = [x for x in parts if isinstance(x, Tensor)]
        check_flat(self.name, parts)
        if isinstance(output, Tensor):
            self.outputs, self.result = ("y",), None
        else:
            self.outputs, self.result = tuple([f"y{k}" for k in range(len(results))]), together
        holes = iter([Hole(name, k) for k, name in enumerate(self.outputs)])
        self.slots = tuple([next(holes) if isinstance(x, Tensor) else x for x in parts])
        self.declare()
        return results

    def declare(self) -> None:
        """Set the rules of this call; the names of its results must be set before."""
        n, m = len(self.operands), len(self.outputs)
        all_names = (*self.operands, *self.outputs)
        self.saves = ((*range(n), *range(-1, -1 - m, -1)),)
        self.picks = (tuple([(k, ()) for k in range(n)]),)
        each = Rule(weakly(self.one_back), all_names, ("position",), tuple(range(m)))
        each.foreign = True  # the engine checks whether its result depends on its g
        self.rules = (each,) * n
        self.joint = Rule(weakly(self.joint_back), all_names, (), tuple(range(m)), asked=True)
        if has(self.cls, "jvp"):
            wants = [("tangent", k) for k in range(n)] + [("value", k) for k in range(n)]
            self.jvp = Jvp(weakly(self.forth), (*wants, *[("result", k) for k in range(m)]), ())

    # ---- backward ----

    def joint_back(self, *values: Any, asked: tuple[bool, ...]) -> list[Tensor | None]:
        """Return the gradients of all operands, given the gradients of the results, the operands and the results."""
        count, n = len(self.outputs), len(self.operands)
        operands = values[count : count + n]
        ctx = self.context_of(operands, values[count + n :])
        heads = [g if g is None else clone(g) for g in values[:count]]
        return self.call_back(ctx, heads, values[count:], operands, asked)

    def one_back(self, *values: Any, position: int) -> Tensor | None:
        """Return the gradient of one operand from the same values; forward mode is derived from this rule."""
        return self.joint_back(*values, asked=tuple([k == position for k in range(len(self.operands))]))[position]

    def context_of(self, operands: Sequence[Tensor], results: Sequence[Tensor]) -> Context:
        """Return a context that `setup_context` makes from operands and results."""
        self.needs_setup()
        args = self.filled(operands)
        ctx = Context(tuple([isinstance(x, Tensor) for x in args]))
        output = results[0] if self.result is None else self.as_returned(results)
        self.cls.setup_context(ctx, args, output)
        return ctx

    def call_back(
        self, ctx: Context, heads: Any, saved: Any, like: Any, asked: tuple[bool, ...]
    ) -> list[Tensor | None]:
        """Call the user's backward, and check its result.

        heads: the gradients of the results, in memory that backward may write.
        saved: the values that backward may not write.
        like: the operands, or placeholders.
        asked: whether each operand requires a gradient in this pass.
        """
        needs = [x.__class__ is Hole and asked[x.k] for x in self.arguments]
        ctx.needs_input_grad = tuple(needs)
        heads = all_conjugated(heads)
        slots = [heads[x.k] if x.__class__ is Hole else None for x in self.slots] if self.result else heads
        before = versions(saved)
        if has(self.cls, "vjp") and has(self.cls, "backward"):
            raise GradientError(
                f"{self.name}: a Function must define backward or vjp, which are two names of one method, got both; "
                "remove one of them"
            )
        rule = self.cls.vjp if has(self.cls, "vjp") else self.cls.backward
        returned = rule(ctx, *slots)
        names = [f"saved {k}" for k in range(len(saved))]
        check_unwritten(self, self.whose("backward"), names, saved, before)
        partials = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
        self.check_number(partials)
        result: list[Tensor | None] = [None] * len(self.operands)
        for hole, g in zip(self.arguments, partials):
            if hole.__class__ is Hole and g is not None and asked[hole.k]:
                check_gradient(self.whose("backward"), hole.name, g, like[hole.k])
                self.check_connected(g, heads)
                result[hole.k] = conjugated(g)
        return result

    def check_connected(self, g: Tensor, heads: Any) -> None:
        """Raise GradientError for a gradient that has lost a derivative which the incoming gradients carry."""
        carried = set().union(*map(derivatives_on, heads))
        if carried and not carried <= derivatives_on(g) and nonzero(g):
            raise GradientError(
                f"{self.name} can be differentiated only once: backward did not compute its gradient {describe(g)} "
                "from grad_output with recorded tensor ops; compute the gradient with tensor ops in backward",
                op=self.name,
            )

    def check_number(self, partials: tuple[Any, ...]) -> None:
        """Raise GradientError unless there is one gradient per argument; trailing Nones may be extra or missing."""
        n, names = len(self.arguments), ", ".join(argument_names(self.cls, len(self.arguments)))
        if any(g is not None for g in partials[n:]) or any(
            x.__class__ is Hole for x in self.arguments[len(partials) :]
        ):
            raise GradientError(
                f"{self.whose('backward')} must return one gradient for each of the {n} arguments of forward ({names})"
                f", got {quantity(len(partials), 'gradient')}; return None for an argument without a gradient",
                op=self.name,
            )
        for x, g, name in zip(self.arguments, partials, argument_names(self.cls, n)):
            if x.__class__ is not Hole and g is not None:
                raise GradientError(
                    f"{self.whose('backward')} must return None for {name!r}, which is not a tensor, got "
                    f"{describe(g)}; return None for this argument",
                    op=self.name,
                )

    def whose(self, method: str) -> str:
        """Describe a method of the user for messages, with its line."""
        return f"{self.name}: {method} at {definition_of(getattr(self.cls, method))}"

    # ---- transforms ----

    def forth(self, *values: Any) -> Any:
        """Return the tangents of the results by the user's jvp, given tangents, operands and results."""
        n = len(self.operands)
        tangents, operands, results = values[:n], values[n : 2 * n], values[2 * n :]
        ctx, self.forward_context = self.forward_context or self.context_of(operands, results), None
        if ctx._forward is not None:
            ctx._kept = ctx._forward
        passed = [t if x.dtype.is_inexact else None for t, x in zip(tangents, operands, strict=True)]
        result = self.cls.jvp(ctx, *[passed[x.k] if x.__class__ is Hole else None for x in self.arguments])
        if self.result is None:
            return result
        parts = result if isinstance(result, (tuple, list)) else (result,)
        return tuple([t for t, x in zip(parts, self.slots) if x.__class__ is Hole])

    def batched(self, call: Batch) -> Any:
        """Return the results for a batch: by the user's vmap, or by a loop if vmap is not defined."""
        dims = tuple([0 if x.__class__ is Hole and call.flags[x.k] else None for x in self.arguments])
        if not has(self.cls, "vmap"):
            if self.cls.generate_vmap_rule:
                results = self.read(generated(self.cls, call.size, dims).apply(*self.filled(call.operands)))
                return results[0] if self.result is None else self.result(*results)
            if call.size == 0:
                raise GradientError(
                    f"{self.name}: the shape of the result for an empty batch is unknown without a batching rule; "
                    "define the static method vmap"
                )
            remedy = "define the static method vmap(info, in_dims, *args), or set generate_vmap_rule = True"
            warn_of_loop(self.cls, self.name, remedy)
            return each_sample(call)
        randomness = [t.randomness for t in stack.transforms if isinstance(t, BatchTransform) and t.size == call.size]
        output, at = self.cls.vmap(
            VmapInfo(call.size, (randomness or ["error"])[-1]), dims, *self.filled(call.operands)
        )
        results = self.read(output)
        if isinstance(at, (tuple, list)) and (type(at) is not type(output) or len(at) != len(self.slots)):
            raise GradientError(
                f"{self.whose('vmap')} must return batch dims of the form of its outputs, or one for all outputs, got "
                f"{describe(at)} for {describe(output)}; return (outputs, 0), for example",
                op=self.name,
            )
        where = at if isinstance(at, (tuple, list)) else (at,) * len(self.slots)
        kept = [d for d, x in zip(where, self.slots) if x.__class__ is Hole]
        parts = [in_front(y, d, call.size) for y, d in zip(results, kept, strict=True)]
        return parts[0] if self.result is None else self.result(*parts)


def generated(cls: Any, size: int, dims: tuple[int | None, ...]) -> Any:
    """Return the Function of a batch: the forward and the backward of a Function run on all samples at once.

    dims: 0 for each argument that is a batch, otherwise None; the gradient of a tensor that is the same for all samples
    is the sum over the batch.
    """

    def as_batches(transform: BatchTransform, values: Sequence[Any], where: Sequence[int | None]) -> list[Any]:
        return [x if d is None or x is None else Batched(x, transform) for x, d in zip(values, where)]

    def whole(transform: BatchTransform, y: Any) -> Any:
        inner = transform.whole(y)
        return in_front(y, None, size) if inner is None and isinstance(y, Tensor) else y if inner is None else inner

    def forward(*args: Any) -> Any:
        with BatchTransform(size) as transform:
            transform.private = True
            output = cls.forward(*as_batches(transform, args, dims))
        many = isinstance(output, (tuple, list))
        return tuple([whole(transform, y) for y in output]) if many else whole(transform, output)

    def setup_context(ctx: Context, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.outer = (inputs, output)  # type: ignore[attr-defined]

    def backward(ctx: Any, *gradients: Any) -> Any:
        inputs, output = ctx.outer
        outputs = output if isinstance(output, tuple) else (output,)
        with BatchTransform(size) as transform:
            transform.private = not is_grad_enabled()
            inner = Context(ctx.needs_input_grad)
            ys = as_batches(transform, outputs, [0 if isinstance(y, Tensor) else None for y in outputs])
            cls.setup_context(
                inner, tuple(as_batches(transform, inputs, dims)), tuple(ys) if output is outputs else ys[0]
            )
            partials = cls.backward(inner, *as_batches(transform, gradients, [0] * len(gradients)))
        partials = partials if isinstance(partials, (tuple, list)) else (partials,)
        parts = [g if g is None else whole(transform, g) for g in partials]
        return tuple([g if g is None or d == 0 else sum(g, 0) for g, d in zip(parts, dims)])

    methods = {"forward": forward, "setup_context": setup_context, "backward": backward}
    known = {"generate_vmap_rule": True, **{name: staticmethod(f) for name, f in methods.items()}}
    return type(f"{cls.__name__}Generated", cls.__bases__, known)


def weakly(method: Any) -> Callable[..., Any]:
    """Return a function that calls a method, but has only a weak reference to the object of the method.

    A strong reference from an op's rules to the op would be a reference cycle, and the saved values would exist until
    the next garbage collection.
    """
    held = weakref.WeakMethod(method)
    return lambda *values, **facts: held()(*values, **facts)  # type: ignore[misc]
