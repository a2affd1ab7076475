"""Masks on the CPU: stretches of positions, counted, then written, on all threads.

The loops are in `kernels/cpu/masks.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.base import Launch, serves
from minigrad.backends.cpu.family import Family, bind, nothing
from minigrad.config import settings
from minigrad.core import requests
from minigrad.core.dtype import bool_, int64
from minigrad.core.layout import merge
from minigrad.core.op import Spec
from minigrad.kernels.cpu import masks
from minigrad.kernels.specialize import array_type, write_kernel
from minigrad.kernels.store import load


class Masks(Family):
    """The preparers of searches for what holds."""

    @serves(requests.Tally)
    def tally(self, out: Spec, mask: Spec, *, parts: int) -> Launch:
        if mask.layout.numel == 0:
            return lambda _mask, found: found[: parts + 1].fill(0)
        numbers, parallel = stretches(mask, parts)
        kernel = self.kernel(write_masks, masks.count, parallel=parallel)

        def launch(buffer: NDArray[Any], found: NDArray[np.int64]) -> None:
            counts = found[1 : parts + 1]
            kernel(buffer, counts, numbers)
            found[0] = 0
            np.cumsum(counts, out=counts)

        return launch

    @serves(requests.Locate)
    def locate(self, out: Spec, mask: Spec, starts: Spec) -> Launch:
        if out.layout.numel == 0:
            return nothing
        numbers, parallel = stretches(mask, starts.layout.numel - 1)
        return bind(self.kernel(write_masks, masks.places, parallel=parallel), numbers, 2)


def stretches(mask: Spec, parts: int) -> tuple[NDArray[np.int64], bool]:
    """What the loops over equal parts of a mask read, and whether threads share them."""
    n = mask.layout.numel
    dims, (steps,) = merge([mask.layout])
    cols, step = (dims[-1], steps[-1]) if dims else (1, 1)
    numbers = [n, -(-n // parts), parts, cols, max(len(dims) - 1, 0), *dims[:-1], mask.layout.offset, step, *steps[:-1]]
    return np.array(numbers, np.int64), parts > 1 and n >= settings.parallel_threshold


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
