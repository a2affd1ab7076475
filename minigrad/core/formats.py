"""PyTorch's memory formats, of which tensors here have one: elements lie row-major.

Functions take `memory_format=` so that programs need no change; `preserve_format` gives a row-major copy too.
"""

from __future__ import annotations

from minigrad.errors import ArgumentError


class MemoryFormat:
    """The order in which elements lie."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"mg.{self.name}"


contiguous_format, preserve_format = MemoryFormat("contiguous_format"), MemoryFormat("preserve_format")
channels_last, channels_last_3d = MemoryFormat("channels_last"), MemoryFormat("channels_last_3d")
ROW_MAJOR = (None, contiguous_format, preserve_format)


def expect_format(op: str, value: object) -> None:
    """Raise ArgumentError for another order than row-major."""
    if value not in ROW_MAJOR:
        raise ArgumentError(
            f"{op}: expected memory_format=mg.contiguous_format or mg.preserve_format, got {value!r}; elements lie "
            f"row-major here, and x.permute(...) gives another view",
            op=op,
        )
