"""Batching of an op: its operands and its results get one additional leading dim.

Most ops need no batching rule.  Their kind and the roles of their parameters determine the call on the batch:

elementwise  operands broadcast; operands of lower rank get dims of size 1 after the batch dim
reduction    the reduced dims increase by one
view         parameters change by their roles: a dim increases by one, a shape gets the batch size in front
product      batch dims broadcast, vectors are rows and columns
along        an op along one dim, of operands of one rank: the dim increases by one
front        the op reads the last dims, and accepts more dims in front of them
merged       samples along dim 0 are independent, so the batch is merged into this dim
rule         the batching rule of the declaration: `batch=`
function     a call of a `mg.Function`
loop         one call per sample, whose results are stacked; a warning reports this once per op

The batch dim of an operand is always its first dim.  `vmap` records which operands have one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from minigrad.config import settings
from minigrad.core.op import Op
from minigrad.core.parameters import KEYWORD, parameters_of
from minigrad.core.plans import bounded
from minigrad.errors import warn
from minigrad.ops.batch_rules import batch_merged, batched_product, promoted, ranked, stretched
from minigrad.ops.creation import empty, zeros
from minigrad.ops.shape.joining import stack
from minigrad.ops.shape.views import reshape, select
from minigrad.runtime.dispatch import apply
from minigrad.runtime.operands import keyed
from minigrad.runtime.planning import make_plan
from minigrad.runtime.plans import plan_of
from minigrad.runtime.tensor import Tensor

KINDS = ("elementwise", "reduction", "view", "product", "along", "front", "merged", "rule", "function", "loop")
CHECKED = ("front", "product", "rule")  # kinds for which a batch of vectors would pass as a matrix
_checked: dict[Any, None] = {}  # the kinds of calls whose samples have been checked
_looped: set[Any] = set()  # the definitions of which `warn_of_loop` has warned


def batch_kind(op: Op) -> str:
    """Return how an op processes a batch, one of KINDS.

    It is the declared kind if there is one, otherwise it follows from the kind of the op, and finally it is "loop".
    """
    if op.batch is not None:
        return op.batch if isinstance(op.batch, str) else "rule"
    if op.kind == "view":
        return "view" if op.params and op.roles.keys() == op.params.keys() else "loop"
    return op.kind if op.kind in ("elementwise", "reduction") else "loop"


@dataclass(slots=True)  # not frozen, since creating a frozen object takes three times as long
class Batch:
    """A call of an op on a batch of `size`. flags: which operands have the batch dim, at least one."""

    op: Op
    params: dict[str, Any]
    operands: tuple[Tensor, ...]
    flags: tuple[bool, ...]
    size: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the operands without the batch dim."""
        return tuple(x.shape[1:] if flag else x.shape for x, flag in zip(self.operands, self.flags))

    def shifted(self) -> dict[str, Any]:
        """Return the parameters for the whole batch, changed by their roles."""
        roles, shape = self.op.roles, self.shapes[0]
        return {
            name: roles[name].shift(value, shape, self.size) if name in roles and roles[name].shift else value
            for name, value in self.params.items()
        }

    def ranked(self, rank: int) -> list[Tensor]:
        """Return the operands; each operand with a batch gets `rank` dims after the batch dim.

        Its own dims are the last of these.
        """
        xs = promoted([len(shape) for shape in self.shapes], self.operands)
        return [ranked(x, flag, rank, self.size) for x, flag in zip(xs, self.flags)]

    def stretched(self) -> list[Tensor]:
        """Return the operands with a batch dim; views expand the values without a batch dim."""
        return [stretched(x, flag, self.size) for x, flag in zip(self.operands, self.flags)]


def batched(op: Op, params: dict[str, Any], operands: Sequence[Tensor], flags: Sequence[bool]) -> Any:
    """Run an op on each sample of a batch, and return the results with the batch as their first dim.

    flags: for each operand, whether its first dim is the batch.  An operand without a batch is the same for all
    samples.  Several results are returned as a named tuple.
    """
    size = next(x.shape[0] for x, flag in zip(operands, flags, strict=True) if flag)
    call = Batch(op, params, tuple(operands), tuple(flags), size)
    if op.kind == "kernel" and batch_kind(op) in CHECKED:
        key = (op, call.flags, *[(x.layout, x.dtype) for x in operands], *[keyed(value) for value in params.values()])
        if key not in _checked:
            expect_sample(call)
            bounded(_checked, key, None, settings.plan_limit)
    return WAYS[batch_kind(op)](call)


