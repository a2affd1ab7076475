"""Masks: what holds, one element at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.backends.host import HostMemory
from minigrad.backends.reference.elements import Buffer, read
from minigrad.core.op import Spec


class Masks(HostMemory):
    """The preparer of searches for what holds."""

    def nonzero(self, mask: Spec) -> tuple[Callable[[Any], tuple[int, Any]], Callable[[Any, Any, Any], None]]:
        def count(buffer: Buffer) -> tuple[int, list[int]]:
            found = [i for i, holds in enumerate(read(buffer, mask, mask.dtype.compute)) if holds]
            return len(found), found

        def write(buffer: Buffer, found: list[int], out: Buffer) -> None:
            out[: len(found)] = found

        return count, write
