"""Answers to 03, seeing the graph."""

from __future__ import annotations

from typing import Any

import minigrad as mg


def _by_stack(y: Any) -> Any:
    names, seen, todo = set(), set(), [y.op or y]
    while todo:
        node = todo.pop()
        if node is None or node.id in seen:
            continue
        seen.add(node.id)
        if isinstance(node, mg.BackpropOp):
            todo.extend(node.parents)
        else:
            names.add(node.name)
    return names


def _by_the_picture(y: Any) -> Any:
    if y.op is None:
        return {y.name}
    return {node.label.split("\n")[0] for node in mg.viz.graph(y, names={}).nodes if node.kind == "var"}


def _by_recursion(y: Any) -> Any:
    found: set[Any] = set()

    def visit(node: Any) -> None:
        if isinstance(node, mg.BackpropOp):
            for p in node.parents:
                if p is not None and p not in found:
                    visit(p)
        found.add(node)

    visit(y.op or y)
    return [node.name for node in found if isinstance(node, mg.Var)]


def _every_way(y: Any) -> Any:
    names, todo = [], [y.op or y]
    while todo:
        node = todo.pop()
        if isinstance(node, mg.Var):
            names.append(node.name)
        elif node is not None:
            todo.extend(node.parents)
    return names


def _names_of_ops(y: Any) -> Any:
    names, todo = set(), [y.op or y]
    while todo:
        node = todo.pop()
        if node is not None and node.name not in names:
            names.add(node.name)
            todo.extend(getattr(node, "parents", ()))
    return names


def _by_backward(y: Any) -> Any:
    return set(y.backward())


def _direct_parents(y: Any) -> Any:
    return {p.name for p in y.op.parents if isinstance(p, mg.Var)}


def _first_parent_only(y: Any) -> Any:
    node = y.op or y
    while isinstance(node, mg.BackpropOp):
        node = node.parents[0]
    return {node.name}


def _scaled_by_numbers(x: Any) -> Any:
    low, high = min(x.tolist()), max(x.tolist())
    return (x - low) / (high - low)


def _scaled_without_recording(x: Any) -> Any:
    with mg.no_grad():
        low, high = x.amin(), x.amax()
    return (x - low) / (high - low)


def _scaled_anew(x: Any) -> Any:
    low, high = min(x.tolist()), max(x.tolist())
    return mg.tensor([(v - low) / (high - low) for v in x.tolist()], dtype=mg.f64)


def _where_twice(x: Any) -> Any:
    return mg.where(x > 0.0, mg.where(x > 0.0, x, 1.0).sqrt(), 0.0)


def _root_of_the_positive_part(x: Any) -> Any:
    inside = mg.where(x > 0.0, x, 4.0)
    return (inside.sqrt()) * (x > 0.0).to(mg.f64)


def _by_grad(a: Any, b: Any, x: Any) -> Any:
    return mg.grad(a, x, retain_graph=True), mg.grad(b, x)


def _by_backward_and_a_clean_slate(a: Any, b: Any, x: Any) -> Any:
    x.grad = None
    a.backward(retain_graph=True)
    first, x.grad = x.grad, None
    b.backward()
    return [first, x.grad]


def _that_adds_up(a: Any, b: Any, x: Any) -> Any:
    a.backward(retain_graph=True)
    first = x.grad.clone()
    b.backward()
    return first, x.grad


def _one_backward(a: Any, b: Any, x: Any) -> Any:
    (a + b).backward()
    return x.grad, x.grad


RIGHT: dict[str, list[Any]] = {
    "03.1": [_by_stack, _by_the_picture, _by_recursion],
    "03.2": [
        lambda x: (x - x.amin()) / (x.amax() - x.amin()),
        lambda x: (x - x.min()) / (x.max() - x.min()),
    ],
    "03.3": [_where_twice, _root_of_the_positive_part],
    "03.4": [_by_grad, _by_backward_and_a_clean_slate],
}
WRONG: dict[str, list[Any]] = {
    "03.1": [_every_way, _names_of_ops, _by_backward, _direct_parents, _first_parent_only, lambda y: {"a", "b"}],
    "03.2": [
        _scaled_by_numbers,
        _scaled_without_recording,
        _scaled_anew,
        lambda x: (x - x.amin()) / (x.amax() - x.amin()).item(),
        lambda x: (x - x.amin()) / (x.amax().detach() - x.amin()),
        lambda x: (x - x.amin()) / x.amax(),
    ],
    "03.3": [
        lambda x: mg.where(x > 0.0, x.sqrt(), 0.0),
        lambda x: x.sqrt(),
        lambda x: x.abs().sqrt(),
        lambda x: mg.where(x > 0.0, x.detach().sqrt(), 0.0),
        lambda x: (x + 1e-12).relu().sqrt(),
        lambda x: mg.where(x > 0.0, mg.where(x > 0.0, x, 1.0).sqrt(), 1.0),
    ],
    "03.4": [
        lambda a, b, x: (mg.grad(a, x), mg.grad(b, x)),
        _that_adds_up,
        _one_backward,
        lambda a, b, x: mg.grad(a + b, x),
        lambda a, b, x: (mg.grad(b, x, retain_graph=True), mg.grad(a, x)),
        lambda a, b, x: (mg.grad(a, x, retain_graph=True), None),
    ],
}
PRINTED = [
    "mul   saves 1 tensors; its parents: ['w', None]",
    "; path 2 of 2, sum: [-0.9242, -2, -1.076]",
    "other (shift) receives sum(ȳ, to=()) = -3.573",
    "was freed by an earlier backward; pass retain_graph=True",
    " ratio 2.0",
    "detach() at ",
    "gradients were off there (no_grad)",
    "returned int64, and only floats and complex numbers carry gradients",
    "its values left the graph through item() at ",
    "(a dead relu)",
    "sqrt  passes to x     ȳ / (2 · y) = [nan, 0.25]",
    "does not require a gradient, because it was not computed from a Var",
    "width: the gradient of float64() with respect to 'x' float64() exists: |g| is 3.7",
    "unit: the gradient of float64(2,) with respect to 'x' float64(2,) exists",
    "(2 of 2 elements differ); wrong rule: no step makes them agree",
]
