"""Find the source text of a function.

A declaration is compiled from its text, so the text must be that of the function that Python runs.  The file may have
been edited since it was loaded, or its lines may belong to another function.  Therefore the text is compiled as Python
does it, and the result is compared with the code object of the function.  `scalar.py` checks the parsed text.
"""

from __future__ import annotations

import ast
import linecache
import re
import textwrap
from collections.abc import Callable
from contextlib import suppress
from itertools import combinations
from types import CodeType
from typing import Any
from unicodedata import normalize

from minigrad.errors import DeclarationError

HEAD = re.compile(r"^\s*def\s+(\w+)")  # one pattern for all names: `import minigrad` searches for a hundred
IMPORT = ast.parse("import math").body[0]
ROOTS = 4  # at most this many names before a dot are tried as modules
CLOSING = 20  # at most this many lines of closing brackets follow the last line with code


def definition(function: Callable[..., Any]) -> tuple[ast.FunctionDef, str]:
    """Return the parsed `def` of a function, and its location as "file:line".

    The function may be defined in a file or a notebook cell.  Raises DeclarationError if Python keeps no source, as at
    a bare `python` prompt, or if the source differs from the code that Python runs.
    """
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        raise DeclarationError(
            f"expected a Python function, whose source can be compiled, got {function!r}; decorate a function that is "
            "written with def"
        )
    name, where = code.co_name, f"{code.co_filename}:{code.co_firstlineno}"
    if name == "<lambda>":
        raise DeclarationError(f"{where}: a lambda has no name to declare; write `def name(...):`", op=name)
    node = find(code, linecache.getlines(code.co_filename, function.__globals__))
    if node is None:  # the file may have been edited and reloaded since `linecache` read its lines
        linecache.checkcache(code.co_filename)
        lines = linecache.getlines(code.co_filename, function.__globals__)
        if not lines:
            raise DeclarationError(
                f"{name} has no source to compile ({where}); declare ops in a file or a notebook cell", op=name
            )
        node = find(code, lines)
    if node is None:
        raise DeclarationError(
            f"the text of {name} at {where} is not what Python runs; the file has changed since it was loaded, or "
            f"another tool has rewritten the function; load it again",
            op=name,
        )
    return node, where


def find(code: CodeType, lines: list[str]) -> ast.FunctionDef | None:
    """Return the `def` that a code object was compiled from, among the lines of a file; None if it is absent."""
    # Only the lines of this function are parsed, not the file, because `import minigrad` reads a hundred declarations.
    name, free = code.co_name, code.co_freevars
    first = code.co_firstlineno - 1
    while first < len(lines) and name not in HEAD.findall(normalize("NFKC", lines[first])):
        first += 1
    # A function with a closure compiles to the same code only inside a function that defines the names of the closure.
    head = f"def outer({', '.join(free)}):\n {'pass' if name in free else f'global {name}'}\n if True:\n"
    last = max((line for _, _, line in code.co_lines() if line is not None), default=first + 1)
    for end in range(last, min(last + CLOSING, len(lines)) + 1):
        text = "".join(lines[first:end])
        source = head + (text if text[:2].isspace() else textwrap.indent(text, "  "))
        try:
            tree: Any = ast.parse(source)
        except SyntaxError:
            continue
        node = tree.body[0].body[1].body[0]
        if isinstance(node, ast.FunctionDef) and is_text(tree, code):
            return ast.increment_lineno(node, first - 3)
        return None
    return None


def is_text(tree: ast.Module, code: CodeType) -> bool:
    """Return whether a code object was compiled from a tree in which its function is inside another function."""
    # Python compiles `math.exp(x)` differently if the file imports math.  The same is true for every other module.
    if is_code(ast.Module([IMPORT, *tree.body], []), code) or is_code(tree, code):
        return True
    called = {node.func.value.id for node in ast.walk(tree) if is_call_of_attribute(node)}  # type: ignore[attr-defined]
    roots = sorted(called)[:ROOTS]
    chosen = (each for count in range(len(roots), 0, -1) for each in combinations(roots, count))
    imports = (ast.Import([ast.alias(name) for name in names], lineno=1, col_offset=0) for names in chosen)
    return any(is_code(ast.Module([ast.fix_missing_locations(each), *tree.body], []), code) for each in imports)


def is_call_of_attribute(node: ast.AST) -> bool:
    """Return whether a node is a call such as `np.sin(x)`."""
    func = node.func if isinstance(node, ast.Call) else None
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)


def is_code(tree: ast.Module, code: CodeType) -> bool:
    """Return whether Python compiles a tree to a code object."""
    (outer,) = (value for value in compile(tree, "", "exec").co_consts if isinstance(value, CodeType))
    inner = (value for value in outer.co_consts if isinstance(value, CodeType) and value.co_name == code.co_name)
    return any(fingerprint(value) == fingerprint(code) for value in inner)


def fingerprint(code: CodeType) -> tuple[Any, ...]:
    """Return the attributes that are equal for two code objects of the same text."""
    values = [repr(value) for value in code.co_consts if not isinstance(value, (str, CodeType))]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, values


def closure_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the closure variables of a function that is declared inside another function.

    A variable that has no value yet is None.
    """
    names, cells = function.__code__.co_freevars, getattr(function, "__closure__", None) or ()
    values = {}
    for name, cell in zip(names, cells, strict=True):
        with suppress(ValueError):  # raised for a variable without a value yet, such as the function's own name
            values[name] = cell.cell_contents
    return dict.fromkeys(names) | values
