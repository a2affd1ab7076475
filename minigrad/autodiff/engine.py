"""The walk back: seed, falling ids, one rule an operand, broadcast axes summed once an edge, accumulation.

Rules are ordinary tensor code, so with `create_graph=True` the walk is recorded like anything else and every order
of derivative works.  The walk is iterative: a chain of 100,000 ops is as good as one of ten.  Saved values are freed
as they are used unless the graph is retained.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from minigrad.autodiff.checks import Node, check, check_reached, check_seed, node_of
from minigrad.autodiff.fused import fuse
from minigrad.autodiff.grads import GradStore
from minigrad.autodiff.hooks import hooked
from minigrad.autodiff.owning import apart, handed_out
from minigrad.autodiff.sealed import Unfusable
from minigrad.autodiff.watching import watched, watched_joint
from minigrad.core.dtype import as_dtype
from minigrad.core.op import Op, Rule, Spec
from minigrad.errors import GradientError
from minigrad.ops.arithmetic import add
from minigrad.ops.casting import cast
from minigrad.ops.creation import ones, zeros
from minigrad.ops.reduce import sum_to
from minigrad.ops.views import expand
from minigrad.runtime.dispatch import SCALAR, number
from minigrad.runtime.graph import BackpropOp, Output, set_grad_enabled
from minigrad.runtime.tensor import Tensor, describe, expect_tensors
from minigrad.runtime.var import Var

Gradients = Sequence[Tensor | None]


def backward(
    y: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False
) -> GradStore:
    """Gradients of y with respect to every Var that it depends on; also added to each Var's `.grad`.

    gradient: the cotangent of y, same shape; ones when omitted, also for a y that is no scalar.
    retain_graph: keep the saved values for another backward (default: as create_graph).
    create_graph: record the walk, for higher orders.
    A first `.grad` is the tensor that the store holds; a later backward makes a new sum and leaves the store's alone.
    Raises GradientError when y does not require a gradient, or its graph has been freed.
    """
    retain = create_graph if retain_graph is None else retain_graph
    found = walk([y], [gradient], None, retain, create_graph, "backward")
    store = GradStore()
    with set_grad_enabled(create_graph):
        for x, g in handed_out(found, True, create_graph):
            store._put(x, g)
            x._grad = g if x._grad is None else add(x._grad, g)
    return store


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> Any:
    """Gradients of outputs with respect to inputs, which may be Vars or values in between; `.grad` is not touched.

    grad_outputs: one cotangent an output (ones when omitted).  Returns a Tensor for a single input, else a tuple.
    Raises GradientError for an input that no output depends on, unless allow_unused, which gives None for it.
    """
    ys: list[Any] = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    xs: list[Any] = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    expect_tensors("grad", *ys, *xs)
    given = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs or [None] * len(ys))
    if len(given) != len(ys):
        raise GradientError(f"grad: {len(ys)} outputs and {len(given)} grad_outputs; give one for each output")
    for x in xs:
        if not x.requires_grad:
            raise GradientError(f"grad: the input {describe(x)} does not require a gradient; make it a mg.Var")
    retain = create_graph if retain_graph is None else retain_graph
    found = handed_out(walk(ys, given, xs, retain, create_graph, "grad", allow_unused), False, create_graph)
    by_id = {node.id: g for node, g in found}
    result = [by_id.get(node_of(x).id) for x in xs]
    if len(by_id) < len(xs):
        result = apart(result, create_graph)
    return result[0] if isinstance(inputs, Tensor) else tuple(result)


# ---- the walk -------------------------------------------------------------------------------------------------------


def walk(
    ys: Sequence[Tensor],
    cotangents: Sequence[Tensor | None],
    inputs: Sequence[Tensor] | None,
    retain: bool,
    create: bool,
    name: str,
    unused: bool = True,
) -> list[tuple[Node, Tensor]]:
    """Pairs (target, gradient): targets are the Vars, or the nodes of `inputs` when given.

    Every check comes first: when one fails, nothing has been allocated and no saved value freed.
    """
    for y, g in zip(ys, cotangents, strict=True):
        check_seed(y, g, name)
    nodes, leaves = reachable(node_of(y) for y in ys)
    targets = {leaf.id: leaf for leaf in leaves}
    wanted = None
    if inputs is not None:
        targets = {node_of(x).id: node_of(x) for x in inputs}
        if not unused:
            check_reached(inputs, nodes, leaves)
        wanted = leading_to(nodes, targets)
        nodes = [node for node in nodes if not wanted.isdisjoint(node.ids or (node.id,))]
    check(nodes, wanted, name)
    table: dict[int, Tensor] = {}
    owned: set[int] = set()
    seeds = [seed(y, g) for y, g in zip(ys, cotangents, strict=True)]
    with set_grad_enabled(create):
        for y, g in zip(ys, seeds):
            accumulate(table, owned, node_of(y).id, g, create)
        found = descend(nodes, table, owned, targets, wanted, retain, create)
    found += [(leaf, table[key]) for key, leaf in targets.items() if key in table]
    return found


def descend(
    nodes: list[BackpropOp],
    table: dict[int, Tensor],
    owned: set[int],
    targets: dict[int, Node],
    wanted: set[int] | None,
    retain: bool,
    create: bool,
) -> list[tuple[Node, Tensor]]:
    """Push gradients from node to parents in the order of `nodes`; with `wanted`, to those in it only.

    A gradient is complete when its node's turn has come: then the hooks of the node see it, before anybody else.

    table: the gradient of each node or leaf that has been reached, by id.  owned: those that are the engine's own
    sums.  Gives what came to `targets` among the nodes, and leaves those of the leaves in the table.
    """
    found: list[tuple[Node, Tensor]] = []
    for node in nodes:
        if node.ids is None:
            g = table.pop(node.id, None)
            if g is None:
                continue
            if node.hooks:
                g = hooked(node, 0, g)
            if node.id in targets:
                found.append((targets[node.id], g))
            gradients: Gradients = (g,)
        else:
            gradients = [table.pop(key, None) for key in node.ids]
            if node.hooks:
                gradients = [None if g is None else hooked(node, k, g) for k, g in enumerate(gradients)]
            found += [(targets[key], g) for key, g in zip(node.ids, gradients) if g is not None and key in targets]
        for parent, partial in node.pull(gradients, wanted, create):
            if parent.id in table:
                accumulate(table, owned, parent.id, partial, create)
            else:
                table[parent.id] = partial
        if not retain and node.saved:  # who saved nothing has nothing to free, and can be walked again
            node.saved = None
    return found


def pull(node: BackpropOp, gradients: Gradients, wanted: set[int] | None, create: bool) -> list[tuple[Node, Tensor]]:
    """The one way through a node: from the gradients of its results to (parent, partial gradient) of each operand.

    gradients: one a result, None where nothing used it.  wanted: ids of the parents that are asked for, or None.
    """
    op, specs, parents = node.op, node.plan.specs, node.parents
    saved: Any = saved_in_graph(node) if create and node.saved else node.saved
    joint = None if op.joint is None else at_once(node, op.joint, saved, gradients, wanted, create)
    pairs: list[tuple[Node, Tensor]] = []
    for k, pick in op.picks[node.mask] if not op.variadic else every_operand(node):
        parent = parents[k]
        if wanted is not None and parent.id not in wanted:
            continue
        at = 0 if op.variadic else k
        rule: Any = op.rules[at]
        # A fused rule is one kernel; what it does cannot be differentiated again.
        fn = rule.fn if create or joint is not None else rule.fused or fuse(op, at)
        if joint is not None:
            partial = joint[k]
            if partial is None:
                continue
        elif op.result is not None or rule.foreign:
            heads = heads_for(node, rule, gradients)
            if heads is None:
                continue
            given, known = [saved[i] for i in pick], facts(node, rule, k)
            partial = watched(node, rule, k, fn, heads, given, known) if rule.foreign else fn(*heads, *given, **known)
        elif rule.facts:
            partial = fn(gradients[0], *[saved[i] for i in pick], **facts(node, rule, k))
        else:
            try:
                if not pick:
                    partial = fn(gradients[0])
                elif len(pick) == 1:
                    partial = fn(gradients[0], saved[pick[0]])
                else:
                    partial = fn(gradients[0], *[saved[i] for i in pick])
            except Unfusable:
                partial = rule.fn(gradients[0], *[saved[i] for i in pick])
        spec = specs[k]
        if partial.layout is not spec.layout or partial.dtype is not spec.dtype:
            partial = fitted(partial, spec)
        pairs.append((parent, partial))
    return pairs


BackpropOp.pull = pull  # type: ignore[assignment,method-assign]


def heads_for(node: BackpropOp, rule: Rule, gradients: Gradients) -> list[Tensor | None] | None:
    """The gradients that a rule takes; None where none of them came.  With zeros, none is missing."""
    heads = [gradients[i] for i in rule.gradients]
    if all(g is None for g in heads):
        return None
    if node.op.zeros:
        device = node.plan.device
        specs = [node.plan.outs[i] for i in rule.gradients]
        heads = [zeros(s.shape, dtype=s.dtype, device=device) if g is None else g for g, s in zip(heads, specs)]
    return heads


def at_once(
    node: BackpropOp, rule: Rule, saved: Any, gradients: Gradients, wanted: set[int] | None, create: bool
) -> Sequence[Any] | None:
    """The gradients of a node by its op's joint rule, or where their graph is wanted by its definition; None unless
    every operand wants one, or those that do can be said."""
    op = node.op
    asked = tuple([parent is not None and (wanted is None or parent.id in wanted) for parent in node.parents])
    composed = create and op.composed is not None
    if False in asked and not (rule.asked or composed):
        return None
    heads = gradients if op.result is None else heads_for(node, rule, gradients)
    if heads is None:
        return None
    if composed:
        head: Any = heads[0]
        return by_definition(op, node.params, node.plan.outs[0], saved, head, asked)
    values = {op.value_name(k): value for k, value in zip(op.saves[node.mask], saved)}
    given, known = [values.get(name) for name in rule.saves], facts(node, rule, 0)
    if rule.asked:
        known["asked"] = asked
    if rule.foreign:
        return watched_joint(node, rule, list(heads), given, known)
    found: tuple[Any, ...] = rule.fn(*heads, *given, **known)
    return found


def by_definition(
    op: Op, params: dict[str, Any], out: Spec, operands: Sequence[Tensor], head: Tensor, asked: Sequence[bool]
) -> list[Tensor | None]:
    """The gradients that are asked for, as parts of the graph: a walk back through what the op is composed of.

    It ends at views that stand in for the operands: so it goes no further, and one tensor may be several operands.
    Floats are computed in as the op's own kernel would.
    """
    assert op.composed is not None
    dtype = as_dtype(out.dtype.compute)
    seats = [
        expand(x, shape=x.shape) if x.requires_grad else Var.of(x) if ask else x for x, ask in zip(operands, asked)
    ]
    wide = [cast(x, dtype=dtype) if x.dtype.is_float and x.dtype is not dtype else x for x in seats]
    y = fitted(op.composed(*wide, **params), out)
    nodes = nodes_until(node_of(y), {node_of(x).id for x in seats})
    way = leading_to(nodes, {node_of(x).id: node_of(x) for x, ask in zip(seats, asked) if ask})
    table: dict[int, Tensor] = {node_of(y).id: head}
    descend([each for each in nodes if not way.isdisjoint(each.ids or (each.id,))], table, set(), {}, way, True, True)
    return [table.get(node_of(x).id) if ask else None for x, ask in zip(seats, asked)]


def nodes_until(root: Node, ends: Container[int]) -> list[BackpropOp]:
    """Every BackpropOp under the root by falling id, as far as some that are left out."""
    nodes: dict[int, BackpropOp] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        node = node.node if node.__class__ is Output else node
        if isinstance(node, BackpropOp) and node.id not in nodes and node.id not in ends:
            nodes[node.id] = node
            stack += [parent for parent in node.parents if parent is not None]
    return [nodes[k] for k in sorted(nodes, reverse=True)]


def every_operand(node: BackpropOp) -> list[tuple[int, tuple[int, ...]]]:
    """What `Op.picks` says, for an op over any number of operands."""
    return [(k, ()) for k, parent in enumerate(node.parents) if parent is not None]


def fitted(partial: Tensor, spec: Spec) -> Tensor:
    """A partial gradient in the shape and dtype of its operand: broadcast axes are summed."""
    if partial.layout.shape != spec.layout.shape:
        partial = sum_to(partial, spec.layout.shape)
    return partial if partial.dtype is spec.dtype else cast(partial, dtype=spec.dtype)


def seed(y: Tensor, gradient: Tensor | None) -> Tensor:
    """The cotangent of y: ones, or the given one in the dtype of y."""
    if gradient is None:
        if y.layout is SCALAR:
            return number(1.0, y.dtype, y.device)
        return ones(y.shape, dtype=y.dtype, device=y.device)
    return gradient if gradient.dtype is y.dtype else cast(gradient, dtype=y.dtype)


def reachable(roots: Iterable[Node]) -> tuple[list[BackpropOp], list[Tensor]]:
    """Every BackpropOp under the roots by falling id, and the leaves."""
    nodes: dict[int, BackpropOp] = {}
    leaves: dict[int, Tensor] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.__class__ is not BackpropOp:
            if node.__class__ is Output:
                node = node.node
            elif not isinstance(node, BackpropOp):
                leaves[node.id] = node
                continue
        if node.id not in nodes:
            nodes[node.id] = node
            for parent in node.parents:
                if parent is not None:
                    stack.append(parent)
    return [nodes[k] for k in sorted(nodes, reverse=True)], list(leaves.values())


def leading_to(nodes: list[BackpropOp], targets: dict[int, Node]) -> set[int]:
    """Ids of the nodes through which a target is reached, and of the targets themselves."""
    wanted = set(targets)
    for node in reversed(nodes):
        if any(p.id in wanted for p in node.parents if p is not None):
            wanted.update(node.ids or (node.id,))
    return wanted


def facts(node: BackpropOp, rule: Any, operand: int) -> dict[str, Any]:
    """The parameters and static facts that a rule asks for."""
    params, plan, op = node.params, node.plan, node.op
    return {name: params[name] if name in params else plan.fact(name, op, operand) for name in rule.facts}


def saved_in_graph(node: BackpropOp) -> tuple[Tensor, ...]:
    """What a node saved, its results as parts of the graph again: for higher orders."""
    return tuple(
        value if k >= 0 else Tensor(value.storage, value.layout, edge_of(node, -1 - k))
        for k, value in zip(node.op.saves[node.mask], node.saved or ())
    )


def edge_of(node: BackpropOp, k: int) -> Any:
    """What the tensor of a node's k-th result has for `op`."""
    if node.ids is None:
        return node
    return Output(node, k) if node.plan.outs[k].dtype.is_float else None


def accumulate(table: dict[int, Tensor], owned: set[int], key: int, g: Tensor, create: bool) -> None:
    """Add a partial gradient to a node's.  The first is kept as it is; a sum is the engine's own and grows in place."""
    old = table.get(key)
    if old is None:
        table[key] = g
    elif key in owned and not create:
        add_into(old, g)
    else:
        table[key] = add(old, g)
        owned.add(key)


def add_into(total: Tensor, g: Tensor) -> None:
    """total += g, where nobody else knows `total`: no new buffer."""
    add(total, g, out=total)
