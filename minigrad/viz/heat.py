"""A tensor as a heat map: one colored cell per element, a histogram of the values, and their statistics.

The last two dims are the rows and columns of a matrix; the leading dims are the index of the matrix.  The color shows
the sign of an element, or the angle of a complex one, and its opacity the ratio of its magnitude to that of the largest
finite element.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from minigrad.api.page import LIGHT
from minigrad.core.conditions import Ndim
from minigrad.diagnostics.flow import expect_values, values
from minigrad.diagnostics.shown import hues
from minigrad.errors import ArgumentError
from minigrad.runtime.data import wide
from minigrad.runtime.tensor import Tensor, describe
from minigrad.viz.cells import BINS, COLUMNS, Cell, Matrix, Statistics, is_warm, mark, matrices_of, statistics, text_of
from minigrad.viz.picture import INK, LINE, MONO, Picture, box, drawing, label
from minigrad.viz.svg import ODD
from minigrad.viz.terminal import WIDTH as WIDTH_OF_LINE

NAME = "viz.tensor"
RANK = 4  # largest number of dims
NUMBERS = 144  # largest number of elements whose values are written into the cells
CELL, GAP, MARGIN, WIDTH = 14, 14, 16, 720
BAR, HIGH = 13, 60  # width of a bar of the histogram, and height of the highest bar
INDENT = 36  # indentation of the histogram, with space for the counts
BLOCKS = " ▁▂▃▄▅▆▇█"


class Heat(Picture):
    """The heat map of a tensor, with its statistics."""

    def __init__(self, x: Tensor) -> None:
        numbers = wide(values(x))
        self.statistics = statistics(np.abs(numbers) if x.dtype.is_complex else numbers)
        spelled = numbers.size <= NUMBERS and (numbers.ndim < 2 or numbers.shape[-1] <= COLUMNS)
        matrices, notes = matrices_of(numbers, partial(text_of, floating=x.dtype.is_inexact) if spelled else mark)
        name = getattr(x, "name", None)
        title = f"{name}: {describe(x)}" if name else describe(x)
        notes = [title, *summary(self.statistics, numbers), *notes]
        text = "\n".join(as_text(matrices, self.statistics, notes, spelled))
        super().__init__(f"values of {title}", text, svg=as_svg(matrices, self.statistics, notes, title))


def tensor(x: Tensor) -> Heat:
    """Draw a tensor as a heat map with a histogram.

    For small tensors, the cells contain numbers. In a larger matrix, a cell represents a block of elements and shows
    the element with the largest magnitude; nan counts as larger than every number, so that every nan is visible.

    x: Tensor of any dtype with at most 4 dims. The last two dims are rows and columns; a vector is broken into rows of
    16 elements.

    Returns: The picture. `str` returns it as text, `save` writes it to a file, and `statistics` contains the range, the
    mean, the fraction of zeros, the counts of nan and infinities, and the histogram.

    Raises DTypeError if `x` is not a tensor.
    Raises ArgumentError if `x` has more than 4 dims.
    Raises GradientError if `x` is a value inside a transform, which has no elements to draw.

    Range, mean and histogram are computed from the finite elements, in float64. At most 1,024 cells are drawn; if there
    are too many matrices, only the first ones are drawn. For a complex tensor, they describe the magnitudes, and the
    hue of a cell shows the angle.

    >>> picture = mg.viz.tensor(mg.tensor([[1.0, -2.0], [0.0, 4.0]]))
    >>> picture.statistics.mean, picture.statistics.zeros
    (0.75, 0.25)
    """
    expect_values(NAME, x)
    Ndim(most=RANK, advice="select a part, for example x[0]").but(error=ArgumentError).expect(NAME, x=x)
    return Heat(x)


# ---- the picture ----------------------------------------------------------------------------------------------------


def summary(s: Statistics, numbers: np.ndarray[Any, Any]) -> list[str]:
    """Return the statistics as lines of text."""
    if not numbers.size:
        return ["no elements"]
    lines = [f"{s.low:.4g} to {s.high:.4g}, mean {s.mean:.4g}" if s.low <= s.high else "no finite element"]
    lines[0] = ("magnitudes " if np.iscomplexobj(numbers) else "") + lines[0] + f", {100 * s.zeros:.3g}% zeros"
    odd = [f"{count} {name}" for count, name in ((s.nans, "nan"), (s.infinities, "inf"), (s.negative, "-inf")) if count]
    return lines + ([", ".join(odd)] if odd else [])


def look(value: complex, s: Statistics) -> tuple[str, str]:
    """Return the color and the opacity that represent a value."""
    if mark(value) == "n":
        return ODD, "1"
    if value == 0:
        return "none", ""
    colour = LIGHT["warm" if is_warm(value) else "cold"]
    if isinstance(value, complex) and not cmath.isnan(value):
        colour = "#" + bytes(hues(np.array(value)).astype(np.uint8).tolist()).hex()
    return colour, f"{max(0.08, s.share(value)):.2f}"


def as_svg(matrices: Sequence[Matrix], s: Statistics, notes: Sequence[str], title: str) -> str:
    """Return the drawing: notes, scale, matrices and histogram, from top to bottom."""
    parts = [label(MARGIN, 24 + 17 * k, note, 12, "start", font_weight="normal" if k else "bold")
             for k, note in enumerate(notes)]  # fmt: skip
    right = MARGIN + 7.0 * max(map(len, notes))
    top = 24.0 + 17 * len(notes)
    if not matrices:
        return drawing(right + MARGIN, top, title, parts)
    colours, end = scale(s, top, isinstance(matrices[0].rows[0][0].value, complex))
    parts += colours
    right = max(right, end)
    top += 36
    longest = max((len(cell.text) for m in matrices for row in m.rows for cell in row), default=0)
    width, high = (max(36, 7 * longest + 8), 22) if longest > 1 else (CELL, CELL)
    left, floor = float(MARGIN), top
    first = matrices[0].title.partition(",")[0]
    for m in matrices:
        wide, above = width * max(map(len, m.rows)), 16 if m.title else 0
        # Whether this matrix begins another row of a tensor with 4 dims.
        begins = m.title.count(",") and m.title.partition(",")[0] != first
        if left > MARGIN and (begins or left + wide > WIDTH):
            left, top = float(MARGIN), floor + GAP
        first = m.title.partition(",")[0]
        parts += [label(left, top + 11, m.title, 11, "start", font_family=MONO)] if m.title else []
        for r, row in enumerate(m.rows):
            for c, cell in enumerate(row):
                parts += drawn(cell, s, left + c * width, top + above + r * high, width, high)
        floor = max(floor, top + above + high * len(m.rows))
        right = max(right, left + wide)
        left += max(wide, 7.0 * len(m.title)) + GAP
    parts += histogram(s, floor + 2 * GAP)
    return drawing(max(right, MARGIN + INDENT + BAR * BINS) + 2 * MARGIN, floor + 2 * GAP + HIGH + 30, title, parts)


def drawn(cell: Cell, s: Statistics, x: float, y: float, width: float, high: float) -> list[str]:
    """Return one cell; a thick border marks an infinity."""
    colour, opacity = look(cell.value, s)
    infinite = cmath.isinf(cell.value)
    line: dict[str, Any] = {"line": INK, "stroke_width": "2"} if infinite else {"line": LINE, "stroke_opacity": "0.4"}
    inset = 1 if infinite else 0
    hint = f"{cell.index} = {cell.value:.6g}".lstrip(" =")
    size = (width - 2 * inset, high - 2 * inset)
    frame = box(x + inset, y + inset, *size, colour, hint, fill_opacity=opacity, **line)
    middle = (x + width / 2, y + high / 2 + 4)
    return [frame, label(*middle, cell.text, 11, font_family=MONO)] if cell.text else [frame]


def scale(s: Statistics, top: float, angles: bool) -> tuple[list[str], float]:
    """Return the scale of colors or angles with the marks of values that are not finite, and its right end."""
    parts, x = [], MARGIN + 56.0
    parts.append(label(x - 6, top + 11, "-π" if angles else f"{-s.most:.3g}", 11, "end", font_family=MONO))
    for k in range(-4, 5):
        colour, opacity = look(cmath.rect(s.most, k * math.pi / 4) if angles else k / 4 * s.most, s)
        parts.append(box(x, top, CELL, CELL, colour, fill_opacity=opacity, stroke_opacity="0.4"))
        x += CELL
    most = "π" if angles else f"{s.most:.3g}"
    parts.append(label(x + 6, top + 11, most, 11, "start", font_family=MONO))
    end = x + 6 + 7 * len(most)
    x += 62
    for value, name, count in ((math.nan, "n nan", s.nans), (math.inf, "+ inf", s.infinities),
                               (-math.inf, "- -inf", s.negative)):  # fmt: skip
        if count:
            parts += drawn(Cell("", value, name[0]), s, x, top, CELL, CELL)
            parts.append(label(x + CELL + 6, top + 11, name[2:], 11, "start", font_family=MONO))
            end = x + CELL + 6 + 7 * len(name[2:])
            x += 60
    return parts, end


def histogram(s: Statistics, top: float) -> list[str]:
    """Return the bars of the histogram, with the range below the bars."""
    floor, most = top + HIGH, max(1, int(s.counts.max(initial=0)))
    left = float(MARGIN + INDENT)
    parts = [label(left - 6, top + 8, str(most), 10, "end"), label(left - 6, floor, "0", 10, "end")]
    for k, count in enumerate(s.counts.tolist()):
        low, high = s.edges[k : k + 2].tolist()
        bar = HIGH * count / most
        colour = LIGHT["warm" if low + high > 0 else "cold"]
        if count:
            hint = f"{low:.4g} to {high:.4g}: {count}"
            parts.append(box(left + k * BAR, floor - bar, BAR, bar, colour, hint, stroke_opacity="0.4"))
    parts.append(box(left, floor, BAR * BINS, 1, LINE, line=""))
    ends = ((left, s.edges[0]), (left + BAR * BINS, s.edges[-1]))
    return parts + [label(x, floor + 15, f"{value:.4g}", 10) for x, value in ends]


# ---- as text --------------------------------------------------------------------------------------------------------


def as_text(matrices: Sequence[Matrix], s: Statistics, notes: Sequence[str], spelled: bool) -> list[str]:
    """Return the picture as lines: notes, histogram and matrices, which are side by side if they fit.

    `spelled` is True if the cells contain numbers.
    """
    if not matrices:
        return list(notes)
    peak = max(1, int(s.counts.max(initial=0)))
    bars = "".join(BLOCKS[math.ceil(8 * count / peak)] for count in s.counts.tolist())
    lines = [*notes, f"histogram  {s.edges[0]:.4g} {bars} {s.edges[-1]:.4g}"]
    if not spelled:
        signed = "1 to 9 are above 0, a to i below, . is 0; 9 or i is {:.4g}; n nan, + inf, - -inf"
        whole = "1 to 9 are magnitudes, . is 0; 9 is {:.4g}; n nan, + inf"
        is_complex = isinstance(matrices[0].rows[0][0].value, complex)
        lines.append((whole if is_complex else signed).format(s.most))
    width = 1 if not spelled else 2 + max(len(cell.text) for m in matrices for row in m.rows for cell in row)
    beside: list[list[str]] = []
    for m in matrices:
        texts = [[cell.text if spelled else letter(cell.value, s) for cell in row] for row in m.rows]
        block = ([m.title] if m.title else []) + ["".join(text.rjust(width) for text in row) for row in texts]
        if beside and sum(len(max(each, key=len)) + 2 for each in [*beside, block]) > WIDTH_OF_LINE:
            lines += ["", *joined(beside)]
            beside = []
        beside.append(block)
    return [*lines, "", *joined(beside)]


def letter(value: complex, s: Statistics) -> str:
    """Return the letter of a cell: its mark, or its sign and size in nine steps."""
    if mark(value) or value == 0:
        return mark(value) or "."
    step = max(1, math.ceil(9 * s.share(value) - 1e-9))
    return "123456789"[step - 1] if is_warm(value) else "abcdefghi"[step - 1]


def joined(blocks: Sequence[Sequence[str]]) -> list[str]:
    """Put blocks of lines side by side."""
    widths = [max(map(len, block)) for block in blocks]
    rows = range(max(map(len, blocks)))
    return [
        "  ".join((block[k] if k < len(block) else "").ljust(width) for block, width in zip(blocks, widths)).rstrip()
        for k in rows
    ]
