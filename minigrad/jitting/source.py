"""A program as a readable module of plain loops: `Jitted.source`.

`Naming` names the memory of a program; `Source` prints each launch by `loops.py`, `sumloops.py`, `rowloops.py` and
`indexloops.py`, and writes the module around them.  `replay.py` runs the launches and host calls that are not loops.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Any

from minigrad.core.requests import Chained, Followed
from minigrad.errors import quantity
from minigrad.jitting.kinds import name_of
from minigrad.jitting.loops import Writer, printers, shown
from minigrad.jitting.naming import Naming
from minigrad.jitting.program import HostCall, Item
from minigrad.jitting.reasons import names_of

LONGEST = 118  # maximum length of a line of the text
VIEW = '''def view(array, shape, strides, offset=0):
    """Return the memory of an array with another shape; strides and offset count elements."""
    start = array.reshape(-1)[offset:]
    return np.lib.stride_tricks.as_strided(start, shape, [s * array.itemsize for s in strides])'''


class Source(Naming):
    """The text of an entry's program.

    text: the module.
    counts: the number of launches that are printed as loops, and the number of other launches.
    """

    def __init__(self, entry: Any) -> None:
        super().__init__(entry)
        writer = Writer(self.arrays, self.memory, self.name_symbols())
        self.counts = [0, 0]
        for k, item in enumerate(self.tape.items):
            self.write_item(writer, k, item)
        self.text = self.module(writer)

    # ---- the text

    def write_item(self, w: Writer, k: int, item: Item | HostCall) -> None:
        """Write the lines of a launch or of a host call."""
        for line in lines_of(item):
            w.comment(shown(line))
        if isinstance(item, HostCall):
            w.shown = ""
            for line in formula_of(item).splitlines():
                w.write(f"#     {line}")
            w.write(f"host({', '.join([str(k), *[self.arrays.arrays[slot].name for slot in self.passed(item)]])})")
            return
        parts = self.items[k]
        self.counts[parts is None] += 1
        if parts is None:
            w.write(f"# {', '.join(names_of(item)) or 'a launch without a record'}:")
            names = [w.symbols.get(s) or self.arrays.arrays[s].name for s in item.slots if self.is_passed(s)]
            w.write(f"launch({', '.join([str(k), *names])})")
            return
        w.fused = item.fused
        for request, outs, operands in parts:
            printers[type(request)](w, request, outs, operands)

    def is_passed(self, slot: int) -> bool:
        """Return whether a call of `launch` passes the memory of a slot."""
        return self.memory[slot].kind not in ("drawn", "constant")

    def passed(self, call: HostCall) -> list[int]:
        """Return the slots whose arrays a host call reads and writes: gradients, then Vars and all outside memory."""
        gradients = [made.slot for _, made in call.gradients if made is not None]
        owners = {x.storage for x, _ in call.gradients}
        outside = [slot for slot in self.arrays.arrays
                   if self.memory[slot].kind == "outside" or self.real(slot) in owners]  # fmt: skip
        return list(dict.fromkeys([*gradients, *outside]))

    def module(self, w: Writer) -> str:
        """Return the module around the loops."""
        calls = [name for name in ("launch", "host") if any(re.match(rf"\s*{name}\(", line) for line in w.lines)]
        head = f"def run({', '.join([*self.parameters, *[f'{name}=None' for name in calls]])}):"
        views = [line for _, line in self.arrays.views.values()]
        body = [*self.top, *views, *w.lines] or ["pass"]
        uses_math = any("math." in text for text in w.speller.texts.values()) or any(
            "math." in x.partition("#")[0] for x in body
        )
        functions = [*map(fitted, w.speller.texts.values()), *([VIEW] if views else [])]
        run = fitted("\n    ".join([head, *body]))
        doc = "\n".join(self.docstring(calls))
        imports = "import math\n\nimport numpy as np" if uses_math else "import numpy as np"
        run = f'@np.errstate(all="ignore")\n{run}'
        return "\n\n\n".join([f'"""{doc}\n"""\n\n{imports}', *functions, run]) + "\n"

    def docstring(self, calls: list[str]) -> Iterator[str]:
        """Write the docstring of the module."""
        name = name_of(self.entry.function)
        before, after = len(self.entry.program.items), len(self.tape.items)
        yield f"One call of `{name}` as plain loops over NumPy arrays{'' if calls else ', without minigrad'}."
        yield ""
        text = f"minigrad recorded {quantity(before, 'operation')}. "
        fused = any(item.fused for item in self.tape.items if isinstance(item, Item))
        text += f"Operations on the same elements share a loop, so {remaining(after)} here. " if fused else ""
        text += "The comments are the lines of your code; loops below a line with `.backward()` compute gradients. "
        if hasattr(self.entry, "backward"):
            text += "The backward pass is another program; call `backward()` in the function to see its loops. "
        text += "`t0`, `t1`, ... are intermediate values, `a[()]` is the number in an array without dims, and "
        text += "`np.ndindex(5, 8)` yields all pairs of indices. `run` reads and writes these arrays:"
        yield from textwrap.wrap(text, 110)
        yield ""
        apart = {*self.outside, *self.results, *self.constants}
        groups = {"arguments": [name for name in self.parameters if name not in apart], "found outside": self.outside,
                  "results, which it writes": self.results, "constants": self.constants}  # fmt: skip
        listed = {title: [self.described(x, self.parameters[x]) for x in names] for title, names in groups.items()}
        listed["arguments without a parameter"] = [f"{x} (in~the~memory~of~{y})" for x, y in self.inside.items()]
        for title, texts in listed.items():
            if texts:
                lines = textwrap.wrap(
                    f"{title}: {', '.join(texts)}", 110, initial_indent="  * ", subsequent_indent="    "
                )
                yield from [line.replace("~", " ") for line in lines]
        if calls:
            yield ""
            text = f"minigrad runs the calls of {' and '.join(f'`{c}`' for c in calls)}: pass "
            yield from textwrap.wrap(text + ", ".join(f"{c}=step.{c}" for c in calls) + " to `run`.", 100)

    def described(self, name: str, slot: int | None) -> str:
        """Return a parameter with its dtype and shape."""
        if slot is None:
            return f"{name}~(a~float)"
        row = ", its memory as one row" if slot in self.arrays.flat else ""
        shape = str(self.arrays.arrays[slot].shape).replace(" ", "~")
        return f"{name} {self.memory[slot].dtype}{shape}{row}"


def lines_of(item: Item | HostCall) -> list[str]:
    """Return the user's lines of code that are written as comments above a launch.

    For a fused loop, only the first line is returned, because the other lines are comments inside the loop.  For a
    launch that also computes its operands or a function of its result, all lines of these computations are returned.
    """
    chained = isinstance(item, Item) and any(isinstance(each, (Chained, Followed)) for each in item.launch.requests)
    return [part.line for part in item.fused] if chained and isinstance(item, Item) else [item.line]


def remaining(count: int) -> str:
    """Return the number of loops and calls that remain, as part of a sentence."""
    return f"{count} remains" if count == 1 else f"{count} remain"


def fitted(text: str) -> str:
    """Return Python lines, with long lines broken: inside existing brackets, or inside new ones."""
    return "\n".join([part for line in text.splitlines() for part in broken(line)])


def broken(line: str) -> list[str]:
    """Return a line as several lines if it is too long: after an operator or a comma, but not in a subscript."""
    if len(line) <= LONGEST or "#" in line:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    line = re.sub(r"\w\[[^\[\]]*\]", lambda match: match[0].replace(" ", "~"), line)
    options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    parts = re.fullmatch(r"(\s*return |[^=]*?\S?= )(.*)", line)
    if parts is None or re.match(r"\s*(def|launch|host)\b", line):
        lines = textwrap.wrap(line, LONGEST, subsequent_indent=f"{indent}        ", **options)
    else:
        inner = textwrap.wrap(parts[2], LONGEST - len(indent) - 4, **options)
        lines = [f"{parts[1]}(", *[f"{indent}    {part}" for part in inner], f"{indent})"]
    return [each.replace("~", " ") for each in lines]


def formula_of(call: HostCall) -> str:
    """Return the formula of the optimizer whose step a host call is, or the name of its owner."""
    owner = call.function.args[0]  # type: ignore[attr-defined]
    formula = getattr(owner, "formula", None)
    return formula() if formula is not None else f"{type(owner).__name__}.step"
