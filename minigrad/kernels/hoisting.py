"""Find the parts of a scalar function that are the same for every element, and compute them once per launch.

A scalar function such as `lr / (1 - beta1**step) * m` reads hyper-parameters, which all elements share.  `hoisted`
splits it into two functions.  One is a scalar function of elements and constants, which becomes a kernel.  The other is
a Python function, which computes the constants in float64 before each launch.  So the kernel reads one number instead
of computing a power, `1 - beta1` is not rounded to float32 before the subtraction, and new values of the
hyper-parameters compile nothing.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable
from typing import Any

from minigrad.core.op import ScalarFn
from minigrad.errors import DeclarationError
from minigrad.kernels.scalar import checked, strip_docstring


class Hoisting(ast.NodeTransformer):
    """Replaces the largest expressions that do not depend on an element by names.

    uniform: the names whose values are the same for all elements.  taken: all names of the function.  constants: the
    replaced expressions, by the name that replaces each of them.
    """

    def __init__(self, uniform: set[str], taken: set[str]) -> None:
        self.uniform, self.taken = uniform, taken
        self.constants: dict[str, ast.expr] = {}

    def is_uniform(self, node: ast.AST) -> bool:
        """Return whether an expression reads hyper-parameters only, at least one."""
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - {"math", "abs", "round"}
        return bool(names) and names <= self.uniform

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr) and self.is_uniform(node):
            return ast.Name(self.named(node), ast.Load())
        if isinstance(node, ast.IfExp) and self.is_uniform(node.test):
            test = ast.Compare(self.visit(node.test), [ast.NotEq()], [ast.Constant(0)])
            return ast.IfExp(test, self.visit(node.body), self.visit(node.orelse))
        return self.generic_visit(node)

    def named(self, node: ast.expr) -> str:
        """Return the name of a constant: the name of a hyper-parameter, or a new name for an expression."""
        for name, other in self.constants.items():
            if ast.dump(other) == ast.dump(node):
                return name
        name = node.id if isinstance(node, ast.Name) else f"c{len(self.constants) + 1}"
        while not isinstance(node, ast.Name) and name in self.taken:
            name += "_"
        self.constants[name] = node
        self.taken.add(name)
        return name


def hoisted(scalar: ScalarFn, columns: int) -> tuple[ScalarFn, Callable[..., tuple[float, ...]]]:
    """Split a scalar function whose arguments from position `columns` on are the same for all elements.

    Returns a scalar function of the first `columns` arguments and the constants, and the Python function that computes
    the constants from the other arguments.  Raises DeclarationError if the function assigns a new value to a name that
    is the same for all elements.
    """
    uniform, before, inner = set(scalar.args[columns:]), [], []
    every = {node.id for node in ast.walk(scalar.node) if isinstance(node, ast.Name)} | set(scalar.args)
    split = Hoisting(uniform, every | {"math", "abs", "round"})
    for statement in strip_docstring(copy.deepcopy(scalar.node).body):
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
            assert isinstance(target, ast.Name)
            if target.id in uniform:
                raise DeclarationError(
                    f"{scalar.where}: {scalar.name}: {target.id} is a parameter or was already assigned, and cannot be "
                    f"assigned again; use another name, for example {target.id}2"
                )
            if split.is_uniform(statement.value):
                uniform.add(target.id)
                before.append(statement)
                continue
        inner.append(split.generic_visit(statement))
    name, args = scalar.name, (*scalar.args[:columns], *split.constants)
    kernel = function_of(name, args, inner)
    result = ScalarFn(name, args, kernel, scalar.helpers, scalar.where)
    result.results = scalar.results
    values = ast.Return(ast.Tuple(list(split.constants.values()), ast.Load()))
    return checked(result), compiled(function_of("constants", scalar.args[columns:], [*before, values]), scalar.where)


def function_of(name: str, args: tuple[str, ...], body: list[Any]) -> ast.FunctionDef:
    """Return a function definition with this name, these arguments and this body."""
    head = ast.parse(f"def {name}({', '.join(args)}): pass").body[0]
    assert isinstance(head, ast.FunctionDef)
    head.body = body
    return ast.fix_missing_locations(head)


def compiled(node: ast.FunctionDef, where: str) -> Callable[..., tuple[float, ...]]:
    """Return the Python function of a definition; where: the text for tracebacks."""
    space: dict[str, Any] = {"math": math}
    exec(compile(ast.Module([node], []), f"<constants of {where}>", "exec"), space)
    return space[node.name]
