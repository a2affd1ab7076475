"""The user's settings: thresholds, folders and switches.

The initial value of each setting comes from an environment variable `MINIGRAD_<NAME>`, so that a test run or a job
script needs no change of code.  `settings` is the only instance; `override` changes it inside a `with` block.  Blocks
of threads, tasks and generators may end in any order; the newest block that has not ended applies.  `debug` belongs to
the thread or task that opened its block.  All other settings belong to the process, because call plans, which all
threads share, depend on them.  `environment.py` contains the types of settings and reads the variables.
`assigned` and `in_forked_children` serve other state.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any, get_origin

from minigrad.environment import CacheFolder, Choice, Count, Folder, Setting, Switch, report_unknown


def refuse_free_threading(unlocked: bool) -> None:
    """Raise ImportError for an interpreter without the global lock, on which reference counts and call plans rely."""
    if unlocked:
        raise ImportError(
            "minigrad requires a Python with the global interpreter lock, but this Python is free-threaded; install "
            "the standard build of the same version"
        )


refuse_free_threading("t" in getattr(sys, "abiflags", ""))


# ---- blocks ---------------------------------------------------------------------------------------------------------


class Block:
    """A `with` block and the value that it sets; it is active until it ends."""

    __slots__ = ("active", "value")

    def __init__(self, value: Any) -> None:
        self.value, self.active = value, True


class OfProcess:
    """A value that blocks of any thread change while they are active; `base` is the value without a block."""

    def __init__(self, base: Any) -> None:
        self.base = base
        self.changing = threading.RLock()
        self._blocks: tuple[Block, ...] = ()

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks that may apply, the newest last."""
        return self._blocks

    @blocks.setter
    def blocks(self, blocks: tuple[Block, ...]) -> None:
        self._blocks = blocks

    @property
    def value(self) -> Any:
        """The value of the newest block that has not ended."""
        return next((block.value for block in reversed(self.blocks) if block.active), self.base)

    def assign(self, value: Any) -> None:
        """Change the value until the newest block ends; without a block, permanently."""
        newest = next((block for block in reversed(self.blocks) if block.active), None)
        if newest is None:
            self.base = value
        else:
            newest.value = value

    def begin(self, value: Any) -> Block:
        """Begin a block with this value, and return it."""
        block = Block(value)
        with self.changing:
            self.blocks = (*[each for each in self.blocks if each.active], block)
        return block

    def end(self, block: Block) -> None:
        """End a block; blocks may end in any order and in any thread."""
        block.active = False
        with self.changing:
            self.blocks = tuple([each for each in self.blocks if each.active])


