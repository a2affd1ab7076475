"""PyTorch's memory formats: row-major, or with the channels (dim 1) innermost in memory.

Results are row-major unless a call specifies another format.  `clone`, `contiguous`, `to` and its short forms can do
so.  Here `preserve_format` also results in a row-major copy.
"""

from __future__ import annotations

from minigrad.errors import ArgumentError


class MemoryFormat:
    """The order of the elements in memory."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"mg.{self.name}"


contiguous_format, preserve_format = MemoryFormat("contiguous_format"), MemoryFormat("preserve_format")
channels_last, channels_last_3d = MemoryFormat("channels_last"), MemoryFormat("channels_last_3d")
CHANNELS_LAST = {channels_last: 4, channels_last_3d: 5}  # the number of dims that each format requires
ROW_MAJOR = (None, contiguous_format, preserve_format)


def expect_format(op: str, value: object) -> None:
    """Raise ArgumentError for a format that is not row-major."""
    if value not in ROW_MAJOR:
        raise ArgumentError(
            f"{op}: expected memory_format=mg.contiguous_format or mg.preserve_format, got {value!r}; "
            f"convert the result with .contiguous(memory_format=...)",
            op=op,
        )
