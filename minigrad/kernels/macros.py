"""Macros for the scalar functions of an op and for their results, in the templates of every target.

A macro receives the expressions of its arguments, and returns the lines that come first and the expression that
replaces the call: see `pasting.py`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minigrad.core.dtype import as_dtype
from minigrad.core.op import ScalarFn
from minigrad.core.reducer import Reducer
from minigrad.core.rows import Pass, RowFn
from minigrad.kernels.cpu.target import CPU
from minigrad.kernels.pasting import Expand, parsed
from minigrad.kernels.rendering import call, render_results
from minigrad.kernels.target import Target


def expression_macro(text: str) -> Expand:
    """Return a macro that puts its arguments into a text such as `half_to_float({})`."""

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        if text in ("{}", "{0}"):
            return [], args[0]
        return [], parsed(text.format(*(ast.unparse(a) for a in args)))

    return expand


def call_macro(name: str) -> Expand:
    """Return a macro that calls a function of the module."""
    return lambda args, used: ([], ast.Call(ast.Name(name), args, []))


def finish_macro(reducer: Reducer, compute: np.dtype[Any], target: Target = CPU) -> Expand:
    """Return the macro `FINISH`: the result of a reduction, from its accumulator and the number of elements."""
    last = first_arguments(reducer.finish, compute, target)
    return lambda args, used: last([args[0], call("T", args[1])], used)


def first_arguments(scalar: ScalarFn | None, compute: np.dtype[Any], target: Target = CPU) -> Expand:
    """Return the macro of a scalar function that ignores arguments after those of the function.

    If there is no scalar function, the macro returns its first argument.
    """
    if scalar is None:
        return expression_macro("{0}")
    macro, count = scalar_macro(scalar, compute, target), len(scalar.args)
    return lambda args, used: macro(args[:count], used)


def stores_macro(
    scalar: ScalarFn, compute: np.dtype[Any], stores: Sequence[str], conditions: Sequence[bool] = (),
    target: Target = CPU,
) -> Expand:  # fmt: skip
    """Return the macro of a scalar function that stores the results at the positions after its arguments.

    stores: for each result an expression in `{}`, which converts it.  conditions: which results may stay comparisons.
    """
    count = len(scalar.args)

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        lines, values = rendered(scalar, args[:count], compute, used, target, conditions)
        for position, store, value in zip(map(ast.unparse, args[count:]), stores, values, strict=True):
            lines.append(f"{position} = {store.format(ast.unparse(value))}")
        return lines, ast.Constant(0)  # the expression becomes a bare 0, which is left out of the text

    return expand


def step_macro(scalar: ScalarFn | None, compute: np.dtype[Any], target: Target = CPU) -> Expand:
    """Return the macro of a function of accumulators, which stores the results if positions follow its arguments.

    scalar is None if there is only one partial result.  Then nothing has to be joined, and the macro does nothing.
    """
    if scalar is None:
        return lambda args, used: (["pass"], ast.Constant(0))
    count, plain = len(scalar.args), scalar_macro(scalar, compute, target)

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        if len(args) == count:
            return plain(args, used)
        lines, values = rendered(scalar, args[:count], compute, used, target)
        # One line assigns all accumulators, because each new value may depend on the old values of all accumulators.
        positions, texts = map(ast.unparse, args[count:]), [f"T({ast.unparse(value)})" for value in values]
        return [*lines, f"{', '.join(positions)} = {', '.join(texts)}"], ast.Constant(0)

    return expand


def stored(macro: Expand) -> Expand:
    """Return a macro that stores the result of another one, at its last argument."""

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        lines, value = macro(args[:-1], used)
        return [*lines, f"{ast.unparse(args[-1])} = T({ast.unparse(value)})"], ast.Constant(0)

    return expand


def results_macro(reducer: Reducer, compute: np.dtype[Any], stores: Sequence[str], target: Target = CPU) -> Expand:
    """Return the macro `FINISH` of a reduction with several accumulators or results.

    Its arguments are the accumulators, the number of elements, and the positions where the results are stored.

    stores: as for `stores_macro`.
    """
    count, last = reducer.accumulators, reducer.finish

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        positions = args[count + 1 :]
        if last is not None:
            values = [*args[:count], call("T", args[count])][: len(last.args)]
            return stores_macro(last, compute, stores, (), target)([*values, *positions], used)
        texts = [store.format(ast.unparse(acc)) for store, acc in zip(stores, args[:count], strict=True)]
        return [f"{ast.unparse(to)} = {text}" for to, text in zip(positions, texts, strict=True)], ast.Constant(0)

    return expand


def scalar_macro(scalar: ScalarFn, compute: np.dtype[Any], target: Target = CPU, condition: bool = False) -> Expand:
    """Return the macro `F`, which writes the scalar function of the op into the loop body.

    condition: whether the result may stay a comparison instead of becoming a number.
    """

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        lines, (value,) = rendered(scalar, args, compute, used, target, [condition])
        return lines, value

    return expand


def rendered(
    scalar: ScalarFn, args: list[ast.expr], compute: np.dtype[Any], used: set[str], target: Target,
    conditions: Sequence[bool] = (),
) -> tuple[list[str], list[ast.expr]]:  # fmt: skip
    """Return the statements and results of a scalar function for a target."""
    calls = target.calls(compute if compute.kind in "fc" else np.dtype(np.float64))
    return render_results(scalar, args, compute, used, calls, conditions or [False] * scalar.results)


def keep_macro(kept: bool) -> Expand:
    """Return the macro of a line `KEEP(position, x)`: it stores x in `values`, or nothing if not `kept`."""

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        position, x = map(ast.unparse, args)
        return [f"values[{position}] = {x}"] if kept else [], ast.Constant(0)

    return expand


def neutral_text(identity: str, compute: np.dtype[Any]) -> str:
    """Return the text of a neutral element of the compute dtype: "zero", "one", "lowest" or "highest"."""
    dtype = as_dtype(compute)
    if dtype.kind == "bool":
        return "T(True)" if identity in ("one", "highest") else "T(False)"
    if identity in ("zero", "one"):
        return "T(1)" if identity == "one" else "T(0)"
    if dtype.is_inexact:
        return "T(-np.inf)" if identity == "lowest" else "T(np.inf)"
    return f"T({dtype.lowest if identity == 'lowest' else dtype.highest})"


def lanes_macro(width: int) -> Expand:
    """Return the macro ALL(x): a tuple of x written once for each lane, whose index is J in x."""

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        one = ast.unparse(args[0])
        lanes = [re.sub(r"(?<![A-Za-z0-9])J\b", str(j), one) for j in range(width)]
        return [], parsed(f"({', '.join(lanes)},)")

    return expand


# ---- passes over rows -----------------------------------------------------------------------------------------------

# For each kind of loop: the expression that combines two values, and the neutral element.
JOINS = {"sum": ("{0} + {1}", "zero"), "max": ("({1} if {1} > {0} else {0})", "lowest")}


def by_name(
    scalar: ScalarFn, parameters: Sequence[str], known: Mapping[str, str], compute: np.dtype[Any], target: Target = CPU
) -> Expand:
    """Return the macro of a scalar function whose arguments are found by name.

    The value of an argument is the macro's own argument of that name in `parameters`, otherwise the text in `known`.
    """
    macro = scalar_macro(scalar, compute, target)

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        values = dict(zip(parameters, args, strict=False))
        return macro([values[name] if name in values else parsed(known[name]) for name in scalar.args], used)

    return expand


def pass_macros(
    fn: RowFn, loop: Pass, compute: np.dtype[Any], target: Target = CPU, operands: Sequence[int] | None = None,
    total: str = "total_{}", letter: str = "F",
) -> dict[str, Expand]:  # fmt: skip
    """Return the macros of a pass: F computes a term from an element of each operand of the loop and the kept term.

    A loop that computes total 2 also has the macros F_2, IDENTITY, COMBINE and FINISH_2.  A loop of two sums down the
    columns has F_0 and F_1.

    operands: the positions of the operands that F receives, by default those of the loop.  total: the text of the total
    at a position.  letter: the name of the macros instead of F.
    """
    known = {each.name: total.format(k) for k, each in enumerate(fn.totals)}
    parameters = [*(fn.operands[k] for k in (loop.operands if operands is None else operands)), "kept"]
    positions = loop.totals or range(len(loop.scalars))
    macros = {f"{letter}_{k}": by_name(x, parameters, known, compute, target) for k, x in zip(positions, loop.scalars)}
    macros[letter] = macros[f"{letter}_{positions[0]}"]
    for k in loop.totals:
        macros["COMBINE"] = expression_macro(JOINS[loop.kind][0])
        macros["IDENTITY"] = expression_macro(neutral_text(JOINS[loop.kind][1], compute))
        macros["FINISH"] = macros[f"FINISH_{k}"] = first_arguments(fn.totals[k].finish, compute, target)
    return macros
