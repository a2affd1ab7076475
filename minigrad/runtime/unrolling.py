"""Rewrite functions of a tuple of operands as functions of separate operands.

A loop over one or two operands costs as much as the rest of a small call.  So the steps of a call are written once, in
`dispatch.py`, with loops.  From this source, `unrolled` makes the functions for one operand, two, three, ...  The lines
of `run_single` are also the end of each public function of an elementwise op: see `inlined`.

    for k, x in enumerate(operands): ...    the lines for each; a name that only they assign becomes one for each
    [f(x) for x in operands]                f(a), f(b): joined by `or` in `any`, one by one in `tuple` and behind `*`
    names.append(e) in such a loop          where `tuple(names)` follows: (e of a, e of b)
    len(operands), tuple(range(...))        constants
    operands[k]                             for one or two operands: b if k else a
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from minigrad.core.code import HIDDEN, at_first_call, defined

Names = Sequence[str]
SEVERAL = ("makes", "storages")  # the tuples with one part per result in `dispatch.run_several`
_written: dict[tuple[str, int, int | None], Callable[..., Any]] = {}


# ---- the functions of `dispatch.py` for a number of operands ---------------------------------------------------------


def written_out(
    function: Callable[..., Any], count: int, names: dict[str, Any], results: int | None
) -> Callable[..., Any]:
    """Return a function of `dispatch.py` with `count` operands as separate arguments, for one or several results."""
    key = function.__name__, count, results
    if key not in _written:
        groups = groups_of(tuple(f"x{k}" for k in range(count)), results)
        text = ast.unparse(unrolled(function, groups, ("record",)))
        own = dict(names)
        if function is not names["record"]:
            own["record"] = written_out(names["record"], count, names, results)
        _written[key] = defined(key[0], text, own, f"{key[0]} of {count}", readable=True)
    return _written[key]


def written_later(function: Callable[..., Any], count: int, names: dict[str, Any], results: int | None = None) -> Any:
    """Return a function that `written_out` makes at its first call, because it would add milliseconds to the import."""
    own: dict[str, Any] = {}

    def write() -> Callable[..., Any]:
        made = written_out(function, count, names, results)
        own.update(vars(builtins) | names, record=made.__globals__["record"])
        return made

    return at_first_call(f"{function.__name__}_{count}", own, write)


def inlined(
    function: Callable[..., Any], operands: Names, names: dict[str, Any], results: int | None
) -> tuple[list[str], dict[str, Any]]:
    """Return the lines of a function of `dispatch.py` for operands of these names, and the values that the lines use.

    All names in the lines but those of the operands have the prefix HIDDEN; the dict has the names without it.
    """
    text, read = hidden_lines(function, len(operands), results)
    there = vars(builtins) | names | {"record": written_out(names["record"], len(operands), names, results)}
    return text.format(*operands).splitlines(), {name: there[name] for name in read}


@cache
def hidden_lines(function: Callable[..., Any], count: int, results: int | None) -> tuple[str, frozenset[str]]:
    """Return the text of `inlined` for operands that are named {0}, {1}, ..., and the names that it reads from outside.

    `op` and `plan` are variables of the function that contains the lines.
    """
    operands = tuple([f"operand_{k}" for k in range(count)])
    body = ast.parse(ast.unparse(unrolled(function, groups_of(operands, results), ("record",)).body)).body  # type: ignore[arg-type]
    used = {node.id for line in body for node in ast.walk(line) if isinstance(node, ast.Name)}.difference(operands)
    new: dict[str, ast.expr] = {name: ast.Name(HIDDEN + name) for name in used}
    new |= {name: ast.Name(f"{{{k}}}") for k, name in enumerate(operands)}
    own = {name for line in body for name in stores(line)}
    return "\n".join([ast.unparse(replaced(line, new)) for line in body]), frozenset(used - own - {"op", "plan"})


def groups_of(operands: Names, results: int | None) -> dict[str, Names]:
    """Return the names that replace each tuple in the functions of `dispatch.py`.

    results: the number of results of an op with several results, otherwise None.
    """
    if results is None:
        return {"operands": operands, "storages": ("storage",)}
    return {"operands": operands, **{group: tuple(f"{group}_{k}" for k in range(results)) for group in SEVERAL}}


# ---- the rewriting ---------------------------------------------------------------------------------------------------


def unrolled(
    function: Callable[..., Any], groups: Mapping[str, Names], callees: Collection[str] = ()
) -> ast.FunctionDef:
    """Return the definition of a function in which some parameters, which are tuples, are replaced by separate names.

    groups: for each such parameter, the separate names.
    callees: the names of functions whose calls in the definition also pass the names as separate arguments.
    """
    definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(definition, ast.FunctionDef)
    parameters = [name for arg in definition.args.args for name in groups.get(arg.arg, (arg.arg,))]
    definition.args.args = [ast.arg(name) for name in parameters]
    definition.returns = None
    definition.body = definition.body[1:]  # the body without its docstring
    rewriting = Unrolling(groups, callees, definition)
    definition.body = [each for line in definition.body for each in rewriting.statements(line)]
    return ast.fix_missing_locations(definition)


class Unrolling(ast.NodeTransformer):
    """The rewriting of one function.

    own: the names that only one statement, for instance a loop, assigns.
    grown: the elements of lists that loops append to.
    """

    def __init__(self, groups: Mapping[str, Names], callees: Collection[str], definition: ast.FunctionDef) -> None:
        self.groups, self.callees = groups, callees
        stored = {line: set(stores(line)) for line in definition.body}
        lines_with = Counter(name for names in stored.values() for name in names)
        self.own = {line: {name for name in names if lines_with[name] == 1} for line, names in stored.items()}
        self.grown: dict[str, list[ast.expr]] = {
            call.func.value.id: []
            for call in ast.walk(definition)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append"
            if isinstance(call.func.value, ast.Name)
        }

    def statements(self, line: ast.stmt) -> list[ast.stmt]:
        """Return the statements that replace a statement."""
        result = self.visit(line)
        return result if isinstance(result, list) else [] if result is None else [result]

    def members(self, node: ast.AST) -> Names | None:
        """Return the names of a group; None for any other expression."""
        return self.groups.get(node.id) if isinstance(node, ast.Name) else None

    def visit_Assign(self, line: ast.Assign) -> ast.stmt | None:
        """Remove an assignment of a list that a loop fills."""
        if isinstance(line.targets[0], ast.Name) and line.targets[0].id in self.grown:
            return None
        return self.generic_visit(line)  # type: ignore[return-value]

    def visit_AnnAssign(self, line: ast.AnnAssign) -> ast.stmt | None:
        """Process the assignment as `visit_Assign` does, without its annotation."""
        assert line.value is not None
        return self.visit_Assign(ast.Assign([line.target], line.value))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a group by the tuple of its names."""
        names = self.members(node)
        return node if names is None else ast.Tuple([ast.Name(x) for x in names])

    def visit_For(self, loop: ast.For) -> Any:
        """Return the lines of the loop for each name."""
        counted = isinstance(loop.iter, ast.Call) and calls(loop.iter, "enumerate")
        names = self.members(loop.iter.args[0] if counted else loop.iter)  # type: ignore[attr-defined]
        if names is None:
            return self.generic_visit(loop)
        target: Any = loop.target.elts if counted else [loop.target]  # type: ignore[attr-defined]
        lines: list[ast.stmt] = []
        for k, name in enumerate(names):
            values: dict[str, ast.expr] = {each: ast.Name(f"{each}_{k}") for each in self.own[loop]}
            values |= {target[-1].id: ast.Name(name), **({target[0].id: ast.Constant(k)} if counted else {})}
            for line in loop.body:
                lines += self.statements(replaced(line, values))
        return lines

    def visit_Expr(self, line: ast.Expr) -> Any:
        """Store the element that is appended to a list in `grown`."""
        call = line.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append":
            grown = call.func.value
            if isinstance(grown, ast.Name) and grown.id in self.grown:
                self.grown[grown.id].append(call.args[0])
                return None
        return self.generic_visit(line)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Replace an index into a group of one or two names; the index must not be negative.

        For one name the result is this name, for two names it is a conditional expression.
        """
        names = self.members(node.value)
        if names is None or len(names) > 2 or isinstance(node.slice, ast.Slice):
            return self.generic_visit(node)  # type: ignore[return-value]
        first, last = ast.Name(names[0]), ast.Name(names[-1])
        return first if len(names) == 1 else ast.IfExp(self.visit(node.slice), last, first)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> ast.expr:
        """Return a list with one element for each name."""
        (clause,) = node.generators
        names = self.members(clause.iter)
        if names is None:
            return self.generic_visit(node)  # type: ignore[return-value]
        assert isinstance(clause.target, ast.Name)
        return ast.List([self.visit(replaced(node.elt, {clause.target.id: ast.Name(x)})) for x in names])

    visit_GeneratorExp = visit_ListComp

    def visit_Call(self, call: ast.Call) -> ast.expr:
        """Pass the elements of known lists as separate arguments.

        `len`, `any` and `tuple` of such lists are evaluated.
        """
        if calls(call, "len") and (names := self.members(call.args[0])) is not None:
            return ast.Constant(len(names))
        if calls(call, "tuple") and isinstance(call.args[0], ast.Name) and call.args[0].id in self.grown:
            return ast.Tuple(self.grown[call.args[0].id])
        apart = isinstance(call.func, ast.Name) and call.func.id in self.callees
        arguments: list[ast.expr] = []
        for argument in map(self.visit, call.args):
            within = argument.value if isinstance(argument, ast.Starred) else argument if apart else None
            arguments += within.elts if isinstance(within, (ast.List, ast.Tuple)) else [argument]
        call.args = arguments
        first = arguments[0] if arguments else None
        if calls(call, "any") and isinstance(first, ast.List):
            return first.elts[0] if len(first.elts) == 1 else ast.BoolOp(ast.Or(), first.elts)
        if calls(call, "tuple") and isinstance(first, ast.List):
            return ast.Tuple(first.elts)
        if calls(call, "tuple") and isinstance(first, ast.Call) and calls(first, "range"):
            return ast.Tuple([ast.Constant(k) for k in range(first.args[0].value)])  # type: ignore[attr-defined]
        return call


class Replacing(ast.NodeTransformer):
    """Transformer that replaces names by other expressions."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the expression for a name."""
        return copy.deepcopy(self.values.get(node.id, node))


def replaced(node: Any, values: dict[str, ast.expr]) -> Any:
    """Return a copy of a node in which names are replaced by other expressions."""
    return Replacing(values).visit(copy.deepcopy(node))


def calls(call: ast.Call, name: str) -> bool:
    """Return whether a call is of the function of that name."""
    return isinstance(call.func, ast.Name) and call.func.id == name


def stores(line: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement assigns."""
    for node in ast.walk(line):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
