"""A graph as lines of text: the result is first, and its operands are below it, indented.

A node that several ops read is printed once, with a number, to which later lines refer.  Lines that would be indented
too far continue at the left.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence

from minigrad.viz.svg import Edge, Node
from minigrad.viz.terminal import clipped

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
