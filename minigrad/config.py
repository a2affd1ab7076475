"""Settings of the user: thresholds, folders, debug switches.

Every value starts from an environment variable `MINIGRAD_<NAME>`, so that a test run or a job script can set it
without touching code.  `settings` is the one instance; `override` changes it for the length of a `with` block.
Blocks may end in any order, as those of threads, tasks and generators do: the newest that has not ended counts.
`debug` belongs to the thread or task that opened its block; all other settings belong to the process, since call plans,
which all threads share, are made from them.  Nothing else in the package reads the environment.
"""

from __future__ import annotations

import os
import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from minigrad.errors import ArgumentError

# ---- the environment ------------------------------------------------------------------------------------------------

FLAGS = {"": False, "0": False, "false": False, "no": False, "off": False,
         "1": True, "true": True, "yes": True, "on": True}  # fmt: skip


def from_environment(name: str, default: str, read: Callable[[str], Any], expected: str) -> Any:
    """Return the value of an environment variable.  Raises ArgumentError, with its name, for an unreadable text."""
    text = os.environ.get(name, default)
    try:
        return read(text)
    except (ValueError, KeyError):
        raise ArgumentError(f"{name}: expected {expected}, got {text!r}; set it, or unset it for {default!r}") from None


def flag(name: str, default: str) -> bool:
    """Return an environment variable that is on or off."""
    result: bool = from_environment(name, default, lambda text: FLAGS[text.strip().lower()], "0 or 1")
    return result


def count(name: str, default: str, least: int) -> int:
    """Return an environment variable that is an int of at least `least`."""

    def read(text: str) -> int:
        if int(text) < least:
            raise ValueError(text)
        return int(text)

    result: int = from_environment(name, default, read, f"an int of at least {least}")
    return result


def runner(name: str, default: str) -> str:
    """Return an environment variable that names what runs the kernels of CUDA devices."""
    modes = {mode: mode for mode in ("auto", "real", "simulator")} | {"": "auto"}
    result: str = from_environment(name, default, modes.__getitem__, "auto, real or simulator")
    return result


def refuse_free_threading(unlocked: bool) -> None:
    """Raise ImportError for an interpreter without the global lock, on which counts of use and plans rely."""
    if unlocked:
        raise ImportError(
            "minigrad needs a Python with the global interpreter lock, and this one is free-threaded; install the "
            "standard build of the same version"
        )


refuse_free_threading(bool(sysconfig.get_config_var("Py_GIL_DISABLED")))


def _default_cache() -> Path:
    base = os.environ.get("MINIGRAD_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "minigrad"
    )
    return Path(base)


# ---- blocks ---------------------------------------------------------------------------------------------------------


class Block:
    """One block and the value that it sets; active until it ends."""

    __slots__ = ("active", "value")

    def __init__(self, value: Any) -> None:
        self.value, self.active = value, True


class OfProcess:
    """A value that blocks of any thread change, each for its length.  base: the value without any block."""

    def __init__(self, base: Any) -> None:
        self.base = base
        self.changing = threading.RLock()
        self._blocks: tuple[Block, ...] = ()

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Those that may count here, the newest last."""
        return self._blocks

    @blocks.setter
    def blocks(self, blocks: tuple[Block, ...]) -> None:
        self._blocks = blocks

    @property
    def value(self) -> Any:
        """The value of the newest block that has not ended."""
        return next((block.value for block in reversed(self.blocks) if block.active), self.base)

    def assign(self, value: Any) -> None:
        """Change the value until the newest block ends; without a block, for good."""
        newest = next((block for block in reversed(self.blocks) if block.active), None)
        if newest is None:
            self.base = value
        else:
            newest.value = value

    def begin(self, value: Any) -> Block:
        """Begin a block."""
        block = Block(value)
        with self.changing:
            self.blocks = (*[each for each in self.blocks if each.active], block)
        return block

    def end(self, block: Block) -> None:
        """End a block, in whatever order and thread."""
        block.active = False
        with self.changing:
            self.blocks = tuple([each for each in self.blocks if each.active])


class OfContext(OfProcess):
    """A value that blocks change for their own thread or task alone."""

    def __init__(self, base: Any) -> None:
        super().__init__(base)
        self._here: ContextVar[tuple[Block, ...]] = ContextVar("blocks", default=())

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Those that this thread or task is in."""
        return self._here.get()

    @blocks.setter
    def blocks(self, blocks: tuple[Block, ...]) -> None:
        self._here.set(blocks)


