"""Writes `runtime/attached.pyi`: the methods that `face/` attaches to Tensor, as editors and type checkers read them.

`python -m minigrad.cli.stubs` writes the file anew; a test holds it to what is attached.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import minigrad as mg
from minigrad.runtime import tensor as module

PATH = Path(module.__file__).with_name("attached.pyi")
HEADER = '''"""The methods that `face/` attaches to Tensor.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.runtime.tensor import Tensor

class Attached:
'''
KNOWN = {"Any", "GradStore", "Iterator", "Sequence", "Tensor"}


def text() -> str:
    """The whole file."""
    return HEADER + "".join(entry(name, value) for name, value in attached())


def attached() -> Iterator[tuple[str, Any]]:
    """What is not in Tensor's own class body, by name."""
    tree = ast.parse(inspect.getsource(module.Tensor)).body[0]
    assert isinstance(tree, ast.ClassDef)
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} | set(mg.Tensor.__slots__)
    for name, value in sorted(vars(mg.Tensor).items()):
        if name not in own and (inspect.isroutine(value) or isinstance(value, property)):
            yield name, value


def entry(name: str, value: Any) -> str:
    """One method or property: its signature and the first line of what it says."""
    function: Any = value.fget if isinstance(value, property) else value
    head = "    @property\n" if isinstance(value, property) else ""
    doc = (inspect.getdoc(function) or "").partition("\n")[0]
    given = arguments(function, name.startswith("__") and hasattr(function, "op"))
    return f'{head}    def {name}({given}) -> {returned(function)}:\n        """{doc}"""\n\n'


def arguments(function: Callable[..., Any], operator: bool) -> str:
    """The parameters with what may be given for them; the first is the tensor.  operator: Python gives no keywords."""
    found, star = ["self"], False
    for p in list(inspect.signature(function).parameters.values())[1:]:
        if operator and p.kind is p.KEYWORD_ONLY:
            continue
        star |= p.kind is p.VAR_POSITIONAL
        if p.kind is p.KEYWORD_ONLY and not star:
            found.append("*")
            star = True
        mark = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        default = "" if p.default is p.empty else " = ..."
        found.append(f"{mark}{p.name}: {spelled(p.annotation)}{default}")
    return ", ".join(found)


def returned(function: Callable[..., Any]) -> str:
    """What it gives; an op, which says nothing of it, gives a tensor."""
    given = inspect.signature(function).return_annotation
    op = getattr(function, "op", None)
    if given is inspect.Parameter.empty or given == "Tensor":
        return "Tensor" if op is None or op.result is None else "Any"
    return spelled(given)


def spelled(annotation: Any) -> str:
    """An annotation with builtins by their full name, for `int` and `any` are methods here too; Any for a name that
    the file does not import."""
    if annotation is inspect.Parameter.empty:
        return "Any"
    written = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "Any")
    tree = ast.parse(written, mode="eval")
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if any(name not in KNOWN and not hasattr(builtins, name) for name in names):
        return "Any"
    return ast.unparse(Full().visit(tree))


class Full(ast.NodeTransformer):
    """Builtins by their full name."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in KNOWN:
            return node
        return ast.Attribute(ast.Name("builtins"), node.id)


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    print(f"{PATH}: {len(list(attached()))} methods")
