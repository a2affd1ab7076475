"""A progress bar from tqdm that also works on terminals that do not report their size."""

from __future__ import annotations

import os
import sys
from typing import Any

from minigrad.kernels.notice import watched


def progress(*steps: Any, **words: Any) -> Any:
    """Return a tqdm bar on stderr; it is disabled if nobody can watch it.

    The arguments are those of tqdm.  In a file or a pipe, every update would stay.  The terminal of a container may
    report 0 columns and 0 lines, for which tqdm draws nothing; 80 columns and 24 lines are assumed then.
    """
    from tqdm import tqdm

    try:
        known = all(os.get_terminal_size(sys.stderr.fileno()))
    except (AttributeError, OSError, ValueError):  # stderr is missing or is not a terminal
        known = True
    size: dict[str, Any] = {"dynamic_ncols": True} if known else {"ncols": 80, "nrows": 24}
    return tqdm(*steps, **size, disable=not watched(), **words)
