"""Break every derivative rule on purpose, and require the gradient check to notice.

Each rule's source is parsed; one mutant at a time a term is dropped, a factor is dropped, operands or branches are
swapped or a sign is flipped, in the rule itself and in the functions that it calls.  A mutant that survives is a hole
in the op table, or a term that the rule does not need.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
from collections.abc import Iterator
from typing import Any

import pytest
from op_rows.row import Row
from op_support import arrays
from op_table import ROWS

import minigrad as mg
from minigrad.core.op import Op, Rule
from minigrad.errors import MinigradError
from minigrad.testing import GradcheckError, gradcheck, gradgradcheck

ROW_OF: dict[str, list[Row]] = {}
for row in ROWS:
    for name in row.ops:
        if row.smooth:
            ROW_OF.setdefault(name, []).append(row)

OURS = {name: op for name, op in mg.schema.items() if "/minigrad/ops/" in op.where.replace("\\", "/")}


PLACES = (ast.BinOp, ast.UnaryOp, ast.Call)


def variants(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Every single-step mutant of an expression or function: a description and the changed tree."""
    places = [n for n in ast.walk(tree) if isinstance(n, PLACES)]
    for k, node in enumerate(places):
        for what, change in changes(node):
            mutant = copy.deepcopy(tree)
            target = [n for n in ast.walk(mutant) if isinstance(n, PLACES)][k]
            yield f"{what} in `{ast.unparse(node)}`", Replace(target, change(target)).visit(mutant)


def changes(node: ast.AST) -> list[tuple[str, Any]]:
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            flipped = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            return [
                ("dropped right term", lambda n: n.left),
                ("dropped left term", lambda n: n.right),
                ("flipped sign", lambda n: ast.BinOp(n.left, flipped, n.right)),
            ]
        case ast.BinOp(op=ast.Mult()):
            return [("dropped right factor", lambda n: n.left), ("dropped left factor", lambda n: n.right)]
        case ast.BinOp(op=ast.Div() | ast.Pow() | ast.MatMult()):
            return [("swapped operands", lambda n: ast.BinOp(n.right, n.op, n.left))]
        case ast.UnaryOp(op=ast.USub()):
            return [("dropped sign", lambda n: n.operand)]
        case ast.Call(func=ast.Attribute(attr="where_cond"), args=[_, _]):
            return [("swapped branches", lambda n: ast.Call(n.func, n.args[::-1], []))]
    return []


class Replace(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def written(op: Op) -> list[ast.AST | None]:
    """The parsed rules of a declaration, in order: lambdas, and functions that are named; None for one without."""
    path, _, line = op.where.rpartition(":")
    tree = ast.parse("".join(linecache.getlines(path)))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.decorator_list and node.decorator_list[0].lineno == int(line):
            told = "back_vjp" if op.name.endswith("_backward") else "vjp"
            given = spelled(node.decorator_list[0], tree).get(told)
            if given is None:
                assert op.joint is not None or not any(op.rules), f"{op.where}: where are the rules of {op.name}?"
                return [None] * len(op.operands)
            return [rule_in(n, tree) for n in given.elts]  # type: ignore[attr-defined]
    raise AssertionError(op.where)


def rule_in(found: ast.expr, module: ast.Module) -> ast.AST | None:
    """A rule as a tree of its own; for a name, the function of the module."""
    if isinstance(found, ast.Name):
        return next(n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == found.id)
    return found if isinstance(found, ast.Lambda) else None


def nothing(tree: ast.AST) -> bool:
    """Whether a rule gives zeros whatever comes: nothing in it can be broken."""
    return isinstance(tree, ast.Lambda) and ast.unparse(tree.body) == "zeros_like(g)"


def spelled(decorator: ast.expr, module: ast.Module) -> dict[str, ast.expr]:
    """The keyword arguments of a decorator; `**NAME` stands for a dict that the module spells out."""
    literals = {
        target.id: node.value
        for node in module.body if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target]) if isinstance(target, ast.Name)
    }  # fmt: skip
    found: dict[str, ast.expr] = {}
    for keyword in decorator.keywords:  # type: ignore[attr-defined]
        if keyword.arg is not None:
            found[keyword.arg] = keyword.value
            continue
        spread = literals[keyword.value.id]
        found |= {key.value: value for key, value in zip(spread.keys, spread.values, strict=True)}
    return found


def build(tree: ast.AST, scope: dict[str, Any], path: str) -> Any:
    """A mutant as a function that sees its module's names."""
    if isinstance(tree, ast.FunctionDef):
        namespace = dict(scope)
        tree.decorator_list = []
        exec(compile(ast.fix_missing_locations(ast.Module([tree], [])), path, "exec"), namespace)
        return namespace[tree.name]
    return eval(compile(ast.fix_missing_locations(ast.Expression(tree)), path, "eval"), scope)  # type: ignore[arg-type]


