"""Answers to 07, the tensor engine."""

from __future__ import annotations

from typing import Any

import minigrad as mg


def _collected(y: Any) -> dict[int, Any]:
    found: dict[int, Any] = {}

    def visit(node: Any) -> None:
        if node is None or isinstance(node, mg.Tensor) or node.id in found:
            return
        found[node.id] = node
        for parent in node.parents:
            visit(parent)

    visit(y.op)
    return found


def _sorted(y: Any) -> list[Any]:
    return sorted(_collected(y).values(), key=lambda node: -node.id)


def _order_by_path(y: Any) -> list[str]:
    names, waiting = [], [y.op]
    while waiting:
        node = waiting.pop(0)
        if node is not None and not isinstance(node, mg.Tensor):
            names.append(node.name)
            waiting += list(node.parents)
    return names


def _order_first_parents(y: Any) -> list[str]:
    names, node = [], y.op
    while node is not None and not isinstance(node, mg.Tensor):
        names.append(node.name)
        node = node.parents[0]
    return names


def _walk(nodes: list[Any], y: Any, add: Any) -> dict[int, Any]:
    table = {y.op.id: mg.ones_like(y)}
    for node in nodes:
        if node.id in table:
            for parent, gradient in node.pull((table.pop(node.id),), None, False):
                table[parent.id] = add(table[parent.id], gradient) if parent.id in table else gradient
    return table


def _my_grad_unsorted(y: Any, x: Any) -> Any:
    return _walk(list(_collected(y).values()), y, lambda a, b: a + b).get(x.id, mg.zeros_like(x))


def _my_grad_overwrites(y: Any, x: Any) -> Any:
    return _walk(_sorted(y), y, lambda a, b: b).get(x.id, mg.zeros_like(x))


def _my_grad_keeps_the_first(y: Any, x: Any) -> Any:
    return _walk(_sorted(y), y, lambda a, b: a).get(x.id, mg.zeros_like(x))


def _my_grad_without_zeros(y: Any, x: Any) -> Any:
    return _walk(_sorted(y), y, lambda a, b: a + b).get(x.id)


def _my_grad_of_mean(y: Any, x: Any) -> Any:
    return _walk(_sorted(y), y, lambda a, b: a + b).get(x.id, mg.zeros_like(x)) / x.numel()


def _my_grad_by_recursion(y: Any, x: Any) -> Any:
    total = mg.zeros_like(x)

    def back(node: Any, gradient: Any) -> None:
        nonlocal total
        if isinstance(node, mg.Tensor):
            total = total + gradient if node is x else total
            return
        for parent, partial in node.pull((gradient,), None, False):
            back(parent, partial)

    back(y.op, mg.ones_like(y))
    return total


def _length(g: Any) -> float:
    return float((g * g).sum().item()) ** 0.5


def _clip_by_branch(h: Any, limit: Any) -> Any:
    def hook(g: Any) -> Any:
        length = _length(g)
        return g * (limit / length) if length > limit else None

    return h.register_hook(hook)


def _clip_and_forget(h: Any, limit: Any) -> None:
    _clip_by_branch(h, limit)


def _storages(y: Any) -> Any:
    nodes = list(_collected(y).values())
    owned = {id(p.storage) for node in nodes for p in node.parents if isinstance(p, mg.Tensor)}
    return nodes, owned


def _held_in_a_loop(y: Any) -> int:
    nodes, owned = _storages(y)
    total = 0
    for node in nodes:
        for t in node.saved:
            if id(t.storage) not in owned:
                owned.add(id(t.storage))
                total += t.storage.buffer.nbytes
    return total


def _held_with_vars(y: Any) -> int:
    nodes, _ = _storages(y)
    return sum({id(t.storage): t.storage.buffer.nbytes for node in nodes for t in node.saved}.values())


def _held_but_for_views_of_vars(y: Any) -> int:
    nodes, _ = _storages(y)
    kept = {id(t.storage): t.storage.buffer.nbytes for node in nodes for t in node.saved if not t.is_variable}
    return sum(kept.values())


def _held_twice(y: Any) -> int:
    nodes, owned = _storages(y)
    return sum(t.storage.buffer.nbytes for node in nodes for t in node.saved if id(t.storage) not in owned)


def _held_by_tensors(y: Any) -> int:
    nodes, owned = _storages(y)
    return sum({id(t): t.nbytes for node in nodes for t in node.saved if id(t.storage) not in owned}.values())


def _held_by_the_last(y: Any) -> int:
    _, owned = _storages(y)
    return sum({id(t.storage): t.storage.buffer.nbytes for t in y.op.saved if id(t.storage) not in owned}.values())


def _run(h: Any, piece: Any) -> Any:
    for f in piece:
        h = f(h)
    return h


def _checkpoints_by_closure(functions: Any, h: Any, size: Any) -> Any:
    while functions:
        piece, functions = functions[:size], functions[size:]
        h = mg.checkpoint(lambda h, piece=piece: _run(h, piece), h)
    return h


