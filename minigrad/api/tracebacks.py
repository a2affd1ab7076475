"""Shorten the tracebacks in a notebook: show the user's frames and the frame that raised, but no others of minigrad.

IPython displays errors, so `install` registers a handler with IPython, if it is running when minigrad is imported.  The
error itself does not change.  `settings.short_errors = False`, or MINIGRAD_SHORT_ERRORS=0, shows all frames.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any

from minigrad.config import settings
from minigrad.errors import MinigradError

PACKAGE = os.path.dirname(os.path.dirname(__file__))  # links are not resolved, as in the file names of frames
OURS = (os.path.join(PACKAGE, ""), "<minigrad ")


def shortened(tb: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this package, except the last frame, which raised the error."""
    frames = []
    while tb is not None:
        if tb.tb_next is None or not tb.tb_frame.f_code.co_filename.startswith(OURS):
            frames.append(tb)
        tb = tb.tb_next
    result: TracebackType | None = None
    for each in reversed(frames):
        result = TracebackType(result, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return result


def show(shell: Any, kind: type[BaseException], error: BaseException, tb: TracebackType, tb_offset: Any = None) -> Any:
    """Display an error with shortened tracebacks, and store it for %debug and %tb; IPython calls this handler."""
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, tb
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    short = settings.short_errors
    before = {each: each.__traceback__ for each in led_to(error)} if short else {}
    try:
        for each, whole in before.items():
            each.__traceback__ = shortened(whole)
        way = shortened(tb) if short else tb
        lines = shell.InteractiveTB.structured_traceback(kind, error, way, tb_offset=tb_offset)
    finally:
        for each, whole in before.items():
            each.__traceback__ = whole
    shell._showtraceback(kind, error, lines)
    return lines


def led_to(error: BaseException) -> list[BaseException]:
    """Return the errors that are shown before this one: the chain of causes and contexts, the nearest first."""
    result: list[BaseException] = []
    here = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    while here is not None and here is not error and here not in result:
        result.append(here)
        here = here.__cause__ or (None if here.__suppress_context__ else here.__context__)
    return result


def install() -> None:
    """Register the handler with IPython, if IPython is running and the user has not set another handler."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is not None and not getattr(shell, "custom_exceptions", ()):
        shell.set_custom_exc((MinigradError,), show)
