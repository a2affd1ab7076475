"""The exchange of a program for its fused form: the helper process compiles, and the first calls do not wait.

A program begins as the list of eager mode's own kernels, which exist.  If kernels of its fused form are not in the
kernel cache, the helper (`runtime/ahead.py`) compiles them, and a later call takes the fused form.  Both have the same
bits, so nobody sees the exchange.  Without a helper the recording compiles them itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from minigrad.jitting.fusion import Fusion
from minigrad.jitting.program import Program
from minigrad.kernels.store import Text, is_compiled, without_compiling
from minigrad.runtime import ahead

PAUSE = 0.02  # seconds between two looks into the kernel cache
AGAIN = 30.0  # seconds after which the helper is asked once more: it may have ended, or lost a message


class Exchange:
    """The fused form of a program, as soon as its kernels are there.

    stays: see `Fusion`.  missing: the kernels that were not in the cache, as far as they are known.
    """

    def __init__(self, program: Program, stays: Callable[[int], bool]) -> None:
        self.program, self.stays = program, stays
        self.missing: Sequence[Text] = ()
        self.next = self.asked = 0.0

    def fused(self) -> Fusion | None:
        """Return the fused form if all its kernels are there; otherwise None, and the helper is asked for them."""
        now = time.monotonic()
        if now < self.next:
            return None
        self.next = now + PAUSE
        if not all(map(is_compiled, self.missing)):
            if now > self.asked + AGAIN:
                self.ask(now)
            return None
        with without_compiling():
            fusion = Fusion(self.program, self.stays)
        self.missing = fusion.missing
        if not self.missing:
            return fusion
        return None if self.ask(now) else Fusion(self.program, self.stays)

    def ask(self, now: float) -> bool:
        """Let the helper compile what is missing; return False where there is no helper."""
        self.asked = now
        return ahead.compile_texts(self.missing)
