"""Argsort of rows, by Python's own stable sort."""

from __future__ import annotations

from typing import Any

from minigrad.backends.base import serves
from minigrad.backends.host import HostMemory
from minigrad.backends.launch import Loop
from minigrad.backends.reference.elements import INT64, Buffer, quiet, read, write
from minigrad.backends.reference.rows import rows_of
from minigrad.core import requests
from minigrad.core.op import Spec


class Sorting(HostMemory):
    """The method that prepares argsort."""

    @serves(requests.Sort)
    def argsort(self, out: Spec, a: Spec, *, dim: int, descending: bool) -> Loop:
        def launch(buffer: Buffer, z: Buffer) -> None:
            elements = read(buffer, a, a.dtype.compute)

            def key(value: Any) -> tuple[bool, Any]:
                return (True, 0) if value != value else (False, value)

            results: list[int] = [0] * out.layout.numel
            for row, positions in zip(rows_of(a.shape, dim), rows_of(out.shape, dim), strict=False):
                order = sorted(range(len(row)), key=lambda i, row=row: key(elements[row[i]]), reverse=descending)  # type: ignore[misc]
                for position, i in zip(positions, order, strict=False):
                    results[position] = i
            write(z, out, results, INT64)

        return quiet(launch)
