"""What a user may set: thresholds, folders, debug switches.

Every value starts from an environment variable `MINIGRAD_<NAME>`, so that a test run or a job script can set it
without touching code.  `settings` is the one instance; `override` changes it for the length of a `with` block.
Nothing else in the package reads the environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def _default_cache() -> Path:
    base = os.environ.get("MINIGRAD_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "minigrad"
    )
    return Path(base)


class Settings:
    """The switches of this process.

    parallel_threshold: additions from which a kernel runs on all threads (0: always); an op that calls `exp` counts
        each element as several.
    compile_ahead: while a kernel is compiled, a helper process on another core compiles those that will be wanted next.
    cache_dir: folder of the generated kernel modules and of Numba's machine code for them.
    cuda: what runs the kernels of CUDA devices: a "real" device, the "simulator", or "auto" for a real one.
    cublas: whether cuBLAS, where it is installed, multiplies matrices on a CUDA device, not this package's kernels.
    deterministic: whether a CUDA device adds floats by index in the same order at each call, not as they come.
    plan_limit: call plans kept per op; the oldest half goes when it is reached.
    debug: record the user's source line with every op, and report a stale saved value where it goes stale.
    short_errors: in a notebook, an error of this package shows the user's lines and the one that raised, not the way.
    watchers: how many blocks want to see what is recorded.  noting: whether anybody does, debug or one of them.
    """

    noting: bool
    __slots__ = (
        "cache_dir", "compile_ahead", "cublas", "cuda", "debug", "deterministic", "noting", "parallel_threshold",
        "plan_limit", "short_errors", "watchers",
    )  # fmt: skip

    def __init__(self) -> None:
        self.watchers = 0
        self.parallel_threshold = int(os.environ.get("MINIGRAD_PARALLEL_THRESHOLD", "65536"))
        self.compile_ahead = os.environ.get("MINIGRAD_COMPILE_AHEAD", "1") not in ("", "0")
        self.cache_dir = _default_cache()
        self.cuda = os.environ.get("MINIGRAD_CUDA") or "auto"
        self.cublas = os.environ.get("MINIGRAD_CUBLAS", "1") not in ("", "0")
        self.deterministic = os.environ.get("MINIGRAD_DETERMINISTIC", "1") not in ("", "0")
        self.plan_limit = int(os.environ.get("MINIGRAD_PLAN_LIMIT", "4096"))
        self.debug = os.environ.get("MINIGRAD_DEBUG", "0") not in ("", "0")
        self.short_errors = os.environ.get("MINIGRAD_SHORT_ERRORS", "1") not in ("", "0")

    def __setattr__(self, name: str, value: Any) -> None:
        before = getattr(self, name, value)
        object.__setattr__(self, name, value)
        if name in ("parallel_threshold", "cublas", "deterministic"):
            announce()
        elif name == "cuda" and value != before:
            for change in changers:
                change(name, before, value)
        elif name in ("debug", "watchers") and hasattr(self, "debug"):
            object.__setattr__(self, "noting", self.debug or self.watchers > 0)
            if name == "debug":
                for follow in followers:
                    follow()


# Called when something changes that call plans were made from; `plans.py` forgets its plans then.
listeners: list[Callable[[], None]] = []
# Called with the kind of a device for which another backend serves from now on, the setting before and the new one.
changers: list[Callable[[str, str, str], None]] = []
# Called when debug is switched on or off; plans stay as they are.
followers: list[Callable[[], None]] = []


def announce() -> None:
    """Say that plans made so far may be wrong: a threshold, the default float or a backend has changed."""
    for listener in listeners:
        listener()


settings = Settings()


@contextmanager
def override(**values: Any) -> Iterator[Settings]:
    """Change settings inside a `with` block; an unknown name raises AttributeError."""
    before = {name: getattr(settings, name) for name in values}
    for name, value in values.items():
        setattr(settings, name, value)
    try:
        yield settings
    finally:
        for name, value in before.items():
            setattr(settings, name, value)


def debug(enabled: bool = True) -> Any:
    """A `with` block in which every recorded op keeps the user's line: errors and pictures then name it."""
    return override(debug=enabled)