class OfContext(OfProcess):
    """A value that a block changes only for its own thread or task."""

    def __init__(self, base: Any) -> None:
        super().__init__(base)
        self._here: ContextVar[tuple[Block, ...]] = ContextVar("blocks", default=())

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The active blocks of this thread or task, the newest last."""
        return self._here.get()

    @blocks.setter
    def blocks(self, blocks: tuple[Block, ...]) -> None:
        self._here.set(blocks)


# ---- settings -------------------------------------------------------------------------------------------------------


@dataclass(slots=True, init=False, repr=False, eq=False)  # with slots, because they are read faster than a dict
class Settings:
    """Store the settings of this process; `print(mg.settings)` shows each setting with its value and its meaning.

    The annotation of a setting declares its type, its default as a text, its possible values and its meaning.

    `watchers` is the number of open blocks that observe recorded ops.  `debugging` is True if debug is on in any thread
    or task.  `noting` is True if `debugging` is True or `watchers` is not 0; calls of ops first read only `noting`.
    """

    cache_dir: Annotated[Path, CacheFolder("", "folder of the generated kernel modules and of Numba's machine code")]
    compile_ahead: Annotated[bool, Switch("1", "while a kernel is compiled, a helper process on another core compiles "
                                               "those that will be needed next")]  # fmt: skip
    cublas: Annotated[bool, Switch("1", "cuBLAS, where it is installed, multiplies matrices on a CUDA device instead "
                                        "of this package's kernels")]  # fmt: skip
    cuda: Annotated[str, Choice("auto", 'what runs the kernels of CUDA devices: a "real" device, the "simulator", or '
                                        '"auto" for a real one', choices=("auto", "real", "simulator"))]  # fmt: skip
    cuda_graphs: Annotated[bool, Switch("1", "a program of `mg.jit` on a CUDA device is launched as graphs instead of "
                                             "kernel by kernel")]  # fmt: skip
    deterministic: Annotated[bool, Switch("1", "a CUDA device adds floats by index in the same order at each call, "
                                               "which takes longer")]  # fmt: skip
    fill_uninitialized: Annotated[bool, Switch("0", "`empty` and similar functions fill their memory with nan, True or "
                                                    "the largest integer")]  # fmt: skip
    parallel_threshold: Annotated[int, Count("65536", "additions from which a kernel runs on all threads (0: always); "
                                             "an op that calls `exp` counts each element as several")]  # fmt: skip
    plan_limit: Annotated[int, Count("4096", "call plans stored per op; the oldest half is dropped at the limit",
                                     least=1)]  # fmt: skip
    site_cache_dir: Annotated[Path | None, Folder("", "cache folder of an administrator, from which kernels are read "
                                                    "that the user's own cache lacks")]  # fmt: skip
    short_errors: Annotated[bool, Switch("1", "in a notebook, an error of this package shows the user's lines and the "
                                              "line that raised it, and no lines between them")]  # fmt: skip
    winograd: Annotated[bool, Switch("1", "a CPU convolves 32-bit and 16-bit floats with 3x3 taps in a quarter of the "
                                          "products, typically with 3 to 5 times the rounding error")]  # fmt: skip
    debugging: bool
    noting: bool
    watchers: int
    _choices: dict[str, OfProcess]
    _debug_blocks: tuple[Block, ...]

    def __init__(self) -> None:
        debug = OfContext(DECLARED["debug"].from_environment("debug"))
        self._choices = {"debug": debug}
        self._debug_blocks = ()
        self.watchers = 0
        for name, kind in DECLARED.items():
            if name != "debug":
                setattr(self, name, kind.from_environment(name))
        self._debug_changed()

    def __repr__(self) -> str:
        lines = [
            "mg.settings.<name> = value, with mg.override(<name>=value): and MINIGRAD_<NAME>=value set one of these."
        ]
        for name, kind in DECLARED.items():
            meaning = fill(kind.meaning, 100, initial_indent="    ", subsequent_indent="    ")
            lines += [f"{name} = {kind.shown(getattr(self, name))}", meaning]
        return "\n".join(lines)

    @property
    def debug(self) -> Annotated[bool, Switch("0", "record the user's source line with every op, and report a stale "
                                                   "saved value where it goes stale")]:  # fmt: skip
        """Return whether debug mode is on in this thread or task."""
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
        kind = DECLARED.get(name)
        if kind is not None:
            value = kind.accept(name, value)
        elif name not in HINTS:
            raise AttributeError(f"settings: expected one of {', '.join(DECLARED)}, got {name!r}; correct the name")
        before = getattr(self, name, value)
        choice = None if name == "debug" or kind is None else self._choices.get(name)
        if choice is not None:
            choice.assign(value)
        object.__setattr__(self, name, value)
        if name in ("parallel_threshold", "cublas", "cuda_graphs", "deterministic", "fill_uninitialized", "winograd"):
            announce()
        elif name == "cuda" and value != before:
            for change in changers:
                change(name, before, value)
        elif name in ("debugging", "watchers"):
            object.__setattr__(self, "noting", getattr(self, "debugging", False) or self.watchers > 0)

    def begin(self, name: str, value: Any) -> Block:
        """Begin a block in which a setting has this value, and return the block."""
        value = DECLARED[name].accept(name, value)
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
        """End a block that `begin` returned."""
        self._choices[name].end(block)
        self._follow(name)

    def _follow(self, name: str, *begun: Block) -> None:
        if name == "debug":
            self._debug_changed(*begun)
        else:
            setattr(self, name, self._choices[name].value)


# The annotations of this file are evaluated: evaluating texts later would double the time of its import.
HINTS: dict[str, Any] = {**Settings.__annotations__, "debug": vars(Settings)["debug"].fget.__annotations__["return"]}
DECLARED: dict[str, Setting] = {
    name: hint.__metadata__[0] for name, hint in sorted(HINTS.items()) if get_origin(hint) is Annotated
}

# Functions to call when something changes on which call plans depend; `plans.py` then discards its plans.
listeners: list[Callable[[], None]] = []
# Functions to call when another backend serves a kind of device; arguments are the kind, the old and the new setting.
changers: list[Callable[[str, str, str], None]] = []
# Functions to call when debug mode is turned on or off; plans do not change.
followers: list[Callable[[], None]] = []


def announce() -> None:
    """Call the listeners: call plans may be invalid, because a threshold, a default or a backend has changed."""
    for listener in listeners:
        listener()


settings = Settings()
report_unknown(DECLARED)


def in_forked_children(function: Callable[[], Any]) -> Callable[[], Any]:
    """Call a function in each process that is forked from this one, where the system has forks; return the function."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)
    return function


@contextmanager
def assigned(owner: Any, name: str, value: Any) -> "Iterator[None]":
    """Open a block in which an attribute has another value."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def override(**values: Any) -> "Iterator[Settings]":
    """Change settings inside a `with` block.

    values: New values by the names of settings, which `print(mg.settings)` lists.

    Returns (context manager): Context manager that sets the values at the start of the block and restores the old
    values at its end.

    Raises AttributeError if a name is unknown; the settings are not changed.
    Raises ArgumentError if a value is invalid; the settings are not changed.
    """
    for name in values:
        if name not in DECLARED:
            raise AttributeError(f"override: expected one of {', '.join(DECLARED)}, got {name!r}; correct the name")
    begun: list[tuple[str, Block]] = []
    try:
        for name, value in values.items():
            begun.append((name, settings.begin(name, value)))
        yield settings
    finally:
        for name, block in reversed(begun):
            settings.end(name, block)


def debug(enabled: bool = True) -> Any:
    """Open a `with` block in which every recorded op stores the line of user code, for errors and pictures.

    Returns (context manager): Context manager for the thread or task that opens the block. `mg.settings.debug` and
    MINIGRAD_DEBUG=1 change the setting for all threads and tasks.
    """
    return override(debug=enabled)
