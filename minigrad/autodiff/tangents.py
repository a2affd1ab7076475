"""One call of an op with tangents, and the checks of the tangents of its results.

`forward.py` computes the tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from minigrad.autodiff.watching import versions
from minigrad.core.op import Op, Rule
from minigrad.core.shape import broadcast_shapes
from minigrad.errors import DeviceError, DTypeError, GradientError, MinigradError, ShapeError, StorageError
from minigrad.ops.casting import cast_to
from minigrad.ops.indexing.gathering import zeros_of
from minigrad.ops.pointwise.arithmetic import add
from minigrad.ops.shape.views import expand
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer

Tangents = Sequence[Tensor | None]


@dataclass(slots=True)  # not frozen, since creating a frozen object takes three times as long
class TangentCall:
    """One call of an op: operands with their tangents, and results. params: the canonical parameters, by name."""

    op: Op
    params: dict[str, Any]
    primals: tuple[Tensor, ...]
    tangents: tuple[Tensor | None, ...]
    results: tuple[Tensor, ...]

    def fact(self, name: str, operand: int) -> Any:
        """Return a parameter or a static fact by its name in a rule: `dim`, `in_shape`, `a_dtype`, `y_shape` ..."""
        if name in self.params:
            return self.params[name]
        if name == "position":
            return operand
        if name == "in_shapes":
            return tuple(x.shape for x in self.primals)
        owner, _, what = name.rpartition("_")
        if owner in self.op.outputs:
            return getattr(self.results[self.op.outputs.index(owner)], what)
        return getattr(self.primals[0 if owner == "in" else self.op.operands.index(owner)], what)

    def facts(self, names: Iterable[str], operand: int = 0) -> dict[str, Any]:
        """Return several parameters and static facts, by name."""
        return {name: self.fact(name, operand) for name in names}

    def value(self, name: str) -> Tensor:
        """Return an operand or a result by its name in the arguments of rules."""
        if name in self.op.outputs:
            return self.result(self.op.outputs.index(name))
        return self.primal(self.op.operands.index(name))

    def primal(self, k: int) -> Tensor:
        """Return operand k to read its elements; `primals` has its shape and dtype."""
        return self.primals[k]

    def result(self, k: int) -> Tensor:
        """Return result k to read its elements."""
        return self.results[k]

    def without_history(self) -> TangentCall:
        """Return the same call on values that do not require a gradient."""
        primals, results = [x.detach() for x in self.primals], [y.detach() for y in self.results]
        return replace(self, primals=tuple(primals), results=tuple(results))

    def tangent(self, k: int) -> Tensor:
        """Return the tangent of operand k, or zeros that share the memory of one element if it has none."""
        tangent = self.tangents[k]
        return zeros_of(self.primals[k].shape, self.primals[k]) if tangent is None else tangent

    def wanted(self, kind: str, k: int) -> Tensor:
        """Return the value of an argument of a JVP rule: see `Jvp.wants`."""
        return self.tangent(k) if kind == "tangent" else self.primal(k) if kind == "value" else self.result(k)

    def rule(self, k: int) -> Rule:
        """Return the derivative rule of operand k. Raise GradientError if it has none."""
        rule = self.op.rules[0 if self.op.variadic else k]
        if rule is None:
            raise GradientError(
                f"{self.op.label}: this op is not differentiable with respect to its operand {self.op.operands[k]!r}, "
                "so it has no tangent; pass x.detach() for this operand if no derivative is needed"
            )
        return rule


@dataclass
class StoredCall(TangentCall):
    """A call whose tangents are pushed later: reading a value that was written in the meantime raises an error.

    versions: the versions of the primals and the results when the call was made.
    name: the name of the function, for messages.
    """

    versions: Sequence[int | None]
    name: str

    def primal(self, k: int) -> Tensor:
        return self.unwritten(k, self.primals[k], lambda: f"operand {self.op.value_name(k)!r}")

    def result(self, k: int) -> Tensor:
        return self.unwritten(len(self.primals) + k, self.results[k], lambda: f"result {self.op.value_name(-1 - k)!r}")

    def unwritten(self, at: int, x: Tensor, named: Callable[[], str]) -> Tensor:
        """Return a value.  Raise StorageError if it was written after the call."""
        (now,), then = versions([x]), self.versions[at]
        if now != then:
            before, after = ("", "") if isinstance(x, Tracer) else (f", at version {then}", f" and is at version {now}")
            raise StorageError(
                f"{self.name}: {self.op.label} saved its {named()}, {describe(x)}{before}, but this tensor was "
                f"changed in place since{after}; clone() the tensor before the change"
            )
        return x


def as_parts(call: TangentCall, result: Any) -> Tangents:
    """Return the results of a rule or an op as a tuple.  Raise GradientError unless there is one per result."""
    parts = (result,) if call.op.result is None else result
    if not isinstance(parts, tuple) or len(parts) != len(call.results):
        got = f"{len(parts)} tangents" if isinstance(parts, tuple) else describe(parts)
        raise GradientError(
            f"{call.op.label}: the JVP rule must return a tuple of {len(call.results)} tangents, one per result, got "
            f"{got}; return one tangent per result"
        )
    return parts


def as_result(call: TangentCall, part: Any, y: Tensor) -> Tensor | None:
    """Return a contribution, broadcast to a result and in its dtype; None for a result that is not a float.

    Raises GradientError, ShapeError or DeviceError for a value that is not a tangent of the result.
    """
    if part is None or not y.dtype.is_inexact:
        return None
    error: type[MinigradError] | None = None
    if not isinstance(part, Tensor) or not part.dtype.is_inexact:
        error = GradientError
    elif part.device is not y.device:
        error = DeviceError
    elif not stretches(part.shape, y.shape):
        error = ShapeError
    if error is not None:
        where = f" on {part.device}" if error is DeviceError else ""
        raise error(
            f"{call.op.label}: the JVP rule must return a tangent with the shape, dtype and device of the result "
            f"{describe(y)}{f' on {y.device}' if where else ''}, got {describe(part)}{where}; reshape, convert or "
            "move the tangent"
        )
    result: Tensor = part if part.shape == y.shape else expand(part, shape=y.shape)
    return result if result.dtype is y.dtype else cast_to(result, y.dtype)


def stretches(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Return whether a shape broadcasts to another shape."""
    try:
        return shape == target or broadcast_shapes("tangent", shape, target) == target
    except ShapeError:
        return False


def plus(total: Tensor | None, part: Tensor | None) -> Tensor | None:
    """Return the sum of two contributions; None counts as zero."""
    if total is None or part is None:
        return part if total is None else total
    return add(total, part)


def check_tangent(call: TangentCall, k: int) -> None:
    """Raise an error unless operand k is a float and its tangent has its shape, dtype and device."""
    x, t = call.primals[k], call.tangents[k]
    assert t is not None
    if not x.dtype.is_inexact:
        raise GradientError(
            f"{call.op.label}: only operands with a floating dtype can have a tangent, got the tangent {describe(t)} "
            f"for {describe(x)}; convert the operand with .to(mg.float32)"
        )
    error = ShapeError if t.shape != x.shape else DTypeError if t.dtype is not x.dtype else None
    if error is not None:
        raise error(
            f"{call.op.label}: the tangent must have the shape and dtype of the operand {describe(x)}, got "
            f"{describe(t)}; return mg.zeros_like(x), for example"
        )
    if t.device is not x.device:
        raise DeviceError(
            f"{call.op.label}: the tangent must be on {x.device} like the operand {describe(x)}, got {describe(t)} on "
            f"{t.device}; move it with .to('{x.device}')"
        )
