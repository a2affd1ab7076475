"""The program of a function that runs on tensors: its calls are computed, and all their values are stored."""

from __future__ import annotations

from typing import Any

from minigrad.autodiff.replacing import alike
from minigrad.core.op import Op
from minigrad.runtime.dispatch import apply
from minigrad.runtime.program import Call, Recorder
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer


class Followed(Tracer):
    """A value of `Following`: its tensor outside the transform, and its slot in the program."""

    __slots__ = ("slot", "value")
    transform: Following

    def __init__(self, transform: Following, value: Tensor) -> None:
        super().__init__(transform, value.layout, value.dtype, value.device)
        self.value, self.slot = value, transform.program.new(value)


class Following(Recorder):
    """Compute and record the calls of a function in which a float result may be followed further."""

    inside: str | None = "value"
    floats = True  # whether only results that are floats are followed; others are constants of later calls

    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        inner = tuple([self.elements(x) for x in operands])
        result = apply(op, inner, params)
        results = (result,) if op.result is None else tuple(result)
        follows = [y.dtype.is_inexact or not self.floats for y in results]
        if True not in follows:
            return result
        reads = [x.slot if self.owns(x) else self.program.new(y) for x, y in zip(operands, inner)]  # type: ignore[attr-defined]
        followed = [Followed(self, y) for y in results]
        self.record(Call(op, None, params, reads, [y.slot for y in followed]))
        values = [y if follow else y.value for y, follow in zip(followed, follows)]
        return values[0] if op.result is None else op.result(*values)

    def detached(self, x: Followed) -> Tensor:
        return x.value.detach()

    def elements(self, x: Any) -> Tensor:
        return x.value if self.owns(x) else alike(x)
