"""Kernels that users write: a plain function, compiled or simulated like the kernels of the package.

The compiler receives the function in a separate module, with the names `np`, `math`, `cuda` and those of `native.py`.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import symtable
from collections.abc import Callable
from functools import cache
from operator import index
from typing import Any

import numpy as np

from minigrad.backends.cuda.runtime import Program, Size
from minigrad.core.dtype import DType
from minigrad.errors import ArgumentError, DTypeError

# The functions of `native.py` that only read through a pointer, and the position of that argument.
READERS = {"load_1": 0, "load_2": 0, "load_4": 0, "load_8": 0, "load_16": 0, "copy_async": 2}
# Names that the module of a kernel defines or receives.
TAKEN = frozenset({"kernel", "POINTERS", "NUMBERS", "FMA", "cuda", "device", "libdevice"})
HEAD = '''"""{name}: written by its user."""

from __future__ import annotations

import math

import numpy as np

POINTERS = ({pointers},)
NUMBERS = {numbers}
FMA = True


'''
ENTRY = '''

def kernel({pointers}, {numbers}):
    """Pointers first, then integers."""
    {name}({given})
'''


def text_of(function: Callable[..., Any]) -> str:
    """Return the source of a function from its `def` on.  Raise ArgumentError if there is no source."""
    name = getattr(function, "__name__", function)
    if name == "<lambda>":
        raise ArgumentError("kernel: expected a function with a name, got a lambda; define the kernel with def")
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        raise ArgumentError(
            f"kernel: the source text of {name!r} cannot be read; define the function in a file or a notebook cell"
        ) from None
    indent = source[: len(source) - len(source.lstrip())]
    # textwrap.dedent would do nothing if a comment or a string begins at the left margin.
    lines = [line.removeprefix(indent) for line in source.splitlines(keepends=True)]
    whole = ast.parse("".join(lines)).body[0]
    return "".join(lines[whole.lineno - 1 :])


@cache
def written_names(function: Callable[..., Any]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the names of a kernel's pointers and scalar arguments, and those through which it may write.

    A name counts as read-only only if all its uses are `p[i]` as a value.  A name that is assigned to, given another
    name or passed to a function may be used to write.  Reporting too many names is harmless; a missing name would be a
    silent error.
    """
    whole: Any = ast.parse(text_of(function)).body[0]
    theirs = {node.name for node in ast.walk(whole) if isinstance(node, ast.FunctionDef)}
    reads = set()
    for node in ast.walk(whole):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            reads.add(id(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in theirs:
            at = READERS.get(node.func.id, len(node.args))
            reads |= {id(x) for x in node.args[at : at + 1]}
    names = tuple([p.arg for p in (*whole.args.posonlyargs, *whole.args.args)])
    used = [node for node in ast.walk(whole) if isinstance(node, ast.Name) and id(node) not in reads]
    return names, frozenset({node.id for node in used}.intersection(names))


def surroundings(function: Callable[..., Any], text: str) -> list[str]:
    """Return the names that a kernel uses and that do not exist, or have another meaning, when it runs; sorted."""
    from minigrad.kernels.cuda.native import natives

    name = function.__name__
    there = {**vars(builtins), **dict.fromkeys(natives()), "math": math, "np": np}
    others = {x for x, y in around(function).items() if y is not there.get(x, y)}
    known = {"cuda", "device", "libdevice", name, *there} - others
    tables, used = [symtable.symtable(ast.unparse(Unannotated().visit(ast.parse(text))), name, "exec")], set()
    while tables:
        table = tables.pop()
        used |= {x.get_name() for x in table.get_symbols() if x.is_global() and x.is_referenced()}
        tables += table.get_children()
    return sorted(used - known)


def around(function: Any) -> dict[str, Any]:
    """Return the variables that a function can see, by name; None for a variable that is not yet assigned."""
    inner = inspect.unwrap(function)
    result = dict(inner.__globals__)
    for name, cell in zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True):
        try:
            result[name] = cell.cell_contents
        except ValueError:
            result[name] = None
    return result


class Unannotated(ast.NodeTransformer):
    """Transformer that removes annotations, which have no meaning where it runs."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def written(function: Callable[..., Any], count: int) -> list[int]:
    """Return the positions of arguments that a kernel may write to.

    Only the first `count` arguments are considered.
    """
    names, through = written_names(function)
    return [k for k in range(count) if k >= len(names) or names[k] in through]


@cache
def own_program(function: Callable[..., Any], dtypes: tuple[DType, ...], numbers: int) -> Program:
    """Return the module of a kernel: the function, and a kernel that calls it with pointers and integers.

    Raises DTypeError for elements that are stored in another dtype, ArgumentError for a wrong number of arguments, and
    for names of the outer scope.
    """
    name, text = function.__name__, text_of(function)
    unknown = surroundings(function, text)
    if unknown:
        raise ArgumentError(
            f"{name}: a custom kernel can use only its arguments, np, math and cuda, but it uses {', '.join(unknown)} "
            "of the outer scope; pass each value as an argument, or write it into the kernel",
            op="kernel",
        )
    try:
        inspect.signature(function).bind(*dtypes, *range(numbers))
    except TypeError as error:
        raise ArgumentError(
            f"{name}: the arguments of the call must match the parameters of the kernel ({error}); pass one argument "
            "per parameter",
            op="kernel",
        ) from None
    for dtype in dtypes:
        if dtype.storage != dtype.numpy:
            raise DTypeError(
                f"{function.__name__}: a custom kernel does not support tensors of {dtype}; convert them with "
                ".to(mg.float32)",
                op="kernel",
            )
    kinds = ", ".join(f"np.{'uint8' if dtype.name == 'bool' else dtype.name}" for dtype in dtypes)
    called = f"{name}_" if name in TAKEN else name
    integers, pointers = f"{called}_numbers", [f"{called}_{k}" for k in range(len(dtypes))]
    arguments = [*pointers, *(f"{integers}[{k}]" for k in range(numbers))]
    head = HEAD.format(name=name, pointers=kinds, numbers=numbers)
    entry = ENTRY.format(name=called, pointers=", ".join(pointers), numbers=integers, given=", ".join(arguments))
    text = head + "@device\n" + text.replace(f"def {name}", f"def {called}", 1) + entry
    return Program("_".join([name, *(dtype.short for dtype in dtypes), str(numbers)]), text)


def size_of(value: int | tuple[int, ...]) -> Size:
    """Return a grid or a block: a number, or up to three numbers.  Raise ArgumentError for invalid sizes."""
    try:
        sizes = tuple([index(n) for n in (value if isinstance(value, tuple | list) else (value,))])
    except TypeError:
        sizes = ()
    if not 1 <= len(sizes) <= 3 or any(n < 1 for n in sizes):
        raise ArgumentError(
            f"kernel: expected one to three positive ints as the size of a grid or block, got {value!r}; write "
            "kernel[blocks, threads](...)"
        )
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z
