"""Elementary functions as branch-free text that LLVM vectorises inside a Numba loop, for float32 and float64.

For `math.exp`, `exp_32` or `exp_64` is pasted above the loop of a kernel, with only the constants and functions that it
needs.  So the file on disk is complete, and its hash covers these functions.  The functions are templates: `T` is the
float type, and `U` the unsigned integer of the same size.  A bare float literal gets the type `T`.  `p = horner(z,
TABLE)` becomes one line per coefficient.  For a name NAME, NAME_32 or NAME_64 is tried first.  If only the tables
differ, one text is used for both sizes.  `python -m tests.kernels.exhaustive_vecmath` measures the errors.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Container, Sequence
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np

FAMILIES = {
    "exponential": "exp exp2 expm1 normal_cdf logistic",
    "logarithm": "log log2 log10 log1p",
    "circular": "sin cos tan",
    "inverse": "asin acos atan atan2",
    "hyperbolic": "sinh cosh tanh asinh acosh atanh",
    "error": "erf erfc",
    "power": "pow cbrt",
    "loggamma": "lgamma",
    "arithmetic": "remainder floor_divide fmod hypot nextafter",
    "complexes": "cabs cdiv cexp clog csqrt csinh ccosh csin ccos ctanh ctan cpow clogistic clog1p cexpm1 clog10 clog2 "
    "cexp2 casin cacos catan casinh cacosh catanh cisnan cisfinite cisinf",
}
COMPLEXES = frozenset(FAMILIES["complexes"].split())
FUNCTIONS = frozenset(" ".join(FAMILIES.values()).split()) - COMPLEXES
# Functions whose vectorised text is valid only for common arguments.  Each has a function that finds the other
# arguments, and `NAME_any`, which is valid for all.
GUARDED = {
    "sin": "is_far", "cos": "is_far", "tan": "is_far", "lgamma": "is_below_zero",
    "remainder": "is_large_quotient", "floor_divide": "is_large_quotient",
    "fmod": "is_large_quotient",
    **dict.fromkeys(("cexp", "cexp2", "cexpm1", "clogistic", "csinh", "ccosh", "ctanh"), "is_far_imag"),
    **dict.fromkeys(("csin", "ccos", "ctan"), "is_far_real"), "cpow": "is_far_power",
}  # fmt: skip


# The functions whose form `NAME_any` also has no branches, so it is inlined.
VECTORISED_FOR_ALL = {"lgamma"}


# The functions are inlined, so that the loop around them vectorises.  Contraction to fused multiply-add only removes
# roundings; the algorithms are valid with and without it.
def decorator(function: str) -> str:
    """Return the decorator of a pasted function, from its text.

    Most of the functions `NAME_any` do not vectorise, so they are called instead of inlined.
    """
    plain = re.match(r"def (\w+)_any_", function)
    inline = "" if plain and plain[1] not in VECTORISED_FOR_ALL else "forceinline=True, "
    return (
        f'@njit(error_model="numpy", {inline}fastmath={{"contract"}}, no_cpython_wrapper=True, no_cfunc_wrapper=True)\n'
    )


# Polynomials that are evaluated in float64 as the sum of an odd and an even part, in parallel.  None of them loses
# accuracy by this.
IN_TWO = frozenset({"EXP", "EXP2", "EXP_HALF", "ERF", "LOG_ERFC", "ERFCX", "TAIL_TOP", "TAIL_BELOW"})
SIZED = re.compile(r"_(32|64)$")
STORE = re.compile(r" +\w+\[.*\] = ")  # a line of a kernel that stores a result


def calls(compute: np.dtype[Any]) -> dict[str, str]:
    """Return the pasted function for each `math.NAME` in a kernel.

    In a loop of complex numbers, `math.NAME` of a real number has the key "real NAME".
    """
    bits = (4 if compute.kind == "c" else 8) * compute.itemsize
    named = {name: f"{name}{'_any' if name in GUARDED else ''}_{bits}" for name in FUNCTIONS | COMPLEXES}
    if compute.kind != "c":
        return {name: named[name] for name in FUNCTIONS}
    complexes = {name[1:]: named[name] for name in COMPLEXES}
    return {f"real {name}": named[name] for name in FUNCTIONS} | complexes | {"fabs": named["cabs"]}


def called(text: str) -> list[str]:
    """Return the pasted functions that a text calls: words such as `exp_32` or `sin_any_64` before a bracket."""
    words = dict.fromkeys(re.findall(r"\b([a-z]\w*_(?:32|64))\(", text))
    return [word for word in words if find(*split(word)) is not None]


@cache
def modules() -> tuple[ModuleType, ...]:
    """Return the modules of the package, imported for the first kernel that needs them."""
    return tuple(importlib.import_module(f"{__name__}.{family}") for family in FAMILIES)


@cache
def find(name: str, bits: int) -> Any:
    """Return the meaning of a word in a template: a function, a number or a table; None for other words."""
    for module in modules():
        for key in (f"{name}_{bits}", name):
            value = vars(module).get(key)
            if isinstance(value, (FunctionType, float, int, tuple)):
                return value
    return find(name.removesuffix("_any"), bits) if is_derived(name) else None


def is_derived(name: str) -> bool:
    """Return whether a function is the form `NAME_any` of complex numbers, which calls such forms instead of others."""
    return name.endswith("_any") and name.removesuffix("_any") in COMPLEXES & GUARDED.keys()


def typed(value: float, bits: int) -> str:
    """Return a number as source text, such as `np.float32(0.5)`."""
    text = repr(float(value))
    return f"np.float{bits}({text if text[-1].isdigit() else 'np.' + text.strip('-')})"


def chain(target: str, variable: str, table: Sequence[str]) -> list[str]:
    """Return lines that evaluate a polynomial, one product and sum each."""
    *rest, last = table
    return [f"{target} = {last}", *(f"{target} = {target} * {variable} + {c}" for c in reversed(rest))]


def expand_horner(text: str, bits: int) -> str:
    """Replace `p = horner(z, TABLE)` by lines with one multiplication and one addition each.

    TABLE has the constant term first.  Each addition waits for the previous one, so some long polynomials become two
    chains.
    """

    def steps(match: re.Match[str]) -> str:
        indent, target, variable, table = match.groups()
        name, size = split(table) if SIZED.search(table) else (table, bits)
        table = [typed(c, size) for c in find(name, size)]
        if size == 32 or name not in IN_TWO:
            return "\n".join(indent + line for line in chain(target, variable, table))
        square, odd = f"{variable}_2", f"{target}_odd"
        lines = [
            f"{square} = {variable} * {variable}",
            *chain(odd, square, table[1::2]),
            *chain(target, square, table[::2]),
            f"{target} = {odd} * {variable} + {target}",
        ]
        return "\n".join(indent + line for line in lines)

    return re.sub(r"^( +)(\w+) = horner\((\w+), (\w+)\)$", steps, text, flags=re.MULTILINE)


@cache
def instance(name: str, bits: int) -> tuple[str, tuple[str, ...]]:
    """Return the text of one function for a size, and the names of the functions and numbers that it needs."""
    function = find(name, bits)
    text = expand_horner(inspect.getsource(function).replace("  # type: ignore[no-untyped-def]", ""), bits)
    if is_derived(name):
        text = re.sub(rf"\b({'|'.join(GUARDED)})\(", r"\1_any(", text)
    lines = text.splitlines(keepends=True)
    needed: dict[str, None] = {}
    own = f"{name}_{bits}"
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(text).readline))):
        (row, start), end = token.start, token.end[1]
        before = lines[row - 1][:start] if row <= len(lines) else ""
        new = None
        if token.type == tokenize.NUMBER and re.search(r"[.e]", token.string):
            # The coefficients from `expand_horner` already have their type.
            new = None if re.search(r"np\.float\d\d\(-?$", before) else f"np.float{bits}({token.string})"
        elif token.type == tokenize.NAME and not before.endswith("."):
            # A name with a size at its end stays; every other name gets the size of this instance.
            full = token.string if SIZED.search(token.string) else f"{token.string}_{bits}"
            if token.string in "TU":
                new = f"np.{'float' if token.string == 'T' else 'uint'}{bits}"
            elif find(*split(full)) is not None:
                new = full
                needed[new] = None
        if new is not None:
            lines[row - 1] = before + new + lines[row - 1][end:]
    needed.pop(own, None)
    return "".join(lines).rstrip("\n") + "\n", tuple(reversed(needed))


ADDED = ("rare",)  # the names that `guarded` adds to a body


def guarded(body: str) -> str:
    """Return a kernel's body with two forms of each innermost loop that calls `NAME_any`.

    A loop before them searches for arguments outside the range of the vectorised `NAME`.  If there are none, the form
    with `NAME` runs.  A loop whose arguments depend on the previous element, such as a scan, cannot be searched before.
    """
    if "_any_" not in body:
        return body
    lines = body.splitlines()
    result: list[str] = []
    while lines:
        line = lines.pop(0)
        indent = len(line) - len(line.lstrip())
        size = next((k for k, other in enumerate(lines) if len(other) - len(other.lstrip()) <= indent), len(lines))
        block = lines[:size] if re.match(r" +for \w+ in range\(\w+\):$", line) else []
        calls = [node for node in ast.walk(ast.parse(textwrap.dedent("\n".join(block)))) if is_guarded_call(node)]
        if not calls or any("for " in other.partition("#")[0] for other in block):
            result.append(line)
            continue
        quick = [re.sub(r"_any(_(?:32|64)\()", r"\1", other) for other in block]
        tests = [
            f"{GUARDED[name[:-7]]}_{name[-2:]}({', '.join(map(ast.unparse, node.args))})"
            for name, node in map(named, calls)
        ]
        test = re.sub(r"_any(_(?:32|64)\()", r"\1", " | ".join(tests))
        # The first loop stores nothing, because a result may be the memory of an operand that the second loop reads.
        stored = next(k for k, other in enumerate([*reversed(quick), ""]) if not STORE.match(other))
        searching = quick[: -max(stored, 1)]
        if carries([*searching, f"{' ' * (indent + 4)}{test}"], block):
            result.append(line)
            continue
        del lines[:size]
        margin = " " * indent
        result += [f"{margin}rare = False", line, *searching]
        result += [f"{margin}    rare |= {test}", f"{margin}if rare:"]
        result += ["    " + other for other in (line, *block)]
        result += [f"{margin}else:"]
        result += ["    " + other for other in (line, *quick)]
    return "\n".join(result) + "\n"


def carries(search: list[str], block: list[str]) -> bool:
    """Return whether the lines of a search read a name that the loop has set in the previous iteration."""
    early, known = set[str](), set[str]()
    for statement in ast.parse(textwrap.dedent("\n".join(search))).body:
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        adds = isinstance(statement, ast.AugAssign)
        early |= {node.id for node in names if adds or isinstance(node.ctx, ast.Load)} - known
        known |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    whole = ast.walk(ast.parse(textwrap.dedent("\n".join(block))))
    return not early.isdisjoint({n.id for n in whole if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)})


def named(node: ast.AST) -> tuple[str, ast.Call]:
    """Return the name that a node calls ("" if it is not such a call), and the node."""
    function = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    return function, cast(ast.Call, node)


def is_guarded_call(node: ast.AST) -> bool:
    """Return whether a node is a call such as `sin_any_32`."""
    return named(node)[0][:-7] in GUARDED and "_any_" in named(node)[0]


def split(name: str) -> tuple[str, int]:
    """Return the name and the size of a function: ("exp", 32) for `exp_32`."""
    return name[:-3], int(name[-2:])


def pasted(names: list[str], apart: Container[str] = ()) -> tuple[list[str], list[str]]:
    """Return the lines of constants and the texts of functions that calls such as `exp_32` need, in order of use.

    apart: the functions that a target has itself.
    """
    constants: dict[str, str] = {}
    functions: dict[str, str] = {}

    def visit(full: str) -> None:
        if full in constants or full in functions:
            return
        name, bits = split(full)
        if name.removesuffix("_any") in apart:
            return
        value = find(name, bits)
        if not isinstance(value, FunctionType):
            constants[full] = (
                f"{full} = {typed(value, bits) if isinstance(value, float) else f'np.uint{bits}({value:#x})'}"
            )
            return
        text, needed = instance(name, bits)
        for other in needed:
            visit(other)
        functions[full] = text

    for name in names:
        visit(name)
    return list(constants.values()), list(functions.values())
