"""Exercises of notebook 07: the tensor engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import minigrad as mg
from minigrad import Tensor, Var
from minigrad.learning.grading import Exercises, Wrong, expect_close, expect_returned, as_integer

EXERCISES = Exercises()

Layer = Callable[[Tensor], Tensor]


def nodes_under(y: Tensor) -> list[Any]:
    """Return every node that y depends on, the newest first."""
    found: dict[int, Any] = {}
    waiting: list[Any] = [y.op]
    while waiting:
        node = waiting.pop()
        if hasattr(node, "pull") and node.id not in found:
            found[node.id] = node
            waiting += [parent for parent in node.parents if parent is not None]
    return [found[k] for k in sorted(found, reverse=True)]


def chain(x: Tensor) -> Tensor:
    """Return a result of one path, with a constant as other operand."""
    return (x * 2.0).tanh().sum()


def fan(x: Tensor) -> Tensor:
    """Return a result of two paths that meet, one of which is longer."""
    h = x.tanh()
    return (h * h.sin().sin()).sum()


def turns(x: Tensor) -> Tensor:
    """Return a result of two paths whose ops were computed alternately."""
    a, b = x.tanh(), x.sin()
    c, d = a.neg(), b.exp()
    return c * d


def ladder(x: Tensor) -> Tensor:
    """Return a result of values that are used immediately and again at the end."""
    a = x * x
    b = a + x
    c = b * a
    return c + b + a


GRAPHS = {"chain": chain, "two paths": fan, "two paths by turns": turns, "a ladder": ladder}


def order(y: Tensor) -> list[str]:
    """Return the names of the nodes in decreasing order of their ids."""
    return [node.name for node in nodes_under(y)]


@EXERCISES(
    "07.1", order, "Ids that grow with each node are a topological order, at no extra cost.",
    "Collect first, sort afterwards. How do you know that you have met a node before?",
    "Keep a dict from node.id to node. A parent may be None, or a Var, which has no pull.",
    "[found[k].name for k in sorted(found, reverse=True)], where found is filled as in nodes_under.",
)  # fmt: skip
def grade_order(answer: Any) -> None:
    """Test a chain, paths that meet, and values that are used several times."""
    for name, f in GRAPHS.items():
        y = f(Var([0.5, 1.0, 2.0]))
        got, want = answer(y), order(y)
        expect_returned(got, "order")
        if not isinstance(got, (list, tuple)) or not all(isinstance(item, str) for item in got):
            raise Wrong(f"order returns {got!r}, but a list of names was expected")
        if Counter(got) != Counter(want):
            raise Wrong(f"for {name} the nodes are {want}, each once, but order returns {list(got)}")
        if list(got) != want:
            raise Wrong(f"for {name} the backward pass visits {want}, but order returns {list(got)}")


def my_grad(y: Tensor, x: Tensor) -> Tensor:
    """Return the gradient of y with respect to one Var, as the engine computes it."""
    table = {y.op.id: mg.ones_like(y)}  # type: ignore[union-attr]
    for node in nodes_under(y):
        for parent, partial in node.pull((table.pop(node.id),), None, False):
            table[parent.id] = table[parent.id] + partial if parent.id in table else partial
    return table.get(x.id, mg.zeros_like(x))


@EXERCISES(
    "07.2", my_grad, "This is reverse mode. The rest of the engine is for safety and speed.",
    "Use a table from id to gradient that begins with ones for y.op. What is its entry for x at the end?",
    "For each node, the newest first: take its gradient out of the table, call pull, and add each result to the entry "
    "of the parent.",
    "Fill the table as gradients_of(y) does, then return table.get(x.id, mg.zeros_like(x)).",
    excluded=("backward", "grad"),
)  # fmt: skip
def grade_my_grad(answer: Any) -> None:
    """Test the same graphs, and a Var that is not in them."""
    for name, f in GRAPHS.items():
        x, other = Var([0.5, 1.0, 2.0]), Var([1.0, 2.0])
        y = f(x)
        want = mg.grad(f(x), x, mg.ones_like(y))
        expect_close(answer(y, x), want, f"my_grad of {name}", 1e-5)
        expect_close(answer(y, other), [0.0, 0.0], f"my_grad of {name} for a Var that it does not depend on", 1e-5)


def clip(h: Tensor, limit: float) -> Any:
    """Register a hook that scales down a gradient whose norm exceeds the limit."""
    return h.register_hook(lambda g: g * (limit / max(float((g * g).sum().item()) ** 0.5, limit)))


@EXERCISES(
    "07.3", clip, "One hook limits a gradient; the rest of the network does not change.",
    "The return value of a hook replaces the gradient. By which factor must a gradient that is too long be multiplied?",
    "limit / length where length is larger than limit, otherwise 1. Handle a gradient of length 0.",
    "h.register_hook(lambda g: g * (limit / max((g * g).sum().item() ** 0.5, limit))), and return its result.",
)  # fmt: skip
def grade_clip(answer: Any) -> None:
    """Test gradients of large, small and zero norm with one or two dims, and that the hook can be removed."""
    for weights, limit in (
        ([3.0, 4.0], 1.0), ([0.3, 0.4], 1.0), ([0.0, 0.0], 1.0), ([[3.0, 0.0], [0.0, -4.0]], 2.5), ([3.0, -4.0], 9.0),
        ([0.6, 0.6], 0.7),
    ):  # fmt: skip
        w = mg.tensor(weights)
        x = Var(mg.ones_like(w))
        h = x * 1.0
        handle = answer(h, limit)
        if handle is Ellipsis or not hasattr(handle, "remove"):
            raise Wrong("clip should return the result of h.register_hook, so that the hook can be removed again")
        length = float((w * w).sum().item()) ** 0.5
        want = w * min(1.0, limit / length) if length else w
        what = f"the gradient {weights} after clip(h, {limit})"
        expect_close(mg.grad((h * w).sum(), x, retain_graph=True), want, what, 1e-5)
        handle.remove()
        expect_close(mg.grad((h * w).sum(), x), w, f"the gradient {weights} after the hook was removed", 1e-5)


def held(y: Tensor) -> int:
    """Return the bytes of the saved storages; storages of Vars are not counted."""
    nodes = nodes_under(y)
    owned = {id(parent.storage) for node in nodes for parent in node.parents if isinstance(parent, Tensor)}
    kept = {id(t.storage): t.storage for node in nodes for t in node.saved or ()}
    return sum(storage.buffer.nbytes for key, storage in kept.items() if key not in owned)


@EXERCISES(
    "07.4", held, "This is the column `saved` of mg.tape.",
    "Two saved values may be views of one storage: h and h.T, or h twice. How can you detect this?",
    "Put storages in a dict by id(t.storage). Leave out those of Vars, also where a view of one was saved.",
    "The Vars are the parents without pull. Sum storage.buffer.nbytes over the storages that do not belong to a Var.",
)  # fmt: skip
def grade_held(answer: Any) -> None:
    """Test shared values, views of results and of Vars, and no saved value."""
    x, w = Var(mg.ones(8, 8)), Var(mg.ones(8, 8))
    h = (x * w).tanh()
    graphs = {
        "(x + w).sum()": (x + w).sum(),
        "(x * w).tanh().sum()": h.sum(),
        "h * h, for h = (x * w).tanh()": h * h,
        "h @ h.T, of one storage": h @ h.T,
        "x @ w.T, of two Vars": x @ w.T,
        "three tanh": (x * w).tanh().tanh().tanh().sum(),
        "h[0] * h[1], of two rows": h[0] * h[1],
    }
    for name, y in graphs.items():
        got, want = as_integer(answer(y), "held"), held(y)
        if got != want:
            raise Wrong(f"the graph of {name} saves {want} bytes, but held returns {got}")


def in_checkpoints(functions: Sequence[Layer], h: Tensor, size: int) -> Tensor:
    """Return the result of the functions, with a checkpoint for each piece."""

    def run(h: Tensor, piece: Sequence[Layer]) -> Tensor:
        for f in piece:
            h = f(h)
        return h

    for k in range(0, len(functions), size):
        h = mg.checkpoint(run, h, functions[k : k + size])
    return h


@EXERCISES(
    "07.5", in_checkpoints, "Memory for time: each piece saves its input and runs twice.",
    "functions[k : k + size] is a piece, for k in range(0, len(functions), size).",
    "mg.checkpoint(run, h, piece) runs a piece, if run(h, piece) does. It is run again later: what will be in the "
    "variables that it has not got as arguments?",
    "Write run(h, piece), a loop h = f(h) over the piece; then h = mg.checkpoint(run, h, piece) for each.",
)  # fmt: skip
def grade_in_checkpoints(answer: Any) -> None:
    """Test the value, how often each function runs, the saved bytes and the gradient, also for unequal pieces."""
    w = Var(mg.ones(8, 8) * 0.7)
    runs: list[int] = []

    def layer(k: int) -> Layer:
        def run(h: Tensor) -> Tensor:
            runs.append(k)
            return (h * w).tanh() * float(k + 1)

        return run

    for count, size in ((6, 2), (5, 2), (4, 4), (3, 1), (3, 5)):
        functions, x = [layer(k) for k in range(count)], Var(mg.ones(8, 8) * 0.5)
        want = in_checkpoints(functions, x, size).sum()
        runs.clear()
        got, what = answer(functions, x, size), f"in_checkpoints of {count} functions, size {size},"
        expect_returned(got, "in_checkpoints")
        if sorted(runs) != list(range(count)):
            raise Wrong(f"{what} runs the functions {runs}, and each should run once")
        expect_close(got.sum(), want, f"the sum of {what[:-1]}", 1e-5)
        if not got.requires_grad or mg.tape(got.sum()).saved != mg.tape(want).saved:
            raise Wrong(
                f"{what} should save {mg.tape(want).saved} bytes, the inputs of its pieces; "
                f"it saves {mg.tape(got.sum()).saved if got.requires_grad else 'no graph at all'}"
            )
        found = mg.grad(got.sum(), w)
        if Counter(runs) != dict.fromkeys(range(count), 2):
            raise Wrong(f"{what} runs the functions {runs} with the gradient; each should run twice")
        expect_close(found, mg.grad(want, w), f"the gradient of {what[:-1]}", 1e-5)
