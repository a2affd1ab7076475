"""Filling: constants, ranges and random numbers, one element at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import Buffer, positions, quiet, write
from minigrad.backends.reference.scalars import compute_type
from minigrad.core import requests
from minigrad.core.dtype import int64
from minigrad.core.op import Spec
from minigrad.kernels import philox


class Filling(HostMemory):
    """The methods that prepare constants, ranges and random numbers."""

    @serves(requests.Fill)
    def fill(self, out: Spec, a: Spec) -> Loop:
        def launch(x: Buffer, z: Buffer) -> None:
            z[positions(out.layout)] = x[a.layout.offset]

        return launch

    @serves(requests.Arange)
    def arange(self, out: Spec, start: Spec, step: Spec) -> Loop:
        compute = np.dtype(np.float64 if out.dtype.is_float else np.int64)
        number = compute_type(compute)

        def launch(x: Buffer, y: Buffer, z: Buffer) -> None:
            first, by = number(x[start.layout.offset].item()), number(y[step.layout.offset].item())
            write(z, out, [first + number(i) * by for i in range(out.layout.numel)], compute)

        return quiet(launch)

    @serves(requests.Random)
    def random(self, out: Spec, state: Spec, limits: Spec, *, kind: str) -> Loop:
        dtype, n = out.dtype, out.layout.numel
        values, per = philox.value_function(kind, dtype), philox.per_block(kind, dtype)
        compute = int64.compute if kind == "integer" else dtype.compute
        seen = np.uint64 if kind == "integer" else compute
        low32, half, zero = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(0)

        def launch(s: Buffer, x: Buffer, z: Buffer) -> None:
            key, counter = (int(word) for word in s[state.layout.offset : state.layout.offset + 2])
            between = x[limits.layout.offset : limits.layout.offset + 3].view(seen)
            numbers: list[Any] = []
            for block in range(philox.blocks(kind, dtype, n)):
                position = np.uint64((counter + block) & philox.MASK64)
                words = philox.philox(np.uint64(key & philox.MASK64), position & low32, position >> half, zero, zero)
                numbers += values(*words, *between)[: n - block * per]
            write(z, out, numbers, compute)

        return quiet(launch)
