"""The lines of a function that runs a program: its memory, its steps, and the tensors that it makes.

`Lines` is the base class of an entry, whose program is the function, and of each backward program of a result with a
graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from minigrad.autodiff.grads import stores
from minigrad.backends.registry import backend_of
from minigrad.core.code import defined
from minigrad.core.dtype import uint8
from minigrad.core.layout import Layout
from minigrad.errors import quantity
from minigrad.jitting.exchange import Exchange
from minigrad.jitting.moving import Made, fixed_offset
from minigrad.jitting.program import HostCall, Item, Program
from minigrad.jitting.recorder import Recording
from minigrad.jitting.tape import Rows, Tape
from minigrad.runtime.graph import ids
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.var import Var

# The objects that every generated function may name.
BOUND: dict[str, Any] = {"new": Tensor.__new__, "Tensor": Tensor, "ids": ids}


class Lines:
    """Write the lines of the generated function that runs a program.

    names: for each slot that a call provides, the name of its storage in the lines.
    replaceable: for each name of the memory of a gradient, the text of that memory at the start of a call.
    fresh: the slots whose memory a call allocates and returns to its caller.
    bound: the objects to which names in the lines refer.
    exchange: the exchange that replaces the program by its fused form; None when this is done, or without fusion.
    """

    recording: Recording
    program: Program
    names: dict[int, str]
    replaceable: dict[str, str]
    fresh: list[int]
    bound: dict[str, Any]
    tape: Tape
    exchange: Exchange | None

    def holder(self, x: Tensor, name: str) -> str:
        """Return the name of a tensor in the call: the name of an argument, or `name`, which is bound to the tensor.

        The fused form of a program has other steps, so a name may already be bound to another tensor; then it is
        extended.
        """
        for k, each in enumerate(self.recording.arguments):
            if each is x:
                return f"x{k}"
        while self.bound.setdefault(name, x) is not x:
            name += "_"
        return name

    def memory(self) -> Iterator[str]:
        """Write the lines that allocate memory."""
        bound, made = self.bound, self.recording
        for k, slot in enumerate(self.fresh):
            memory = self.program.memory[slot]
            bound[f"make{k}"] = backend_of(memory.device).maker(memory.numel, memory.dtype, memory.device)
            yield f"s{k} = make{k}()"
        for k, block in enumerate(self.tape.blocks):
            if block.values is None:
                bound[f"make_block{k}"] = backend_of(block.device).maker(block.nbytes, uint8, block.device)
                yield f"block{k} = make_block{k}()"
        for k, (slot, own) in enumerate(made.argument_slots):
            if own:
                size, fixed = self.program.memory[slot].dtype.itemsize, self.fixed_offset(k)
                bound[f"shift{k}"] = self.tape.shift[self.tape.positions[slot]]
                yield f"shift{k}[0] = {after(f'x{k}.layout.offset', fixed)} * {size}"

    def buffers(self) -> Iterator[str]:
        """Write the lines that collect the buffers, after the numbers of the call have been written.

        The memory of gradients has names of its own until the end of the call, because the program may replace these
        gradients: it counts its writes, and the allocator takes the memory back after `buffers` has been deleted.
        """
        yield from [f"{name} = {storage}" for name, storage in self.replaceable.items()]
        for k, block in enumerate(self.tape.blocks):
            if block.values is not None:
                names = {f"send{k}": backend_of(block.device).from_host, f"values{k}": block.values}
                self.bound |= names | {"uint8": uint8, f"device{k}": block.device}
                yield f"block{k} = send{k}(values{k}, uint8, device{k})"
        buffers = [f"{self.names[slot]}.buffer" for slot in self.tape.arguments]
        buffers += [f"block{k}.buffer" for k in range(len(self.tape.blocks))]
        yield f"buffers = ({', '.join(buffers)}{',' if buffers else ''})"

    def fixed_offset(self, k: int) -> int:
        """Return the part of an argument's offset that is the same in each call."""
        x = self.recording.arguments[k]
        return fixed_offset(x.layout, x.dtype, x.device)

    def run(self) -> Iterator[str]:
        """Write the lines that run the steps."""
        for k, step in enumerate(self.tape.steps):
            if isinstance(step, HostCall):
                yield from self.gradients(step.gradients, f"h{k}_")
                self.bound[f"step{k}"] = step.function
                yield f"step{k}()"
            elif isinstance(step, Rows) and step.own is None:
                self.bound |= {f"step{k}": step.call, f"failure{k}": step.failure}
                yield f"row = step{k}(*buffers)"
                yield f"if row: raise failure{k}(row, buffers)"
            else:
                self.bound[f"step{k}"] = step
                yield f"step{k}(buffers)"
        yield "del buffers  # an allocator keeps only memory that nothing else refers to"

    def gradients(self, pairs: tuple[tuple[Var, Made | None], ...], prefix: str) -> Iterator[str]:
        """Write the lines that set the gradients of Vars."""
        for k, (x, g) in enumerate(pairs):
            name = self.holder(x, f"v{prefix}{k}")
            if g is None:
                yield f"{name}._grad = None"
            else:
                yield from self.tensor(f"{prefix}{k}", g)
                yield f"{name}._grad = {prefix}{k}"
                if g.slot in self.recording.lasting:
                    self.bound["stores"] = stores
                    yield f"stores.read({prefix}{k})"

    def tensor(self, name: str, made: Made) -> Iterator[str]:
        """Write the lines that make a tensor on the memory of a slot."""
        slot, layout, dtype = made
        device = self.program.memory[slot].device
        self.bound |= {f"{name}_layout": layout, f"{name}_dtype": dtype, f"{name}_device": device}
        yield f"{name} = new(Tensor); {name}.id = next(ids); {name}.storage = {self.names[slot]}"
        yield f"{name}.layout = {name}_layout; {name}.dtype = {name}_dtype; {name}.device = {name}_device"
        yield f"{name}.op = {name}.base = None"
        own = [k for k, (each, sole) in enumerate(self.recording.argument_slots) if sole and each == slot]
        if own:  # a view of an argument that may begin anywhere in its memory
            self.bound["moved"] = moved
            offset = after(f"x{own[0]}.layout.offset", self.fixed_offset(own[0]))
            yield f"if {offset}: {name}.layout = moved({name}_layout, {offset})"

    def define(self, name: str, parameters: Iterable[str], lines: Iterable[str]) -> Callable[..., Any]:
        """Return the function of some lines."""
        return defined(name, "\n".join([f"def {name}({', '.join(parameters)}):", *indented(lines)]), self.bound)

    def size(self) -> str:
        """Return the size of the program as text."""
        tape, items, exchange = self.tape, self.tape.items, self.exchange
        rows = sum(table.count for table in tape.tables)
        calls = sum(isinstance(item, HostCall) for item in items)
        python = sum(callable(step) for step in tape.steps) - len(tape.tables) - len(tape.lists)
        listed = sum(each.kernels for each in tape.lists)
        parts = [f"{quantity(rows, 'kernel')} in {quantity(len(tape.tables), 'table')}"] if rows or not listed else []
        parts += [f"{quantity(listed, 'kernel')} in {quantity(len(tape.lists), 'list')}"] if listed else []
        parts += [f"{quantity(python, 'launch')} of Python"] if python else []
        parts += [f"{quantity(calls, 'call')} of an optimizer or a schedule"] if calls else []
        if exchange is not None and exchange.missing:
            parts += [f"{quantity(len(exchange.missing), 'fused kernel')} not compiled yet"]
        fused = sum(len(item.fused) for item in items if isinstance(item, Item))
        loops = sum(bool(item.fused) for item in items if isinstance(item, Item))
        parts += [f"{fused} launches fused into {quantity(loops, 'loop')}"] if fused else []
        parts += [f"{quantity(each.period, 'launch')} in {each.rounds} rounds" for each in tape.repeats]
        apart = sum(tape.sizes[slot] for slot in tape.offsets)
        return f"{', '.join(parts)}; temporaries in {tape.arena} bytes, {apart} without sharing"


def indented(lines: Iterable[str]) -> list[str]:
    """Return the lines of a block."""
    return [f"    {line}" for line in lines]


def after(offset: str, fixed: int) -> str:
    """Return the text of an offset without the part that is the same in each call."""
    return f"({offset} - {fixed})" if fixed else offset


def moved(layout: Layout, offset: int) -> Layout:
    """Return a layout that begins further on."""
    return Layout.make(layout.shape, layout.strides, layout.offset + offset)
