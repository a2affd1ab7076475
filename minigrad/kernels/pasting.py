"""Pasting: copy a template's own source, and expand its free names.

`F` becomes the scalar function of the op, `LOAD_K` and `STORE` become the conversions of each dtype, and `N.name`
becomes an entry of the array of numbers.  A line that mentions `_K` is written once per operand, `_R` once per result,
and `_S` once per accumulator of a reduction.  `walk` is replaced by the loop that splits a position into indices.  A
word can also be replaced by the bodies of other templates, a list of `Part`.  All other lines stay as they were
written, so that a learner can read the file that runs.

`blocks.py` chooses and unrolls blocks; `specialize.py` writes whole modules.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from keyword import iskeyword
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.op import ScalarFn
from minigrad.core.reducer import Reducer
from minigrad.kernels import vecmath
from minigrad.kernels.blocks import chosen, unrolled
from minigrad.kernels.cpu.target import CPU
from minigrad.kernels.fields import Fields
from minigrad.kernels.rendering import call, fresh, render_results, settle
from minigrad.kernels.target import Target, Walk

Expand = Callable[[list[ast.expr], set[str]], tuple[list[str], ast.expr]]
Named = Mapping[str, Any]

LEFT_OUT = "..."  # a line of a template that assigns this text is left out
LETTER, EACH = re.compile(r"_([KRS])(?![A-Za-z0-9])"), re.compile(r"\w+_([KRS])\b")
WORD, COUNTED = re.compile(r"\w+"), re.compile(r"\b\d+ [+*] \d+\b")
SCALAR = re.compile(r"[FGH](_\d+)?|COMBINE|FINISH|JOINED")  # macros whose arguments may be repeated per operand
# The names that every kernel has: its modules, dtype and arguments, and the functions of `native.py`.
RESERVED = {
    "T",
    "np",
    "math",
    "first",
    "last",
    "table",
    "flag",
    "operand",
    "numbers_of",
    "entries",
    "workspace",
    "leave",
}


class Source(NamedTuple):
    """The text of a template, the names in it, and the number of lines above its body (the `def` and the docstring)."""

    text: str
    names: frozenset[str]
    start: int


@cache
def source_of(function: Callable[..., Any]) -> Source:
    """Return the source of a template, which is read only once."""
    text = textwrap.dedent(inspect.getsource(function)).replace("  # type: ignore[no-untyped-def]", "")
    text = text[text.index("def ") :]  # without a decorator
    tree: Any = ast.parse(text).body[0]
    documented = ast.get_docstring(tree) is not None
    names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return Source(text, names, tree.body[0].end_lineno if documented else 1)


def simplified(node: ast.BinOp) -> ast.expr:
    """Return 4 for 4 + 0, i for i * 1 and i + 0, and 0 for i * 0: pasted steps and positions contain such sums."""
    left, right = node.left, node.right
    if not (isinstance(right, ast.Constant) and type(right.value) is int):
        return node
    value = right.value
    if isinstance(left, ast.Constant) and type(left.value) is int and isinstance(node.op, ast.Add | ast.Mult):
        return ast.Constant(left.value + value if isinstance(node.op, ast.Add) else left.value * value)
    if (isinstance(node.op, ast.Mult) and value == 1) or (isinstance(node.op, ast.Add) and value == 0):
        return left
    return ast.Constant(0) if isinstance(node.op, ast.Mult) and value == 0 and isinstance(left, ast.Name) else node


class Part(NamedTuple):
    """A template whose body replaces a word of another template, whose words it may use.

    macros, constants: its additional words.  operands: the positions of its operands; None for all of them.
    """

    template: Callable[..., Any]
    macros: Named = {}
    constants: Named = {}
    operands: Sequence[int] | None = None


class Late(NamedTuple):
    """The macro of a word, or all words, as a function that is called when a kernel is written, and its arguments.

    So equal words compare equal, and only a new kernel takes the time of making them.
    """

    make: Callable[..., Any]
    arguments: tuple[Any, ...]


class Macro(NamedTuple):
    """A macro as the meaning of a word."""

    expand: Expand


class Words(NamedTuple):
    """The meanings of the words of a template.

    operands: the positions of the operands.  results, accumulators: their counts.  macros: for each word a macro, or a
    list of parts.  constants: for each word its text.  fields: the names of the numbers.  walk: as in `Target`.  known:
    all of these words.
    """

    operands: Sequence[int]
    results: int
    accumulators: int
    macros: Named
    constants: Mapping[str, str]
    fields: Fields | None
    walk: Walk
    known: frozenset[str]

    @classmethod
    def of(
        cls, operands: Sequence[int], results: int, accumulators: int, macros: Named, constants: Named,
        fields: Fields | None, walk: Walk,
    ) -> Words:  # fmt: skip
        """Return the words; a constant may be a text, an integer, a tuple for `each`, or a boolean (0 or 1)."""
        texts = {name: str(int(x) if isinstance(x, bool) else x) for name, x in constants.items()}
        known = frozenset({*macros, *texts, *(["N"] if fields else [])})
        return cls(operands, results, accumulators, macros, texts, fields, walk, known)

    def inside(self, part: Part) -> Words:
        """Return the words for a part of this template."""
        operands = self.operands if part.operands is None else part.operands
        macros, constants = {**self.macros, **part.macros}, {**self.constants, **part.constants}
        return Words.of(operands, self.results, self.accumulators, macros, constants, self.fields, self.walk)


def parsed(text: str) -> ast.expr:
    """Return a parsed expression; a single name or number does not need the parser."""
    if text.isdecimal() and (text == "0" or text[0] != "0"):
        return ast.Constant(int(text))
    if text.isidentifier() and not iskeyword(text):
        return ast.Name(text)
    return ast.parse(text, mode="eval").body


class _Expander(ast.NodeTransformer):
    """Expands the macros and constants in the expressions of one line of a template."""

    def __init__(self, words: Words, lines: list[str], used: set[str]) -> None:
        self.words, self.macros, self.constants, self.fields = words, words.macros, words.constants, words.fields
        self.lines, self.used = lines, used

    def visit_Name(self, node: ast.Name) -> ast.expr:
        text = "numbers" if node.id == "N" and self.fields else self.constants.get(node.id)
        return node if text is None else parsed(text)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if is_number(node) and self.fields:
            return self.number(node.attr)
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        # Expands N.sizes[d], N.offset[0] of a group, and N.strides[0][d].
        indices: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Subscript):
            indices.insert(0, ast.unparse(inner.slice))
            inner = inner.value
        if not (self.fields and is_number(inner)):
            self.generic_visit(node)
            return node
        assert isinstance(inner, ast.Attribute)
        group = ""
        if inner.attr in self.fields.groups:
            group = ast.unparse(self.visit(parsed(indices.pop(0))))
        return self.number(inner.attr, "".join(indices), group)

    def number(self, name: str, index: str = "", group: str = "") -> ast.expr:
        """Return the expression of a number, of a list entry, or of a number in a group."""
        assert self.fields is not None
        position = self.visit(parsed(self.fields.position(name, index, group)))
        return ast.Subscript(ast.Name("numbers"), position)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return simplified(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        return ast.Tuple([self.visit(each) for each in self.spread(node.elts)], node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        args = [self.visit(a) for a in (self.spread(node.args) if SCALAR.fullmatch(name) else node.args)]
        if name in self.macros:
            more, expr = self.macros[name](args, self.used)
            self.lines += more
            return expr
        return ast.Call(self.visit(node.func), args, node.keywords)

    def spread(self, args: list[ast.expr]) -> list[ast.expr]:
        """Repeat each argument that contains a letter, once per operand, result or accumulator.

        F(LOAD_K(x_K[i])) becomes F(LOAD_0(x_0[i]), LOAD_1(x_1[i])).
        """
        found: list[ast.expr] = []
        for arg in args:
            text = ast.unparse(arg)
            letter = letter_of(text)
            found += [parsed(each) for each in spread(text, letter, self.words)] if letter else [arg]
        return found


def letter_of(text: str) -> str:
    """Return "K" for a text that is repeated per operand, "R" per result, "S" per accumulator, otherwise ""."""
    found = LETTER.search(text)
    return found[1] if found else ""


def spread(text: str, letter: str, words: Words) -> list[str]:
    """Return a text once per operand, result or accumulator, with its index instead of the letter."""
    positions = words.operands if letter == "K" else range(words.results if letter == "R" else words.accumulators)
    return [re.sub(rf"(\b|(?<=_)){letter}(?![A-Za-z0-9])", str(k), text) for k in positions]


def is_number(node: ast.expr) -> bool:
    """Return whether an expression is `N.name`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "N"


