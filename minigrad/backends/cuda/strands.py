"""Threads of a block that wait for each other: functions that can be left in the middle and taken up again.

One runs at a time.  Where greenlet is installed, a switch costs half a microsecond; else each is a thread of the system
that waits for its turn.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

try:
    import greenlet
except ImportError:
    greenlet = None


class GreenStrand:
    """A function on a greenlet."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.home = greenlet.getcurrent()
        self.green = greenlet.greenlet(function)

    def resume(self) -> bool:
        """Run on until it waits or ends; whether it has ended.  Raises what it raises."""
        self.green.switch()
        return bool(self.green.dead)

    def wait(self) -> None:
        """Called by the function: go back to whoever resumed it."""
        self.home.switch()

    def end(self) -> None:
        """Leave a function that waits."""
        if self.green and not self.green.dead:
            self.green.throw(greenlet.GreenletExit)


class Left(BaseException):
    """Ends a function that nobody takes up again."""


class ThreadStrand:
    """A function on a thread of the system, which runs only while it is resumed."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.function = function
        self.turn, self.back = threading.Semaphore(0), threading.Semaphore(0)
        self.thread: threading.Thread | None = None
        self.error: BaseException | None = None
        self.dead = self.left = False

    def run(self) -> None:
        try:
            self.function()
        except Left:
            pass
        except BaseException as error:  # handed to whoever resumed it
            self.error = error
        self.dead = True
        self.back.release()

    def resume(self) -> bool:
        if self.thread is None:
            # In a copy of the context: NumPy keeps there which warnings are wanted.
            self.thread = threading.Thread(target=copy_context().run, args=(self.run,), daemon=True)
            self.thread.start()
        else:
            self.turn.release()
        self.back.acquire()
        if self.error is not None:
            raise self.error
        return self.dead

    def wait(self) -> None:
        self.back.release()
        self.turn.acquire()
        if self.left:
            raise Left

    def end(self) -> None:
        if self.thread is not None and not self.dead:
            self.left = True
            self.turn.release()
            self.back.acquire()


def strand(function: Callable[[], None]) -> Any:
    """A function that can wait."""
    return ThreadStrand(function) if greenlet is None else GreenStrand(function)
