"""A surrounded tensor as copies of strips, one or two per dim; its adjoint adds the strips where they came from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from minigrad.backends.base import Backend, serves
from minigrad.backends.steps import Steps, Value
from minigrad.core.dtype import int64
from minigrad.core.layout import Layout
from minigrad.core.requests import SelectAdd, Surround

COLUMNS = 4  # a strip of at most this many columns is copied column by column, which is faster than rows of 4 elements


@serves(Backend, Surround)
def surround(steps: Steps, request: Surround) -> None:
    """Copy the centre, then the strips along each dim.

    The strips are copied from the result, which already contains the strips of other dims, so that the corners are
    filled as well.
    """
    (result,), (source,), counts = steps.outs, steps.operands, request.counts
    if request.back:
        return add_back(steps, request, source, result)
    # views[k] is the part of the result without the padding of the last k dims; the last view is the centre.
    last, views = len(counts) - 1, [result]
    for d in reversed(range(len(counts))):
        views.append(views[-1].at(d, counts[d][0], source.shape[d]))
    steps.copy(views[-1], source)
    for d in range(len(counts)):
        for start, length, strip in strips(views[last - d + 1].layout, d, counts[d], request.mode):
            wide = 1 if d == last and length <= COLUMNS else length
            for k in range(0, length, wide):
                steps.copy(views[last - d].at(d, start + k, wide), result.seen(strip.narrow(d, k, wide)))


def strips(centre: Layout, d: int, counts: tuple[int, int], mode: str) -> Iterator[tuple[int, int, Layout]]:
    """Yield the start, the length and the layout of the elements to copy, for each padded side of a dim."""
    (before, behind), n = counts, centre.shape[d]
    first, last = {"reflect": (1, n - 1 - behind), "circular": (n - before, 0), "replicate": (0, n - 1)}[mode]
    for start, count, at in ((0, before, first), (before + n, behind, last)):
        if count and mode == "replicate":
            shape = tuple([count if k == d else size for k, size in enumerate(centre.shape)])
            yield start, count, centre.narrow(d, at, 1).expand(shape)
        elif count:
            strip = centre.narrow(d, at, count)
            yield start, count, strip.flip(d) if mode == "reflect" else strip


def add_back(steps: Steps, request: Surround, g: Value, result: Value) -> None:
    """Add each strip along each dim to the centre, at the positions of its elements."""
    for d, (before, behind) in enumerate(request.counts):
        n = g.shape[d] - before - behind
        centre = g.at(d, before, n)
        for start, count in ((0, before), (before + n, behind)):
            if count:
                positions = steps.constant(origins(np.arange(start, start + count) - before, n, request.mode), int64)
                added = steps.work(centre.shape, result.dtype)
                steps.ask(SelectAdd(d), added, centre, positions, g.at(d, start, count))
                centre = added
        g = centre
    steps.copy(result, g)


def origins(position: np.ndarray, n: int, mode: str) -> np.ndarray:
    """Return the positions among n elements from which the elements at some positions are copied."""
    if mode == "circular":
        return position % n
    return np.clip(position, 0, n - 1) if mode == "replicate" else n - 1 - abs(n - 1 - abs(position))
