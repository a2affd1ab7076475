"""What a `RowFn` becomes in the text of a CUDA kernel: the lines that words of `kernels/cuda/rows.py` stand for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.core.dtype import DType
from minigrad.core.op import ScalarFn
from minigrad.core.rows import RowFn
from minigrad.kernels.cuda import reduction
from minigrad.kernels.cuda.target import CUDA
from minigrad.kernels.pasting import Expand, expression_macro, paste, scalar_macro
from minigrad.kernels.rendering import fresh
from minigrad.kernels.specialize import load_text, neutral_text, store_text

WIDEST = 16  # bytes of one load
JOINS = {"sum": ("{0} + {1}", "zero"), "max": ("({1} if {1} > {0} else {0})", "lowest")}


@dataclass(frozen=True)
class Form:
    """along: the lanes of a group are neighbours in memory.  loads: of a lane, where rows are held; else 0.  width:
    elements of one.  wide: whether the result, then each operand, is moved so many at once.  back: the derivative of a
    picked element."""

    along: bool
    loads: int
    width: int
    wide: tuple[bool, ...]
    back: bool = False

    def label(self, dtypes: Sequence[DType]) -> str:
        """The form in a kernel's name; dtypes: of the result and each operand.  "by": loads are of 128 bits."""
        way = f"{'held' if self.loads else 'read'}{self.loads or ''}" if self.along else "across"
        sizes = [dtype.itemsize for dtype, wide in zip(dtypes, self.wide, strict=True) if wide]
        if not sizes:
            return way
        word = "by" if self.width * max(sizes) == WIDEST else "of"
        return f"{way}_{word}{self.width}_{''.join('xw'[wide] for wide in self.wide)}"


