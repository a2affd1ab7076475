"""A progress bar from tqdm that also works on terminals that do not report their size."""

from __future__ import annotations

import os
import sys
from typing import Any

from minigrad.kernels.notice import watched


def progress(*steps: Any, **words: Any) -> Any:
    """Return a tqdm progress bar on stderr, which is disabled if stderr is not a terminal.

    The arguments are those of tqdm.  In a file or a pipe, every update would add text.  The terminal of a container may
    report 0 columns and 0 lines, for which tqdm draws nothing; the bar then assumes 80 columns and 24 lines.
    """
    from tqdm import tqdm

    try:
        known = all(os.get_terminal_size(sys.stderr.fileno()))
    except (AttributeError, OSError, ValueError):  # stderr is missing or is not a terminal
        known = True
    size: dict[str, Any] = {"dynamic_ncols": True} if known else {"ncols": 80, "nrows": 24}
    return tqdm(*steps, **size, disable=not watched(), **words)
