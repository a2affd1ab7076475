"""A progress bar: tqdm's, also on terminals that do not report their size."""

from __future__ import annotations

import os
import sys
from typing import Any

from minigrad.kernels.notice import watched


def progress(*steps: Any, **words: Any) -> Any:
    """tqdm's bar on stderr with its arguments, if somebody watches: in a file or a pipe each update would stay.

    A terminal of a container may say that it has 0 columns and 0 lines, where tqdm draws nothing; it is taken for one
    of 80 columns.
    """
    from tqdm import tqdm

    try:
        known = all(os.get_terminal_size(sys.stderr.fileno()))
    except (AttributeError, OSError, ValueError):  # there is no terminal or no stderr
        known = True
    size: dict[str, Any] = {"dynamic_ncols": True} if known else {"ncols": 80, "nrows": 24}
    return tqdm(*steps, **size, disable=not watched(), **words)
