"""`inference_mode`: nothing is recorded, and what is computed stays out of graphs for good.

Results made in such a block lie in storages of a class of their own, which have no version that a record could keep.
An observer makes them so: while a block is open anywhere, it is told of every allocation and looks whether its thread
is in a block.  Outside of such blocks nothing looks.
"""

from __future__ import annotations

from contextvars import ContextVar
from types import TracebackType
from typing import Any

from minigrad.core.storage import Storage
from minigrad.errors import GradientError
from minigrad.runtime.observers import Observer, attach, detach
from minigrad.runtime.recording import F, Switched, decorated, end_one, mode


class _Blocks:
    """depth: of how many blocks this thread or task is inside."""

    depth: Any = property(lambda self: _depth.get(), lambda self, value: _depth.set(value))  # type: ignore[arg-type]


_depth: ContextVar[int] = ContextVar("depth", default=0)


_blocks = _Blocks()
_version: Any = vars(Storage)["version"]  # the slot


class InferenceStorage(Storage):
    """Memory of a result that was computed under inference_mode."""

    __slots__ = ()

    @property
    def version(self) -> int:
        """The count of writes.  Raises GradientError where a record, or a write that a record might miss, asks."""
        if mode.enabled and not _blocks.depth:
            raise GradientError(
                "inference_mode: a tensor that was computed under mg.inference_mode() is used by an op that is "
                "recorded, or written to where ops are; clone() it first, or compute it under mg.no_grad()"
            )
        return int(_version.__get__(self))

    @version.setter
    def version(self, value: int) -> None:
        _version.__set__(self, value)

    def __repr__(self) -> str:
        return f"InferenceStorage({self.numel} x {self.dtype}, device={self.device})"


class Marking(Observer):
    """Gives storages that are allocated in a block their class."""

    def allocated(self, storage: Storage) -> None:
        if _blocks.depth:
            storage.__class__ = InferenceStorage


_marking = Marking()


class inference_mode:
    """Record nothing in this block, or in the decorated function, and keep what it computes out of every graph.

    As `no_grad`, and stricter: a result that was computed here cannot be saved by an op that is recorded later, nor
    written to where ops are recorded; that raises GradientError.  clone() gives a tensor without the mark.  Views of
    tensors from outside are no new results.  mode=False opens a block in which nothing is different.

    Example:
        >>> import minigrad as mg
        >>> w = mg.Var([1.0, 2.0])
        >>> with mg.inference_mode():
        ...     y = w * 2.0
        >>> y.requires_grad, y.is_inference()
        (False, True)
    """

    def __init__(self, mode: bool = True) -> None:
        self.on = bool(mode)
        self.begun: list[Switched] = []

    def __enter__(self) -> None:
        if self.on:
            attach(_marking)
            self.begun.append(Switched(False))
            _blocks.depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.on:
            end_one(self.begun, "inference_mode")
            detach(_marking)
            _blocks.depth -= 1

    def __call__(self, function: F) -> F:
        return decorated(function, lambda: inference_mode(self.on))


def is_inference_mode_enabled() -> bool:
    """Whether this thread or task is in such a block."""
    return bool(_blocks.depth > 0)
