"""The program of a function that runs on placeholders, so that nothing is computed.

`compositions.py` decides which functions are collected, and when.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.core.storage import ConstantStorage
from minigrad.runtime.graph import ids
from minigrad.runtime.operands import CONCRETE
from minigrad.runtime.plans import plan_of
from minigrad.runtime.program import Call, Recorder
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Carrier, stack

SMALL = 4096  # largest number of elements of a tensor that is kept with a composition, which takes 32 kB
KINDS = ("elementwise", "reduction", "view", "kernel")


class Unsteady(Exception):
    """Raised while calls are collected if later calls of the function could differ."""


class Placeholder(Carrier):
    """A tensor without elements, for an operand or for the result of a collected call."""

    __slots__ = ("slot",)
    transform: Collected

    def __init__(self, transform: Collected, layout: Any, dtype: Any, device: Any) -> None:
        self.id, self.slot = next(ids), transform.program.new()
        self.transform, self.layout, self.dtype, self.device = transform, layout, dtype, device
        self.op = self.base = None

    @property
    def storage(self) -> Any:  # type: ignore[override]
        raise Unsteady

    @property
    def requires_grad(self) -> bool:
        tracked = self.transform.tracked
        if tracked is None or (True in tracked and self.slot >= len(tracked)):
            raise Unsteady
        return self.slot < len(tracked) and tracked[self.slot]

    @property
    def is_variable(self) -> bool:  # type: ignore[override]
        raise Unsteady

    def detach(self) -> Tensor:
        return self.transform.detached(self)


# A definition takes the same path for placeholders as for tensors with memory, unlike for values of transforms.
CONCRETE.add(Placeholder)


class Collected(Recorder):
    """Record the calls of a function on placeholders.

    first: an id that is smaller than those of all tensors that the function makes.
    records: whether an operand is tracked and calls are recorded.
    tracked: which operands require a gradient, if calls are recorded; otherwise None.
    draws: whether the function may draw random numbers.
    """

    def __init__(self, operands: Sequence[Tensor], draws: bool = False) -> None:
        super().__init__()
        self.first, self.draws = next(ids), draws
        self.enabled = bool(mode.enabled)
        self.records = self.enabled and True in [x.storage.tracked for x in operands]
        self.tracked = [x.requires_grad for x in operands] if self.enabled else None
        self.inputs = [Placeholder(self, x.layout, x.dtype, x.device) for x in operands]
        self.program.inputs = len(operands)

    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        if op.kind not in KINDS or op.writes or bool(mode.enabled) is not self.enabled:
            raise Unsteady
        reads = [self.slot_of(x) for x in operands]
        plan = plan_of(op, operands, params)
        results = [Placeholder(self, out.layout, out.dtype, plan.device) for out in plan.outs]
        self.record(Call(op, plan, plan.params, reads, [result.slot for result in results]))
        return results[0] if op.result is None else op.result(*results)

    def slot_of(self, x: Any) -> int:
        """Return the slot of an operand: a placeholder, a constant, or a small tensor that the function has made.

        The function has computed such a tensor without operands, so it is the same in each call.
        """
        if self.owns(x):
            return x.slot
        if x.__class__ is not Tensor or x.op is not None:
            raise Unsteady
        made = x.id > self.first and x.layout.numel <= SMALL
        if not made and x.storage.__class__ is not ConstantStorage:
            raise Unsteady
        return self.program.new(x)

    def slots_of(self, result: Any) -> Any:
        """Return the slots of a result: of a tensor, None, or a tuple of these.  Each call returns its own tensors."""
        if isinstance(result, tuple):
            slots = map(self.slots_of, result)
            return result._make(slots) if hasattr(result, "_make") else tuple(slots)
        if result is not None and not self.owns(result):
            raise Unsteady
        return None if result is None else result.slot

    def collected(self, draw: Any) -> Tensor:
        if not self.draws or len(stack.transforms) > 1:
            raise Unsteady
        result = Placeholder(self, Layout.contiguous(draw.shape), draw.dtype, draw.device)
        self.program.draws[result.slot] = draw.planned()
        self.record(Call(None, None, {}, [], [result.slot]))
        return result

    def drawn_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        raise Unsteady

    def derives(self, x: Any, recorded: bool) -> bool:
        raise Unsteady

    def detached(self, x: Any) -> Tensor:
        result = Placeholder(self, x.layout, x.dtype, x.device)
        self.record(Call(None, None, {}, [x.slot], [result.slot]))
        return result
