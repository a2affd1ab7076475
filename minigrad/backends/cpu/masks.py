"""Masks on the CPU: stretches of positions, counted, then written, on all threads.

The loops are in `kernels/cpu/masks.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Launch
from minigrad.backends.cpu.family import Family
from minigrad.config import settings
from minigrad.core.dtype import bool_, int64
from minigrad.core.layout import merge
from minigrad.core.op import Spec
from minigrad.core.plan import CHUNK, pieces
from minigrad.kernels.cpu import masks
from minigrad.kernels.specialize import array_type, write_kernel
from minigrad.kernels.store import load


class Masks(Family):
    """The preparer of searches for what holds."""

    def nonzero(self, mask: Spec) -> tuple[Callable[[Any], tuple[int, Any]], Callable[[Any, Any, Any], None]]:
        n = mask.layout.numel
        dims, (steps,) = merge([mask.layout])
        cols, step = (dims[-1], steps[-1]) if dims else (1, 1)
        length, units = pieces(n, CHUNK)
        numbers = np.array([n, length, units, cols, max(len(dims) - 1, 0), *dims[:-1], mask.layout.offset, step,
                            *steps[:-1]], np.int64)  # fmt: skip
        parallel = units > 1 and n >= settings.parallel_threshold
        if n == 0:
            return lambda _: (0, None), lambda _mask, _parts, _out: None
        tally = self.kernel(write_masks, masks.count, parallel=parallel)
        write = self.kernel(write_masks, masks.places, parallel=parallel)

        def count(buffer: NDArray[Any]) -> tuple[int, NDArray[np.int64]]:
            counts = np.empty(units, np.int64)
            tally(buffer, counts, numbers)
            starts = np.cumsum(counts)
            return int(starts[-1]), starts - counts

        return count, lambda buffer, starts, out: write(buffer, starts, out, numbers)


def write_masks(template: Callable[..., Any], parallel: bool) -> Launch:
    """Write, compile and import one of the two loops."""
    arrays = [array_type(bool_), array_type(int64)] + [array_type(int64)] * (template is masks.places)
    mode = "parallel" if parallel else "serial"
    text = write_kernel(
        f"{template.__name__} of what holds, {mode}.",
        template,
        operands=(bool_,),
        out=int64,
        compute=int64.compute,
        parallel=parallel,
        signature=f"void({', '.join(arrays)}, int64[::1])",
    )
    launch: Launch = load(f"mask_{template.__name__}_{mode[:3]}", text).kernel
    return launch
