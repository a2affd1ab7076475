"""The values in a heat map: the statistics of a tensor, and its elements as cells of matrices.

`viz/heat.py` draws them.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

CELLS = 1024  # largest number of cells of all matrices together
COLUMNS = 16  # maximum number of cells in one row of the picture of a vector
SIDE = 32  # largest number of rows and columns if there is only one matrix
BINS = 20  # number of bins of the histogram


@dataclass(frozen=True)
class Statistics:
    """Store statistics of the elements of a tensor.

    `low`, `high` and `mean` are the minimum, maximum and mean of the finite elements, or nan without finite elements.
    `zeros` is the fraction of zeros among all elements.  `nans`, `infinities` and `negative` are the numbers of
    elements that are nan, inf and -inf.  `counts` and `edges` are the histogram of the finite elements; `edges` has one
    more entry than `counts`.
    """

    low: float
    high: float
    mean: float
    zeros: float
    nans: int
    infinities: int
    negative: int
    counts: NDArray[np.int64]
    edges: NDArray[np.float64]

    @property
    def most(self) -> float:
        """The largest absolute value of a finite element, or 1 if this value is 0 or does not exist."""
        return max(abs(self.low), abs(self.high)) or 1.0 if self.low <= self.high else 1.0

    def share(self, value: complex) -> float:
        """Return the ratio of a value to the largest value, from 0 to 1."""
        return min(1.0, abs(value) / self.most)


@dataclass(frozen=True)
class Cell:
    """One cell: the index of its element or patch, its value, and its text."""

    index: str
    value: complex
    text: str


@dataclass(frozen=True)
class Matrix:
    """One matrix of the picture.

    `title` shows its leading indices, or is "".  `rows` contains its cells; the last row may be shorter.
    """

    title: str
    rows: list[list[Cell]]


def statistics(numbers: NDArray[np.float64]) -> Statistics:
    """Return the statistics of an array."""
    finite = numbers[np.isfinite(numbers)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (math.nan, math.nan)
    most = max(abs(low), abs(high)) or 1.0
    with np.errstate(over="ignore"):
        mean = float(finite.mean()) if finite.size else math.nan
    if finite.size and not math.isfinite(mean):
        mean = float((finite / most).mean()) * most  # the sum of large values overflowed
    # The elements are scaled to [-1, 1], so that the width of a bin neither overflows nor underflows.
    scaled = finite / most if finite.size else finite
    left, right = (low / most, high / most) if finite.size else (0.0, 1.0)
    if right - left < 1e-9:
        left, right = left - 0.5, right + 0.5
    counts, edges = np.histogram(scaled, BINS, (left, right))
    with np.errstate(over="ignore"):
        edges = edges * (most if finite.size else 1.0)
    zeros = float((numbers == 0).mean()) if numbers.size else 0.0
    nans, infinities = int(np.isnan(numbers).sum()), int((numbers == math.inf).sum())
    return Statistics(low, high, mean, zeros, nans, infinities, int((numbers == -math.inf).sum()), counts, edges)


def matrices_of(numbers: NDArray[Any], write: Callable[[complex], str]) -> tuple[list[Matrix], list[str]]:
    """Return matrices with at most CELLS cells, and notes about elements without a cell.

    `write` returns the text of a value.
    """
    if not numbers.size:
        return [], []
    if numbers.ndim < 2:
        cells = next(patches(numbers.reshape(1, -1), 1, CELLS, "[{1}]" if numbers.ndim else "", write))
        rows = [cells[k : k + COLUMNS] for k in range(0, len(cells), COLUMNS)]
        return [Matrix("", rows)], patch_notes(numbers.size > CELLS)
    leading, (high, wide) = numbers.shape[:-2], numbers.shape[-2:]
    count = math.prod(leading)
    side = SIDE if count == 1 else max(8, math.isqrt(CELLS // count))
    most = max(1, CELLS // (min(high, side) * min(wide, side)))
    matrices = []
    for index in islice(np.ndindex(leading), most):
        before = "".join(f"{k}, " for k in index)
        title = f"[{', '.join(map(str, index))}]" if index else ""
        rows = list(patches(numbers[index], side, side, f"[{before}{{0}}, {{1}}]", write))
        matrices.append(Matrix(title, rows))
    notes = [f"the first {most} of {count} matrices"] if count > most else []
    return matrices, notes + patch_notes(max(high, wide) > side)


def patch_notes(needed: bool) -> list[str]:
    """Return a note about patches, if it is needed."""
    return ["a cell is the element of its patch that is farthest from 0"] if needed else []


def patches(
    matrix: NDArray[Any], rows: int, columns: int, index: str, write: Callable[[complex], str]
) -> Iterator[list[Cell]]:
    """Yield the rows of cells of a matrix: at most `rows` by `columns` patches.

    `index` is a format of the two index ranges, and `write` returns the text of a value.
    """
    downs, acrosses = (list(pairwise(edges(n, most))) for n, most in zip(matrix.shape, (rows, columns)))
    for top, bottom in downs:
        row = []
        for left, right in acrosses:
            patch = matrix[top:bottom, left:right].reshape(-1)
            # argmax counts the first nan as the largest value.
            value = patch[np.abs(patch).argmax()].item()
            row.append(Cell(index.format(span(top, bottom), span(left, right)), value, write(value)))
        yield row


def edges(n: int, most: int) -> list[int]:
    """Return the boundaries that divide n elements into at most `most` parts."""
    return [int(k) for k in np.linspace(0, n, min(n, most) + 1)]


def span(start: int, stop: int) -> str:
    """Return the text of an index range: an index or a slice."""
    return str(start) if stop == start + 1 else f"{start}:{stop}"


def text_of(value: complex, floating: bool) -> str:
    """Return a number in about five characters."""
    return f"{value:.3g}" if floating or abs(value) >= 1e5 else f"{value:.0f}"


def mark(value: complex) -> str:
    """Return the letter for a value that is not finite, otherwise ""; a complex infinity has no sign."""
    if cmath.isinf(value):  # a complex infinity may have a nan as its other part
        return "+" if is_warm(value) else "-"
    return "n" if cmath.isnan(value) else ""


def is_warm(value: complex) -> bool:
    """Return whether a value is above 0, or complex."""
    return isinstance(value, complex) or value > 0
