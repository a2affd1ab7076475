"""The calls of a function on placeholders, and a function that makes them again.

`compositions.py` decides which functions are collected, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minigrad.core.code import defined
from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.core.storage import ConstantStorage
from minigrad.runtime.dispatch import run_view, runner
from minigrad.runtime.graph import ids
from minigrad.runtime.operands import CONCRETE
from minigrad.runtime.planning import CallPlan
from minigrad.runtime.plans import plan_of
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Carrier, Transform, stack

SMALL = 4096  # largest number of elements of a tensor that is kept with a composition, which takes 32 kB
KINDS = ("elementwise", "reduction", "view", "kernel")
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


class Unsteady(Exception):
    """Raised while calls are collected if later calls of the function could differ."""


class Placeholder(Carrier):
    """A tensor without elements, for an operand or for the result of a collected call."""

    __slots__ = ("slot",)
    transform: Collected

    def __init__(self, calls: Collected, slot: int, layout: Any, dtype: Any, device: Any) -> None:
        self.id = next(ids)
        self.transform, self.slot, self.layout, self.dtype, self.device = calls, slot, layout, dtype, device
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


class Call(NamedTuple):
    """A collected call: its op and plan, and the slots of its operands and results.

    `detach` has no op and no plan.  A draw of random numbers has no operands either.
    """

    op: Op | None
    plan: CallPlan | None
    reads: Slots
    writes: Slots


class Collected(Transform):
    """The calls of a function on placeholders.  A slot is the index of a value: operands, constants and results.

    constants: the tensors among the values that never change, by slot.
    first: an id that is smaller than those of all tensors that the function makes.
    records: whether an operand is tracked and calls are recorded.
    tracked: which operands require a gradient, if calls are recorded; otherwise None.
    draws: the functions that draw random numbers, by slot; None if the function must not draw any.
    """

    def __init__(self, operands: Sequence[Tensor], draws: bool = False) -> None:
        super().__init__()
        self.count, self.first = len(operands), next(ids)
        self.calls: list[Call] = []
        self.constants: dict[int, Tensor] = {}
        self.draws: dict[int, Callable[[], Tensor]] | None = {} if draws else None
        self.enabled = bool(mode.enabled)
        self.records = self.enabled and True in [x.storage.tracked for x in operands]
        self.tracked = [x.requires_grad for x in operands] if self.enabled else None
        self.inputs = [Placeholder(self, k, x.layout, x.dtype, x.device) for k, x in enumerate(operands)]

    def new_slot(self) -> int:
        self.count += 1
        return self.count - 1

    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        if op.kind not in KINDS or op.writes or bool(mode.enabled) is not self.enabled:
            raise Unsteady
        reads = [self.slot_of(x) for x in operands]
        plan = plan_of(op, operands, params)
        results = [Placeholder(self, self.new_slot(), out.layout, out.dtype, plan.device) for out in plan.outs]
        self.calls.append(Call(op, plan, reads, [result.slot for result in results]))
        return results[0] if op.result is None else op.result(*results)

    def slot_of(self, x: Any) -> int:
        """Return the slot of an operand: a placeholder, a constant, or a small tensor that the function has made.

        The function has computed such a tensor without operands, so it is the same in each call.
        """
        if x.__class__ is Placeholder and x.transform is self:
            slot: int = x.slot
            return slot
        if x.__class__ is not Tensor or x.op is not None:
            raise Unsteady
        made = x.id > self.first and x.layout.numel <= SMALL
        if not made and x.storage.__class__ is not ConstantStorage:
            raise Unsteady
        slot = self.new_slot()
        self.constants[slot] = x
        return slot

    def collected(self, draw: Any) -> Tensor:
        if self.draws is None or len(stack.transforms) > 1:
            raise Unsteady
        result = Placeholder(self, self.new_slot(), Layout.contiguous(draw.shape), draw.dtype, draw.device)
        self.draws[result.slot] = draw.planned()
        self.calls.append(Call(None, None, [], [result.slot]))
        return result

    def drawn_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        raise Unsteady

    def derives(self, x: Any, recorded: bool) -> bool:
        raise Unsteady

    def detached(self, x: Any) -> Tensor:
        result = Placeholder(self, self.new_slot(), x.layout, x.dtype, x.device)
        self.calls.append(Call(None, None, [x.slot], [result.slot]))
        return result


# ---- from the calls to a function -----------------------------------------------------------------------------------


class Writer:
    """Write a function that makes collected calls.

    lines: the lines of the function, from the last to the first.  bound: the objects that they name.
    kept: the slots of the results.  alive: the slots that the lines read which are already written.
    """

    def __init__(self, calls: Collected, inputs: int, result: Any) -> None:
        self.collected, self.inputs = calls, inputs
        self.bound: dict[str, Any] = {"__name__": __name__, "run_view": run_view, "Tensor": Tensor}
        self.bound |= {"new": Tensor.__new__, "next_id": ids.__next__}
        self.bound |= {f"c{slot}": x for slot, x in calls.constants.items()}
        self.bound |= {f"draw{slot}": draw for slot, draw in (calls.draws or {}).items()}
        self.kept: Slots = []
        self.alive: set[int] = set()
        self.lines: list[str] = [f"    return {self.shown(result)}"]
        self.alive.update(self.kept)

    def name(self, slot: int) -> str:
        return f"x{slot}" if slot < self.inputs else f"c{slot}" if slot in self.collected.constants else f"t{slot}"

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
        if result.__class__ is not Placeholder:  # each call must return tensors of its own
            raise Unsteady
        self.kept.append(result.slot)
        return self.name(result.slot)

    def recorded(self) -> Callable[..., Any]:
        """Return the function that records the calls for a backward pass, as the original function does."""
        for k, (op, plan, reads, writes) in reversed(list(enumerate(self.collected.calls))):
            self.release([*reads, *writes], {slot: f"t{slot}" for slot in (*reads, *writes)})
            if op is None or plan is None:
                self.lines.append(self.untracked(reads, writes[0]))
                continue
            several = None if op.result is None else len(writes)
            run = run_view if plan.launch is None else runner(len(reads), several)
            self.bound |= {f"op{k}": op, f"plan{k}": plan, f"run{k}": run}
            operands = ", ".join([self.name(slot) for slot in reads])
            results = f"t{writes[0]}" if several is None else "".join([f"t{slot}, " for slot in writes])
            self.lines.append(f"    {results} = run{k}(op{k}, plan{k}, {operands})")
        return self.function()

    def plain(self) -> Callable[..., Any]:
        """Return the function that only launches: values that are not results are storages, and views take no time."""
        views = {writes[0]: reads[0] for _, plan, reads, writes in self.collected.calls
                 if reads and (plan is None or plan.launch is None)}  # fmt: skip
        tensors = {*self.kept, *(self.collected.draws or ())}
        for slot in reversed(range(self.collected.count)):
            if slot in tensors and slot in views:
                tensors.add(views[slot])
        for k, (op, plan, reads, writes) in reversed(list(enumerate(self.collected.calls))):
            if plan is not None and plan.launch is not None:
                self.launch(k, plan, [self.origin(slot, views) for slot in reads], writes, tensors)
            elif writes[0] in tensors and op is None:
                self.release(writes, {writes[0]: f"t{writes[0]}"})
                self.lines.append(self.untracked(reads, writes[0]))
            elif writes[0] in tensors:
                self.bound |= {f"op{k}": op, f"plan{k}": plan}
                self.lines.append(f"    t{writes[0]} = run_view(op{k}, plan{k}, {self.name(reads[0])})")
        return self.function()

    def untracked(self, reads: Slots, slot: int) -> str:
        """Return the line that detaches a tensor, or that draws random numbers."""
        return f"    t{slot} = " + (f"{self.name(reads[0])}.detach()" if reads else f"draw{slot}()")

    def launch(self, k: int, plan: CallPlan, reads: Slots, writes: Slots, tensors: set[int]) -> None:
        """Add the lines of a launch: allocate the results, run, make tensors of results, release operands."""
        self.release([*reads, *writes], {slot: f"s{slot}" for slot in (*reads, *writes) if slot not in tensors})
        for slot, out in zip(writes, plan.outs, strict=True):
            if slot in tensors:
                self.bound |= {f"layout{slot}": out.layout, f"dtype{slot}": out.dtype, f"device{slot}": plan.device}
                self.lines.append(TENSOR.format(slot))
        arguments = [f"{self.storage(slot, tensors)}.buffer" for slot in reads] + [f"s{slot}.buffer" for slot in writes]
        if plan.kernel is not None:
            self.bound[f"numbers{k}"] = plan.numbers
            arguments.append(f"numbers{k}")
        self.bound[f"run{k}"] = plan.kernel or plan.run
        self.lines.append(f"    run{k}({', '.join(arguments)})")
        for slot, make in zip(writes, plan.makes, strict=True):
            self.bound[f"make{slot}"] = make
            self.lines.append(f"    s{slot} = make{slot}()")

    def origin(self, slot: int, views: dict[int, int]) -> int:
        """Return the slot whose storage a slot shares."""
        while slot in views:
            slot = views[slot]
        return slot

    def storage(self, slot: int, tensors: set[int]) -> str:
        """Return the expression for a storage that a call reads."""
        own = slot >= self.inputs and slot not in self.collected.constants
        return f"s{slot}" if own and slot not in tensors else f"{self.name(slot)}.storage"

    def release(self, used: Slots, names: dict[int, str]) -> None:
        """Add the line that releases values after their last use."""
        ended = [slot for slot in dict.fromkeys(used) if slot not in self.alive and slot >= self.inputs]
        self.alive.update(ended)
        if dropped := [names[slot] for slot in ended if slot in names and slot not in self.collected.constants]:
            self.lines.append(f"    del {', '.join(dropped)}")

    def function(self) -> Callable[..., Any]:
        """Return the function of the lines."""
        self.lines.append(f"def composition({', '.join([f'x{k}' for k in range(self.inputs)])}):")
        return defined("composition", "\n".join(reversed(self.lines)), self.bound)
