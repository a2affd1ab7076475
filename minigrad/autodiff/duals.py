"""Forward mode as a transform: a value with its tangent, pushed through each call by `forward.py`."""

from __future__ import annotations

from typing import Any

from minigrad.autodiff.forward import pushed
from minigrad.autodiff.replacing import ReplacingTransform
from minigrad.autodiff.tangents import TangentCall
from minigrad.core.op import Op
from minigrad.ops.creation import zeros_like
from minigrad.runtime.dispatch import apply
from minigrad.runtime.graph import ids
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer, Transform


class Dual(Tracer):
    """A primal and its tangent, of one shape and dtype; both are values outside the transform."""

    __slots__ = ("primal", "tangent")

    def __init__(self, primal: Tensor, tangent: Tensor, transform: Transform) -> None:
        # Each attribute is set separately, because a call makes many of these objects.
        self.id = next(ids)
        self.transform, self.primal, self.tangent = transform, primal, tangent
        self.layout, self.dtype, self.device = primal.layout, primal.dtype, primal.device
        self.op = self.base = None


class DualTransform(ReplacingTransform):
    """The transform of forward mode.  A value without a tangent, a constant or an integer result, is not wrapped."""

    inside = "primal"

    def replace(self, x: Any, y: Tensor) -> None:
        x.primal, t = self.parts(y)
        x.tangent = zeros_like(x.primal) if t is None else t

    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        primals: list[Tensor] = []
        tangents: list[Tensor | None] = []
        for x in operands:
            if x.__class__ is Dual and x.transform is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
            else:
                primals.append(x)
                tangents.append(None)
        result = apply(op, tuple(primals), params)
        results = (result,) if op.result is None else tuple(result)
        if not any(y.dtype.is_float for y in results):
            return result
        parts = pushed(TangentCall(op, params, tuple(primals), tuple(tangents), results))
        duals = [y if t is None else Dual(y, t, self) for y, t in zip(results, parts)]
        return duals[0] if op.result is None else op.result(*duals)

    def parts(self, y: Any) -> tuple[Tensor, Tensor | None]:
        """Return a result of the function outside the transform, and its tangent, or None if the tangent is zero."""
        return (y.primal, y.tangent) if isinstance(y, Dual) and y.transform is self else (y, None)

    def detached(self, x: Any) -> Tensor:
        result: Tensor = x.primal.detach()
        return result

    def elements(self, x: Any) -> Tensor:
        result: Tensor = x.primal
        return result
