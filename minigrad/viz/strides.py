"""A tensor and its memory: the position of each element, and the elements at each position of the buffer.

The upper row is the buffer, position by position.  The elements are below it, each with its position.  Each position
has its own color, so that a transpose, a flip or a stride of 0 is visible.
"""

from __future__ import annotations

from itertools import islice, product
from math import prod

import numpy as np

from minigrad.diagnostics.flow import expect_values, values
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe
from minigrad.viz.explain import address
from minigrad.viz.picture import COOL, INK, LINE, MONO, PALE, Picture, box, drawing, label
from minigrad.viz.svg import ON_TINT
from minigrad.viz.terminal import blocks

CELL, GAP, MARGIN = 34, 8, 16
POSITIONS = 64  # largest number of positions of the buffer, or of elements, that are drawn
ROW = 24  # number of positions of the buffer per row


def layout(x: Tensor) -> Picture:
    """Draw the memory and the elements of x, with the formula that maps an index to a position in memory.

    x: Tensor to draw. If there are more than 64 positions or elements, only the first ones are shown.

    Raises GradientError if `x` is a value inside a transform, which has no memory of its own.
    """
    expect_values("viz.layout", x)
    indices = islice(product(*map(range, beginning(x).shape)), POSITIONS)
    positions = [x.offset + sum(i * s for i, s in zip(index, x.strides, strict=True)) for index in indices]
    first_values = values(beginning(x)).reshape(-1)[: len(positions)]
    numbers = [f"{v:.3g}" if v.dtype.kind in "fc" else str(v.item()) for v in first_values]  # about four characters
    size = max(reach(x), reach(x.base) if isinstance(x.base, Tensor) else 0)
    first = min(positions, default=0) // ROW * ROW if size > POSITIONS else 0
    shown = range(first, min(size, first + POSITIONS))
    title = f"{describe(x)} over its memory"
    notes = [address(x), f"strides {x.strides}, offset {x.offset}"]
    if len(shown) < size or len(positions) < prod(x.shape):
        notes.append(f"the first of {size} positions and {prod(x.shape)} elements")
    drawing = as_svg(x, title, notes, shown, positions, numbers)
    return Picture(title, as_text(x, notes, shown, positions, numbers), svg=drawing)


def beginning(x: Tensor) -> Tensor:
    """Return a part of x that begins with the first POSITIONS elements of x, in their order, and has few more."""
    budget = POSITIONS
    with no_grad():
        for dim in range(x.ndim - 1, -1, -1):
            x = x.detach().narrow(dim, 0, min(x.shape[dim], budget))
            budget = -(-budget // max(1, x.shape[dim]))
    return x


def reach(x: Tensor) -> int:
    """Return one more than the largest position of an element."""
    return 1 + x.offset + sum((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True) if s > 0) if x.numel() else 0


def as_text(x: Tensor, notes: list[str], shown: range, positions: list[int], numbers: list[str]) -> str:
    """Return the picture as text: the buffer with the number of elements per position, then the elements' positions."""
    known = dict(zip(positions, numbers, strict=True))
    used = {position: positions.count(position) for position in shown}
    width = max([3, *map(len, numbers), *(len(str(position)) for position in shown)]) + 1
    table = {
        "position": [str(p) for p in shown],
        "value": [known.get(p, "") for p in shown],
        "used": [f"x{used[p]}" if used[p] else "." for p in shown],
    }
    lines = [blocks(cells, f"{name:9}", f"{name:9}", width) for name, cells in table.items()]
    rows = [describe(x), *notes, *(line for part in zip(*lines, strict=True) for line in part)]
    columns = max(1, x.shape[-1] if x.ndim else 1)
    for k in range(0, len(positions), columns):
        head = "elements at" if k == 0 else ""
        rows += blocks([str(p) for p in positions[k : k + columns]], f"{head:15}", f"{'and on':15}", width)
    return "\n".join(rows)


def colour(position: int, count: int) -> str:
    """Return the color of a position, from blue through white to orange."""
    share = min(1.0, position / max(1, count - 1))
    cold, warm = np.array([180, 205, 240]), np.array([250, 205, 140])
    red, green, blue = (cold + (warm - cold) * share).astype(int)
    return f"#{red:02x}{green:02x}{blue:02x}"


def as_svg(x: Tensor, title: str, notes: list[str], shown: range, positions: list[int], numbers: list[str]) -> str:
    """Return the drawing: text, the buffer in rows of ROW positions, and the elements in rows of the last dim."""
    known: dict[int, str] = dict(zip(positions, numbers, strict=True))
    used = set(positions)
    last = max([shown.stop - 1, *positions]) + 1
    parts = [label(MARGIN, MARGIN + 8 + 18 * k, line, 12, "start", font_family=MONO) for k, line in enumerate(notes)]
    top = MARGIN + 18 * len(notes) + 14
    parts.append(label(MARGIN, top, "memory", 12, "start", font_weight="bold"))
    top += 8
    for position in shown:
        k = position - shown.start
        left, up = MARGIN + k % ROW * CELL, top + k // ROW * (CELL + 16)
        fill = colour(position, last) if position in used else PALE
        hint = f"position {position}" + (f": {known[position]}" if position in known else ", of no element here")
        parts.append(box(left, up, CELL, CELL, fill, hint))
        ink = ON_TINT if position in used else INK
        parts.append(label(left + CELL / 2, up + CELL / 2 + 4, known.get(position, ""), fill=ink, font_family=MONO))
        parts.append(label(left + CELL / 2, up + CELL + 11, str(position), 9, fill=LINE, font_family=MONO))
    top += (max(0, len(shown) - 1) // ROW + 1) * (CELL + 16) + 18
    parts.append(label(MARGIN, top, "elements, each with its position in memory", 12, "start", font_weight="bold"))
    top += 8
    columns = max(1, x.shape[-1] if x.ndim else 1)
    block = x.shape[-2] if x.ndim > 1 else 1
    up = top
    for k, position in enumerate(positions):
        row = k // columns
        up = top + row * CELL + row // max(1, block) * GAP
        left = MARGIN + k % columns * CELL
        parts.append(box(left, up, CELL, CELL, colour(position, last), f"position {position}", COOL))
        parts.append(label(left + CELL / 2, up + 15, numbers[k], fill=ON_TINT, font_family=MONO))
        parts.append(label(left + CELL / 2, up + 28, f"@{position}", 9, fill=ON_TINT, font_family=MONO))
    widest = max(min(len(shown), ROW), min(columns, max(1, len(positions))), 1) * CELL
    width = max(widest, 8 * max(map(len, notes))) + 2 * MARGIN
    return drawing(width, up + CELL + MARGIN, title, parts)
