"""A picture of a program that `mg.jit` recorded: its launches, and the memory between them."""

from __future__ import annotations

from collections.abc import Iterator

from minigrad.errors import ArgumentError, quantity
from minigrad.jitting.jitted import NO_PROGRAM, Jitted
from minigrad.jitting.loops import shown
from minigrad.jitting.program import HostCall, Item, written_by
from minigrad.jitting.reasons import names_of
from minigrad.jitting.repeats import Repeat
from minigrad.jitting.source import Source
from minigrad.runtime.tensor import describe
from minigrad.viz import svg
from minigrad.viz.graph import Graph

MOST = 6  # largest number of operations of a fused loop that its box lists


def program(step: Jitted) -> Graph:
    """Draw the program that a jitted function ran last.

    A box is a launch; the operations of a fused loop are listed in one box.  An arrow is memory, with its dtype and
    shape, from the launch that writes it to each launch that reads it.  A box names the line of the function, and its
    tooltip shows the text of the line.

    step: Function that `mg.jit` returned, after its second call.

    Returns: The picture, which Jupyter displays; `.save("step.html")` writes it to a file.

    Raises ArgumentError if `step` is not a jitted function, or has no program yet.

    >>> step = mg.jit(lambda x: (x * 2.0).exp() @ x)
    >>> for _ in range(2): y = step(mg.ones(2, 2))
    >>> [node.label.splitlines()[0] for node in mg.viz.program(step).nodes][1:]
    ['mul, exp', 'matrix product', 'result']
    """
    if not isinstance(step, Jitted):
        raise ArgumentError(
            f"viz.program: step must be a function that mg.jit returned, got {describe(step)}; decorate it with @mg.jit"
        )
    if step.last is None:
        raise ArgumentError(f"viz.program: {NO_PROGRAM}; call the function twice")
    drawing = Drawing(Source(step.last))
    items = drawing.source.tape.items
    return Graph(drawing.nodes, drawing.edges, f"program of {step.__name__}: {quantity(len(items), 'launch')}")


class Drawing:
    """The boxes and arrows of a program; `writer` maps a slot to the id of the box whose launch wrote it last."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.nodes: list[svg.Node] = []
        self.edges: list[svg.Edge] = []
        self.writer: dict[int, str] = {}
        end = 0
        for k, item in enumerate(source.tape.items):
            repeat = next((each for each in source.tape.repeats if each.first == k), None)
            if repeat is not None:
                self.add_rounds(repeat)
                end = repeat.end
            if k >= end:
                self.add(f"launch{k}", item)
        kept = {slot: name for name, slot in source.parameters.items() if slot is not None}
        for slot, name in kept.items():
            if self.writer.get(slot, "").startswith("launch"):
                self.nodes.append(svg.Node(f"end{slot}", f"{name}\n{self.described(slot)}", "output", "written"))
                self.edges.append(svg.Edge(self.writer[slot], f"end{slot}"))

    def described(self, slot: int) -> str:
        """Return the dtype and the shape of the memory in a slot as text."""
        array = self.source.arrays.arrays.get(slot)
        return f"{self.source.memory[slot].dtype}{array.shape if array is not None else '()'}"

    def add_rounds(self, repeat: Repeat) -> None:
        """Add the boxes of the first round of a repeat, which stand for those of all rounds."""
        items, begin = self.source.tape.items, repeat.first
        for k in range(begin, begin + repeat.period):
            self.add(f"launch{k}", items[k], f"in {repeat.rounds} rounds")
        for k in range(begin, repeat.end):
            self.writer |= dict.fromkeys(written_by(items[k]), f"launch{begin + (k - begin) % repeat.period}")

    def add(self, key: str, item: Item | HostCall, note: str = "") -> None:
        """Add the box of a launch, and an arrow for each slot of memory that it reads."""
        read, written = used(self.source, item)
        for slot in dict.fromkeys(read):
            if slot not in self.writer:
                self.add_leaf(slot)
            if slot in self.writer:
                self.edges.append(svg.Edge(self.writer[slot], key, self.described(slot)))
        label = "\n".join([*label_of(item), *([note] if note else [])])
        self.nodes.append(svg.Node(key, label, hint="\n".join(dict.fromkeys(lines_of(item)))))
        self.writer.update(dict.fromkeys(written, key))

    def add_leaf(self, slot: int) -> None:
        """Add the box of memory that exists before the program, except single numbers."""
        array, memory = self.source.arrays.arrays.get(slot), self.source.memory[slot]
        if memory.kind == "symbol" or memory.kind == "constant" and memory.numel == 1:
            return
        name = array.name if array is not None else memory.kind
        kind = "constant" if memory.kind in ("constant", "drawn") else "var"
        self.nodes.append(svg.Node(f"memory{slot}", f"{name}\n{self.described(slot)}", kind))
        self.writer[slot] = f"memory{slot}"


def used(source: Source, item: Item | HostCall) -> tuple[list[int], list[int]]:
    """Return the slots that a launch reads, and the slots that it writes."""
    if isinstance(item, HostCall):
        slots = [slot for slot in source.passed(item) if slot in source.used]
        gradients = {made.slot for _, made in item.gradients if made is not None}
        return slots, [slot for slot in slots if slot not in gradients]
    parts = item.launch.parts
    read = [item.slots[k] for part in parts for k in part.slots[: -part.results] if k < item.launch.arguments]
    written = written_by(item)
    return read if parts else [slot for slot in item.slots if slot not in written], sorted(written)


def label_of(item: Item | HostCall) -> Iterator[str]:
    """Yield the lines of text in a box: the operations, and the user's line."""
    if isinstance(item, HostCall):
        yield "step of an optimizer or a schedule"
    else:
        names = [name for each in item.fused or (item,) for name in names_of(each)]
        listed = ", ".join([*names[:MOST], *(["..."] if len(names) > MOST else [])])
        yield listed or "launch"
        if item.fused:
            yield f"{len(item.fused)} operations in one loop"
    yield ", ".join(dict.fromkeys([line.partition(": ")[0] for line in lines_of(item)]))


def lines_of(item: Item | HostCall) -> list[str]:
    """Return the lines of the function that a launch comes from, with their texts."""
    return [shown(each.line) for each in (getattr(item, "fused", ()) or (item,))]