def walk_lines(code: str, words: Words, used: set[str]) -> list[str]:
    """Return the lines for `walk(position, N.sizes, at=N.steps, to=N.others)`.

    They split a row-major position into indices, from the last dim to the first, and add to each offset (`at` and `to`
    here) the index times the step of its dim.  An offset whose name contains `_K` is repeated for every operand.
    """
    found = ast.parse(code, mode="eval").body
    assert isinstance(found, ast.Call) and words.fields is not None
    position, sizes = (words.constants.get(text, text) for text in map(ast.unparse, found.args))
    moved = [(keyword.arg or "", ast.unparse(keyword.value)) for keyword in found.keywords]
    every: list[tuple[str, str]] = []
    for name, steps in moved:
        letter = letter_of(name)
        pairs = zip(spread(name, letter, words), spread(steps, letter, words)) if letter else [(name, steps)]
        every += pairs
    length = words.fields.length(sizes.removeprefix("N."))
    return words.walk(position, sizes, length, every, lambda wish: fresh(wish, used))


def with_lengths(lines: list[str], start: int, fields: Fields) -> list[str]:
    """Return the lines of a function, with lines in front of its body that read the lengths of lists.

    A pasted index may contain the name of a length.  These lengths are read first, unless the function itself reads
    them.
    """
    body = "\n".join(lines[start:])
    known = dict.fromkeys(length for _, length in fields.lists + fields.each if length and not length.isdecimal())
    wanted = [n for n in known if re.search(rf"\b{n}\b", body) and not re.search(rf"^ +{n} = ", body, re.MULTILINE)]
    return [*lines[:start], *[f"    {name} = numbers[{fields.position(name)}]" for name in wanted], *lines[start:]]


