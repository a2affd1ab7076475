"""The command `where`: the files of an op, a function or a piece of syntax, from its declaration to its kernels."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import minigrad as mg
from minigrad import backends
from minigrad.backends.base import Backend, services
from minigrad.core import requests
from minigrad.core.op import Op
from minigrad.declare.advice import Missing
from minigrad.declare.record import schema
from minigrad.runtime.recording import definition_of

ROOT = Path(mg.__file__).resolve().parents[1]
# Where a name is looked up, in this order; nn, optim and others contain classes.
HOMES = ("", "nn.functional", "Tensor", "nn", "linalg", "special", "fft", "func", "optim", "data", "testing", "viz",
         "nn.init", "nn.utils", "distributions", "autograd", "amp", "dist")  # fmt: skip
OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "lshift",
    ast.RShift: "rshift", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
    ast.USub: "neg", ast.Invert: "invert",
}  # fmt: skip
FEW = 4  # largest number of pages and test rows that are listed


def run(text: str) -> int:
    """Print where a name or a piece of syntax is defined, and return the exit status."""
    for package in [each.name for each in pkgutil.iter_modules(backends.__path__) if each.ispkg]:
        importlib.import_module(f"{backends.__name__}.{package}")  # enters the services of a device
    target = [line for name in dict.fromkeys(names_in(text)) for line in lines_about(name)]
    if not target:
        near = get_close_matches(text, {*schema, *(name for home in HOMES for name in dir(looked_up(home)))})
        advice = f"did you mean {' or '.join(near)}?" if near else "pass a name such as nn.Linear, or 'x[i] = v'"
        print(f"python -m minigrad where: minigrad has no {text!r}; {advice}", file=sys.stderr)
        return 1
    print("\n".join(target))
    return 0


def names_in(text: str) -> list[str]:
    """Return the names that a piece of syntax uses: `Tensor.__setitem__` for "x[mask] = v"; a name itself is one."""
    if re.fullmatch(r"[\w.]+", text) and list(lines_about(text)):
        return [text]
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    return [name for node in ast.walk(tree) for name in used_by(node)]


def used_by(node: ast.AST) -> list[str]:
    """Return the names that one node of a syntax tree uses; any variable stands for a tensor."""
    if isinstance(node, ast.Subscript):
        return [f"Tensor.__{'get' if isinstance(node.ctx, ast.Load) else 'set'}item__"]
    if isinstance(node, ast.Compare):
        return [f"Tensor.__{OPERATORS[type(op)]}__" for op in node.ops if type(op) in OPERATORS]
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        name = OPERATORS[type(node.op)]
        return [f"Tensor.__i{name}__"] * isinstance(node, ast.AugAssign) + [f"Tensor.__{name}__"]
    if isinstance(node, ast.Attribute):
        dotted = ast.unparse(node)
        return [dotted if list(lines_about(dotted)) else f"Tensor.{node.attr}"]
    return [node.func.id] if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else []


def looked_up(name: str) -> Any:
    """Return the object with a dotted name in `mg`, or None."""
    target: Any = mg
    for part in name.split(".") if name else ():
        target = inspect.getattr_static(target, part, None) if isinstance(target, type) else getattr(target, part, None)
    return None if isinstance(target, Missing) else target


def lines_about(name: str) -> Iterator[str]:
    """Yield the lines for one name, or nothing if it is unknown."""
    name = name.removeprefix("mg.").removeprefix("minigrad.").removeprefix("F.")
    homes = [f"{home}.{name}".lstrip(".") for home in HOMES]
    path = next((each for each in homes if looked_up(each) is not None), None)
    target = schema.get(name) if path is None else looked_up(path)
    if target is None:
        return
    target = getattr(target, "__func__", target)
    yield f"{f'mg.{path}' if path else f'the op {name}'}  {location(target)}"
    op = target if isinstance(target, Op) else getattr(target, "op", None)
    if isinstance(op, Op):
        yield from of_op(op, {op})
    elif inspect.isfunction(target):
        yield from (f"  calls     {each.name}: {relative(each.where)}" for each in asked_by(target)[1])
    plain = name.rpartition(".")[2]
    for title, folder, pattern in (
        ("test rows", "tests/op_rows", rf'"{plain}"'),
        ("pages", "docs", rf"`(mg\.)?{plain}[`(]"),
    ):
        lines = list(mentions(ROOT / folder, pattern))
        yield from (f"  {title:<9} {line}" for line in lines[:FEW])


def of_op(op: Op, listed: set[Any], indent: str = "  ") -> Iterator[str]:
    """Yield the lines about an op: its rules, the requests it makes and who serves them, and the ops it consists of."""
    if op.derived:
        yield f"{indent}gradient  derived from the body by minigrad/declare/derivative.py"
    for operand, rule in zip(op.operands, op.rules):
        if rule is not None and not op.derived:
            yield f"{indent}gradient  {operand}: {location(rule.fn)}"
    kinds, inner = asked_of(op)
    for kind in [kind for kind in kinds if kind not in listed]:
        yield f"{indent}request   {kind.__name__}: {location(kind)}"
        for device, service in sorted(services.get(kind, {}).items(), key=lambda item: item[0] is Backend):
            known = "any device" if device is Backend else device.__name__.removesuffix("Backend").lower()
            yield f"{indent}  {known:<10}  {location(service)}"
    listed.update(kinds)
    for other in [other for other in inner if other not in listed]:
        listed.add(other)
        yield f"{indent}calls     {other.name}: {relative(other.where)}"
        if other.kind == "kernel":
            yield from of_op(other, listed, indent + "  ")


def asked_of(op: Op) -> tuple[list[type[Any]], list[Op]]:
    """Return the requests and the ops that the functions of a declaration name."""
    if op.kind in ("elementwise", "reduction", "view"):
        kind = {"elementwise": requests.Elementwise, "reduction": requests.Reduce}.get(op.kind)
        return [kind] if kind else [], []
    kinds, ops = asked_by(op.prepare or getattr(op, "function", None) or op.public)
    return kinds, [each for each in ops if each is not op]


def asked_by(function: Any) -> tuple[list[type[Any]], list[Op]]:
    """Return the requests and the ops that a function names, or a function of `minigrad.ops` that it calls."""
    kinds: dict[str, type[Any]] = {}
    ops: dict[str, Op] = {}
    waiting, seen = [function], set()
    while waiting:
        code = getattr(function := inspect.unwrap(waiting.pop()), "__code__", None)
        if code is None or code in seen:
            continue
        seen.add(code)
        cells = [cell.cell_contents for cell in function.__closure__ or () if callable(cell.cell_contents)]
        waiting += [each for each in cells if inspect.isfunction(each)]
        for name in code.co_names:
            value = function.__globals__.get(name, getattr(requests, name, None))
            if isinstance(value, type) and issubclass(value, requests.Request) and value is not requests.Request:
                kinds[name] = value
            elif isinstance(getattr(value, "op", None), Op):
                ops[name] = value.op
            elif inspect.isfunction(value) and value.__module__.startswith("minigrad.ops."):
                waiting.append(value)
    return list(kinds.values()), list(ops.values())


def location(target: Any) -> str:
    """Return the file and the line of a definition, below the folder of the project."""
    target = target.fget if isinstance(target, property) else target
    op = getattr(target, "op", None)
    if isinstance(op, Op) and not isinstance(target, type):
        return relative(op.where)
    if isinstance(target, Op):
        return relative(target.where)
    try:
        return f"{relative(inspect.getsourcefile(target) or '')}:{inspect.getsourcelines(target)[1]}"
    except (TypeError, OSError):
        return relative(definition_of(target)) if callable(target) else relative(getattr(target, "__file__", "") or "")


def relative(path: str) -> str:
    """Return a path below the project as a relative one."""
    return path.removeprefix(f"{ROOT}/")


def mentions(folder: Path, pattern: str) -> Iterator[str]:
    """Yield the file and the line of each file below a folder that contains a pattern; nothing without the folder."""
    files = [path for path in folder.rglob("*") if path.suffix in (".py", ".md") and "_" not in path.parts[-2][:1]]
    for path in sorted(files, key=lambda path: ("decisions" in path.parts, path)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(pattern, line):
                yield f"{relative(str(path))}:{number}"
                break
