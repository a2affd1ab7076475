"""Parts of pictures as text: lines that consist of dots, and lists that fit into a line."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

from minigrad.viz.svg import Edge, Node

WIDTH = 72  # largest number of characters per line
LINES = 60  # largest number of lines of a printed picture

# The bits of the dots of a braille character, by column and row; Unicode, chapter 21, "Braille Patterns".
DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


class Canvas:
    """Characters of two by four dots, on which lines are drawn; positions are fractions from the lower left corner."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.high = columns, rows
        self.cells = [[0] * columns for _ in range(rows)]
        self.letters: dict[tuple[int, int], str] = {}

    def dot(self, position: tuple[float, float]) -> tuple[float, float]:
        """Return a position in dots, from the upper left corner."""
        return position[0] * (2 * self.columns - 1), (1 - position[1]) * (4 * self.high - 1)

    def cell(self, position: tuple[float, float]) -> tuple[int, int]:
        """Return the column and the row of the character at a position."""
        x, y = self.dot(position)
        return round(x) // 2, round(y) // 4

    def line(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Draw a straight line of dots."""
        (a, b), (c, d) = self.dot(start), self.dot(end)
        steps = max(1, int(max(abs(c - a), abs(d - b)) + 0.999))
        for k in range(steps + 1):
            x, y = round(a + (c - a) * k / steps), round(b + (d - b) * k / steps)
            self.cells[y // 4][x // 2] |= DOTS[x % 2][y % 4]

    def write(self, position: tuple[float, float], letter: str) -> None:
        """Write a letter instead of the dots, or to the right of an earlier letter."""
        column, row = self.cell(position)
        while (row, column) in self.letters:
            column += 1
        if column < self.columns:
            self.letters[row, column] = letter

    def rows(self) -> list[str]:
        """Return the lines of characters, from top to bottom."""
        return [
            "".join(self.letters.get((r, c), chr(0x2800 + cell) if cell else " ") for c, cell in enumerate(row))
            for r, row in enumerate(self.cells)
        ]


def fitted(words: Sequence[str], gap: str = "   ", width: int = WIDTH) -> list[str]:
    """Return words side by side, in as many lines as necessary."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(gap) + len(word) <= width:
            lines[-1] += gap + word
        else:
            lines.append(word)
    return lines


def shortened(lines: Iterable[str], most: int | None) -> list[str]:
    """Return the lines; if there are more than `most`, the first ones and a note with the number of the others."""
    result = list(lines)
    left = 0 if most is None else len(result) - most
    return [*result[:most], f"... {left} more lines; .text() has all"] if left > 0 else result


def clipped(line: str, width: int = WIDTH) -> str:
    """Return a line, clipped to the width of the terminal."""
    return line if len(line) <= width else line[: width - 1] + "…"


def blocks(cells: Sequence[str], head: str, again: str, width: int) -> list[str]:
    """Return a row of cells of equal width after its head; further lines of the row begin with `again`."""
    size = max(1, (WIDTH - len(head)) // width)
    parts = [cells[k : k + size] for k in range(0, len(cells), size)]
    return [
        (again if k else head) + "".join(cell.rjust(width) for cell in part).rstrip() for k, part in enumerate(parts)
    ]


# ---- a graph as lines ------------------------------------------------------------------------------------------------

DEEP = 7  # largest number of indentations; an op that would be deeper is printed at the left
Waiting = tuple[str, str, str, str]  # a node's id, the prefix of its line, the prefix of the lines below, its role


class Outline:
    """The lines of a graph, one per node or reference; they are computed on request, and can be iterated once."""

    def __init__(self, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        self.known = {node.id: node for node in nodes}
        self.operands: dict[str, list[Edge]] = defaultdict(list)
        for edge in edges:
            self.operands[edge.target].append(edge)
        self.read = Counter(edge.source for edge in edges)
        self.starts = deque(node.id for node in nodes if not self.read[node.id])
        self.numbers: dict[str, int] = {}
        self.listed: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        while self.starts:
            stack = [(self.starts.popleft(), "", "", "")]
            while stack:
                yield clipped(self.line(stack))

    def line(self, stack: list[Waiting]) -> str:
        """Return the line of the next node, and push its operands on the stack."""
        key, head, below, role = stack.pop()
        before = key in self.listed
        later = not before and bool(self.operands[key]) and len(below) // 3 == DEEP
        if self.read[key] > 1 or later:
            self.numbers.setdefault(key, len(self.numbers) + 1)
        number = f"({self.numbers[key]}) " if key in self.numbers else ""
        name = f"{head}{role}: {number}" if role else head + number
        node = self.known[key]
        if before or later:
            if later and key not in self.starts:
                self.starts.append(key)
            return f"{name}{node.label.splitlines()[0]}, {'below' if later else 'above'}"
        self.listed.add(key)
        operands = self.operands[key]
        for k, edge in reversed(list(enumerate(operands))):
            corner, line = ("└─ ", "   ") if k == len(operands) - 1 else ("├─ ", "│  ")
            stack.append((edge.source, below + corner, below + line, edge.label))
        return name + "  ".join(node.label.splitlines())