def paste(
    template: Callable[..., Any], operands: int | Sequence[int], macros: Named, constants: Named,
    fields: Fields | None = None, walk: Walk = CPU.walk, results: int = 1, accumulators: int = 1,
) -> str:  # fmt: skip
    """Return a template's source with its free names expanded.

    Lines without such names stay as they were written, and so do the comments and the docstring.

    operands: their count, or the positions of some of them.  walk: the writer of the lines that split a position, as in
    `Target`.  results, accumulators: their counts.
    """
    source, positions = source_of(template), range(operands) if isinstance(operands, int) else operands
    words = Words.of(positions, results, accumulators, macros, constants, fields, walk)
    result = expanded(source, words, {*source.names, *RESERVED})
    if fields:
        result = with_lengths(result, source.start, fields)
    return settle("\n".join(result) + "\n", vecmath.ADDED)


def expanded(source: Source, words: Words, used: set[str]) -> list[str]:
    """Return the expanded lines of a template; its docstring stays as it is."""
    lines = source.text.splitlines()
    result = [*_expand_line(lines[0], words, used), *lines[1 : source.start]]
    for line in unrolled(lines[source.start :], words.constants):
        code = line.split("  #")[0]
        word, indent = code.strip().removesuffix("()"), code[: len(code) - len(code.lstrip())]
        if word.startswith("walk("):
            for each in walk_lines(word, words, used):
                result += _expand_line(indent + each, words, used)
        elif isinstance(words.macros.get(word), list):
            for part in words.macros[word]:
                inner = source_of(part.template)
                used |= inner.names
                pasted = expanded(inner, words.inside(part), used)[inner.start :]
                result += [indent + each[4:] for each in pasted]
        elif letter := _letter_of_target(code):
            for one in spread(line, letter, words):
                result += _expand_line(one, words, used)
        else:
            result += _expand_line(line, words, used)
    return chosen(result)


def _letter_of_target(code: str) -> str:
    """Return the letter (see `letter_of`) in the target of an assignment, or in a call of `leave`."""
    left, sep, _ = code.partition("=")
    return letter_of(left) if sep or left.strip().startswith("leave(") else ""


def _expand_line(line: str, words: Words, used: set[str]) -> list[str]:
    code, indent = line.split("  #")[0].strip(), line[: len(line) - len(line.lstrip())]
    if code.startswith("def "):
        line = EACH.sub(lambda match: ", ".join(spread(match[0], match[1], words)), line)
        line = line.replace("GIVEN", words.constants.get("GIVEN", "GIVEN"))
        return [re.sub(r"\bN\b", "numbers", line) if words.fields else line]
    counted = COUNTED.search(code)  # matches `K + 1` after K was replaced by a number
    plain = words.known.isdisjoint(WORD.findall(code)) and not counted and not code.endswith("_S,)")
    if plain or code.startswith(("#", '"')):
        return [line]
    opener = code.endswith(":")
    tree = ast.parse(code + (" pass" if opener else "")).body[0]
    before: list[str] = []
    new = _Expander(words, before, used).visit(tree)
    final = ast.unparse(new).split("\n")[0] if opener else ast.unparse(new)
    above = [indent + text for text in before]
    # The line is left out if its macro was replaced by `0`, or if the value is missing: `x = ...`.
    return above if final.isdecimal() or final.endswith(" = ...") else [*above, indent + final]


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
    calls = target.calls(compute if compute.kind == "f" else np.dtype(np.float64))
    return render_results(scalar, args, compute, used, calls, conditions or [False] * scalar.results)
