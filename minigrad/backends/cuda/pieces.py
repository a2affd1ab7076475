"""Device memory for tensors: counted, and small pieces of it kept for reuse.

A request of the driver's pool takes 1.9 us, a fifth of the time of a small op (H100); a kept piece takes less.  It may
be used again at once because all work goes to one stream, in which the next user comes after the last.  From the first
other stream on, the pool orders memory, and nothing is kept here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

UNIT = 512  # bytes that the driver's pool rounds to
SMALL = 1 << 20  # bytes of the largest piece that is kept: what is larger runs for longer than the pool takes


class Piece:
    """Some bytes; they go back with the last reference to it."""

    __slots__ = ("address", "memory", "pieces", "size")

    def __init__(self, pieces: Pieces, size: int, memory: Any, address: int) -> None:
        self.pieces, self.size, self.memory, self.address = pieces, size, memory, address

    # The default is bound here because globals may be gone when the last tensors die at interpreter shutdown.
    def __del__(self, small: int = SMALL) -> None:
        pieces, size = self.pieces, self.size
        pieces.allocated -= size
        if size <= small and pieces.keeps:
            same = pieces.kept.get(size)
            if same is None:
                pieces.kept[size] = [(self.memory, self.address)]
            else:
                same.append((self.memory, self.address))


class Pieces:
    """The memory of one device.

    request: what returns so many bytes of the pool, which go back with the last reference.  allocated, peak: bytes in
    use, and the most of them.  kept: pieces by size.  keeps: whether there is one stream only.
    """

    def __init__(self, request: Callable[[int], Any]) -> None:
        self.request = request
        self.allocated = self.peak = 0
        self.kept: dict[int, list[tuple[Any, int]]] = {}
        self.keeps = True

    def take(self, nbytes: int) -> Piece:
        """Memory for so many bytes; whatever `request` raises where there is none."""
        size = (nbytes + UNIT - 1) // UNIT * UNIT or UNIT
        try:
            memory, address = self.kept[size].pop()
        except (KeyError, IndexError):
            memory = self.request(size)
            address = int(memory.handle)
        allocated = self.allocated + size
        self.allocated = allocated
        if allocated > self.peak:
            self.peak = allocated
        return Piece(self, size, memory, address)

    def release(self) -> None:
        """Give back to the pool what is kept."""
        self.kept.clear()

    def share(self) -> None:
        """There is another stream from now on."""
        self.keeps = False
        self.release()