# ---- settings -------------------------------------------------------------------------------------------------------


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
    winograd: whether a CPU makes float32 convolutions by 3x3 taps with a quarter of the products and, typically, 3 to 5
        times the rounding error.
    watchers: how many blocks want to see what is recorded.  debugging: whether any thread or task has debug on.
    noting: whether anybody wants to see what is recorded; calls look at this plain slot before they look at more.
    """

    NAMES = (
        "cache_dir", "compile_ahead", "cublas", "cuda", "debug", "deterministic", "parallel_threshold", "plan_limit",
        "short_errors", "winograd",
    )  # fmt: skip
    debugging: bool
    noting: bool
    __slots__ = (
        "_choices", "_debug_blocks", "cache_dir", "compile_ahead", "cublas", "cuda", "debugging", "deterministic",
        "noting", "parallel_threshold", "plan_limit", "short_errors", "watchers", "winograd",
    )  # fmt: skip

    def __init__(self) -> None:
        debug = OfContext(flag("MINIGRAD_DEBUG", "0"))
        self._choices: dict[str, OfProcess] = {"debug": debug}
        self._debug_blocks: tuple[Block, ...] = ()
        self.watchers = 0
        self.parallel_threshold = count("MINIGRAD_PARALLEL_THRESHOLD", "65536", 0)
        self.compile_ahead = flag("MINIGRAD_COMPILE_AHEAD", "1")
        self.cache_dir = _default_cache()
        self.cuda = runner("MINIGRAD_CUDA", "auto")
        self.cublas = flag("MINIGRAD_CUBLAS", "1")
        self.deterministic = flag("MINIGRAD_DETERMINISTIC", "1")
        self.plan_limit = count("MINIGRAD_PLAN_LIMIT", "4096", 1)
        self.short_errors = flag("MINIGRAD_SHORT_ERRORS", "1")
        self.winograd = flag("MINIGRAD_WINOGRAD", "1")
        self._debug_changed()

    @property
    def debug(self) -> bool:
        """Whether debug is on in this thread or task."""
        return bool(self._choices["debug"].value)

    @debug.setter
    def debug(self, value: bool) -> None:
        self._choices["debug"].assign(value)
        self._debug_changed()

    def _debug_changed(self, *begun: Block) -> None:
        choice = self._choices["debug"]
        with choice.changing:
            self._debug_blocks = tuple([block for block in (*self._debug_blocks, *begun) if block.active])
            self.debugging = bool(choice.base) or any(block.value for block in self._debug_blocks)
            for follow in followers:
                follow()

    def __setattr__(self, name: str, value: Any) -> None:
        before = getattr(self, name, value)
        choice = None if name == "debug" or name not in self.NAMES else self._choices.get(name)
        if choice is not None:
            choice.assign(value)
        object.__setattr__(self, name, value)
        if name in ("parallel_threshold", "cublas", "deterministic", "winograd"):
            announce()
        elif name == "cuda" and value != before:
            for change in changers:
                change(name, before, value)
        elif name in ("debugging", "watchers"):
            object.__setattr__(self, "noting", getattr(self, "debugging", False) or self.watchers > 0)

    def begin(self, name: str, value: Any) -> Block:
        """Begin a block in which a setting has this value."""
        if name != "debug" and name not in self._choices:
            self._choices[name] = OfProcess(getattr(self, name))
        block = self._choices[name].begin(value)
        try:
            self._follow(name, block)
        except BaseException:
            self.end(name, block)
            raise
        return block

    def end(self, name: str, block: Block) -> None:
        """End such a block."""
        self._choices[name].end(block)
        self._follow(name)

    def _follow(self, name: str, *begun: Block) -> None:
        if name == "debug":
            self._debug_changed(*begun)
        else:
            setattr(self, name, self._choices[name].value)


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
    """Change settings inside a `with` block; an unknown name raises AttributeError, and nothing has changed."""
    for name in values:
        if name not in Settings.NAMES:
            raise AttributeError(f"override: there is no setting {name!r}; there are {', '.join(Settings.NAMES)}")
    begun: list[tuple[str, Block]] = []
    try:
        for name, value in values.items():
            begun.append((name, settings.begin(name, value)))
        yield settings
    finally:
        for name, block in reversed(begun):
            settings.end(name, block)


def debug(enabled: bool = True) -> Any:
    """Open a `with` block in which every recorded op stores the user's line: errors and pictures then name it.

    It belongs to the thread or task that opens it.  `mg.settings.debug` and MINIGRAD_DEBUG=1 set it for all of them.
    """
    return override(debug=enabled)
