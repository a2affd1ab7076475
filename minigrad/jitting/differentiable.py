"""A recorded function whose results have a graph: two programs, and one node between them.

The function and a backward pass from its results are recorded together.  The launches before the backward pass are the
forward program, the others the backward program.  Temporaries that both use are memory that the node keeps.  Second
derivatives are computed by the function itself, which runs again for them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from minigrad.autodiff.engine import grad
from minigrad.autodiff.function import Function
from minigrad.errors import GradientError, RecordingError, StorageError
from minigrad.func.trees import flatten
from minigrad.jitting.entry import Entry
from minigrad.jitting.exchange import Exchange
from minigrad.jitting.fusion import Fusion
from minigrad.jitting.guards import name_of
from minigrad.jitting.moving import Made, Pass, ViewOf
from minigrad.jitting.program import HostCall, Item, Program, inner_function
from minigrad.jitting.reasons import not_fused
from minigrad.jitting.recorder import Recording
from minigrad.jitting.tape import Tape
from minigrad.jitting.writing import BOUND, Lines
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor


class Bridge(Function):
    """The node of a call: forward runs the first program, backward the second."""

    @staticmethod
    def forward(ctx: Any, entry: DifferentiableEntry, floats: tuple[float, ...], *tensors: Tensor) -> Any:
        """Run the forward program on the arguments, which come first, and tensors that the function found."""
        made, kept, leaves = entry.begin(*tensors[: entry.count_of_arguments], *floats)
        ctx._writes = True  # a value that the backward program needs is not overwritten: see `Pass.error`
        ctx.entry, ctx.floats, ctx.kept, ctx.tensors = entry, floats, kept, tensors
        ctx.numbers = [(slot, array.copy()) for slot, array in entry.tape.drawn.items()]
        ctx.versions = [storage.version for storage in kept]
        ctx.save_for_backward(*[x if read else None for x, read in zip(tensors, entry.reads)])
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*[x for k, x in enumerate(made) if k not in entry.differentiable])
        entry.leaves = leaves
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        """Run the backward program; if gradients need a graph, run the function itself and its backward pass."""
        entry = ctx.entry
        tensors = [x if saved is None else saved for x, saved in zip(ctx.tensors, ctx.saved_tensors)]
        gs = [gradients[k] for k in entry.differentiable]
        if ctx.versions != [storage.version for storage in ctx.kept]:
            raise StorageError(
                "backward: a result of a function of mg.jit was changed in place after the call, but its gradient "
                "needs the earlier value; change a copy (x.clone()) instead"
            )
        if is_grad_enabled():
            return (None, None, *entry.again(tensors, ctx.floats, gs))
        with entry.lock():
            return (None, None, *entry.back(tensors, ctx.kept, ctx.numbers, gs))


def bridge_of(function: Any) -> type[Bridge]:
    """Return the class of a function's nodes, which has the name of the function and refers to its definition."""

    def forward(ctx: Any, entry: DifferentiableEntry, floats: tuple[float, ...], *tensors: Tensor) -> Any:
        return Bridge.forward(ctx, entry, floats, *tensors)

    forward.__signature__ = inspect.signature(forward)  # type: ignore[attr-defined]
    forward.__wrapped__ = inner_function(function)  # type: ignore[attr-defined]
    doc = "A program of mg.jit, as one node.  Inside mg.debug() each op of the function is a node."
    return type(name_of(function), (Bridge,), {"forward": staticmethod(forward), "__doc__": doc})


