"""Launches as Python loops, one element at a time: how `Jitted.source` prints each request.

Each request has one printing function, found by the name of its class.  A request without one is printed as a call of
`launch` (`source.py`).  Reductions, products and rows are in `rowloops.py`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from minigrad.core import requests
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.core.op import ScalarFn
from minigrad.jitting.arrays import LETTERS, Arrays, fitted, identifier
from minigrad.jitting.composing import View
from minigrad.jitting.program import Item, Memory
from minigrad.jitting.spelling import Body, Names, Speller, Value, literal, type_of, variable
from minigrad.runtime.recording import cell_of

MANY = 8  # number of joined operands above which one loop is written for all of them
WIDTH = 100  # maximum length of a line when values that are used once are joined into it
printers: dict[type, Callable[..., None]] = {}


def prints(*kinds: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator for the function that prints some requests, given the views of outs and operands."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        printers.update(dict.fromkeys(kinds, function))
        return function

    return register


class Computed(NamedTuple):
    """An operand that is not in memory: each element is `scalar` of those of `parts`."""

    layout: Layout
    dtype: DType
    scalar: ScalarFn
    parts: tuple[View, ...]


class Writer:
    """The lines of the function `run`.

    memory: the description of all slots.
    symbols: the names of the slots that are numbers.
    moving: the slots whose views move in each round of a repeat: the name of the round, the elements per round, the
    number of the round to which the views belong, and the number of rounds.
    listed: the slots whose arrays are elements of a list: the name of the list and the index.
    """

    def __init__(self, arrays: Arrays, memory: dict[int, Memory], symbols: dict[int, str], speller: Speller) -> None:
        self.arrays, self.memory, self.symbols, self.speller = arrays, memory, symbols, speller
        self.lines: list[str] = []
        self.depth, self.shown, self.fused = 0, "", tuple[Item, ...]()
        self.moving: dict[int, tuple[str, int, int, int]] = {}
        self.listed: dict[int, tuple[str, int]] = {}

    @cached_property
    def round(self) -> str:
        """The name of the index of a round of a repeat."""
        return self.arrays.name("t")

    def write(self, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * self.depth + text)

    def comment(self, line: str) -> None:
        """Write the user's line, if it differs from the previous one."""
        if line != self.shown:
            self.write(f"# {line}")
            self.shown = line

    @contextmanager
    def over(self, shape: Sequence[int], index: Sequence[str], note: str = "") -> Iterator[None]:
        """Open loops over the dims that have an index."""
        dims = [(n, i) for n, i in zip(shape, index) if i != "0"]
        lengths, names = ", ".join([str(n) for n, _ in dims]), ", ".join([i for _, i in dims])
        note = f"  # {note}" if note else ""
        if dims:
            self.write(f"for {names} in {'range' if len(dims) == 1 else 'np.ndindex'}({lengths}):{note}")
        elif note:
            self.write(note.strip())
        self.depth += bool(dims)
        yield
        self.depth -= bool(dims)

    # ---- elements

    def at(self, view: View, index: Sequence[str]) -> str:
        """Return an element of a view. index: one per dim of the result; the view may have fewer dims."""
        layout = view.layout
        if view.slot in self.moving:
            t, step, sample, rounds = self.moving[view.slot]
            first = layout.offset - step * sample
            layout, index = Layout.make((rounds, *layout.shape), (step, *layout.strides), first), [t, *index]
        return self.arrays.at(view.slot, layout, index)

    def load(self, view: View | Computed, index: Sequence[str], compute: np.dtype[Any]) -> Value:
        """Return an element as a number of the compute dtype."""
        if isinstance(view, Computed):
            inner = view.dtype.storage
            (value,) = self.speller.apply(view.scalar, [self.load(part, index, inner) for part in view.parts], inner)
            return value if inner == compute else variable(f"{type_of(compute)}({value})")
        memory = self.memory[view.slot]
        if memory.kind == "constant" and not any(s for s, n in zip(view.layout.strides, view.layout.shape) if n > 1):
            return literal(memory.value.reshape(-1)[view.layout.offset].item(), compute)
        held = variable(self.symbols.get(view.slot) or self.at(view, index))
        if view.dtype.kind == "bool":
            return held._replace(kind="condition")
        if view.dtype.storage == compute:
            return held
        if view.dtype.is_float and compute.kind in "iu":
            return self.speller.saturated(held, compute)
        return variable(f"{type_of(compute)}({held})")

    def store(self, view: View, index: Sequence[str], value: Value, compute: np.dtype[Any]) -> None:
        """Write the line that stores a number of the compute dtype."""
        if compute.kind == "f" and view.dtype.is_int:
            value = self.speller.saturated(value, view.dtype.storage)
        self.write(f"{self.at(view, index)} = {value}")


