"""Reverse-mode engine: visit the recorded nodes from newest to oldest and accumulate their gradients.

`node.pull`, the step through one node, is in `pulling.py`; all checks before a backward pass are in `checks.py`.  Rules
are ordinary tensor code, so `create_graph=True` records the backward pass like any other code, and every order of
derivative works.  The traversal is iterative: a chain of 100,000 ops works like a chain of ten.  Unless the graph is
retained, saved values are freed as they are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minigrad.autodiff.checks import Node, check, check_reached, check_seed, chosen, kept, listed_tensors, node_of, seed
from minigrad.autodiff.convention import conjugated, for_users
from minigrad.autodiff.grads import PARTS, Early, GradStore, added_in_place, collected, keep, kept_nodes
from minigrad.autodiff.hooks import hooked, hooked_leaf, looked_at
from minigrad.autodiff.owning import apart, handed_out, never_owned, sole
from minigrad.errors import GradientError
from minigrad.ops.pointwise.arithmetic import add
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.hooks import BackwardPass, late_hooks, leaf_hooks, retained, walks
from minigrad.runtime.observers import observed
from minigrad.runtime.tensor import Tensor, expect_tensors
from minigrad.runtime.tracers import Tracer

Gradients = Sequence[Tensor | None]
NO_TARGETS: Mapping[int, Node] = {}


def backward(
    y: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> GradStore:  # fmt: skip
    """Compute the gradients of y with respect to every Var that it depends on, and add each to the Var's `.grad`.

    gradient: the incoming gradient of y, of the same shape; by default ones, also if y is not a scalar.
    retain_graph: whether saved values are kept for another backward pass; the default is create_graph.
    create_graph: whether the backward pass is recorded, for derivatives of higher order.
    inputs: the Vars or intermediate values whose `.grad` changes; by default all Vars.
    Returns the gradients as a GradStore.  The first `.grad` of a Var is the tensor in the store.  A later backward pass
    adds to `.grad` in place, also if you assigned a part of a larger tensor; the gradients in the store do not change.
    Raises GradientError if y does not require a gradient, or its graph has been freed.
    """
    retain = kept("backward", retain_graph, create_graph)
    xs = None if inputs is None else chosen("backward", inputs)
    store = GradStore()
    pairs = walk([y], [gradient], xs, retain, create_graph, "backward", store=store if xs is None else None)
    return collected(handed_out(pairs, True, create_graph), xs, create_graph, store)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> Any:
    """Compute the gradients of outputs with respect to inputs, Vars or intermediate values; `.grad` does not change.

    Return a tensor for a single input, otherwise a tuple.  grad_outputs: incoming gradients of outputs; ones if None.
    Raises GradientError for an input that no output depends on; with allow_unused, its gradient is None.
    """
    ys = listed_tensors(outputs)
    expect_tensors("grad", *ys)
    xs = chosen("grad", inputs)
    cotangents = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs or [None] * len(ys))
    if len(cotangents) != len(ys):
        raise GradientError(f"grad: grad_outputs must have {len(ys)} entries, one per output, got {len(cotangents)}")
    retain = kept("grad", retain_graph, create_graph)
    pairs = walk(ys, cotangents, xs, retain, create_graph, "grad", allow_unused)
    if not pairs or not isinstance(pairs[0][1], Tracer):  # values of transforms have no memory
        pairs = handed_out(pairs, False, create_graph)
    by_id = {node.id: g for node, g in pairs}
    result = [by_id.get(node_of(x).id) for x in xs]
    if len(by_id) < len(xs):
        result = apart(result, create_graph)
    return result[0] if isinstance(inputs, Tensor) else tuple(result)


def walk(
    ys: Sequence[Tensor], cotangents: Sequence[Tensor | None], inputs: Sequence[Tensor] | None, retain: bool,
    create: bool, name: str, unused: bool = True, store: GradStore | None = None,
) -> list[tuple[Node, Tensor]]:  # fmt: skip
    """Run a backward pass; return pairs (target, gradient).  Targets are all Vars, or the nodes of `inputs`.

    All checks come first: if one fails, nothing has been allocated and no saved value has been freed.
    store: receives the gradients that are complete before the end of the pass.
    """
    starts: list[Any] = []
    for y, g in zip(ys, cotangents):
        check_seed(y, g, name)
        starts.append(y if y.op is None else y.op)
    nodes, leaves = reachable(starts)
    targets = {leaf.id: leaf for leaf in leaves}
    wanted, asked = None, NO_TARGETS
    if inputs is not None:
        asked = targets = {node_of(x).id: node_of(x) for x in inputs}
        if not unused:
            check_reached(inputs, nodes, leaves)
        nodes, wanted = leading_to(nodes, targets)
    check(nodes, wanted, name)
    seeds = [(start, conjugated(seed(y, g))) for start, y, g in zip(starts, ys, cotangents)]
    keeps = bool(retained)
    if keeps:
        asked = {**targets, **kept_nodes(nodes)}
    early = Early(nodes, leaves, create, store) if late_hooks and store is not None else None
    with BackwardPass(create):  # ops have the dtypes of the forward pass
        result, table = pull_back(nodes, seeds, wanted, asked, retain, create, never_owned(cotangents, name), early)
        if leaf_hooks:
            adds = name != "grad"
            table.update({key: hooked_leaf(targets[key], g, adds) for key, g in table.items() if key in targets})
        if keeps:
            result = keep(result, targets, create)
        result += [(leaf, table[key]) for key, leaf in targets.items() if key in table]
        return for_users(result)


def pull_back(
    nodes: list[Any], seeds: list[tuple[Node, Tensor]], wanted: set[int] | None = None,
    targets: Mapping[int, Node] = NO_TARGETS, retain: bool = True, create: bool = False, owned: set[int] | None = None,
    early: Early | None = None,
) -> tuple[list[tuple[Node, Tensor]], dict[int, Tensor]]:  # fmt: skip
    """Push gradients from the seeds through `nodes`, which are ordered by descending ids.

    This is the only traversal of a graph: the engine, transforms and pictures choose the nodes, or objects with the
    same `pull`.  A gradient is complete when its node is visited; then the hooks of the node receive it first.
    seeds: nodes or leaves with their incoming gradients; the list is emptied, so that it keeps no memory alive.
    wanted: the only ids to push gradients to, or None.  owned: the ids of sums that the engine may add to in place.
    early: hands out the gradient of a leaf after its last use.
    Returns the gradients of `targets` among the nodes, and the table of gradients by id, which still has the leaves.
    """
    table: dict[int, Tensor] = {}
    owned = set() if owned is None else owned
    seeds.reverse()
    while seeds:
        accumulate(table, owned, seeds[-1][0].id, seeds.pop()[1], create)
    arrived: list[tuple[Node, Tensor]] = []
    for node in looked_at(nodes) if walks.hooked or observed.pulling else nodes:
        if node.ids is None:
            g = table.pop(node.id, None)
            if g is None:
                continue
            if node.hooks:
                g = hooked(node, 0, g)
            if targets and node.id in targets:
                arrived.append((targets[node.id], g))
            gradients: Gradients = (g,)
        else:
            gradients = [table.pop(key, None) for key in node.ids]
            if node.hooks:
                gradients = [None if g is None else hooked(node, k, g) for k, g in enumerate(gradients)]
            arrived += [(targets[key], g) for key, g in zip(node.ids, gradients) if g is not None and key in targets]
        part = node.op in PARTS and node.__class__ is BackpropOp and not create
        if not (part and added_in_place(node, gradients[0], table, owned, wanted)):
            pairs = node.pull(gradients, wanted, create)
            if len(pairs) > 1:
                pairs.reverse()
            while pairs:  # pairs are removed one by one, so that `accumulate` finds no other reference to a sum
                parent, partial = pairs.pop()
                key = parent.id
                if key in table:
                    accumulate(table, owned, key, partial, create)
                else:
                    table[key] = partial
            parent = partial = None
        if not retain and node.saved:  # without saved values there is nothing to free, and backward can run again
            node.saved = None
        if early is not None:
            early.passed(node.id, table)
    return arrived, table


def reachable(
    roots: Iterable[Node], first: int = 0, older: list[Any] | None = None
) -> tuple[list[BackpropOp], list[Tensor]]:
    """Return every BackpropOp under the roots by descending id, and the leaves; without ids below `first`.

    older: a list that receives the nodes and leaves at which the search stops because they are older.
    """
    nodes: dict[int, BackpropOp] = {}
    leaves: dict[int, Tensor] = {}
    stack: list[Any] = list(roots)
    while stack:
        node = stack.pop()
        if node.__class__ is not BackpropOp:
            if node is None:  # a constant
                continue
            if node.__class__ is Output:
                node = node.node
            if not isinstance(node, BackpropOp):
                if node.id >= first:
                    leaves[node.id] = node
                elif older is not None:
                    older.append(node)
                continue
        key = node.id
        if key < first:
            if older is not None:
                older.append(node)
        elif key not in nodes:
            nodes[key] = node
            stack += node.parents
    return [nodes[k] for k in sorted(nodes, reverse=True)], list(leaves.values())


def leading_to(nodes: list[BackpropOp], targets: Mapping[int, Node]) -> tuple[list[BackpropOp], set[int]]:
    """Return the nodes on paths to `targets`, the targets included, and the ids of these nodes and of the targets."""
    wanted = set(targets)
    for node in reversed(nodes):
        if any(p.id in wanted for p in node.parents if p is not None):
            wanted.update(node.ids or (node.id,))
    return [node for node in nodes if not wanted.isdisjoint(node.ids or (node.id,))], wanted


def accumulate(table: dict[int, Tensor], owned: set[int], key: int, g: Tensor, create: bool) -> None:
    """Add a partial gradient to a node's gradient, in place if no other object refers to the sum."""
    if key not in table:
        table[key] = g
    elif not create and (key in owned or (owned.__class__ is set and sole(table, key))):
        add(table[key], g, out=table[key])  # no other object refers to the sum, so no new buffer is needed
    else:
        table[key] = add(table[key], g)
        owned.add(key)
