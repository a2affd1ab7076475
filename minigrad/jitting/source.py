"""A program as a function of plain loops, for `Jitted.source`.

`Naming` names the memory of a program; `Source` prints each launch by `loops.py`, `sumloops.py`, `rowloops.py` and
`indexloops.py`.  `module.py` writes the module around the functions, and `replay.py` runs the launches and host calls
that are not loops.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from typing import Any

from minigrad.core.requests import Chained, Followed
from minigrad.jitting.families import Rounds
from minigrad.jitting.loops import Writer, printers, shown
from minigrad.jitting.naming import Naming
from minigrad.jitting.program import HostCall, Item
from minigrad.jitting.reasons import names_of
from minigrad.jitting.spelling import Speller

LONGEST = 118  # maximum length of a line of the text


class Source(Naming):
    """The text of an entry's program.

    first: the number of the first launch in calls of `launch`.
    shown: a line that is not written as a comment above the first launch.
    """

    first, shown = 0, ""

    def __init__(self, entry: Any, tape: Any = None, taken: Iterable[str] = (), speller: Speller | None = None) -> None:
        super().__init__(entry, tape, taken)
        self.writer = Writer(self.arrays, self.memory, self.name_symbols(), speller or Speller())
        self.writer.shown = self.shown
        for family in self.families:
            self.writer.listed |= {slot: (family.name, k) for k, slot in enumerate(family.all())}
        end = 0
        for k, item in enumerate(self.tape.items):
            if k in self.rounds:
                self.write_rounds(self.rounds[k])
                end = self.rounds[k].repeat.end
            if k >= end:
                self.write_item(self.writer, k, item)

    # ---- the text

    def write_rounds(self, rounds: Rounds) -> None:
        """Write a loop over the rounds of a repeat."""
        w, repeat, t = self.writer, rounds.repeat, self.writer.round
        arrays, memory, views = dict(self.arrays.arrays), dict(self.memory), {*self.arrays.views}
        listed, w.listed = w.listed, {}  # elements of lists have other names in this loop
        for slot, column in rounds.columns.items():
            if column.family.is_numbers:
                self.memory[slot], w.symbols[slot] = self.memory[slot]._replace(kind="symbol"), column.at(t)
            elif slot in arrays:
                array: Any = self.array_in(rounds, slot)
                self.arrays.arrays[slot] = array._replace(name=column.at(t))
        w.write(f"for {t} in range({repeat.rounds}):")
        w.depth, w.shown, first = w.depth + 1, "", len(w.lines)
        for k, item in enumerate(rounds.body):
            w.moving = {slot: (t, step, repeat.sample, repeat.rounds) for slot, step in rounds.steps[k].items()}
            self.write_item(w, repeat.first + k, item, f" + {repeat.period} * {t}")
        inner = [key for key in self.arrays.views if key not in views and key[0] in rounds.columns]
        w.lines[first:first] = [f"    {self.arrays.views.pop(key)[1]}" for key in inner]
        self.has_views = self.has_views or bool(inner)
        w.depth, w.shown, w.moving, w.listed = w.depth - 1, "", {}, listed
        self.arrays.arrays.update(arrays)
        self.memory.update(memory)

    def write_item(self, w: Writer, k: int, item: Item | HostCall, more: str = "") -> None:
        """Write the lines of a launch or of a host call.

        more: the text that is added to the number of the launch.
        """
        for line in lines_of(item):
            w.comment(shown(line))
        if isinstance(item, HostCall):
            w.shown = ""
            for line in formula_of(item).splitlines():
                w.write(f"#     {line}")
            w.write(f"host({', '.join([str(k), *[self.arrays.arrays[slot].name for slot in self.passed(item)]])})")
            return
        parts = self.items[k]
        if parts is None:
            for line in textwrap.wrap(f"{', '.join(names_of(item)) or 'a launch without a record'}:", LONGEST - 20):
                w.write(f"# {line}")
            names = [w.symbols.get(s) or self.arrays.arrays[s].name for s in item.slots if self.is_passed(s)]
            w.write(f"launch({', '.join([f'{self.first + k}{more}', *names])})")
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

    @property
    def calls(self) -> list[str]:
        """The functions that a caller of the text passes: "launch", "host"."""
        return [name for name in ("launch", "host") if any(re.match(rf"\s*{name}\(", x) for x in self.writer.lines)]

    def function(self, name: str) -> str:
        """Return the function whose body are the loops."""
        head = f"def {name}({', '.join([*self.parameters, *[f'{call}=None' for call in self.calls]])}):"
        views = [line for _, line in self.arrays.views.values()]
        body = fitted("\n    ".join([head, *([*self.top, *views, *self.writer.lines] or ["pass"])]))
        return f'@np.errstate(all="ignore")\n{body}'


def lines_of(item: Item | HostCall) -> list[str]:
    """Return the user's lines of code that are written as comments above a launch.

    For a fused loop, only the first line is returned, because the other lines are comments inside the loop.  For a
    launch that also computes its operands or a function of its result, all lines of these computations are returned.
    """
    chained = isinstance(item, Item) and any(isinstance(each, (Chained, Followed)) for each in item.launch.requests)
    return [part.line for part in item.fused] if chained and isinstance(item, Item) else [item.line]


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
