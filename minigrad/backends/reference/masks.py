"""Masks: counts and positions of true elements, one element at a time."""

from __future__ import annotations

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import INT64, Buffer, read, write
from minigrad.core import requests
from minigrad.core.op import Spec


class Masks(HostMemory):
    """The methods that prepare searches for true elements."""

    @serves(requests.Tally)
    def tally(self, out: Spec, mask: Spec, *, parts: int) -> Loop:
        n = mask.layout.numel
        length = -(-n // parts)

        def launch(buffer: Buffer, z: Buffer) -> None:
            holds = [bool(value) for value in read(buffer, mask, mask.dtype.compute)]
            counts = [sum(holds[: min(n, k * length)]) for k in range(parts + 1)]
            write(z, out, counts, INT64)

        return launch

    @serves(requests.Locate)
    def locate(self, out: Spec, mask: Spec, starts: Spec) -> Loop:
        def launch(buffer: Buffer, _starts: Buffer, z: Buffer) -> None:
            indices = [i for i, value in enumerate(read(buffer, mask, mask.dtype.compute)) if value]
            write(z, out, indices, INT64)

        return launch
