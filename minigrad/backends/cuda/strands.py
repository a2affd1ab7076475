"""Threads of a block that wait for each other: a kernel's text is changed so that it can be suspended and resumed.

A function that waits suspends itself by `yield`, with the name of the operation; the block sends the values of the
other threads.  Such a function becomes a generator, and so does its caller, by `yield from`.  All of them run in one
system thread, and a switch costs as much as a call.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any

from minigrad.errors import KernelError

INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def interruptible(kernel: str, text: str, waiting: Collection[str]) -> tuple[ast.Module, bool]:
    """Return the text that suspends at calls of functions in `waiting`, and whether its function `kernel` does.

    Raises KernelError for a function in `waiting` that is not called by its name in a function: this wait would be
    missed.
    """
    tree = ast.parse(text)
    if not any(name in text for name in waiting):
        return tree, False
    nodes = list(ast.walk(tree))
    calls = {
        f: [node for node in own(f) if isinstance(node, ast.Call)] for f in nodes if isinstance(f, ast.FunctionDef)
    }
    left: set[str] = set()
    before = -1
    while len(left) > before:
        before = len(left)
        left |= {f.name for f, made in calls.items() if any(waits(call, waiting, left) for call in made)}
    called = {id(call.func) for made in calls.values() for call in made}
    for node in nodes:
        if name_of(node) in {*waiting, *left} and id(node) not in called:
            raise KernelError(
                f"{kernel}: {name_of(node)} at line {getattr(node, 'lineno', 0)} waits for other threads, and the "
                "simulator can run it only as a call by name in a function; call it directly"
            )
    return Leaving(waiting, left).visit(tree), "kernel" in left


def name_of(node: ast.AST) -> str | None:
    """Return the name that a node reads, or None."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else None


def own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, except those of inner functions."""
    rest: list[ast.AST] = list(function.body)
    while rest:
        node = rest.pop()
        if not isinstance(node, INNER):
            yield node
            rest += ast.iter_child_nodes(node)


def waits(call: ast.Call, waiting: Collection[str], left: Collection[str]) -> bool:
    """Return whether a call is of an operation or of a function that waits."""
    return name_of(call.func) in waiting or (isinstance(call.func, ast.Name) and call.func.id in left)


class Leaving(ast.NodeTransformer):
    """Transformer that writes `yield` for an operation that waits, and `yield from` for a function that does."""

    def __init__(self, waiting: Collection[str], left: Collection[str]) -> None:
        self.waiting, self.left = waiting, left

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if not waits(node, self.waiting, self.left):
            return node
        kind = ast.Yield if name_of(node.func) in self.waiting else ast.YieldFrom
        return ast.copy_location(kind(node), node)