class Backward(Lines):
    """A backward program of an entry, made from a recorded pass.

    pull: the function that runs it, which is written at its first use.
    """

    pull: Callable[..., Any] | None = None

    def __init__(self, entry: DifferentiableEntry, recorded: Pass, program: Program, fuse: bool) -> None:
        self.entry, self.recorded, self.program = entry, recorded, program
        self.recording = entry.recording
        self.bound = dict(BOUND)
        self.exchange = Exchange(program, self.stays) if fuse else None

    def stays(self, slot: int) -> bool:
        """Return whether a slot is memory that exists outside the program."""
        kept = slot in self.entry.kept_slots or slot in {g.slot for g in self.recorded.pulled}
        return kept or self.program.memory[slot].kind != "temporary"

    def gradients_of(
        self, tensors: Sequence[Tensor], kept: list[Any], numbers: list[Any], gs: list[Tensor | None]
    ) -> list[tuple[int, Tensor]]:
        """Run the program; return its gradients, each with the id of its target."""
        if self.recorded.error is not None:
            error = self.recorded.error
            raise type(error)(f"backward: {str(error).partition(': ')[2]}")
        pull = self.prepared()
        for slot, value in numbers:
            if slot in self.tape.drawn:
                self.tape.drawn[slot][:] = value
        pairs = [(gs[k], self.recording.seeds[k]) for k in self.recorded.which]
        dense = [g if g.layout is made.layout else dense_copy(g, made) for g, made in pairs if g is not None]
        return [*zip(map(id, self.recorded.targets), pull(*tensors, *kept, *dense))]

    def prepared(self) -> Callable[..., Any]:
        """Return the function that runs the program, in its fused form if its kernels are compiled."""
        fusion = self.exchange and self.exchange.fused()
        if fusion:
            self.exchange = None
        if self.pull is None or fusion:
            self.pull = self.written(fusion or None)
        return self.pull

    def written(self, fusion: Fusion | None) -> Callable[..., Any]:
        """Return the function that runs the recorded items, or their fused form."""
        made, entry = self.recorded, self.entry
        self.name_storages()
        self.tape = Tape(self.program, [*self.names], fusion)
        lines = [*self.memory(), *self.buffers(), *self.run()]
        for k, g in enumerate(made.pulled):
            lines += self.tensor(f"d{k}", g)
        lines.append(f"return [{', '.join([f'd{k}' for k in range(len(made.pulled))])}]")
        parameters = [f"x{k}" for k in range(entry.count_of_arguments + len(entry.others))]
        parameters += [f"r{k}" for k in range(len(entry.kept_slots))] + [f"g{k}" for k in made.which]
        return self.define("back", parameters, lines)

    def name_storages(self) -> None:
        """Name the storages that a call provides: of tensors, of memory that is kept, of incoming gradients."""
        made, entry = self.recording, self.entry
        names = self.names = dict[int, str]()
        self.replaceable = {}
        saved = [*made.arguments, *entry.others]
        for k, (slot, _) in enumerate(made.argument_slots):
            names.setdefault(slot, f"x{k}.storage")
        for slot, (holder, part) in made.holders.items():
            if not part and slot in entry.read_back and slot not in names:
                names[slot] = f"x{next(k for k, x in enumerate(saved) if x is holder)}.storage"
        for k, slot in enumerate(entry.kept_slots):
            names.setdefault(slot, f"r{k}")
        names |= {made.seeds[k].slot: f"g{k}.storage" for k in self.recorded.which}
        self.fresh = [*dict.fromkeys([g.slot for g in self.recorded.pulled if g.slot not in names])]
        names |= {slot: f"s{k}" for k, slot in enumerate(self.fresh)}