def letters(shape: Sequence[int], first: int = 0) -> list[str]:
    """Return an index per dim: a letter, or "0" if the size is 1."""
    names = iter(LETTERS[first:])
    return ["0" if n == 1 else next(names) for n in shape]


def moved(view: View, layout: Layout) -> View:
    """Return a view with another layout."""
    return view._replace(layout=layout)


# ---- element by element --------------------------------------------------------------------------------------------


@prints(requests.Elementwise)
def elementwise(w: Writer, request: Any, outs: list[View], operands: list[View]) -> None:
    """Write a loop over the elements; a fused group has a line per operation."""
    compute, shape = request.compute, outs[0].layout.shape
    index = letters(shape)
    with w.over(shape, index):
        values = [w.load(view, index, compute) for view in operands]
        if w.fused:
            statements(w, request.scalar, values, outs, index, compute)
            return
        values = w.speller.apply(request.scalar, values, compute)
        first = values[0].node
        if len(values) > 1 and isinstance(first, ast.Subscript) and isinstance(first.value, ast.Call):
            names = [f"v{k}" for k in range(len(values))]  # one call returns all results, so they get names
            w.write(f"{', '.join(names)} = {ast.unparse(first.value)}")
            values = [Value(ast.Name(name), value.kind) for name, value in zip(names, values)]
        for view, value in zip(outs, separated(w, outs, values), strict=True):
            w.store(view, index, value, compute)


def reads(w: Writer, text: Any, view: View) -> bool:
    """Return whether an expression reads the memory of a view."""
    name = w.arrays.arrays[view.slot].name
    return re.search(rf"\b({re.escape(name)}|{identifier(name)}_view\w*)\[", str(text)) is not None


def separated(w: Writer, outs: list[View], values: list[Value]) -> list[Value]:
    """Return values that can be stored one after another.

    A value that reads memory of an earlier result gets a name first.
    """
    result: list[Value] = []
    for k, value in enumerate(values):
        if any(reads(w, value, view) for view in outs[:k]):
            w.write(f"v{k} = {value}")
            value = Value(ast.Name(f"v{k}"), value.kind)
        result.append(value)
    return result


def renamed(scalar: ScalarFn) -> ScalarFn:
    """Return a function from fusion with values named v0, v1 ..., since arrays are named t0, t1 ..."""
    lines = [node.targets[0].id for node in scalar.node.body if isinstance(node, ast.Assign)]  # type: ignore[attr-defined]
    tree = ast.parse(ast.unparse(scalar.node)).body[0]
    node = Names({name: ast.Name(f"v{name[1:]}") for name in lines}).visit(tree)
    made = ScalarFn(scalar.name, scalar.args, node, scalar.helpers, scalar.where)
    made.results = scalar.results
    return made


def statements(
    w: Writer, scalar: ScalarFn, loads: list[Value], outs: list[View], index: list[str], compute: np.dtype[Any]
) -> None:
    """Write the lines of a function from fusion, with the user's lines, and store its results.

    A result is stored where it is computed, unless a later line reads the previous value.
    """
    body = Body(w.speller, renamed(scalar), loads, compute)
    results = body.results()
    owners = [item.line for item in w.fused for _ in range(item.launch.parts[0].results)]
    uses: Counter[str] = Counter()
    for _, value in body.lines:
        uses.update([each.id for each in ast.walk(value.node) if isinstance(each, ast.Name)])
    joined: dict[str, ast.expr] = {}
    late: list[tuple[View, Value]] = [pair for pair in zip(outs, results) if str(pair[1]) not in dict(body.lines)]
    for k, (name, value) in enumerate(body.lines):
        node = Names(joined).visit(value.node)
        targets = [view for view, result in zip(outs, results) if str(result) == name]
        after = [(j, x) for j, (_, x) in enumerate(body.lines[k + 1 :], k + 1)]
        reader = next((j for j, x in after if name in names_in(x.node)), k)
        if not targets and uses[name] == 1 and owners[reader] == owners[k] and len(ast.unparse(node)) < WIDTH - 40:
            joined[name] = node
            continue
        w.comment(shown(owners[k]))
        later = {each for _, x in after for each in names_in(x.node)}
        waiting = [x for _, x in after] + [Value(each) for old, each in joined.items() if old in later]
        held = [view for view in targets if any(reads(w, x, view) for x in waiting)]
        value = Value(node, value.kind)
        if uses[name] or held or len(targets) > 1:
            w.write(f"{name} = {value}")
            value = Value(ast.Name(name), value.kind)
        for view in targets:
            if view in held:
                late.append((view, value))
            else:
                w.store(view, index, value, compute)
    for view, value in late:
        w.store(view, index, value, compute)