class Lines:
    """The lines of one kernel."""

    def __init__(
        self, fn: RowFn, dtypes: Sequence[DType], out: DType, form: Form, places: Callable[[str, int], str],
        lanes: str,
    ) -> None:  # fmt: skip
        self.fn, self.dtypes, self.out, self.form, self.places, self.lanes = fn, dtypes, out, form, places, lanes
        self.compute: np.dtype[Any] = out.compute
        asked = {name for total in fn.totals for name in total.term.args}
        self.held = [k for k, name in enumerate(fn.operands) if form.loads and name in asked]
        self.kept = bool(form.loads) and fn.reuse is not None and fn.result is not None
        self.span = form.loads * form.width

    def macros(self) -> dict[str, Expand]:
        """The words that stand alone on a line, each a name that is called without arguments."""
        words = {
            "HOLD": self.hold, "FETCH": self.fetch, "TOTALS": self.totals, "RESULTS": self.results,
            "BEGIN_SUMS": self.begin_sums, "ADD_SUMS": self.add_sums, "LEAVE_SUMS": self.leave_sums,
            "CHOOSE": self.choose,
        }  # fmt: skip
        return {name: standing(lines) for name, lines in words.items()}

    # ---- pieces

    def looped(self, body: list[str]) -> list[str]:
        """The lines over what a lane has of a row of m."""
        width = self.form.width
        if self.form.loads:
            head = [
                f"for w in range({self.form.loads}):",
                f"    j = (w * {self.lanes} + lane) * {width}",
                "    if j < m:",
            ]
            return head + ["        " + text for text in body]
        step = f"    j += np.int64({self.lanes}) * {width}"
        return [f"j = lane * {width}", "while j < m:", *["    " + text for text in body], step]

    def arrived(self, k: int, used: set[str]) -> tuple[list[str], list[str]]:
        """The lines that load an operand's elements j to j + width - 1, and an expression for each."""
        load, width = load_text(self.dtypes[k], self.compute, CUDA)[0], self.form.width
        if self.form.wide[k + 1] and width > 1:
            name = fresh(f"x_{k}", used)
            return [f"{name} = load_{width}(in_{k}, at_{k} + j)"], [load.format(f"{name}[{i}]") for i in range(width)]
        step = self.places("step", k + 1)
        spots = [f"in_{k}[at_{k} + {f'(j + {i})' if i else 'j'} * {step}]" for i in range(width)]
        names = [fresh(f"x_{k}", used) for _ in range(width)]
        return [f"{name} = {load.format(x)}" for name, x in zip(names, spots, strict=True)], names

    def seen(self, scalars: Sequence[ScalarFn], used: set[str]) -> tuple[list[str], dict[str, list[str]]]:
        """The lines that bring what some functions ask for, and by name an expression for each element."""
        lines: list[str] = []
        found: dict[str, list[str]] = {}
        asked = {name for scalar in scalars for name in scalar.args}
        for k, name in enumerate(self.fn.operands):
            if name not in asked:
                continue
            if k in self.held:
                found[name] = [f"r_{k}[w * {self.form.width} + {i}]" for i in range(self.form.width)]
            else:
                more, found[name] = self.arrived(k, used)
                lines += more
        for k, total in enumerate(self.fn.totals):
            found[total.name] = [f"total_{k}"] * self.form.width
        found["kept"] = [f"kept[w * {self.form.width} + {i}]" for i in range(self.form.width)]
        return lines, found

    def value(self, scalar: ScalarFn, found: dict[str, list[str]], i: int, used: set[str]) -> tuple[list[str], str]:
        """A function of the element at j + i and of totals."""
        macro = scalar_macro(scalar, self.compute, CUDA)
        args = [ast.parse(found[name][i], mode="eval").body for name in scalar.args]
        lines, result = macro(args, used)
        return lines, ast.unparse(result)

    # ---- words

    def hold(self, used: set[str]) -> list[str]:
        names = [*(f"r_{k}" for k in self.held), *(["kept"] if self.kept else [])]
        return [f"{name} = cuda.local.array({self.span}, T)" for name in names]

    def fetch(self, used: set[str]) -> list[str]:
        body: list[str] = []
        for k in self.held:
            lines, elements = self.arrived(k, used)
            body += lines
            body += [f"r_{k}[w * {self.form.width} + {i}] = {x}" for i, x in enumerate(elements)]
        return self.looped(body) if body else []

    def totals(self, used: set[str]) -> list[str]:
        lines: list[str] = []
        for k, total in enumerate(self.fn.totals):
            join, neutral = JOINS[total.join]
            body, found = self.seen([total.term], used)
            for i in range(self.form.width):
                more, term = self.value(total.term, found, i, used)
                one = fresh("term", used)
                body += [*more, f"{one} = T({term})", f"total_{k} = T({join.format(f'total_{k}', one)})"]
                if self.kept and k == len(self.fn.totals) - 1:
                    body.append(f"kept[w * {self.form.width} + {i}] = {one}")
            lines += [f"total_{k} = {neutral_text(neutral, self.compute)}", *self.looped(body)]
            lines.append(f"total_{k} = {total.join}_of_group(total_{k})")
            if total.finish is not None:
                macro = scalar_macro(total.finish, self.compute, CUDA)
                given = [ast.parse(x, mode="eval").body for x in (f"total_{k}", "T(n)", "value")]
                more, last = macro(given[: len(total.finish.args)], used)
                lines += [*more, f"total_{k} = T({ast.unparse(last)})"]
        return lines

    def results(self, used: set[str]) -> list[str]:
        scalar, width = self.fn.reuse if self.kept else self.fn.result, self.form.width
        if scalar is None:
            return []
        store = store_text(self.compute, self.out, CUDA)[0]
        body, found = self.seen([scalar], used)
        names = [fresh("z", used) for _ in range(width)]
        for i, name in enumerate(names):
            more, made = self.value(scalar, found, i, used)
            body += more
            if self.form.back:
                body.append(f"{name} = T({made})")
                made = f"(T(0) if not counts else ({name} - T(1) if j + {i} == chosen else {name}) * scale)"
            body.append(f"{name} = {store.format(f'T({made})')}")
        if self.form.wide[0] and width > 1:
            return self.looped([*body, f"store_{width}(out, to + j, ({', '.join(names)},))"])
        step = self.places("step", 0)
        return self.looped(
            body + [f"out[to + {f'(j + {i})' if i else 'j'} * {step}] = {x}" for i, x in enumerate(names)]
        )

    def choose(self, used: set[str]) -> list[str]:
        if not self.form.back:
            return []
        slope = load_text(self.dtypes[2], self.compute, CUDA)[0].format("in_2[at_2]")
        ignore = self.places("ignore", -1)
        return [
            "chosen = np.int64(in_1[at_1])", f"counts = chosen != {ignore} and 0 <= chosen and chosen < n",
            f"scale = T({slope} * in_3[at_3])",
        ]  # fmt: skip

    def begin_sums(self, used: set[str]) -> list[str]:
        lines = [f"sum_{t} = cuda.local.array({self.span}, T)" for t in range(len(self.fn.terms))]
        body = [f"    sum_{t}[k] = T(0)" for t in range(len(self.fn.terms))]
        return [*lines, f"for k in range({self.span}):", *body] if lines else []

    def add_sums(self, used: set[str]) -> list[str]:
        if not self.fn.terms:
            return []
        body, found = self.seen(self.fn.terms, used)
        for i in range(self.form.width):
            for t, scalar in enumerate(self.fn.terms):
                more, term = self.value(scalar, found, i, used)
                place = f"sum_{t}[w * {self.form.width} + {i}]"
                body += [*more, f"{place} = T({place} + {term})"]
        return self.looped(body)

    def leave_sums(self, used: set[str]) -> list[str]:
        count, width = len(self.fn.terms), self.form.width
        if not count:
            return []
        group = "line = (np.int64(cuda.blockIdx.x) * cuda.blockDim.y + cuda.threadIdx.y) * n"
        body = []
        for t in range(count):
            places = [f"work[line * {count} + n * {t} + j + {i}]" for i in range(width)]
            body += [f"{place} = sum_{t}[w * {width} + {i}]" for i, place in enumerate(places)]
        return [group, "m = n", *self.looped(body)]


def standing(lines: Callable[[set[str]], list[str]]) -> Expand:
    """The macro of a word that stands alone on a line."""

    def expand(args: list[ast.expr], used: set[str]) -> tuple[list[str], ast.expr]:
        return lines(used), ast.Constant(0)

    return expand


def joins_text(fn: RowFn, compute: np.dtype[Any], along: bool) -> str:
    """The functions that join what the lanes of a group have, one for each kind of total."""
    text, template = "", reduction.by_lanes if along else reduction.by_rows
    plain = expression_macro("{}")
    for join in dict.fromkeys(total.join for total in fn.totals):
        macros = {"COMBINE": expression_macro(JOINS[join][0]), "SEND": plain, "RECEIVE": plain}
        pasted = paste(template, 0, macros, {"WIRE": "T", "TOLD": "1"}, None, CUDA.walk)
        text += "\n\n@device\n" + pasted.replace(f"def {template.__name__}(", f"def {join}_of_group(", 1)
    return text
