"""Values that carry a transform: the door in the road for forward mode, batching, tracing and whatever comes.

A `Wrapped` is a Tensor to a user's eyes and has no storage.  The fast lanes know plain tensors only, so a call with one
takes the long road, and `dispatch.apply` hands it to the innermost `Level` among the operands.  A level says what an op
means for its values, mostly by calling ops on what they wrap; plain calls pay nothing for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from minigrad.core.op import Op
from minigrad.errors import GradientError
from minigrad.runtime.graph import ids
from minigrad.runtime.tensor import Tensor, describe


class Level(ABC):
    """One transform at work.  depth: levels that were entered later lie deeper; the deepest is asked first.

    alive: False once the transform has ended; a value that outlives it raises where it is used.
    """

    def __init__(self, depth: int) -> None:
        self.depth, self.alive = depth, True

    @abstractmethod
    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        """What the op gives for operands of which one at least is this level's."""

    @abstractmethod
    def detached(self, x: Any) -> Tensor:
        """A value of this level without history, and without the derivatives that the level carries with it."""


class Wrapped(Tensor):
    """A value of a level.  layout, dtype and device are those that an op sees; there is no memory behind them."""

    __slots__ = ("level",)

    def __init__(self, level: Level, layout: Any, dtype: Any, device: Any) -> None:
        self.id = next(ids)
        self.level, self.layout, self.dtype, self.device = level, layout, dtype, device
        self.op = None

    @property
    def storage(self) -> Any:  # type: ignore[override]
        raise GradientError(
            f"{describe(self)} belongs to a transform and has no elements that could be looked at while it lasts; "
            f"compute with tensors only, as in mg.where, instead of asking for a number"
        )

    def detach(self) -> Tensor:
        """The same values without history: what that is, the level says."""
        return self.level.detached(self)


def level_of(op: Op, operands: tuple[Tensor, ...]) -> Level | None:
    """The deepest level among the operands, or None.  Raises GradientError for a value of one that has ended."""
    found: Level | None = None
    for x in operands:
        if isinstance(x, Wrapped):
            if not x.level.alive:
                raise GradientError(
                    f"{op.label}: {describe(x)} belongs to a transform that has ended; return it from the function "
                    f"that is transformed instead of keeping it",
                    op=op.label,
                )
            if found is None or x.level.depth > found.depth:
                found = x.level
    return found
