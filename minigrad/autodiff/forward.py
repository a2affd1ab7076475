"""Forward mode for one call of an op: from tangents of its operands to tangents of its results.

A tangent has the shape, dtype and device of its primal; None is a zero that costs nothing.  Integers and booleans have
no tangents.  The first method that applies computes the contribution of an operand, and the contributions are added:

1. the declared rule, `jvp=`;
2. `linear=`: the op itself, with tangents instead of a group of operands, and zeros where an operand has no tangent;
3. elementwise ops: the derivative rule with the tangent for g, since a diagonal Jacobian is its own transpose;
4. the derivative of the derivative: a rule is linear in g, so its own derivative with respect to g is its transpose.
   The rule is the transposed Jacobian, and the transpose of a transpose is the Jacobian itself.

All methods are tensor code that runs through dispatch, so they can be differentiated, also in forward mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from minigrad.autodiff.checks import check, node_of
from minigrad.autodiff.definition import fitted
from minigrad.autodiff.engine import leading_to, pull_back, reachable
from minigrad.autodiff.pulling import by_definition
from minigrad.autodiff.replacing import ReplacingTransform
from minigrad.autodiff.tangents import TangentCall, Tangents, as_parts, as_result, check_tangent, plus
from minigrad.autodiff.tracked import TrackedTransform
from minigrad.autodiff.watching import blamed, check_unwritten, position, versions
from minigrad.core.op import Op, Spec
from minigrad.core.parameters import parameters_of
from minigrad.declare.fused import Unfusable, fuse
from minigrad.errors import GradientError, MinigradError
from minigrad.ops.creation import ones, zeros, zeros_like
from minigrad.ops.indexing.gathering import zeros_of
from minigrad.ops.shape.views import expand
from minigrad.runtime.data import host_array
from minigrad.runtime.dispatch import apply
from minigrad.runtime.graph import ids
from minigrad.runtime.operands import canonical
from minigrad.runtime.recording import among_casts, is_grad_enabled, recording_on, set_grad_enabled
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer, Transform, derives

Way = Callable[[TangentCall, set[int]], tuple[set[int], Tangents]]


def pushforward(
    op: Op, params: dict[str, Any], primals: Sequence[Tensor], tangents: Tangents, results: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """Return one tangent per result of an op; None is a tangent of zero, or belongs to a result that is not a float.

    params: the static arguments.
    primals, tangents: one tensor per operand; a tangent is None if it is zero.
    results: the results of the op for the primals.  JVP rules read the results by name.  If a result requires a
    gradient, a tangent that is computed from this result requires a gradient as well.

    Raises GradientError if an operand that has a tangent has no rule, or if its dtype allows no tangent.
    """
    params = canonical(op, tuple(primals), params)
    return checked(TangentCall(op, params, tuple(primals), tuple(tangents), tuple(results)))


def checked(call: TangentCall) -> tuple[Tensor | None, ...]:
    """Compute `pushforward` for a call whose parameters are canonical."""
    for k, t in enumerate(call.tangents):
        if t is not None:
            check_tangent(call, k)
    return pushed(call)


def pushed(call: TangentCall) -> tuple[Tensor | None, ...]:
    """Compute `pushforward` for a call with canonical parameters and at least one tangent, without the checks."""
    left = {k for k, t in enumerate(call.tangents) if t is not None}
    total: list[Tensor | None] = [None] * len(call.results)
    if not any([y.dtype.is_inexact for y in call.results]):  # noqa: C419  a generator takes twice as long
        return tuple(total)
    for way in WAYS[call.op.jvp is not None, call.op.linear is not None, call.op.kind == "elementwise"]:
        while left:
            covered, parts = way(call, left)
            if not covered:
                break
            left = left - covered
            total = [plus(t, as_result(call, part, y)) for t, part, y in zip(total, parts, call.results, strict=True)]
    return tuple(total)


# ---- the four methods: each returns the operands that it has covered, and their contributions -----------------------


def by_rule(call: TangentCall, left: set[int]) -> tuple[set[int], Tangents]:
    """Apply the declared JVP rule."""
    jvp: Any = call.op.jvp
    covered = left.intersection(jvp.tangents)
    if not covered:
        return covered, ()
    values = [call.wanted(kind, k) for kind, k in jvp.wants]
    contribution = watched_jvp(call, jvp, values) if jvp.foreign else jvp.fn(*values, **call.facts(jvp.facts))
    return covered, as_parts(call, contribution)


def watched_jvp(call: TangentCall, jvp: Any, values: Sequence[Any]) -> Any:
    """Return the result of a JVP rule from outside this package, whose errors name the rule."""
    before = versions(values)
    whose = f"{call.op.label}: the jvp rule at {position(call.op, jvp.fn)}"
    try:
        contribution = jvp.fn(*values, **call.facts(jvp.facts))
    except MinigradError as error:
        raise blamed(error, call.op, whose) from None
    names = [p.name for p in parameters_of(jvp.fn)[: len(values)]]
    check_unwritten(call.op, whose, names, values, before)
    return contribution


def by_linearity(call: TangentCall, left: set[int]) -> tuple[set[int], Tangents]:
    """Run the op on tangents, for the group of operands that covers most of the remaining operands."""
    op = call.op
    group = linear_group(op, len(call.primals), frozenset(left))
    covered = left & group
    if not covered:
        return set(), ()
    replaced = [zeros_of(x.shape, x) if k in group else call.primal(k) for k, x in enumerate(call.primals)]
    for k in covered:
        replaced[k] = call.tangent(k)
    return covered, as_parts(call, apply(op, tuple(replaced), call.params))


def by_diagonal(call: TangentCall, left: set[int]) -> tuple[set[int], Tangents]:
    """Apply the derivative rule of an elementwise op, with the tangent as g."""
    k = min(left)
    if call.op.result is not None:
        return {k}, [diagonal_part(call, k, i) for i in range(len(call.results))]
    rule, (y,) = call.rule(k), call.results
    # A rule requires that g has the shape and dtype of the result.  Only a real function of a complex operand, such as
    # abs, receives a complex g: the real part of its result is the tangent.
    tangent = call.tangent(k)
    narrows = tangent.dtype.is_complex and not y.dtype.is_complex
    g = expand(tangent, shape=y.shape) if narrows else as_result(call, tangent, y)
    values = [g, *[call.value(name) for name in rule.saves]]
    if not rule.facts and not any(x is not None and derives(x, is_grad_enabled()) for x in values):
        # A fused kernel cannot be differentiated again, so it is used only where no derivative is requested.
        try:
            return {k}, ((rule.fused or fuse(call.op, k))(*values),)
        except Unfusable:
            pass
    return {k}, (rule.fn(*values, **call.facts(rule.facts, k)),)


def diagonal_part(call: TangentCall, k: int, i: int) -> Tensor | None:
    """Return the contribution of operand k to result i of several results.

    It is the rule of the operand, with the tangent as the gradient of this result.
    """
    rule, y = call.rule(k), call.results[i]
    if i not in rule.gradients or not y.dtype.is_inexact:
        return None
    g = as_result(call, call.tangents[k], y)
    others = {j: call.results[j] for j in rule.gradients}
    heads = [g if j == i else zeros_of(other.shape, other) if call.op.zeros else None for j, other in others.items()]
    return rule.fn(*heads, *[call.value(name) for name in rule.saves], **call.facts(rule.facts, k))


def by_transposing(call: TangentCall, left: set[int]) -> tuple[set[int], Tangents]:
    """Differentiate <rule(u), tangent> with respect to u, for all operands together.

    This is correct for every op and costs about three times as much as its rules.
    """
    values = (*call.primals, *call.results, *[call.tangents[k] for k in left])
    if any(isinstance(x, Tracer) for x in values):
        return set(left), transposed_over(call, left)
    create = is_grad_enabled() and any(x is not None and x.requires_grad for x in values)
    held = call if create else call.without_history()
    # A rule is linear in g, so any g can be used.  With ones, a rule that drops its g is detected.
    heads = [
        ones(y.shape, dtype=y.dtype, device=y.device, requires_grad=True) if y.dtype.is_inexact else None
        for y in call.results
    ]
    with recording_on():
        pulled = [(pulled_back(held, k, heads), call.tangent(k)) for k in sorted(left)]
    return set(left), transposed(call, pulled, heads, create)


def transposed_over(call: TangentCall, left: set[int]) -> Tangents:
    """Compute `by_transposing` if a tracer is involved; reverse mode is then a transform over the tracer."""
    with TrackedTransform() as transform, recording_on():
        heads: list[Any] = [
            transform.leaf(ones(y.shape, dtype=y.dtype, device=y.device)) if y.dtype.is_inexact else None
            for y in call.results
        ]
        pulled = [(pulled_back(call, k, heads), call.tangent(k)) for k in sorted(left)]
    pairs = [(partial, t) for partial, t in pulled if partial is not None]
    leaves = [u for u in heads if u is not None]
    tangents = iter(transform.pull([p for p, _ in pairs], [t for _, t in pairs], leaves, call.op.label, True))
    return [None if u is None else next(tangents) for u in heads]


WAYS: dict[tuple[bool, bool, bool], tuple[Way, ...]] = {
    (rule, linear, diagonal): (
        *((by_rule,) if rule else ()), *((by_linearity,) if linear else ()), *((by_diagonal,) if diagonal else ()),
        by_transposing,
    )
    for rule in (False, True) for linear in (False, True) for diagonal in (False, True)
}  # fmt: skip


def pulled_back(call: TangentCall, k: int, heads: Sequence[Tensor | None]) -> Tensor | None:
    """Return the gradient of operand k by its rule for `heads`, in its shape; None if it is zero for all heads.

    Raises GradientError if the rule returns a gradient that does not depend on g.
    """
    rule, x = call.rule(k), call.primals[k]
    picked = [heads[i] for i in rule.gradients]
    if all(u is None for u in picked):
        return None
    if call.op.zeros:
        ys = [call.results[i] for i in rule.gradients]
        picked = [zeros(y.shape, dtype=y.dtype, device=y.device) if u is None else u for u, y in zip(picked, ys)]
    joint = call.op.joint
    # The joint rule calls kernels that have no derivatives.
    if call.op.composed is not None and joint is not None and not joint.smooth:
        y, head = call.results[0], heads[0]
        assert head is not None
        asked = [j == k for j in range(len(call.primals))]
        primals = [call.primal(j) for j in range(len(call.primals))]
        partial: Any = by_definition(call.op, call.params, Spec(y.layout, y.dtype), primals, head, asked)[k]
    else:
        partial = rule.fn(*picked, *[call.value(name) for name in rule.saves], **call.facts(rule.facts, k))
    partial = fitted(partial, Spec(x.layout, x.dtype))
    if any(u is not None and leads_back(partial, u) for u in picked):
        return partial
    if rule.foreign and host_array(partial).any():
        raise GradientError(
            f"{call.op.label}: the VJP rule for {call.op.operands[k]!r} does not use its argument g in recorded ops, "
            "so no JVP rule can be derived from this VJP rule; remove detach() and no_grad() from it, or declare "
            "jvp="
        )
    return None


def leads_back(partial: Tensor, u: Tensor) -> bool:
    """Return whether the graph shows that a gradient depends on u."""
    _, leaves = reachable([node_of(partial)], u.id)
    return any(leaf is u for leaf in leaves)


def transposed(
    call: TangentCall, pulled: Iterable[tuple[Tensor | None, Tensor]], heads: Sequence[Tensor | None], create: bool
) -> Tangents:
    """Return the gradients of the partial gradients with respect to `heads`.

    Each partial gradient is seeded with the tangent in its pair.
    """
    targets: dict[int, Any] = {u.id: u for u in heads if u is not None}
    pairs = [(node_of(partial), t) for partial, t in pulled if partial is not None]
    nodes, _ = reachable([node for node, _ in pairs], min(targets))
    nodes, wanted = leading_to(nodes, targets)
    check(nodes, wanted, call.op.label)
    with set_grad_enabled(create), among_casts(None):
        _, table = pull_back(nodes, pairs, wanted, targets, create, create)
    return [None if u is None else table.get(u.id) for u in heads]


@lru_cache(maxsize=4096)
def linear_group(op: Op, count: int, left: frozenset[int]) -> frozenset[int]:
    """Return the indices of a group of operands in which an op is linear: the group that covers most of `left`."""
    assert op.linear is not None
    groups = [
        frozenset(range(count) if op.variadic else [op.operands.index(name) for name in group])
        for group in op.linear.groups
    ]
    if op.kind == "elementwise":
        # The rule costs no more than the op, and does not need tensors of zeros.
        groups = [group for group in groups if group <= left]
    return max(groups, key=lambda group: len(group & left), default=frozenset())


# ---- as a transform --------------------------------------------------------------------------------------------------


class Dual(Tracer):
    """A primal and its tangent, of one shape and dtype; both are values outside the transform."""

    __slots__ = ("primal", "tangent")

    def __init__(self, primal: Tensor, tangent: Tensor, transform: Transform) -> None:
        # Each attribute is set separately, because a call makes many of these objects.
        self.id = next(ids)
        self.transform, self.primal, self.tangent = transform, primal, tangent
        self.layout, self.dtype, self.device = primal.layout, primal.dtype, primal.device
        self.op = self.base = None


class DualTransform(ReplacingTransform):
    """The transform of forward mode.  A value without a tangent, a constant or an integer result, is not wrapped."""

    inside = "primal"

    def constant(self, x: Tensor) -> Tensor:
        return Dual(x, zeros_like(x), self) if x.dtype.is_inexact else x

    def replace(self, x: Any, y: Tensor) -> None:
        x.primal, t = self.parts(y)
        x.tangent = zeros_like(x.primal) if t is None else t

    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        primals: list[Tensor] = []
        tangents: list[Tensor | None] = []
        for x in operands:
            if x.__class__ is Dual and x.transform is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
            else:
                primals.append(x)
                tangents.append(None)
        result = apply(op, tuple(primals), params)
        results = (result,) if op.result is None else tuple(result)
        if not any(y.dtype.is_inexact for y in results):
            return result
        parts = pushed(TangentCall(op, params, tuple(primals), tuple(tangents), results))
        duals: list[Any] = [y if t is None else Dual(y, t, self) for y, t in zip(results, parts)]
        for k in op.dirtied if op.kind == "function" else ():  # type: ignore[attr-defined]
            for i, (y, t) in enumerate(zip(results, parts)):
                if y is primals[k] and t is not None and isinstance(operands[k], Dual):
                    written: Any = operands[k]
                    written.primal, written.tangent, written.id = y, t, next(ids)
                    duals[i] = written
        return duals[0] if op.result is None else op.result(*duals)

    def parts(self, y: Any) -> tuple[Tensor, Tensor | None]:
        """Return a result of the function outside the transform, and its tangent, or None if the tangent is zero."""
        return (y.primal, y.tangent) if isinstance(y, Dual) and y.transform is self else (y, None)

    def detached(self, x: Any) -> Tensor:
        return x.primal.detach()

    def elements(self, x: Any) -> Tensor:
        return x.primal
