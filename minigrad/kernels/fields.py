"""Name the numbers of a kernel once, for the code that packs them and for the template that reads them.

The numbers are the scalar arguments of a kernel: sizes, offsets, strides.  A template reads `N.cols` for a single
number and `N.sizes[d]` for an entry of a list; `specialize` replaces both by an index into the array of numbers.  The
code that packs the numbers passes them by name, so no code counts indices.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from minigrad.errors import KernelError

F = TypeVar("F", bound=Callable[..., Any])


class Fields:
    """The names of the numbers: single numbers, then lists, then one group for the result and for each operand.

    numbers: the names of the single numbers, such as "m n k rank".

    lists: the names of the lists, such as "sizes[rank] steps[rank]".  The name in brackets is the number that is the
    length of the list; without such a number, the length is a constant of each kernel (`fixed`).  A constant length of
    all kernels is an integer: "sizes[3]".  The last list may have any length and no brackets, if no groups follow.

    each: the names in a group, such as "offset step strides[rank]".  `N.offset[0]` is the offset of the result, and
    `N.offset[1]` that of the first operand.

    results: whether results have groups, too.  If not, `N.offset[0]` is the offset of the first operand.
    """

    def __init__(self, numbers: str, lists: str = "", each: str = "", results: bool = True) -> None:
        self.numbers, self.results = numbers.split(), results
        self.lists = [parsed(word) for word in lists.split()]
        self.each = [parsed(word) for word in each.split()]
        before: list[str] = []
        self.positions = {name: (Position(k), "") for k, name in enumerate(self.numbers)}
        for name, length in self.lists:
            self.positions[name] = (Position(len(self.numbers), before), length)
            before += [length] if length else []
        self.start = Position(len(self.numbers), before)
        self.groups: dict[str, tuple[Position, str]] = {}
        self.size = Position(0)
        for name, length in self.each:
            self.groups[name] = (self.size, length)
            self.size = self.size.plus(Position(0, [length]) if length else Position(1))

    def __str__(self) -> str:
        """Return the names of the numbers in order, for a reader of a generated kernel."""
        lists = [f"{name}[{length or '...'}]" for name, length in self.lists]
        each = [f"{name}[{length}]" if length else name for name, length in self.each]
        names = [*self.numbers, *lists]
        of = "the result and each operand" if self.results else "each operand"
        return ", ".join(names) + (f"; then of {of} {', '.join(each)}" if each else "")

    def fixed(self, lengths: Mapping[str, int]) -> Fields:
        """Return the names of the numbers of a kernel in which some lengths are constants."""

        def text(some: Sequence[tuple[str, str]]) -> str:
            return " ".join([f"{name}[{lengths.get(length, length)}]" if length else name for name, length in some])

        return Fields(" ".join(self.numbers), text(self.lists), text(self.each), self.results) if lengths else self

    def lengths(self, each: Sequence[Sequence[Any]], values: Mapping[str, Any]) -> dict[str, int]:
        """Return the lengths that have names, each from the first list of this length; values are those of `packed`."""
        lists = [(length, values[name]) for name, length in self.lists if name in values]
        lists += [(length, value) for group in each for (_, length), value in zip(self.each, group, strict=True)]
        lengths: dict[str, int] = {}
        for length, value in lists:
            if length and not length.isdecimal():
                lengths.setdefault(length, len(value))
        return lengths

    def count(self, groups: int) -> int:
        """Return how many numbers there are, if the length of each list is a constant.

        groups: the number of groups, for the results and the operands.
        """
        return int(str(self.start.plus(self.size, groups)))

    def length(self, name: str) -> str:
        """Return the name of the number that is the length of a list."""
        return self.positions[name][1] if name in self.positions else self.groups[name][1]

    def position(self, name: str, inner: str = "", group: str = "") -> str:
        """Return the text of the index of a number, or of entry `inner` of a list, in a group if `group` is given."""
        whole: Any
        if name in self.groups and group.isdigit():
            whole = self.start.plus(self.size, int(group)).plus(self.groups[name][0])
        elif name in self.groups:
            whole = f"{self.start.plus(self.groups[name][0])} + ({self.size}) * ({group})"
        elif name in self.positions:
            whole = self.positions[name][0]
        else:
            raise KernelError(f"there is no number {name!r} in the list {', '.join([*self.positions, *self.groups])}")
        return f"{whole} + {inner}" if inner else str(whole)

    def packed(self, each: Sequence[Sequence[Any]], values: dict[str, Any]) -> list[int]:
        """Return all numbers in their order.

        each: for each result and operand, the values of its group in order.  values: the other numbers and lists by
        name.  If a number is not given and is the length of a list, it is taken from the first such list.

        Raises KernelError unless every other name is given, no unknown name is given, and every list has its stated
        length.
        """
        lengths = self.lengths(each, values) if self.lists or each else {}
        for length in lengths:
            if length in self.positions:
                lengths[length] = values.setdefault(length, lengths[length])
        if values.keys() != self.positions.keys():
            wrong = ", ".join(sorted(values.keys() ^ self.positions.keys()))
            raise KernelError(
                f"a kernel expects the numbers {', '.join(self.positions)}; {wrong} is missing or unknown"
            )
        packed = [*map(int, map(values.__getitem__, self.numbers))]
        for name, length in self.lists:
            packed += self.entries(name, length, values[name], lengths)
        for group in each:
            for (name, length), value in zip(self.each, group, strict=True):
                packed += self.entries(name, length, value, lengths) if length else [int(value)]
        return packed

    @staticmethod
    def entries(name: str, length: str, value: Sequence[int], lengths: Mapping[str, int]) -> list[int]:
        """Return a list as integers, after checking that it has its stated length."""
        wanted = int(length) if length.isdecimal() else lengths.get(length)
        if length and len(value) != wanted:
            raise KernelError(f"the list {name} has {len(value)} entries, but {length} is {wanted}")
        return [int(entry) for entry in value]


def parsed(word: str) -> tuple[str, str]:
    """Return "sizes[rank]" as ("sizes", "rank"), and "offset" as ("offset", "")."""
    match = re.fullmatch(r"(\w+)(?:\[(\w+)\])?", word)
    assert match is not None, word
    return match[1], match[2] or ""


class Loop(NamedTuple):
    """The facts about a template that are the same for all dtypes.

    arrays: the names of its arguments except the numbers.  begins: for each number with the name of an array, the
    position of the array; the number is the offset of the array.  first: the position of the first result.
    loads, results, table, options: as for `loop`.
    """

    fields: Fields
    arrays: tuple[str, ...]
    begins: tuple[tuple[str, int], ...]
    first: int
    loads: tuple[int, ...]
    results: int
    table: bool
    options: Mapping[str, Any]


def loop(
    fields: Fields,
    *,
    loads: int | tuple[int, ...] | None = None,
    results: int | None = None,
    table: bool = False,
    **options: Any,
) -> Callable[[F], F]:
    """Mark a template, and state what is the same for all dtypes of its arrays.

    fields: the names of its numbers.
    loads: the positions of the arrays whose elements `LOAD_0`, `LOAD_1`, ... convert, or the count of the first ones.
    By default they are those with names `in_...`.
    results: the number of results; by default all arrays from `out` or `out_R` on.  Without these, they are the last.
    table: whether its only argument is the table of all addresses.
    options: arguments of `write_kernel`; `helpers` may be a function of the words, and `imports` is a function of the
    words, the dtype of the first result, and the functions of the kernel.  words: the words, as for `write_loop`, that
    have the same meaning for all dtypes.
    """

    def mark(template: F) -> F:
        code = template.__code__
        arrays = code.co_varnames[: code.co_argcount - 1]
        first = next((k for k, name in enumerate(arrays) if name in ("out", "out_R")), len(arrays) - (results or 0))
        count = loads if isinstance(loads, int) else sum(name.startswith("in_") for name in arrays)
        converted = loads if isinstance(loads, tuple) else tuple(range(count))
        begins = tuple((name, k) for k, name in enumerate(arrays) if name in fields.positions)
        template.loop = Loop(  # type: ignore[attr-defined]
            fields, arrays, begins, first, converted, results or len(arrays) - first, table, options
        )
        return template

    return mark


class Position:
    """A count of numbers: a constant plus multiples of the lengths of lists."""

    def __init__(self, count: int, lengths: Sequence[str] = ()) -> None:
        known = [int(length) for length in lengths if length.isdecimal()]
        self.count, self.lengths = count + sum(known), Counter(length for length in lengths if not length.isdecimal())

    def plus(self, other: Position, times: int = 1) -> Position:
        """Return the sum of this position and `times` times the other one."""
        total = Position(self.count + times * other.count)
        total.lengths = Counter(self.lengths)
        for name, count in other.lengths.items():
            total.lengths[name] += times * count
        return total

    def __str__(self) -> str:
        terms = [name if times == 1 else f"{times} * {name}" for name, times in self.lengths.items() if times]
        return " + ".join([str(self.count), *terms] if self.count or not terms else terms)
