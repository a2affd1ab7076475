"""Turns of threads: one at a time records or runs programs, and none records while another one runs functions eagerly.

Programs share their tables of addresses, and during a recording, the tensors of its function refer to twins.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from minigrad.config import in_forked_children
from minigrad.jitting.program import recording

PATIENCE = 0.1  # seconds for which a recording waits for threads that run functions eagerly


class Turn:
    """The turn of a thread.

    lock: the lock that a thread holds while it records a function, or runs a program that could be interrupted.  A
    forked child has a new one.
    recording: the number of functions that the holder of the lock records, while tensors refer to twins.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.recording = 0


turn = Turn()
_eager: dict[int, int] = {}  # maps the id of a thread to the number of functions that it runs eagerly


@in_forked_children
def _after_fork_in_child() -> None:
    # Another thread, which does not exist in this process, may hold the old lock or be recording.
    turn.lock = threading.RLock()
    if recording.program is None:
        turn.recording = 0
    for thread in _eager.keys() - {threading.get_ident()}:
        del _eager[thread]


def eagerly(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function itself, but not while another thread records a function: both may use the same tensors."""
    me = threading.get_ident()
    with turn.lock:
        _eager[me] = _eager.get(me, 0) + 1
    try:
        return function(*args, **kwargs)
    finally:
        _eager[me] -= 1
        if not _eager[me]:
            del _eager[me]


def sole_caller() -> bool:
    """Wait until no other thread runs a function eagerly; return False if one still does after PATIENCE seconds."""
    me, end = threading.get_ident(), time.monotonic() + PATIENCE
    while any(thread != me for thread in list(_eager)):
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True
