"""`inference_mode`: nothing is recorded, and results can never enter a graph.

Results made in such a block have storages of a special class, without a version that a record could save.  An observer
assigns the class: while a block is open in any thread, the observer receives every allocation and checks whether its
own thread is in a block.  Outside such blocks there is no check.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from minigrad.core.storage import Storage
from minigrad.errors import GradientError
from minigrad.runtime.observers import Observer, attach, detach
from minigrad.runtime.recording import F, Switched, decorated, end_one, is_inference_mode_enabled, mode
from minigrad.runtime.tensor import Tensor


class Block(Switched):
    """Store an open block of this mode; on: False for a block in which ops are recorded again."""

    __slots__ = ("on",)

    def __init__(self, on: bool) -> None:
        super().__init__(not on)
        self.on = on


def is_inference(input: Tensor) -> bool:
    """Return whether a tensor was computed under `inference_mode`.

    input: Any tensor.

    Returns: True for a result of the mode that is not a view of a tensor from outside.
    """
    return isinstance(input.storage, InferenceStorage)


_version: Any = vars(Storage)["version"]  # the descriptor of the slot `version` of the base class


class InferenceStorage(Storage):
    """Memory of a result that was computed under inference_mode."""

    __slots__ = ()

    @property
    def version(self) -> int:
        """The count of writes.

        Reading it raises GradientError for a record, or for a write that a record might miss.
        """
        if mode.enabled and not is_inference_mode_enabled():
            raise GradientError(
                "inference_mode: a tensor that was computed under mg.inference_mode() cannot be an operand of a "
                "recorded op or be written in place outside this mode; pass x.clone(), or use mg.no_grad() instead"
            )
        return int(_version.__get__(self))

    @version.setter
    def version(self, value: int) -> None:
        _version.__set__(self, value)

    def __repr__(self) -> str:
        return f"InferenceStorage({self.numel} x {self.dtype}, device={self.device})"


class Marking(Observer):
    """Observer that assigns the class InferenceStorage to storages that are allocated in a block."""

    def allocated(self, storage: Storage) -> None:
        if is_inference_mode_enabled():
            storage.__class__ = InferenceStorage


_marking = Marking()


class inference_mode:
    """Record nothing in this block, or in the decorated function, and exclude its results from every graph.

    This mode is stricter than `no_grad`.  GradientError is raised if an op that is recorded later saves a result of the
    block, or if a result of the block is written in place outside it while ops are recorded.  `clone()` returns a
    tensor without this restriction.  In the block, a view of a tensor from outside does not have this restriction.
    `mode=False` opens a block in which ops are recorded as usual, also inside a block of this mode or of `no_grad`.

    Example:
        >>> w = mg.Var([1.0, 2.0])
        >>> with mg.inference_mode():
        ...     y = w * 2.0
        >>> y.requires_grad, y.is_inference()
        (False, True)
    """

    def __new__(cls, mode: Any = True) -> Any:
        return cls()(mode) if callable(mode) else object.__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        self.on = bool(mode)
        self.begun: list[Switched] = []

    def __enter__(self) -> None:
        if self.on:
            attach(_marking)
        self.begun.append(Block(self.on))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end_one(self.begun, "inference_mode")
        if self.on:
            detach(_marking)

    def __call__(self, function: F) -> F:
        return decorated(function, lambda: inference_mode(self.on))
