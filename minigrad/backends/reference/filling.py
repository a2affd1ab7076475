"""Filling: constants, ranges and random numbers, one element at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import Launch
from minigrad.backends.host import HostMemory
from minigrad.backends.reference.elements import Buffer, places, quiet, write
from minigrad.backends.reference.scalars import compute_type
from minigrad.core.dtype import cast_array, fit_number, int64
from minigrad.core.op import Spec
from minigrad.kernels import philox


class Filling(HostMemory):
    """The preparers of constants, ranges and random numbers."""

    def fill(self, out: Spec) -> Launch:
        def launch(z: Buffer, value: float) -> None:
            z[places(out.layout)] = cast_array(np.asarray(fit_number(value, out.dtype)), out.dtype)

        return launch

    def arange(self, out: Spec) -> Launch:
        compute = np.dtype(np.float64 if out.dtype.is_float else np.int64)
        number = compute_type(compute)

        def launch(z: Buffer, start: float, step: float) -> None:
            first, by = number(start), number(step)
            write(z, out, [first + number(i) * by for i in range(out.layout.numel)], compute)

        return quiet(launch)

    def random(self, kind: str, out: Spec) -> Launch:
        dtype, n = out.dtype, out.layout.numel
        values, per = philox.value_function(kind, dtype), philox.per_block(kind, dtype)
        compute = int64.compute if kind == "integer" else dtype.compute
        low32, half, zero = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(0)

        def launch(z: Buffer, key: int, counter: int, low: float, high: float) -> None:
            limits = philox.limits(kind, dtype, low, high)
            numbers: list[Any] = []
            for block in range(philox.blocks(kind, dtype, n)):
                place = np.uint64((counter + block) & philox.MASK64)
                words = philox.philox(np.uint64(key & philox.MASK64), place & low32, place >> half, zero, zero)
                numbers += values(*words, *limits)[: n - block * per]
            write(z, out, numbers, compute)

        return quiet(launch)