def names_in(node: ast.expr) -> set[str]:
    """Return the names of an expression."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def shown(line: str) -> str:
    """Return a user's line, "file:number", with its text."""
    import linecache
    from pathlib import Path

    named, _, number = line.rpartition(":")
    file = named
    if named.startswith("In["):  # a cell of a notebook; linecache stores its text under another name
        file = next((each for each in list(linecache.cache) if cell_of(each) == named), named)
    text = linecache.getline(file, int(number)).strip() if number.isdecimal() else ""
    short = f"{Path(named).name}:{number}"
    return f"{short}: {text}"[:100] if text else short or "minigrad"


@prints(requests.Chained)
def chained(w: Writer, request: requests.Chained, outs: list[View], operands: list[View]) -> None:
    """Write the loops of the inner request, which compute the elements that they read."""
    inner: list[Any] = []
    for scalar, reads in zip(request.scalars, request.reads, strict=True):
        parts = tuple([operands[k] for k in reads])
        whole = Layout.contiguous(parts[0].layout.shape)
        inner.append(parts[0] if scalar is None else Computed(whole, request.dtype, renamed(scalar), parts))
    printers[type(request.request)](w, request.request, outs, inner)


@prints(requests.Copy)
def copy(w: Writer, request: Any, outs: list[View], operands: list[View]) -> None:
    """Write a loop that copies each element."""
    (out,), (a,) = outs, operands
    shape = out.layout.shape
    index = letters(shape)
    compute = a.dtype.storage
    with w.over(shape, index):
        w.store(out, index, w.load(a, index, compute), compute)


# ---- elements that are moved by index or by position -----------------------------------------------------------------


@prints(requests.Join)
def join(w: Writer, request: requests.Join, outs: list[View], operands: list[View]) -> None:
    """Write a loop per operand, or one loop over many operands that are neighbours in a list of arrays."""
    out, dim, start, k = outs[0], request.dim, 0, 0
    while k < len(operands):
        a, arrays = operands[k], w.arrays.arrays
        length, count = a.layout.shape[dim], neighbours(w, operands[k:])
        part = moved(out, out.layout.narrow(dim, start, length))
        if count > MANY:
            array, (name, first) = arrays[a.slot], w.listed[a.slot]
            arrays[a.slot] = array._replace(name=f"{name}[{f'{w.round} + {first}' if first else w.round}]")
            w.moving = {out.slot: (w.round, length * out.layout.strides[dim], 0, count)}
            with w.over([count], [w.round]):
                copy(w, request, [part], [a])
            arrays[a.slot], w.moving = array, {}
        else:
            count = 1
            copy(w, request, [part], [a])
        start, k = start + count * length, k + count


def neighbours(w: Writer, operands: list[View]) -> int:
    """Return how many of the first operands are neighbours in a list of arrays, with one layout."""
    a = operands[0]
    name, first = w.listed.get(a.slot, ("", 0))
    if not name or not fitted(w.arrays.arrays[a.slot], a.layout):
        return 1
    for k, x in enumerate(operands):
        if x.layout is not a.layout or w.listed.get(x.slot) != (name, first + k):
            return k
    return len(operands)


@prints(requests.Arange)
def arange(w: Writer, request: requests.Arange, outs: list[View], operands: list[View]) -> None:
    """Write a loop over the positions."""
    compute = np.dtype(np.float64 if outs[0].dtype.is_float else np.int64)
    index = letters(outs[0].layout.shape)
    start, step = [w.load(view, index, compute) for view in operands]
    with w.over(outs[0].layout.shape, index):
        w.store(outs[0], index, variable(f"{start} + {index[0]} * {step}"), compute)


@prints(requests.Gather)
def gather(w: Writer, request: Any, outs: list[View], operands: list[View]) -> None:
    """Write a loop that reads elements by index."""
    (out,), (a, chosen), dim = outs, operands, request.dim
    shape = out.layout.shape
    index = letters(shape)
    where = w.at(chosen, index)
    picked = [where if d == dim else i for d, i in enumerate(index)]
    with w.over(shape, index):
        w.store(out, index, variable(w.at(a, picked)), out.dtype.storage)


@prints(requests.PutBack)
def put_back(w: Writer, request: requests.PutBack, outs: list[View], operands: list[View]) -> None:
    """Write a loop of zeros, and a loop that adds each element through the view."""
    (out,), (g,) = outs, operands
    compute = out.dtype.storage
    index = letters(out.layout.shape)
    with w.over(out.layout.shape, index):
        w.store(out, index, literal(0, compute), compute)
    index = letters(g.layout.shape)
    with w.over(g.layout.shape, index):
        w.write(f"{w.at(moved(out, request.view), index)} += {w.load(g, index, compute)}")
