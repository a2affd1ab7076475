"""Python functions that a recorded program calls again: steps of optimizers and of schedules.

They read and write Python numbers, such as a learning rate or a count of steps, which launches do not contain.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any

from minigrad.errors import RecordingError


class _Host(threading.local):
    """defer: in a thread that records, a function that receives a step and the tensors it writes; otherwise None."""

    defer: Callable[[Callable[[], Any], Iterable[Any]], None] | None = None


host = _Host()


def hosted(
    step: Callable[..., Any], written: Callable[[Any], Iterable[Any]] = lambda owner: (), objects: bool = False
) -> Callable[..., Any]:
    """Return a method that a recorded program calls again, instead of recording its ops.

    written: returns the tensors that the method writes.
    objects: whether a recorded call may pass arguments, such as a model, which all later calls pass too.
    """

    @functools.wraps(step)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        defer = host.defer
        if defer is None:
            return step(self, *args, **kwargs)
        if (args or kwargs) and not objects:
            raise RecordingError(
                f"jit: {type(self).__name__}.{step.__name__} must be called without arguments in a recorded function; "
                "call it with arguments outside this function"
            )
        return defer(functools.partial(step, self, *args, **kwargs), written(self))

    return run