def expect_sample(call: Batch) -> None:
    """Raise the error of an op for operands with the shapes of one sample."""
    samples = [empty(shape, dtype=x.dtype, device=x.device) for shape, x in zip(call.shapes, call.operands)]
    make_plan(call.op, tuple(samples), call.params, fresh=False)


def by_broadcasting(call: Batch) -> Any:
    """Run an elementwise op on a batch."""
    rank = max(len(shape) for shape in call.shapes)
    return apply(call.op, tuple(call.ranked(rank)), call.params)


def by_roles(call: Batch) -> Any:
    """Run a reduction, a view, or an op on the last dims on a batch."""
    return apply(call.op, tuple(call.stretched()), call.shifted())


def by_product(call: Batch) -> Any:
    """Run a product of matrices on a batch; a vector becomes a row or a column, whose dim is removed again."""
    a, b = call.operands

    def multiply(left: Tensor, right: Tensor) -> Any:
        return apply(call.op, (left, right), call.params)

    return batched_product(multiply, a, b, call.flags, call.size)


def by_moving(call: Batch) -> Any:
    """Run an op along a dim on a batch; a scalar sample counts as a row of one element, and its results do too."""
    scalar = not call.shapes[0]
    xs = [reshape(x, (call.size, 1)) if scalar and x.ndim == 1 else x for x in call.stretched()]
    result = apply(call.op, tuple(xs), call.shifted())
    if not scalar:
        return result
    flat = [reshape(y, (call.size,)) for y in ((result,) if call.op.result is None else result)]
    return flat[0] if call.op.result is None else call.op.result(*flat)


def by_merging(call: Batch) -> Any:
    """Run an op on independent samples along dim 0 on a batch, which is merged into this dim."""
    return batch_merged(lambda *xs: apply(call.op, xs, call.params), call.stretched())


def by_rule(call: Batch) -> Any:
    """Call the declared batching rule.

    All its operands have the batch dim, unless the rule takes `flags`, which mark the operands that have it.
    """
    rule: Any = call.op.batch
    known = {**call.params, "batch": call.size, "flags": call.flags}
    named = keyword_names(rule)
    operands = call.operands if "flags" in named else call.stretched()
    result = rule(*operands, **{name: known[name] for name in named})
    return result if call.op.result is None else call.op.result(*result)


@cache
def keyword_names(rule: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a rule's keyword-only parameters."""
    return tuple(p.name for p in parameters_of(rule) if p.kind is KEYWORD)


def by_function(call: Batch) -> Any:
    """Run the batching of a `mg.Function`: see `user_op.py`."""
    op: Any = call.op
    return op.batched(call)


def by_looping(call: Batch) -> Any:
    """Call an op without a batching rule once per sample of the batch, after a warning."""
    warn_of_loop(call.op, call.op.label, "declare the op with batch=...")
    return each_sample(call)


def warn_of_loop(definition: Any, label: str, remedy: str) -> None:
    """Warn that vmap calls an op in a loop, once for each definition: an op, or the class of a `mg.Function`."""
    if definition not in _looped:
        _looped.add(definition)
        warn(
            f"{label}: vmap has no batching rule for this op, so it calls the op once per sample of the batch, "
            f"which is slow; {remedy}"
        )


def each_sample(call: Batch) -> Any:
    """Call the op once per sample of the batch."""
    op = call.op
    if call.size == 0:
        like = [zeros(shape, dtype=x.dtype, device=x.device) for shape, x in zip(call.shapes, call.operands)]
        plan = plan_of(op, tuple(like), call.params)
        empty = [zeros((0, *out.shape), dtype=out.dtype, device=plan.device) for out in plan.outs]
        return empty[0] if op.result is None else op.result(*empty)
    result = []
    for k in range(call.size):
        each = [select(x, dim=0, index=k) if flag else x for x, flag in zip(call.operands, call.flags)]
        result.append(apply(op, tuple(each), call.params))
    if op.result is None:
        return stack(result)
    return op.result(*[stack(list(parts)) for parts in zip(*result)])


WAYS = {
    "elementwise": by_broadcasting, "reduction": by_roles, "view": by_roles, "product": by_product,
    "along": by_moving, "front": by_roles, "merged": by_merging, "rule": by_rule, "function": by_function,
    "loop": by_looping,
}  # fmt: skip
