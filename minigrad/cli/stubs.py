"""Type stubs of names that are made at run time: methods of Tensor, and the functions of `mg` and its submodules.

`python -m minigrad.cli.stubs` writes the files; a test compares them with the existing names.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import minigrad as mg
from minigrad.declare.advice import Advised, Missing
from minigrad.nn.modules.derived import FromFunction
from minigrad.nn.modules.lazy import LazyModuleMixin
from minigrad.runtime import tensor as module

PATH = Path(module.__file__).with_name("attached.pyi")
HEADER = '''"""The methods that `api/` attaches to Tensor.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.runtime.tensor import Tensor

class Attached:
'''
IMPORTS = (
    "import builtins", "from collections.abc import Iterator, Sequence", "from typing import Any", "",
    "from minigrad.autodiff.grads import GradStore", "from minigrad.core.dtype import DType",
    "from minigrad.runtime.tensor import Tensor",
)  # fmt: skip
KNOWN = {"Any", "DType", "GradStore", "Iterator", "Sequence", "Tensor"}


def files() -> dict[Path, str]:
    """Return the text of every stub by path."""
    root = Path(mg.__file__).parent
    return {
        PATH: HEADER + "".join(entry(name, value) for name, value in attached()),
        root / "__init__.pyi": module_text(mg, "minigrad"),
        root / "fft.pyi": module_text(mg.fft, "minigrad.fft"),
        root / "linalg.pyi": module_text(mg.linalg, "minigrad.linalg"),
        root / "special.pyi": module_text(mg.special, "minigrad.special"),
        root / "nn" / "__init__.pyi": module_text(mg.nn, "minigrad.nn"),
        root / "nn" / "functional.pyi": module_text(mg.nn.functional, "minigrad.nn.functional"),
    }


def module_text(module: Any, name: str) -> str:
    """Return the stub of a module: signatures of its functions, and imports of the other names.

    Values other than functions, classes and modules have only a type.
    """
    lines = [f'"""The names of {name}.  Written by `python -m minigrad.cli.stubs`."""', "", *IMPORTS]
    for k, line in enumerate(lines):
        last = line.rpartition(" ")[2]
        if last in module.__all__:  # a stub exports an imported name only if it is written as `x as x`
            lines[k] = f"{line} as {last}"
    functions = []
    for each in module.__all__:
        value = getattr(module, each)
        value = value.function if isinstance(value, Advised) else value
        if f" as {each}" in "".join(lines[:12]):
            continue
        if inspect.isfunction(value):
            functions.append(function_entry(each, value))
        elif isinstance(value, type(mg)):
            source, _, last = value.__name__.rpartition(".")
            lines.append(f"from {source} import {last} as {each}")
        elif isinstance(value, type) and issubclass(value, (FromFunction, LazyModuleMixin)):
            functions.append(class_entry(value))
        elif isinstance(value, type) and value.__module__.startswith("minigrad."):
            original = value.__name__
            line = f"from {value.__module__} import {original} as {original}"
            lines += [] if line in lines else [line]
            functions += [] if each == original else [f"{each} = {original}\n"]
        else:
            functions.append(f"{each}: {type(value).__name__ if type(value).__name__ in KNOWN else 'Any'}\n")
    return "\n".join([*lines, "__version__: str", "", ""]) + "".join(functions)


def function_entry(name: str, function: Any) -> str:
    """Return the stub of a function: its signature and the first line of its docstring."""
    doc = first_line(function).replace("\\", "\\\\")
    parameters = spelled_parameters(list(inspect.signature(function).parameters.values()), [])
    return f'\ndef {name}({parameters}) -> {returned(function)}:\n    """{doc}"""\n'


def class_entry(cls: Any) -> str:
    """Return the stub of a layer that is derived from a function or from another layer: its fields and constructor."""
    parameters = list(inspect.signature(cls).parameters.values())
    fields = "".join(f"    {p.name}: {spelled(p.annotation)}\n" for p in parameters)
    head = f'\nclass {cls.__name__}(Module):\n    """{first_line(cls)}"""\n{fields}'
    return f"{head}    def __init__({spelled_parameters(parameters, ['self'])}) -> None: ...\n"


def first_line(function: Any) -> str:
    """Return the first line of a docstring as written, because `help` shows a docstring that is split into sections."""
    return inspect.cleandoc(str(function.__doc__ or "")).partition("\n")[0]


def attached() -> Iterator[tuple[str, Any]]:
    """Yield (name, value) for attributes of Tensor outside its own class body."""
    tree = ast.parse(inspect.getsource(module.Tensor)).body[0]
    assert isinstance(tree, ast.ClassDef)
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} | set(mg.Tensor.__slots__)
    for name, value in sorted(vars(mg.Tensor).items()):
        shown = isinstance(value, property) or (inspect.isroutine(value) and not isinstance(value, Missing))
        if name not in own and shown:
            yield name, value


def entry(name: str, value: Any) -> str:
    """Return the stub of a method or property: its signature and the first line of its docstring."""
    function: Any = value.fget if isinstance(value, property) else value
    head = "    @property\n" if isinstance(value, property) else ""
    doc = first_line(function)
    parameters = arguments(function, name.startswith("__") and hasattr(function, "op"))
    return f'{head}    def {name}({parameters}) -> {returned(function)}:\n        """{doc}"""\n\n'


def arguments(function: Callable[..., Any], operator: bool) -> str:
    """Return the text of a method's parameters.  An operator has no keywords, because Python passes none."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return spelled_parameters([p for p in parameters if not (operator and p.kind is p.KEYWORD_ONLY)], ["self"])


def spelled_parameters(parameters: list[inspect.Parameter], texts: list[str]) -> str:
    """Return the text of parameters with their types, after the texts in `texts`."""
    star = False
    for p in parameters:
        star |= p.kind is p.VAR_POSITIONAL
        if p.kind is p.KEYWORD_ONLY and not star:
            texts.append("*")
            star = True
        mark = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        default = "" if p.default is p.empty else " = ..."
        texts.append(f"{mark}{p.name}: {spelled(p.annotation)}{default}")
    return ", ".join(texts)


def returned(function: Callable[..., Any]) -> str:
    """Return the return type; for an op without annotation, it is Tensor or Any."""
    annotation = inspect.signature(function).return_annotation
    op = getattr(function, "op", None)
    if annotation is inspect.Parameter.empty or annotation == "Tensor":
        return "Tensor" if op is None or op.result is None else "Any"
    return spelled(annotation)


def spelled(annotation: Any) -> str:
    """Return the text of an annotation, with full names of builtins; "Any" for a name that the stub does not import.

    In the stub, names such as `int` and `any` refer to methods of Tensor.
    """
    if annotation is inspect.Parameter.empty:
        return "Any"
    written = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "Any")
    tree = ast.parse(written, mode="eval")
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if any(name not in KNOWN and not hasattr(builtins, name) for name in names):
        return "Any"
    return ast.unparse(Full().visit(tree))


class Full(ast.NodeTransformer):
    """Replaces names of builtins by their full names."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in KNOWN:
            return node
        return ast.Attribute(ast.Name("builtins"), node.id)


if __name__ == "__main__":
    for path, content in files().items():
        path.write_text(content, encoding="utf-8")
        print(path)
