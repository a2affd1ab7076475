"""Plot the memory that a graph holds during the forward and the backward pass, op by op, with the peak.

An op holds its saved values from its call until the backward pass has visited the op.  They are drawn as a block, which
is wider for earlier ops.  The blocks of later ops are stacked on the blocks of earlier ops.  The backward pass adds
gradients, intermediate values of rules, and values that checkpoints recompute; each step is measured and drawn on top.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.api.page import LIGHT
from minigrad.autodiff.checks import end_of, seed
from minigrad.autodiff.engine import pull_back, reachable
from minigrad.diagnostics.flow import Watched
from minigrad.diagnostics.tape import Row, counted, exact, in_units, rows_of
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe
from minigrad.viz.picture import ACCENT, COOL, INK, LINE, MONO, Picture, box, drawing, label, segment
from minigrad.viz.terminal import WIDTH as WIDTH_OF_LINE
from minigrad.viz.terminal import clipped

WIDTH, HEIGHT, LEFT, TOP = 640, 220, 70, 64
SAVED, PASSING = LIGHT["saved"], LIGHT["passing"]
LINES = 24  # largest number of lines of text for each pass
NAME = 28  # largest number of characters of an op's name in this text


class Memory(Picture):
    """Store the plot that `memory` returns, with the plotted values as attributes.

    rows (list of Row): The ops, the oldest first, with the values that each op saved.
    forward: Bytes held after each op.
    backward: Largest number of bytes during the op's step of the backward pass, in the order of `rows`.

    Attributes:
        peak (int): The maximum of `backward`.
        at (int): Index of the row with the peak.
    """

    def __init__(self, y: Tensor, rows: Sequence[Row], forward: list[int], backward: list[int], more: bool) -> None:
        self.rows, self.forward, self.backward = rows, forward, backward
        self.peak = max(backward, default=0)
        self.at = max((k for k, held in enumerate(backward) if held == self.peak), default=0)
        where = f", in the backward pass at {row_name(rows[self.at])}" if rows else ""
        notes = [f"{describe(y)}: at most {in_units(self.peak)} held{where}"]
        notes.append(f"{in_units(max(forward, default=0))} of saved values when the backward pass begins")
        if not more:
            notes.append(f"gradients are not counted on {y.device}")
        title = f"memory of {describe(y)}"
        super().__init__(title, as_text(self, notes), svg=as_svg(self, title, notes))


class Steps:
    """The peak of the additional bytes in each step of a pass; a step lasts until the next step begins."""

    def __init__(self, allocator: Any) -> None:
        self.allocator, self.before = allocator, counted(allocator)
        self.most: dict[int, int] = {}
        self.node: int | None = None

    def begin(self, node: int | None) -> None:
        """End the current step, and begin the step of a node."""
        if self.before is None:
            return
        if self.node is not None:
            self.most[self.node] = self.allocator.stats().peak_bytes - self.before
        self.node = node
        self.allocator.reset_peak()

    def measure(self, node: Any, gradients: Any, pull: Callable[[], Any]) -> Any:
        """Run the `pull` of a node as a new step."""
        self.begin(node.id)
        return pull()


def memory(y: Tensor) -> Memory:
    """Plot the bytes that the graph of y holds during the forward and the backward pass, with the peak.

    y: Result whose graph is measured.

    Raises GradientError if `y` has no graph, or the graph was freed.

    Saved values are counted as in `mg.tape`.  A backward pass runs once, with ones as the incoming gradient, to measure
    its memory.  This pass keeps the graph, changes no `.grad` and calls no hooks.  The measurement includes the memory
    of the whole process, and resets the peak of the allocator.  Temporary memory of an op in the forward pass is not
    shown.
    """
    rows = rows_of(y, "viz.memory", {})
    nodes, _ = reachable([end_of(y)])
    with no_grad(), exact(y.storage.allocator):
        steps = Steps(y.storage.allocator)
        pull_back([Watched(node, steps.measure) for node in nodes], [(end_of(y), seed(y, None))])
        steps.begin(None)
    forward, held = [], 0
    for row in rows:
        held += row.saved
        forward.append(held)
    backward = [held + steps.most.get(row.node.id, 0) for row, held in zip(rows, forward, strict=True)]
    return Memory(y, rows, forward, backward, steps.before is not None)


def row_name(row: Row) -> str:
    """Return the name of an op and its shape."""
    return f"{row.name}{row.node.shape}"


def as_text(picture: Memory, notes: list[str]) -> str:
    """Return one line per op for each pass; if there are many ops, several ops share one line."""
    count = len(picture.rows)
    size = max(1, -(-count // LINES))
    blocks = [range(k, min(k + size, count)) for k in range(0, count, size)]
    names = [(f"{picture.rows[block[0]].name} to " if len(block) > 1 else "") + row_name(picture.rows[block[-1]])
             for block in blocks]  # fmt: skip
    names = [clipped(name, NAME) for name in names]
    width = max(map(len, names), default=0)
    bar_width = WIDTH_OF_LINE - len(f"forward   {'':{width}}  {'':>8}  ") - len(" peak")
    unit = bar_width / max(picture.peak, 1)
    lines = list(notes)
    for way, order in (("forward", blocks), ("backward", blocks[::-1])):
        for k, block in enumerate(order):
            saved = max(picture.forward[i] for i in block)
            held = saved if way == "forward" else max(picture.backward[i] for i in block)
            bar = "#" * round(saved * unit)
            bar += "+" * (round(held * unit) - len(bar)) + (
                " peak" if way == "backward" and picture.at in block else ""
            )
            name = names[blocks.index(block)]
            lines.append(f"{way if k == 0 else '':9} {name:{width}}  {in_units(held):>8}  {bar}".rstrip())
    return "\n".join([*lines, "# saved values   + gradients and what their rules compute"])


def as_svg(picture: Memory, title: str, notes: list[str]) -> str:
    """Draw the stacked blocks of all ops."""
    count, floor = len(picture.rows), TOP + HEIGHT
    across, up = WIDTH / max(2 * count, 1), HEIGHT / max(picture.peak, 1)
    parts = [label(LEFT, 20 + 17 * k, note, 12, "start", font_weight="bold" if k == 0 else "normal")
             for k, note in enumerate(notes)]  # fmt: skip
    middle, right = LEFT + WIDTH / 2, LEFT + WIDTH
    for x, y, x2, y2, colour in ((middle, TOP, middle, floor, LINE), (LEFT, TOP, right, TOP, ACCENT)):
        parts.append(segment(x, y, x2, y2, colour, stroke_dasharray="4 3"))
    parts += blocks(picture, floor, across, up)
    parts += [segment(LEFT, floor, right, floor, INK), segment(LEFT, TOP, LEFT, floor, INK)]
    parts.append(label(LEFT - 6, TOP + 4, in_units(picture.peak), 11, "end"))
    parts.append(label(LEFT - 6, floor + 4, "0", 11, "end"))
    if count:
        parts.append(label(LEFT + (2 * count - picture.at - 0.5) * across, TOP - 5, "peak", 11, fill=ACCENT))
    parts.append(label(LEFT + WIDTH / 4, floor + 17, "forward, op by op", 11))
    parts.append(label(LEFT + 3 * WIDTH / 4, floor + 17, "backward", 11))
    parts += [box(LEFT, floor + 30, 12, 12, SAVED, "", COOL), box(LEFT + 150, floor + 30, 12, 12, PASSING, "", ACCENT)]
    parts.append(label(LEFT + 18, floor + 40, "saved values", 11, "start"))
    parts.append(label(LEFT + 168, floor + 40, "gradients and what their rules compute", 11, "start"))
    return drawing(right + 16, floor + 54, title, parts)


def blocks(picture: Memory, floor: float, across: float, up: float) -> list[str]:
    """Draw the bytes that each op holds, and those that its backward step adds."""
    parts, count = [], len(picture.rows)
    for k, row in enumerate(picture.rows):
        high = row.saved * up
        left, width = LEFT + k * across, (2 * (count - k)) * across
        top = floor - picture.forward[k] * up
        name = row_name(row)
        if row.saved:
            parts.append(box(left, top, width, high, SAVED, f"{name} holds {in_units(row.saved)}", COOL))
        if high > 13 and width > 7 * len(name):
            parts.append(label(left + width / 2, top + high / 2 + 4, name, 10, font_family=MONO))
        passing = picture.backward[k] - picture.forward[k]
        if passing:
            hint = f"in the backward pass at {name}: {in_units(passing)} on top, {in_units(picture.backward[k])} in all"
            at = LEFT + (2 * count - k - 1) * across
            parts.append(box(at, floor - picture.backward[k] * up, across, passing * up, PASSING, hint, ACCENT))
    return parts
