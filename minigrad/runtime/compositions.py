"""The calls of a function on tensors, collected once and repeated without the function.

A derivative rule, or the definition of a composed op, makes the same calls for all operands of one kind: it depends on
their layouts, dtypes and devices, and not on their values.  The second call of a kind runs the function on
placeholders, which have no elements, and collects its calls as a `Program`.  Later calls run the plans of these
calls, and draw new random numbers.  A function that reads a value, writes or warns is not repeated: `Unsteady` ends the
collection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.backends.registry import backend_of
from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.core.plans import keep
from minigrad.core.storage import ConstantStorage
from minigrad.errors import unsteady
from minigrad.runtime.ahead import begin
from minigrad.runtime.graph import ids
from minigrad.runtime.operands import CONCRETE
from minigrad.runtime.plans import plan_of
from minigrad.runtime.program import Call, Recorder, emit
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Carrier, stack

SMALL = 4096  # largest number of elements of a tensor that is kept with a composition, which takes 32 kB
KINDS = ("elementwise", "reduction", "view", "kernel")
FAILURES = 50  # calls that cannot be repeated, without a new kind that can, after which an op is not tried again


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

        The function has computed such a tensor without operands, so it is the same in each call; while launches are
        recorded, it has no elements yet.
        """
        if self.owns(x):
            return x.slot
        if x.__class__ is not Tensor or x.op is not None:
            raise Unsteady
        made = x.id > self.first and x.layout.numel <= SMALL and not backend_of(x.device).records
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


# ---- which functions are collected, and when ------------------------------------------------------------------------


class Compositions(dict[Any, "Composition"]):
    """The compositions of one op, by the kind of a call.

    steady: whether kinds are looked up; False after many calls that cannot be repeated.
    """

    __slots__ = ("failures", "steady")

    def __init__(self) -> None:
        super().__init__()
        self.failures, self.steady = 0, True

    def __missing__(self, key: Any) -> Composition:
        return keep(self, key, Composition())

    @property
    def plans(self) -> Compositions:
        """Return the compositions, as the plans of their op."""
        return self

    def learn(self, entry: Composition, definition: Callable[..., Any], operands: Sequence[Tensor], named: Any) -> None:
        """Collect the calls of a kind, if this is its second call."""
        entry.learn(definition, operands, named, draws=True)
        if entry.function is not None:
            self.failures = 0

    def fail(self) -> None:
        """Count a call whose calls cannot be repeated."""
        self.failures += 1
        self.steady = self.failures < FAILURES


class Composition:
    """The calls of a function for one kind of operands.

    function: makes the calls; None before they are collected, and if they cannot be repeated.
    draws: whether the function draws random numbers; then it is not called while transforms run, which decide how many
        numbers are drawn.
    waits: the number of calls until the calls are collected; a kind that does not occur again takes no time.
    """

    __slots__ = ("draws", "function", "waits")

    def __init__(self) -> None:
        self.function: Callable[..., Any] | None = None
        self.draws = False
        self.waits = 2

    def begin(self, op: Op, operands: Sequence[Tensor], named: dict[str, Any]) -> None:
        """Report the first call of a kind to the helper that compiles: the call is about to make several plans."""
        if self.waits == 2:
            begin(op, operands, named)

    def learn(
        self, definition: Callable[..., Any], operands: Sequence[Tensor], named: dict[str, Any], draws: bool = False
    ) -> None:
        """Collect the calls of `definition(*operands, **named)`, if this is the second call of this kind.

        draws: whether the caller handles functions that draw random numbers.
        """
        self.waits -= 1
        if self.waits:
            return
        unsteady.error = Unsteady
        try:
            with Collected(operands, draws) as recorder:
                program = recorder.program
                program.results = recorder.slots_of(definition(*recorder.inputs, **named))
                self.draws = bool(program.draws)
                self.function = emit(program, nodes=recorder.records)
        except Exception:  # the function reads a value, for example; errors for users have been raised before
            self.function = None
        finally:
            unsteady.error = None
