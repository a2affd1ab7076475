"""The exchange of a program for its fused form: the helper process compiles, and the first calls do not wait.

A program begins as the list of eager mode's own kernels, which already exist.  If kernels of its fused form are not in
the kernel cache, the helper (`runtime/ahead.py`) compiles them, and a later call switches to the fused form.  Both
forms compute the same bits, so the exchange is not visible.  Without a helper, this process compiles the kernels
itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from minigrad.jitting.fusion import Fusion
from minigrad.jitting.program import Program
from minigrad.kernels.store import Text, is_compiled, without_compiling
from minigrad.runtime import ahead

PAUSE = 0.02  # seconds between two checks of the kernel cache
AGAIN = 30.0  # seconds after which the request to the helper is repeated: it may have ended, or lost a message


class Exchange:
    """The fused form of a program, available when its kernels are compiled.

    stays: see `Fusion`.
    missing: the known kernels that are not in the cache.
    """

    def __init__(self, program: Program, stays: Callable[[int], bool]) -> None:
        self.program, self.stays = program, stays
        self.missing: Sequence[Text] = ()
        self.next = self.asked = 0.0

    def fused(self) -> Fusion | None:
        """Return the fused form if all its kernels are compiled.

        Otherwise request the kernels from the helper and return None.  Without a helper, compile them now.
        """
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
        """Let the helper compile the missing kernels; return False if there is no helper."""
        self.asked = now
        return ahead.compile_texts(self.missing)