def helpers(tree: ast.AST, scope: dict[str, Any]) -> list[str]:
    """Functions of the same module that a rule calls."""
    names = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    found = [scope[n] for n in sorted(names) if inspect.isfunction(scope.get(n))]
    return [f.__name__ for f in found if f.__module__ == scope["__name__"] and not hasattr(f, "op")]


def caught(op: Op) -> bool:
    """Whether some row of the op fails its gradient check now."""
    for row in ROW_OF.get(op.name, []):
        values = arrays(row)
        given = [
            mg.tensor(v, device="reference") if v.dtype == bool else mg.Var(v, "float64", "reference") for v in values
        ]
        try:
            gradcheck(row.fn, given)
            if row.order2:
                gradgradcheck(row.fn, given)
        except (GradcheckError, MinigradError, IndexError, TypeError, AttributeError, ValueError):
            return True
    return False


def mutants() -> list[Any]:
    """(op, operand, description, kind, name, tree) of everything that is broken in turn."""
    found = []
    for name, op in OURS.items():
        if not op.differentiable:
            continue
        if op.joint is not None:
            found += [(name, k, f"{name}-{label}: negated in the joint rule", "joint", "", None)
                      for k, label in enumerate(op.operands) if op.rules[k] is not None]  # fmt: skip
        if op.joint is not None and op.composed is not None and not op.joint.smooth:
            scope = op.composed.__globals__  # type: ignore[attr-defined]
            tree = ast.parse(inspect.getsource(op.composed)).body[0]
            tree.decorator_list = []  # type: ignore[attr-defined]  # what stands there is no part of the definition
            found += [(name, 0, f"{name}: definition: {what}", "definition", "", mutant)
                      for what, mutant in variants(tree)]  # fmt: skip
            for helper in helpers(tree, scope):
                source = ast.parse(inspect.getsource(scope[helper])).body[0]
                found += [(name, 0, f"{name}: definition: {helper}: {what}", "helper of a definition", helper, mutant)
                          for what, mutant in variants(source)]  # fmt: skip
        for k, (rule, tree) in enumerate(zip(op.rules, written(op), strict=True)):
            if rule is None or tree is None or nothing(tree):
                continue
            scope = rule.fn.__globals__
            label = op.operands[k]
            found.append((name, k, f"{name}-{label}: negated", "negate", "", None))
            for what, mutant in variants(tree):
                found.append((name, k, f"{name}-{label}: {what}", "rule", "", mutant))
            for helper in helpers(tree, scope):
                source = ast.parse(inspect.getsource(scope[helper])).body[0]
                for what, mutant in variants(source):
                    found.append((name, k, f"{name}-{label}: {helper}: {what}", "helper", helper, mutant))
    return found


MUTANTS = mutants()


def test_every_rule_is_broken_at_least_once() -> None:
    broken = {(name, operand) for name, operand, *_ in MUTANTS}
    whole = {name for name, _, _, kind, *_ in MUTANTS if "definition" in kind}
    left = [
        f"{name}-{op.operands[k]}"
        for name, op in OURS.items() if op.differentiable and name not in whole
        for k, (rule, tree) in enumerate(zip(op.rules, written(op), strict=True))
        if rule is not None and (name, k) not in broken and not (tree is not None and nothing(tree))
    ]  # fmt: skip
    assert not left


@pytest.mark.parametrize(
    ("name", "operand", "what", "kind", "helper", "tree"), MUTANTS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_a_broken_rule_is_noticed(
    name: str, operand: int, what: str, kind: str, helper: str, tree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = OURS[name]
    rule = op.rules[operand]
    scope = (op.composed or rule.fn).__globals__
    if kind == "joint":
        joint = op.joint.fn
        flipped = lambda at, x: -x if at == operand and x is not None else x
        wrong = lambda g, *a, **k: tuple(flipped(at, x) for at, x in enumerate(joint(g, *a, **k)))
        monkeypatch.setattr(op, "joint", Rule(wrong, op.joint.saves, op.joint.facts, asked=op.joint.asked))
        assert caught(op), f"no row of {name} notices: {what}"
        return
    if "definition" in kind:
        if helper:
            monkeypatch.setitem(scope, helper, build(tree, scope, "<mutant>"))
        else:
            monkeypatch.setattr(op, "composed", build(tree, scope, "<mutant>"))
        assert caught(op), f"no row of {name} notices: {what}"
        return
    # A joint rule would stand in for the broken one.
    monkeypatch.setattr(op, "joint", None)
    if kind == "helper":
        monkeypatch.setitem(scope, helper, build(tree, scope, "<mutant>"))
        broken = rule.fn
    else:
        fn = rule.fn
        broken = (lambda g, *a, **k: -fn(g, *a, **k)) if kind == "negate" else build(tree, scope, "<mutant>")
    # New rules for all operands: what has been fused into a kernel must be traced again.
    fresh = [None if r is None else Rule(r.fn, r.saves, r.facts) for r in op.rules]
    fresh[operand] = Rule(broken, rule.saves, rule.facts)
    monkeypatch.setattr(op, "rules", tuple(fresh))
    assert caught(op), f"no row of {name} notices: {what}"
