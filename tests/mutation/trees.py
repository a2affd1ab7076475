"""Syntax trees of code, and all trees that differ from them by one wrong step.

Ways of breaking an expression: a term or a factor is dropped, operands or branches are swapped, a sign or a comparison
is turned round, a number is another, a transpose or the sum over a broadcast dim is left out, `keepdim` is the other,
a dim is its neighbour, one saved value stands for another.  Ways of breaking a function besides: a statement is left
out, a condition is turned round, hooks run from the other end.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import minigrad as mg

Change = Callable[[Any], ast.AST]
Make = Callable[[], ast.AST]  # of a mutant, which is made when it is tried: there are thousands
SUMS = ("sum", "sum_to", "mean")
TURNS = ("permute", "transpose", "flip", "to_front", "swapaxes")
DIMS = ("dim", "dim0", "dim1")
OPPOSITE = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
            ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}  # fmt: skip


# ---- from a function to its tree, and back --------------------------------------------------------------------------


@functools.cache
def lambdas(path: str) -> dict[int, list[ast.Lambda]]:
    """The lambdas of a source file by their line."""
    found: dict[int, list[ast.Lambda]] = {}
    for node in ast.walk(ast.parse("".join(linecache.getlines(path)))):
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
    return found


def tree_of(fn: Any) -> ast.Lambda | ast.FunctionDef:
    """The tree of a function or lambda that stands in a file."""
    if fn.__code__.co_name != "<lambda>":
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn))).body[0]
        assert isinstance(tree, ast.FunctionDef)
        tree.decorator_list = []  # what stands there is no part of the definition
        return tree
    code = fn.__code__
    here = lambdas(code.co_filename).get(code.co_firstlineno, [])
    alike = lambda found: (found.co_code, found.co_names, found.co_varnames)
    for node in here:
        if len(here) == 1 or alike(code_of(node, code.co_freevars)) == alike(code):
            return node
    raise LookupError(f"{code.co_filename}:{code.co_firstlineno}: no such lambda")


def code_of(tree: ast.AST, free: tuple[str, ...] = ()) -> Any:
    """The code of a function or lambda; `free` are the names that it has from the function around it."""
    made: Any = copy.deepcopy(tree)
    inside = made if isinstance(made, ast.FunctionDef) else ast.Return(made)
    around = ast.parse(f"def around({', '.join(free)}): pass").body[0]
    assert isinstance(around, ast.FunctionDef)
    own = [ast.Global([made.name])] if isinstance(made, ast.FunctionDef) and made.name not in free else []
    if isinstance(made, ast.FunctionDef):  # a mutant may have lost the only use of a free name
        made.body.append(ast.parse(f"lambda: ({''.join(f'{name}, ' for name in free)})").body[0])
    around.body = [*own, inside]
    whole = compile(ast.fix_missing_locations(ast.Module([around], [])), "<mutant>", "exec")
    outer = next(c for c in whole.co_consts if inspect.iscode(c))
    return next(c for c in outer.co_consts if inspect.iscode(c))


def helpers(fn: Any) -> list[Any]:
    """The functions of its own file that a function calls, and those that they call."""
    found: dict[str, Any] = {}
    left = [fn]
    while left:
        each = left.pop()
        names = {n.func.id for n in ast.walk(tree_of(each)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        for name in sorted(names - found.keys()):
            helper = each.__globals__.get(name)
            if inspect.isfunction(helper) and helper.__module__ == fn.__module__ and not hasattr(helper, "op"):
                if hasattr(mg, name):
                    continue  # what users call has tests of its own
                found[name] = helper
                left.append(helper)
    return [helper for helper in found.values() if helper is not fn]


# ---- one step away --------------------------------------------------------------------------------------------------


def variants(tree: ast.AST, statements: bool = False) -> Iterator[tuple[str, Make]]:
    """Every single-step mutant of a function: a description that no other one has, and what makes the changed tree."""
    seen: Counter[str] = Counter()
    for what, make in [*rewritings(tree, statements), *stale(tree)]:
        seen[what] += 1
        yield (what if seen[what] == 1 else f"{what}, number {seen[what]}"), make


def rewritings(tree: ast.AST, statements: bool) -> Iterator[tuple[str, Make]]:
    """Those of each expression, and of each statement where that is asked for."""
    nodes = list(ast.walk(tree))
    for k, node in enumerate(nodes):
        ways = [*changes(node), *(broken_statement(node) if statements else ())]
        for what, change in ways:
            yield f"{what} in `{shown(node)}`", functools.partial(changed, tree, k, change)


def changed(tree: ast.AST, k: int, change: Change) -> ast.AST:
    """A copy of a tree in which the k-th node is another."""
    mutant = copy.deepcopy(tree)
    target = list(ast.walk(mutant))[k]
    made: ast.AST = ast.fix_missing_locations(Replace(target, change(target)).visit(mutant))
    return made


def shown(node: ast.AST) -> str:
    """The first line of a piece of code."""
    return ast.unparse(node).splitlines()[0]


def changes(node: ast.AST) -> list[tuple[str, Change]]:
    """The ways of breaking one expression."""
    match node:
        case ast.BinOp():
            return [*operators(node), *numbers(node)]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return []
        case ast.UnaryOp(op=ast.USub()):
            return [("dropped sign", lambda n: n.operand)]
        case ast.UnaryOp(op=ast.Not()):
            return [("dropped not", lambda n: n.operand)]
        case ast.Attribute(attr="mT" | "T", ctx=ast.Load()):
            return [("transpose left out", lambda n: n.value)]
        case ast.IfExp():
            return [("swapped branches", lambda n: ast.IfExp(n.test, n.orelse, n.body))]
        case ast.Compare(ops=[_]):
            return [("inverted comparison", lambda n: ast.Compare(n.left, [OPPOSITE[type(n.ops[0])]()], n.comparators))]
        case ast.Call():
            return called(node)
    return []


def operators(node: ast.BinOp) -> list[tuple[str, Change]]:
    """The ways of breaking two operands and what is between them."""
    match node.op:
        case ast.Add() | ast.Sub():
            flipped = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            return [
                ("dropped right term", lambda n: n.left),
                ("dropped left term", lambda n: n.right),
                ("flipped sign", lambda n: ast.BinOp(n.left, flipped, n.right)),
            ]
        case ast.Mult():
            return [("dropped right factor", lambda n: n.left), ("dropped left factor", lambda n: n.right)]
        case ast.Div() | ast.Pow() | ast.MatMult():
            return [("swapped operands", lambda n: ast.BinOp(n.right, n.op, n.left))]
    return []


def numbers(node: ast.BinOp) -> list[tuple[str, Change]]:
    """A number beside an operator is another."""
    plain = lambda n: isinstance(n, ast.Constant) and type(n.value) in (int, float)
    more = lambda n: ast.Constant(n.value + 1)
    found: list[tuple[str, Change]] = []
    if plain(node.left):
        found.append(("changed number", lambda n: ast.BinOp(more(n.left), n.op, n.right)))
    if plain(node.right):
        found.append(("changed number", lambda n: ast.BinOp(n.left, n.op, more(n.right))))
    return found


def called(node: ast.Call) -> list[tuple[str, Change]]:
    """The ways of breaking a call: what it is called on or with."""
    method = isinstance(node.func, ast.Attribute)
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    first: Change = lambda n: n.func.value if method else n.args[0]
    found: list[tuple[str, Change]] = []
    if name == "where_cond" and len(node.args) == 2:
        found.append(("swapped branches", lambda n: ast.Call(n.func, n.args[::-1], n.keywords)))
    if name in ("matmul", "matmul_nd", "multiply") and len(node.args) == 2:
        found.append(("swapped operands", lambda n: ast.Call(n.func, n.args[::-1], n.keywords)))
    if name in SUMS and (method or node.args):
        found.append(("sum left out", first))
    if name in TURNS and (method or node.args):
        found.append(("transpose left out", first))
    for k, keyword in enumerate(node.keywords):
        if keyword.arg in DIMS:
            found.append(("another dim", lambda n, k=k: with_keyword(n, k, before(n.keywords[k].value))))
        if keyword.arg == "keepdim" and isinstance(keyword.value, ast.Constant):
            other = ast.Constant(not keyword.value.value)
            found.append(("inverted keepdim", lambda n, k=k, other=other: with_keyword(n, k, other)))
    if name in SUMS and len(node.args) == 2 - method and is_dim(node.args[-1]):
        found.append(("another dim", lambda n: ast.Call(n.func, [*n.args[:-1], before(n.args[-1])], n.keywords)))
    return found


def is_dim(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id in DIMS) or (
        isinstance(node, ast.Constant) and type(node.value) is int
    )


def before(node: ast.expr) -> ast.expr:
    """The dim before, or the last for the first."""
    return ast.BinOp(node, ast.Sub(), ast.Constant(1))


def with_keyword(node: ast.Call, k: int, value: ast.expr) -> ast.Call:
    """A call whose k-th keyword has another value."""
    keywords = [ast.keyword(w.arg, value if j == k else w.value) for j, w in enumerate(node.keywords)]
    return ast.Call(node.func, node.args, keywords)


def stale(tree: ast.AST) -> Iterator[tuple[str, Make]]:
    """One positional argument is read where another was meant: a saved value for another."""
    if not isinstance(tree, ast.Lambda):
        return
    names = [arg.arg for arg in tree.args.args]
    for old in names:
        for new in names:
            if old != new and any(isinstance(n, ast.Name) and n.id == old for n in ast.walk(tree.body)):
                yield f"{new} read instead of {old}", functools.partial(renamed, tree, old, new)


def renamed(tree: ast.Lambda, old: str, new: str) -> ast.AST:
    """A copy of a lambda whose body has another name for one."""
    mutant = copy.deepcopy(tree)
    for node in ast.walk(mutant.body):
        if isinstance(node, ast.Name) and node.id == old:
            node.id = new
    return mutant


def broken_statement(node: ast.AST) -> list[tuple[str, Change]]:
    """The ways of breaking a statement."""
    turned = lambda test: ast.UnaryOp(ast.Not(), test)
    match node:
        case ast.If(body=[ast.Raise()], orelse=[]):
            return [("check left out", lambda n: ast.Pass())]
        case ast.If():
            return [("inverted condition", lambda n: ast.If(turned(n.test), n.body, n.orelse))]
        case ast.While():
            return []
        case ast.Expr(value=ast.Constant()):
            return []
        case ast.Expr() | ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return [("left out", lambda n: ast.Pass())]
        case ast.Assign(targets=[ast.Name()]) if reassigned(node):
            return [("left out", lambda n: ast.Pass())]
        case ast.For() if "hooks" in ast.unparse(node.iter):
            back = lambda n: ast.Call(ast.Name("reversed", ast.Load()), [
                ast.Call(ast.Name("list", ast.Load()), [n.iter], [])], [])  # fmt: skip
            return [("from the other end", lambda n: ast.For(n.target, back(n), n.body, n.orelse))]
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            return [("`and` instead of `or`" if isinstance(node.op, ast.Or) else "`or` instead of `and`",
                     lambda n: ast.BoolOp(other, n.values))]  # fmt: skip
    return []


def reassigned(node: ast.Assign) -> bool:
    """Whether a name is given a value made from what it was, so that leaving this out leaves the old one."""
    (target,) = node.targets
    return any(isinstance(n, ast.Name) and n.id == target.id for n in ast.walk(node.value))  # type: ignore[attr-defined]


class Replace(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)
