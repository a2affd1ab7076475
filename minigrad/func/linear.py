"""`linearize`: record the calls of a function once, and apply the linear map to any number of tangents."""

from __future__ import annotations

from typing import Any

from minigrad.autodiff.forward import checked
from minigrad.autodiff.replacing import alike as apart
from minigrad.autodiff.tangents import Call, KeptCall
from minigrad.autodiff.tracked import NotingTransform
from minigrad.core.op import Op
from minigrad.errors import ArgumentError
from minigrad.func.inputs import Function, Inputs, alike, called, outputs_of, tangents_for
from minigrad.func.trees import unflatten
from minigrad.runtime.dispatch import apply
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer, Transform


class Noted(Tracer):
    """A value that depends on the primals; `spot` is the index of its tangent."""

    __slots__ = ("spot", "value")

    def __init__(self, value: Tensor, spot: int, transform: Transform) -> None:
        super().__init__(transform, value.layout, value.dtype, value.device)
        self.value, self.spot = value, spot


class Noting(NotingTransform):
    """Record the calls of ops in a running function, so that `linearize` can push tangents through them.

    Each entry of `calls` contains an op with its operands and results, the index of the tangent of each operand (or
    None), and the index of the tangent of the first result.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[KeptCall, list[int | None], int]] = []
        self.spots = 0

    def note(self, x: Tensor) -> Noted:
        """Return x as a Noted value with the next spot."""
        self.spots += 1
        return Noted(x, self.spots - 1, self)

    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        spots = [x.spot if isinstance(x, Noted) and x.transform is self else None for x in operands]
        inner = [apart(x) if at is None else x.value for x, at in zip(operands, spots)]  # type: ignore[attr-defined]
        result = apply(op, tuple(inner), params)
        results = (result,) if op.result is None else tuple(result)
        if not any(y.dtype.is_float for y in results):
            return result
        call = Call(op, params, tuple(inner), (None,) * len(inner), results)
        self.calls.append((KeptCall.of("linearize", call), spots, self.spots))
        noted = [self.note(y) for y in results]
        values = [n if y.dtype.is_float else y for n, y in zip(noted, results)]
        return values[0] if op.result is None else op.result(*values)


class Linearized:
    """The linear map of a function at a point: a call with tangents returns the tangent of the output."""

    def __init__(self, func: Function, inputs: Inputs) -> None:
        self.inputs = inputs
        with Noting() as transform:
            y = func(*inputs.replaced([transform.note(x) for x in inputs.floats]))
        leaves, self.tree = outputs_of("linearize", func, y)
        mine = [isinstance(x, Noted) and x.transform is transform for x in leaves]
        self.values = [x.value if own else x for x, own in zip(leaves, mine)]
        self.ends = [x.spot if own else None for x, own in zip(leaves, mine)]
        self.output = unflatten(self.tree, self.values)
        self.calls, self.spots = transform.calls, transform.spots

    def __call__(self, *tangents: Any) -> Any:
        known: list[Tensor | None] = [None] * self.spots
        directions = tangents_for("linearize", self.inputs, tangents)
        known[: len(directions)] = directions
        for call, spots, first in self.calls:
            moved = [None if at is None else known[at] for at in spots]
            if any(t is not None for t in moved):
                known[first : first + len(call.results)] = checked(call.along(moved))
        ends = [None if at is None else known[at] for at in self.ends]
        return unflatten(self.tree, [alike(y) if t is None else t for y, t in zip(self.values, ends)])


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """Return (output, jvp_fn) of func at the primals; jvp_fn(*tangents) returns the tangent of the output.

    func runs once.  The calls of ops in this run are stored with all operands and results, and each call of jvp_fn
    computes the tangents of the stored calls in order.  jvp_fn raises StorageError if it reads a value that was
    overwritten in place after the run.
    """
    if not primals:
        raise ArgumentError(f"linearize: expected primals for {called(func)}; pass its arguments", op="linearize")
    made = Linearized(func, Inputs("linearize", primals, tuple(range(len(primals)))))
    return made.output, made
