"""Pasting: copy a template's own source, and expand its free names.

`F` becomes the scalar function of the op, `LOAD_K` and `STORE` become the conversions of each dtype, and `N.name`
becomes an entry of the array of numbers.  A line that mentions `_K` is written once per operand, `_R` once per result,
and `_S` once per accumulator of a reduction.  `walk` is replaced by the loop that splits a position into indices.  A
word can also be replaced by the bodies of other templates, a list of `Part`.  Two kinds of blocks are expanded: the
choice `if 1:` and the loop `for i in each(4):`.  `leave(a, b)` and `m, n = N.m, N.n` become one line per name.  All
other lines stay as they were written, so that a learner can read the file that runs.

`macros.py` has the macros of scalar functions; `specialize.py` writes whole modules.
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

from minigrad.kernels import vecmath
from minigrad.kernels.cpu.target import CPU
from minigrad.kernels.fields import Fields
from minigrad.kernels.rendering import fresh, settle
from minigrad.kernels.target import Walk

Expand = Callable[[list[ast.expr], set[str]], tuple[list[str], ast.expr]]
Named = Mapping[str, Any]

LEFT_OUT = "..."  # a line of a template that assigns this text is left out
LEAVES = re.compile(r"^( *)leave\((\w+(?:, \w+)+)\)$", re.MULTILINE)
NUMBERS = re.compile(r"^( *)(\w+(?:, \w+)+) = (N\.\w+(?:\[\d\])?(?:, N\.\w+(?:\[\d\])?)+)$", re.MULTILINE)
LOOP = re.compile(r"( *)for (\w+) in each\((\w+)\):")
LETTER, EACH = re.compile(r"_([KRS])(?![A-Za-z0-9])"), re.compile(r"\w+_([KRS])\b")
WORD, COUNTED = re.compile(r"\w+"), re.compile(r"\b\d+ [+*] \d+\b")
# The calls whose arguments may be repeated per operand: of scalar functions, and of helpers by their names.
REPEATED = re.compile(r"[FGH](_\d+)?|COMBINE|FINISH|JOINED|[a-z]\w*")
# The names that every kernel has: its modules, dtype and arguments, and the functions of `native.py`.
RESERVED = set("T np math first last table flag operand numbers_of entries workspace leave".split())


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
    text = LEAVES.sub(lambda at: "\n".join(f"{at[1]}leave({name})" for name in at[2].split(", ")), text)
    text = NUMBERS.sub(
        lambda at: "\n".join(f"{at[1]}{x} = {y}" for x, y in zip(at[2].split(", "), at[3].split(", "))), text
    )
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
        name = callee(node)
        args = [self.visit(a) for a in (self.spread(node.args) if REPEATED.fullmatch(name) else node.args)]
        if name in self.macros:
            more, expr = self.macros[name](args, self.used)
            self.lines += more
            return expr
        return ast.Call(self.visit(node.func), args, node.keywords)

    def spread(self, args: list[ast.expr]) -> list[ast.expr]:
        """Repeat each argument that contains a letter, once per operand, result or accumulator.

        F(LOAD_K(x_K[i])) becomes F(LOAD_0(x_0[i]), LOAD_1(x_1[i])), also as an argument of another call.
        """
        found: list[ast.expr] = []
        for arg in args:
            text = ast.unparse(arg)
            letter = "" if REPEATED.fullmatch(callee(arg)) else letter_of(text)
            found += [parsed(each) for each in spread(text, letter, self.words)] if letter else [arg]
        return found


def callee(node: ast.expr) -> str:
    """Return the name of the function that an expression calls, otherwise ""."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


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
    for line in chosen(unrolled(lines[source.start :], words.constants), words.constants):
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
    return result


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
    plain = words.known.isdisjoint(WORD.findall(code)) and not counted and not letter_of(code)
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


# ---- blocks ---------------------------------------------------------------------------------------------------------


def unrolled(lines: Sequence[str], constants: Mapping[str, str]) -> list[str]:
    """Return the lines with each loop `for i in each(WIDTH):` replaced by copies of its body.

    There is one copy for each i from 0 to WIDTH - 1, or for each i in WIDTH if WIDTH is a tuple.  A copy contains the
    value instead of the index, also as a part of a name: for i = 0, `x_i` becomes `x_0`.
    """
    copies: list[str] = []
    k = 0
    while k < len(lines):
        loop = LOOP.match(lines[k])
        k += 1
        if loop is None:
            copies.append(lines[k - 1])
            continue
        end = k
        while end < len(lines) and depth_of(lines[end]) > len(loop[1]):
            end += 1
        numbers, index = ast.literal_eval(constants[loop[3]]), re.compile(rf"(?<![A-Za-z0-9]){loop[2]}(?![A-Za-z0-9])")
        for number in range(numbers) if isinstance(numbers, int) else numbers:
            copies += unrolled([index.sub(str(number), line[4:]) for line in lines[k:end]], constants)
        k = end
    return copies


def chosen(lines: Sequence[str], constants: Mapping[str, str]) -> list[str]:
    """Return the lines without the block under `if WORD:` if WORD is 0, and without its `else:` block otherwise.

    The blocks that remain lose their condition and one level of indentation.
    """
    kept: list[str] = []
    blocks: list[tuple[int, bool]] = []  # the indentation of each enclosing block, and whether the block is kept
    for line in lines:
        depth = depth_of(line)
        left = None
        while blocks and line and depth <= blocks[-1][0]:
            left = blocks.pop()
        code = line.split("  #")[0].strip()
        condition = re.fullmatch(r"if (\w+):", code)
        number = constants.get(condition[1], condition[1]) if condition else ""
        if left and left[0] == depth and code == "else:":
            blocks.append((depth, not left[1]))
        elif number.isdecimal():
            blocks.append((depth, number != "0"))
        elif all(stays for _, stays in blocks):
            kept.append(line[4 * len(blocks) :])
    return kept


def depth_of(line: str) -> int:
    """Return the number of spaces at the beginning of a line."""
    return len(line) - len(line.lstrip())
