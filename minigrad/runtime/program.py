"""A program: the calls that a function made, over numbered slots, and Python text that makes them again.

A `Recorder` is a transform that records the calls on its values.  `compositions.py` records calls without computing
them, for compositions and derivative rules; `autodiff/following.py` computes them, for `linearize` and formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from minigrad.core.code import defined
from minigrad.core.op import Op
from minigrad.runtime.dispatch import run_view, runner
from minigrad.runtime.graph import ids
from minigrad.runtime.planning import CallPlan
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Transform

# The lines that make the tensor of a storage; they take less time than a call of the class.
TENSOR = """\
    t{0} = new(Tensor)
    t{0}.id = next_id()
    t{0}.storage = s{0}
    t{0}.layout = layout{0}
    t{0}.dtype = dtype{0}
    t{0}.device = device{0}
    t{0}.op = t{0}.base = None"""
Slots = list[int]


class Call(NamedTuple):
    """A recorded call: its op and parameters, its plan, and the slots of its operands and results.

    `detach` has no op.  A draw of random numbers has no operands either.  A call that was computed has no plan.
    """

    op: Op | None
    plan: CallPlan | None
    params: dict[str, Any]
    reads: Slots
    writes: Slots


class Program:
    """The calls of a function.  A slot is the index of a value: first the inputs, then constants and results.

    inputs: the number of inputs.  count: the number of slots.
    values: the stored tensors, by slot: the constants, and, if the calls were computed, all other values.
    draws: the functions that draw random numbers, by slot.
    results: the slot of the result; or None, or a tuple of these.
    """

    def __init__(self) -> None:
        self.inputs = self.count = 0
        self.calls: list[Call] = []
        self.values: dict[int, Tensor] = {}
        self.draws: dict[int, Callable[[], Tensor]] = {}
        self.results: Any = None

    def new(self, value: Tensor | None = None) -> int:
        """Return a new slot; value: its tensor, if the program stores it."""
        if value is not None:
            self.values[self.count] = value
        self.count += 1
        return self.count - 1


class Recorder(Transform):
    """A transform that records the calls on its values in a program."""

    def __init__(self) -> None:
        super().__init__()
        self.program = Program()

    def record(self, call: Call) -> None:
        """Add a call to the program."""
        self.program.calls.append(call)

    def owns(self, x: Any) -> bool:
        """Return whether x is a value of this transform, with the attribute `slot`."""
        return getattr(x, "transform", None) is self


# ---- from the calls to a function -----------------------------------------------------------------------------------


def emit(program: Program, nodes: bool = False) -> Callable[..., Any]:
    """Return a function of the inputs that makes the calls of a program and returns its results.

    nodes: whether calls are recorded for a backward pass, as they are in the original function.  Otherwise the function
    only launches: values that are not results are storages, and views take no time.
    """
    return Text(program, nodes).function()


def is_part(plan: CallPlan) -> bool:
    """Return whether a plan makes a view with another dtype, whose storage is not that of its operand."""
    return plan.launch is None and plan.dtype is not plan.specs[0].dtype


class Text:
    """The text of a function that makes the calls of a program.

    lines: the lines of the function, from the last to the first.  bound: the objects that they name.
    views: for each view that a launch does not need as a tensor, the slot whose storage it shares.
    tensors: the slots whose values are tensors; the others are storages.
    alive: the slots that the lines read which are already written.
    """

    def __init__(self, program: Program, nodes: bool) -> None:
        self.program = program
        self.bound: dict[str, Any] = {"__name__": __name__, "run_view": run_view, "Tensor": Tensor}
        self.bound |= {"new": Tensor.__new__, "next_id": ids.__next__}
        self.bound |= {f"c{slot}": x for slot, x in program.values.items()}
        self.bound |= {f"draw{slot}": draw for slot, draw in program.draws.items()}
        self.alive: set[int] = set()
        self.lines: list[str] = [f"    return {self.shown(program.results)}"]
        self.views: dict[int, int] = {}
        self.tensors = set(range(program.count))
        if not nodes:
            self.views = {writes[0]: reads[0] for _, plan, _, reads, writes in program.calls
                          if reads and (plan is None or (plan.launch is None and not is_part(plan)))}  # fmt: skip
            self.tensors = {*self.alive, *program.draws}
            for _, plan, _, reads, writes in program.calls:
                if plan is not None and is_part(plan):
                    self.tensors |= {*reads, *writes}
            for slot in reversed(range(program.count)):
                if slot in self.tensors and slot in self.views:
                    self.tensors.add(self.views[slot])
        for k, call in reversed(list(enumerate(program.calls))):
            if not nodes and call.plan is not None and call.plan.launch is not None:
                self.launch(k, call.plan, [self.origin(slot) for slot in call.reads], call.writes)
            elif call.writes[0] in self.tensors:
                self.run(k, call)

    def name(self, slot: int) -> str:
        program = self.program
        return f"x{slot}" if slot < program.inputs else f"c{slot}" if slot in program.values else f"t{slot}"

    def shown(self, result: Any) -> str:
        """Return the source text of a result: a tensor, None, or a tuple of these."""
        if isinstance(result, tuple):
            parts = "".join([f"{self.shown(part)}, " for part in result])
            if not hasattr(result, "_make"):
                return f"({parts})"
            self.bound["made"] = type(result)
            return f"made({parts})"
        if result is None:
            return "None"
        self.alive.add(result)
        return self.name(result)

    def run(self, k: int, call: Call) -> None:
        """Add the line of a call that makes tensors: with its node, or a view, a detached tensor or random numbers."""
        op, plan, _, reads, writes = call
        self.release([*reads, *writes], "t")
        results = f"t{writes[0]}"
        if op is None or plan is None:
            value = f"{self.name(reads[0])}.detach()" if reads else f"draw{writes[0]}()"
        else:
            several = None if op.result is None else len(writes)
            if several is not None:
                results = "".join([f"t{slot}, " for slot in writes])
            run = run_view if plan.launch is None else runner(len(reads), several)
            self.bound |= {f"op{k}": op, f"plan{k}": plan, f"run{k}": run}
            value = f"run{k}(op{k}, plan{k}, {', '.join([self.name(slot) for slot in reads])})"
        self.lines.append(f"    {results} = {value}")

    def launch(self, k: int, plan: CallPlan, reads: Slots, writes: Slots) -> None:
        """Add the lines of a launch: allocate the results, run, make tensors of results, release operands."""
        self.release([*reads, *writes], "s")
        for slot, out in zip(writes, plan.outs, strict=True):
            if slot in self.tensors:
                self.bound |= {f"layout{slot}": out.layout, f"dtype{slot}": out.dtype, f"device{slot}": plan.device}
                self.lines.append(TENSOR.format(slot))
        arguments = [f"{self.storage(slot)}.buffer" for slot in reads] + [f"s{slot}.buffer" for slot in writes]
        if plan.kernel is not None:
            self.bound[f"numbers{k}"] = plan.numbers
            arguments.append(f"numbers{k}")
        self.bound[f"run{k}"] = plan.kernel or plan.run
        self.lines.append(f"    run{k}({', '.join(arguments)})")
        for slot, make in zip(writes, plan.makes, strict=True):
            self.bound[f"make{slot}"] = make
            self.lines.append(f"    s{slot} = make{slot}()")

    def origin(self, slot: int) -> int:
        """Return the slot whose storage a slot shares."""
        while slot in self.views:
            slot = self.views[slot]
        return slot

    def storage(self, slot: int) -> str:
        """Return the expression for a storage that a call reads."""
        name = self.name(slot)
        return f"s{slot}" if name[0] == "t" and slot not in self.tensors else f"{name}.storage"

    def release(self, used: Slots, kind: str) -> None:
        """Add the line that releases values after their last use; kind: "t" for tensors, "s" for storages."""
        ended = [slot for slot in dict.fromkeys(used) if slot not in self.alive]
        self.alive.update(ended)
        dropped = [slot for slot in ended if self.name(slot) == f"t{slot}" and (slot in self.tensors) is (kind == "t")]
        if dropped:
            self.lines.append(f"    del {', '.join([f'{kind}{slot}' for slot in dropped])}")

    def function(self) -> Callable[..., Any]:
        """Return the function of the lines."""
        self.lines.append(f"def composition({', '.join([f'x{k}' for k in range(self.program.inputs)])}):")
        return defined("composition", "\n".join(reversed(self.lines)), self.bound)