def _checkpoints_bound_late(functions: Any, h: Any, size: Any) -> Any:
    for k in range(0, len(functions), size):
        piece = functions[k : k + size]
        h = mg.checkpoint(lambda h: _run(h, piece), h)  # noqa: B023
    return h


def _checkpoints_of_whole_pieces(functions: Any, h: Any, size: Any) -> Any:
    for k in range(len(functions) // size):
        h = mg.checkpoint(_run, h, functions[k * size : (k + 1) * size])
    return h


def _checkpoints_and_a_rest(functions: Any, h: Any, size: Any) -> Any:
    whole = len(functions) // size * size
    for k in range(0, whole, size):
        h = mg.checkpoint(_run, h, functions[k : k + size])
    return _run(h, functions[whole:])


def _checkpoint_of_each(functions: Any, h: Any, size: Any) -> Any:
    for f in functions:
        h = mg.checkpoint(f, h)
    return h


def _checkpoint_first_function_only(functions: Any, h: Any, size: Any) -> Any:
    for k in range(0, len(functions), size):
        h = _run(mg.checkpoint(functions[k], h), functions[k + 1 : k + size])
    return h


RIGHT: dict[str, list[Any]] = {
    "07.1": [
        lambda y: [node.name for node in _sorted(y)],
        lambda y: tuple(node.name for _, node in sorted(_collected(y).items()))[::-1],
    ],
    "07.2": [
        lambda y, x: _walk(_sorted(y), y, lambda a, b: a + b).get(x.id, mg.zeros_like(x)),
        _my_grad_by_recursion,
    ],
    "07.3": [_clip_by_branch, lambda h, limit: h.register_hook(lambda g: g * min(1.0, limit / (_length(g) or limit)))],
    "07.4": [_held_in_a_loop, lambda y: mg.tape(y).saved],
    "07.5": [lambda functions, h, size: _checkpoints_by_closure(list(functions), h, size),
             lambda functions, h, size: _checkpoints_by_closure(tuple(functions), h, size)],
}  # fmt: skip
WRONG: dict[str, list[Any]] = {
    "07.1": [
        lambda y: [node.name for node in _collected(y).values()],
        lambda y: [node.name for node in reversed(_sorted(y))],
        _order_by_path,
        _order_first_parents,
        lambda y: [node.id for node in _sorted(y)],
        lambda y: sorted(node.name for node in _sorted(y)),
    ],
    "07.2": [
        _my_grad_unsorted,
        _my_grad_overwrites,
        _my_grad_keeps_the_first,
        _my_grad_without_zeros,
        _my_grad_of_mean,
        lambda y, x: y.op.pull((mg.ones_like(y),), None, False)[0][1],
    ],
    "07.3": [
        _clip_and_forget,
        lambda h, limit: h.register_hook(lambda g: g.clamp(-limit, limit)),
        lambda h, limit: h.register_hook(lambda g: g * (limit / _length(g)) if _length(g) else g),
        lambda h, limit: h.register_hook(lambda g: g * (limit / max(_length(g) ** 2, limit))),
        lambda h, limit: h.register_hook(lambda g: g * limit if _length(g) > limit else g),
        lambda h, limit: h.register_hook(lambda g: g * 0.0 if _length(g) > limit else g),
        lambda h, limit: h.register_hook(lambda g: g * (limit / max(g.abs().max().item(), limit))),
    ],
    "07.4": [
        _held_with_vars,
        _held_but_for_views_of_vars,
        _held_twice,
        _held_by_tensors,
        _held_by_the_last,
        lambda y: len(_sorted(y)) * 256,
    ],
    "07.5": [
        _checkpoints_bound_late,
        _checkpoints_of_whole_pieces,
        _checkpoints_and_a_rest,
        _checkpoint_of_each,
        _checkpoint_first_function_only,
        lambda functions, h, size: _run(h, functions),
        lambda functions, h, size: mg.checkpoint(_run, h, functions),
        lambda functions, h, size: _checkpoints_by_closure(list(functions), h.detach(), size),
    ],
}
PRINTED = [
    "parents  ['mul']",
    "was freed by an earlier backward; pass retain_graph=True",
    "[0.25, 1.0, 4.0] [0.5, 1.0, 2.0]",
    "at x: [10.0, 100.0, -100.0]",
    "loss 33.0   gradient [20.0, 40.0, 60.0]\ngrad: mul(3,) saved its operand 'other', float32(3,), at version 1, ",
    "written by minigrad: ['mul saved version 1, now it is version 2']\nwritten by NumPy:    []",
    "copy_ at ",
    "spoiled: []\nloss 33.0   gradient [11.0, 22.0, 33.0]",
    "sin   output overwritten: fine",
    "in the forward pass:  16\nand after the backward pass:     32   the same gradient: True",
    "plain: at most 288 kB\nin pieces: at most 144 kB",
]