class DifferentiableEntry(Entry):
    """Run a program whose results have a graph, with recorded backward programs.

    begin: a function that runs the forward program.  It returns the tensors that the program made, the storages that
    the backward program needs, and all leaves of the result.
    differentiable: the indices of the made tensors that have a gradient.
    backward: the backward programs by the results at which they start: one program per result, and one for all results.
    bridge: the class of the graph node that each call records.
    others: the outside tensors that a gradient flows to, or that the backward program reads.
    """

    begin: Callable[..., Any]

    def __init__(self, recording: Recording, fuse: bool, lock: Any) -> None:
        self.lock, self.bridge = lock, bridge_of(recording.function)
        self.count_of_arguments = len(recording.arguments)
        self.leaves: list[Any] = []
        whole = recording.program
        assert recording.split is not None
        self.first = part_of(whole, whole.items[: recording.split])
        used = [{slot for item in items if isinstance(item, Item) for slot in item.slots}
                for items in (self.first.items, whole.items[recording.split :])]  # fmt: skip
        results = {leaf[0] for leaf in recording.results if isinstance(leaf, Made)}
        self.kept_slots = [
            slot for slot, memory in whole.memory.items()
            if memory.kind == "temporary" and slot in used[1] and (slot in used[0] or slot in results)
        ]  # fmt: skip
        self.read_back = used[1]
        recording.program = self.first
        super().__init__(recording, fuse)
        made = recording.results
        self.made = list(dict.fromkeys([id(x) for x, leaf in zip(recording.leaves, made) if isinstance(leaf, Made)]))
        self.differentiable = [k for k, each in enumerate(self.made) if each in recording.graph_results]
        self.others = [
            *{id(x): x for x in (*recording.targets, *self.holders_back()) if self.argument_of(x) is None}.values()
        ]
        self.reads = [self.is_read(x) for x in (*recording.arguments, *self.others)]
        self.backward = {
            each.which: Backward(self, each, part_of(whole, each.items), fuse) for each in recording.passes
        }

    def argument_of(self, x: Tensor) -> int | None:
        """Return the index of a tensor among the arguments, or None."""
        return next((k for k, each in enumerate(self.recording.arguments) if each is x), None)

    def is_read(self, x: Tensor) -> bool:
        """Return whether the backward program reads the memory of a tensor."""
        twin = self.recording.storages.get(x.storage)
        return twin is not None and twin.buffer.number in self.read_back

    def holders_back(self) -> list[Tensor]:
        """Return the outside tensors whose memory the backward program reads."""
        holders = []
        for slot, (holder, part) in self.recording.holders.items():
            if slot in self.read_back:
                if part:
                    raise RecordingError(
                        "jit: the backward pass of a recorded function cannot read the .grad of a tensor; compute "
                        "this gradient in the function with mg.grad"
                    )
                holders.append(holder)
        return holders

    def sizes(self) -> str:
        parts = [f"; backward: {each.size()}" for each in self.backward.values() if each.pull]
        return super().sizes() + ("".join(parts) or "; no backward pass yet")

    def unfused(self) -> Iterator[str]:
        yield from super().unfused()
        for each in self.backward.values():
            if each.pull:
                yield from [f"backward, {line}" for line in not_fused(each.program, each.stays, each.tape.items)]

    def tapes(self) -> list[tuple[str, Tape]]:
        return [("", self.tape), *[(", backward", each.tape) for each in self.backward.values() if each.pull]]

    # ---- the forward program

    def leaving(self) -> list[int]:
        return [*dict.fromkeys([*super().leaving(), *[s for s in self.kept_slots if s not in self.names]])]

    def write_call(self) -> None:
        super().write_call()
        self.begin = self.call
        self.call = self.apply

    def is_atomic(self) -> bool:
        return False

    def lines_of_attempt(self, parameters: list[str]) -> list[str]:
        self.bound["apply"] = self.apply
        return [f"return apply({', '.join(parameters)})"]

    def results(self) -> Iterator[str]:
        """Write the lines that make the results, the memory that is kept, and all leaves."""
        lines, made, names = self.leaves_of_a_call()
        yield from lines
        kept = [self.names[slot] for slot in self.kept_slots]
        yield f"return [{', '.join(made)}], [{', '.join(kept)}], [{', '.join(names)}]"

    def apply(self, *picked: Any) -> Any:
        """Return the results of a call, whose tensors have a graph."""
        tensors, floats = picked[: self.count_of_arguments], picked[self.count_of_arguments :]
        made = dict(zip(self.made, self.bridge.apply(self, floats, *tensors, *self.others)))
        sources = dict(zip(map(id, self.recording.arguments), tensors))
        for x, leaf in zip(self.recording.leaves, self.recording.results):
            if isinstance(leaf, ViewOf) and id(x) not in made:  # the node of the call does not contain it
                made[id(x)] = leaf.of(sources.get(id(leaf.source), leaf.source))
        leaves = [made.get(id(x), each) for x, each in zip(self.recording.leaves, self.leaves)]
        return self.recording.tree.build(iter(leaves))

    # ---- the backward program

    def back(
        self, tensors: Sequence[Tensor], kept: list[Any], numbers: list[Any], gs: list[Tensor | None]
    ) -> list[Any]:
        """Return the gradients of arguments and other tensors, given the gradients of the results that were used."""
        used = tuple([k for k, g in enumerate(gs) if g is not None])
        gradients: dict[int, Any] = {}
        for each in [self.backward[used]] if used in self.backward else [self.backward[k,] for k in used]:
            for key, g in each.gradients_of(tensors, kept, numbers, gs):
                gradients[key] = gradients[key] + g if key in gradients else g
        return [gradients.pop(id(x), None) for x in (*self.recording.arguments, *self.others)]

    def again(self, tensors: Sequence[Tensor], floats: Sequence[float], gs: list[Tensor | None]) -> list[Any]:
        """Return the gradients with a graph, by running the function itself once more."""
        made = self.recording
        if self.first.taken or made.versions:
            raise GradientError(
                "jit: a second derivative calls the function again, but this function draws random numbers or writes "
                "into tensors, so another call would differ; differentiate it without mg.jit"
            )
        arguments, numbers = iter(tensors[: self.count_of_arguments]), iter(floats)
        leaves, tree = flatten((made.args, made.kwargs))
        for k, x in enumerate(leaves):
            if isinstance(x, Tensor):
                leaves[k] = next(arguments)
            elif type(x) is float and self.symbolic:
                leaves[k] = next(numbers)
        args, kwargs = tree.build(iter(leaves))
        results = dict(zip(map(id, made.leaves), flatten(made.function(*args, **kwargs))[0]))
        ys = [results[self.made[k]] for k, g in zip(self.differentiable, gs) if g is not None]
        own = [x for x in made.targets if self.argument_of(x) is None]
        inputs = [tensors[k] for k in range(self.count_of_arguments) if tensors[k].requires_grad]
        pulled = grad(ys, [*inputs, *own], [g for g in gs if g is not None], create_graph=True, allow_unused=True)
        by_id = {id(x): g for x, g in zip([*inputs, *own], pulled)}
        return [by_id.pop(id(x), None) for x in (*tensors[: self.count_of_arguments], *self.others)]


def part_of(program: Program, items: Sequence[Item | HostCall]) -> Program:
    """Return a program of some items on the same memory."""
    part = Program()
    part.whole = len(program.items)
    part.items, part.memory, part.draws = list(items), program.memory, program.draws
    part.arithmetic, part.symbols, part.taken = program.arithmetic, program.symbols, program.taken
    return part


def dense_copy(g: Tensor, made: Made) -> Tensor:
    """Return a gradient in the dtype and layout that the backward program reads."""
    result = g.detach().to(made.dtype).contiguous()
    return result if result.layout is made.layout else result.clone()
