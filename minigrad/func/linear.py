"""`linearize`: record the calls of a function once, and apply the linear map to any number of tangents."""

from __future__ import annotations

from typing import Any

from minigrad.autodiff.following import Followed, Following
from minigrad.autodiff.forward import checked
from minigrad.autodiff.tangents import StoredCall
from minigrad.autodiff.watching import versions
from minigrad.errors import ArgumentError
from minigrad.func.inputs import Function, Inputs, alike, called, outputs_of, tangents_for
from minigrad.func.trees import unflatten
from minigrad.runtime.program import Call
from minigrad.runtime.tensor import Tensor


class Linearizing(Following):
    """Record the calls of a function, and for each call the versions of its operands and results."""

    def __init__(self) -> None:
        super().__init__()
        self.versions: list[list[int | None]] = []

    def record(self, call: Call) -> None:
        super().record(call)
        self.versions.append(versions([self.program.values[slot] for slot in (*call.reads, *call.writes)]))


class Linearized:
    """The linear map of a function at a point: a call with tangents returns the tangent of the output."""

    def __init__(self, func: Function, inputs: Inputs) -> None:
        self.inputs = inputs
        with Linearizing() as recorder:
            y = func(*inputs.replaced([Followed(recorder, x) for x in inputs.floats]))
        leaves, self.tree = outputs_of("linearize", func, y)
        self.ends = [x.slot if recorder.owns(x) else None for x in leaves]
        self.values = [x.value if recorder.owns(x) else x for x in leaves]
        self.output = unflatten(self.tree, self.values)
        self.program, self.versions = recorder.program, recorder.versions

    def __call__(self, *tangents: Any) -> Any:
        values = self.program.values
        known: list[Tensor | None] = [None] * self.program.count
        directions = tangents_for("linearize", self.inputs, tangents)
        known[: len(directions)] = directions
        for (op, _, params, reads, writes), then in zip(self.program.calls, self.versions):
            moved = tuple([known[slot] for slot in reads])
            if op is not None and any(t is not None for t in moved):
                primals, results = tuple([values[slot] for slot in reads]), tuple([values[slot] for slot in writes])
                moved = checked(StoredCall(op, params, primals, moved, results, then, "linearize"))
                for slot, t in zip(writes, moved):
                    known[slot] = t
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
