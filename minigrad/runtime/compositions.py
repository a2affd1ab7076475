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

from minigrad.core.op import Op
from minigrad.core.plans import keep
from minigrad.errors import unsteady
from minigrad.runtime.ahead import begin
from minigrad.runtime.collecting import Collected, Unsteady
from minigrad.runtime.program import emit
from minigrad.runtime.tensor import Tensor

FAILURES = 50  # calls that cannot be repeated, without a new kind that can, after which an op is not tried again


class Compositions(dict[Any, "Composition"]):
    """The compositions of one op, by the kind of a call.

    steady: whether kinds are looked up; False after many calls that cannot be repeated.
    """

    __slots__ = ("failures", "steady")

    def __init__(self) -> None:
        super().__init__()
        self.failures, self.steady = 0, True

    def __missing__(self, key: Any) -> Composition:
        entry: Composition = keep(self, key, Composition())
        return entry

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
