"""A recorded function as eager callers see it: guards, memory, results, gradients and counts of writes.

`Entry` writes the call of one program out as a Python function, as call plans do: a loop over arguments, storages and
results would cost more than the kernels of a small step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from minigrad.backends.registry import backend_of
from minigrad.core.device import CPU
from minigrad.core.dtype import uint8
from minigrad.core.layout import Layout
from minigrad.core.storage import Storage
from minigrad.errors import quantity
from minigrad.func.trees import flatten
from minigrad.jitting.exchange import Exchange
from minigrad.jitting.fusion import written_by
from minigrad.jitting.moving import Made, Moved
from minigrad.jitting.outside import PLAIN
from minigrad.jitting.program import HostCall, Item
from minigrad.jitting.recorder import Recording
from minigrad.jitting.symbols import Symbol, stored
from minigrad.jitting.tape import Tape
from minigrad.runtime.graph import ids
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.var import Var

STREAM = "uint64"  # how the state of a generator is read


class Unrepeatable(Exception):
    """A program does not fit this call, so the function itself has to run: arithmetic on its floats raises, or its
    tensors share memory without sharing a storage."""


class Entry:
    """A program of a function, and the function that runs it on tensors.

    call: takes the tensor arguments and returns the function's result.
    matches: takes all arguments, and returns whether they are of the kind that was recorded; for `count` arguments, of
    which `call` takes those that are `picked`; count is -1 where arguments are nested.
    symbolic: floats among the arguments are read by each call, instead of being those of the recording.
    exchange: for the fused form of the program, until it is there; None without fusion.
    fits: takes the tensors, and returns whether layouts and gradients are as they were; `Recording.outside` compares
    the rest.
    """

    call: Callable[..., Any]
    fits: Callable[..., bool]
    matches: Callable[..., bool]
    picked: list[int]
    whole: bool

    def __init__(self, recording: Recording, fuse: bool) -> None:
        self.recording = made = recording
        self.function = made.function
        self.symbolic, args, kwargs = made.symbolic, made.args, made.kwargs
        self.floats = [x for x in flatten((args, kwargs))[0] if type(x) is float] if made.symbolic else []
        self.program, self.outside = made.program, made.outside
        self.bound: dict[str, Any] = {"new": Tensor.__new__, "Tensor": Tensor, "ids": ids}
        self.names: dict[int, str] = {}  # of the storage of each slot that the call provides
        self.shifted = [slot for slot, own in made.argument_slots if own]
        for k, (slot, _) in enumerate(made.argument_slots):
            self.names.setdefault(slot, f"x{k}.storage")
        self.provided = [*self.names]
        for k, (slot, (holder, part)) in enumerate(made.holders.items()):
            if slot not in self.names:
                name = self.holder(holder, f"p{k}")
                self.names[slot] = f"{name}._grad.storage" if part else f"{name}.storage"
                self.provided.append(slot)
        self.fresh = self.leaving()
        for k, slot in enumerate(self.fresh):
            self.names[slot] = f"s{k}"
        self.tape = Tape(self.program, [*self.provided, *self.fresh])
        self.exchange = Exchange(self.program, self.stays) if fuse else None
        self.write_call()
        self.write_guard()
        self.count = -1
        if not kwargs and not any(isinstance(x, (list, tuple, dict)) for x in args):
            self.write_match(args)

    def fuse(self) -> None:
        """Take the fused form of the program, if its kernels are there."""
        fusion = self.exchange and self.exchange.fused()
        if fusion:
            self.exchange = None
            self.tape = Tape(self.program, [*self.provided, *self.fresh], fusion.items)
            self.write_call()

    def stays(self, slot: int) -> bool:
        """Return whether a slot is memory that the caller has, or a constant."""
        return slot in self.names or self.program.memory[slot].kind != "temporary"

    def holder(self, x: Tensor, name: str) -> str:
        """Return the name of a tensor in the call: an argument's, or `name`, which is bound to it."""
        for k, each in enumerate(self.recording.arguments):
            if each is x:
                return f"x{k}"
        self.bound.setdefault(name, x)
        return name

    def leaving(self) -> list[int]:
        """Return the slots that the caller keeps, in results and gradients: new memory in each call."""
        made = self.recording
        seen = [leaf[0] for leaf in made.results if isinstance(leaf, Made)]
        calls = [item for item in self.program.items if isinstance(item, HostCall)]
        for _, g in [*made.final, *[pair for call in calls for pair in call.gradients]]:
            seen += [g[0]] if g is not None else []
        return [slot for slot in dict.fromkeys(seen) if slot not in self.names]

    # ---- the call

    def write_call(self) -> None:
        """Write the function that runs the program."""
        made, count = self.recording, len(self.recording.argument_slots)
        versions = [*self.versions()]
        lines = [
            *self.memory_test(),
            *self.symbols(),
            *self.memory(),
            *self.draws(),
            "try:",
            *indented(self.run()),
            "finally:",
            *indented(versions or ["pass"]),
        ]
        lines += [*self.gradients(made.final, "g"), *self.results()]
        head = f"def call({', '.join([f'x{k}' for k in range(count)] + self.numbers())}):"
        self.text = "\n    ".join([head, *lines])
        exec(compile(self.text, "<minigrad program>", "exec"), self.bound)
        self.call = self.bound["call"]

    def memory_test(self) -> Iterator[str]:
        """Write the test that memory of others, such as NumPy's, is not shared by two storages, if this would matter:
        fused loops write it, and the order of their accesses is that of one storage each."""
        items = [item for item in self.tape.items if isinstance(item, Item)]
        written = {slot for item in items for part in (item.fused or (item,)) for slot in written_by(part)}
        if not any(item.fused for item in items) or written.isdisjoint(self.provided):
            return
        twins = {twin.buffer.number: real for real, twin in self.recording.storages.items()}
        fixed = [twins[slot] for slot in self.provided if slot in self.recording.holders]
        passed = [self.names[slot] for slot in self.provided if slot not in self.recording.holders]
        self.bound |= {"apart": apart, "fixed": fixed, "Unrepeatable": Unrepeatable}
        tests = [f"{name}.allocator is None" for name in passed]
        tests = ["True"] if any(storage.allocator is None for storage in fixed) else tests
        if tests and len(passed) + len(fixed) > 1:
            yield f"if ({' or '.join(tests)}) and not apart(fixed, {', '.join(passed)}): raise Unrepeatable"

    def numbers(self) -> list[str]:
        """Return the names of the floats among the arguments, if each call reads them."""
        return [f"n{k}" for k in range(len(self.floats))]

    def symbols(self) -> Iterator[str]:
        """Write the lines that compute the numbers that each call reads."""
        lines = [*self.program.arithmetic]
        for k, (text, slot) in enumerate(self.program.symbols):
            dtype = self.program.memory[slot].dtype
            self.bound[f"symbol{k}"], self.bound[f"as_{dtype}"] = self.tape.drawn[slot], stored(dtype)
            lines.append(f"symbol{k}[0] = as_{dtype}({text})")
        if lines:
            self.bound["Unrepeatable"] = Unrepeatable
            yield from (
                "try:",
                *indented(lines),
                "except (ArithmeticError, TypeError, ValueError): raise Unrepeatable from None",
            )

    def memory(self) -> Iterator[str]:
        """Write the lines that allocate memory and collect the buffers."""
        bound, made = self.bound, self.recording
        for k, slot in enumerate(self.fresh):
            memory = self.program.memory[slot]
            bound[f"make{k}"] = backend_of(memory.device).maker(memory.numel, memory.dtype, memory.device)
            yield f"s{k} = make{k}()"
        if self.tape.arena:
            bound["make_arena"] = backend_of(CPU).maker(self.tape.arena, uint8, CPU)
            yield "arena = make_arena()"
        for k, (slot, own) in enumerate(made.argument_slots):
            if own:
                size = self.program.memory[slot].dtype.itemsize
                bound[f"shift{k}"] = self.tape.shift[self.tape.positions[slot]]
                yield f"shift{k}[0] = x{k}.layout.offset * {size}"
        buffers = [f"{self.names[slot]}.buffer" for slot in self.tape.arguments]
        buffers += ["arena.buffer"] if self.tape.arena else []
        yield f"buffers = ({', '.join(buffers)}{',' if buffers else ''})"

    def draws(self) -> Iterator[str]:
        """Write the lines that write the states of generators, and let these go on."""
        generators = {generator: f"generator{k}" for k, generator in enumerate(self.program.taken)}
        for generator, name in generators.items():
            self.bound[name] = generator
            yield f"stream_{name} = {name}.in_use()"
        for k, (generator, slot, first) in enumerate(self.program.draws):
            self.bound[f"state{k}"] = self.tape.drawn[slot].view(STREAM)
            name = f"stream_{generators[generator]}"
            yield f"state{k}[0] = {name}.seed; state{k}[1] = ({name}.offset + {first}) % 2**64"
        for generator, blocks in self.program.taken.items():
            yield f"stream_{generators[generator]}.offset += {blocks}"

    def run(self) -> Iterator[str]:
        """Write the lines that run the steps."""
        for k, step in enumerate(self.tape.steps):
            if isinstance(step, HostCall):
                yield from self.gradients(step.gradients, f"h{k}_")
                self.bound[f"step{k}"] = step.function
                yield f"step{k}()"
            else:
                self.bound[f"step{k}"] = step
                yield f"step{k}(buffers)"
        yield "del buffers  # an allocator keeps only memory that nothing else refers to"

    def versions(self) -> Iterator[str]:
        """Write the lines that count writes into memory that the caller has."""
        for slot, count in self.recording.versions.items():
            if slot in self.names and slot not in self.fresh:
                yield f"{self.names[slot]}.version += {count}"

    def gradients(self, pairs: tuple[tuple[Var, Made | None], ...], prefix: str) -> Iterator[str]:
        """Write the lines that set the gradients of Vars."""
        for k, (x, g) in enumerate(pairs):
            name = self.holder(x, f"v{prefix}{k}")
            if g is None:
                yield f"{name}._grad = None"
            else:
                yield from self.tensor(f"{prefix}{k}", g)
                yield f"{name}._grad = {prefix}{k}"

    def tensor(self, name: str, made: Made) -> Iterator[str]:
        """Write the lines that make a tensor on the memory of a slot."""
        slot, layout, dtype = made
        self.bound |= {f"{name}_layout": layout, f"{name}_dtype": dtype}
        yield f"{name} = new(Tensor); {name}.id = next(ids); {name}.storage = {self.names[slot]}"
        yield f"{name}.layout = {name}_layout; {name}.dtype = {name}_dtype; {name}.device = {name}.storage.device"
        yield f"{name}.op = {name}.base = None"
        own = [k for k, (each, sole) in enumerate(self.recording.argument_slots) if sole and each == slot]
        if own:  # a view of an argument that begins anywhere in its memory
            self.bound["moved"] = moved
            yield f"if x{own[0]}.layout.offset: {name}.layout = moved({name}_layout, x{own[0]}.layout.offset)"

    def results(self) -> Iterator[str]:
        """Write the lines that make the results."""
        made = self.recording
        names: list[str] = []
        seen: dict[int, str] = {}
        for k, leaf in enumerate(made.results):
            name = f"y{k}"
            if isinstance(leaf, Made):
                same = seen.setdefault(id(made.leaves[k]), name)
                if same == name:
                    yield from self.tensor(name, leaf)
                names.append(same)
            elif isinstance(leaf, Symbol):
                names.append(leaf.text)
            else:
                names.append(self.holder(leaf, name))
        if made.tree.kind is None:
            yield f"return {names[0]}"
        elif made.tree.kind is tuple and all(part.kind is None for part in made.tree.parts):
            yield f"return ({', '.join(names)}{',' if names else ''})"
        else:
            self.bound["build"] = made.tree.build
            yield f"return build(iter([{', '.join(names)}]))"

    def report(self) -> str:
        """Return the size of the program as text."""
        return self.report_of(self.tape, self.exchange)

    def tapes(self) -> list[tuple[str, Tape]]:
        """Return the programs of the function, each with its name in reports."""
        return [("", self.tape)]

    def report_of(self, tape: Tape, exchange: Exchange | None) -> str:
        """Return the size of one program as text."""
        items = tape.items
        rows = sum(len(table.rows) // 3 for table in tape.tables)
        calls = sum(isinstance(item, HostCall) for item in items)
        python = sum(callable(step) for step in tape.steps) - len(tape.tables)
        parts = [f"{quantity(rows, 'kernel')} in {quantity(len(tape.tables), 'table')}"]
        parts += [f"{quantity(python, 'launch')} of Python".replace("launchs", "launches")] if python else []
        parts += [f"{quantity(calls, 'call')} of an optimizer or a schedule"] if calls else []
        if exchange is not None and exchange.missing:
            parts += [f"{quantity(len(exchange.missing), 'fused kernel')} not compiled yet"]
        fused = sum(len(item.fused) for item in items if isinstance(item, Item))
        loops = sum(bool(item.fused) for item in items if isinstance(item, Item))
        parts += [f"{fused} launches fused into {quantity(loops, 'loop')}"] if fused else []
        apart = sum(tape.size(slot) for slot in tape.offsets)
        return f"{', '.join(parts)}; temporaries in {tape.arena} bytes, {apart} without sharing"

    # ---- the guard

    def write_guard(self) -> None:
        """Write the function that compares what `Outside` does not: layouts and gradients of tensors outside."""
        bound, made = self.bound, self.recording
        tests: list[str] = []
        bound["outside"] = set(made.storages) - made.own
        for k, x in enumerate(made.arguments):
            real, among = made.moved[id(x)], f"x{k}.storage in outside"
            bound[f"x{k}_layout"] = real.layout
            tests.append(f"not {among}" if real.storage in made.own else f"{among} and x{k}.layout is x{k}_layout")
        for k, moved_tensor in enumerate(made.moved.values()):
            tests += self.tests_of(moved_tensor, f"w{k}")
        head = f"def fits({', '.join([f'x{k}' for k in range(len(made.arguments))] + self.numbers())}):"
        exec(compile(f"{head}\n    return {' and '.join(tests) or True}", "<minigrad guard>", "exec"), bound)
        self.fits = bound["fits"]

    def write_match(self, args: tuple[Any, ...]) -> None:
        """Write the function that compares the arguments of a call with those of the recording, if none is nested."""
        bound, made = self.bound, self.recording
        tests: list[str] = []
        tensors = [k for k, x in enumerate(args) if isinstance(x, Tensor)]
        for k, x in enumerate(args):
            bound[f"a{k}_class"] = x.__class__
            tests.append(f"a{k}.__class__ is a{k}_class")
            if type(x) is float and self.symbolic:
                continue
            if not isinstance(x, Tensor):
                bound[f"a{k}"] = x
                same = f"a{k} == a{k}_value" + (f" and str(a{k}) == str(a{k}_value)" if x == 0.0 else "")
                tests.append(same if isinstance(x, PLAIN) else f"a{k} is a{k}_value")
                bound[f"a{k}_value"] = x
                continue
            layout = made.moved[id(x)].layout
            bound |= {f"a{k}_layout": layout, f"a{k}_shape": layout.shape, f"a{k}_strides": layout.strides}
            bound |= {f"a{k}_dtype": x.dtype, f"a{k}_device": x.device}
            own = made.argument_slots[tensors.index(k)][1]
            like = f" or a{k}.layout.shape == a{k}_shape and a{k}.layout.strides == a{k}_strides" if own else ""
            tests.append(f"(a{k}.layout is a{k}_layout{like})")
            tests.append(f"a{k}.dtype is a{k}_dtype and a{k}.device is a{k}_device")
            tracked = x.requires_grad and not x.is_variable
            tests.append("True" if x.is_variable else f"a{k}.requires_grad is {tracked}")
            tests += [f"a{k}.storage {'is' if args[j].storage is x.storage else 'is not'} a{j}.storage"
                      for j in tensors if j < k]  # fmt: skip
        head = f"def matches({', '.join([f'a{k}' for k in range(len(args))])}):"
        exec(compile(f"{head}\n    return {' and '.join(tests) or True}", "<minigrad match>", "exec"), bound)
        self.matches, self.count = bound["matches"], len(args)
        self.picked = tensors + [k for k, x in enumerate(args) if type(x) is float and self.symbolic]
        self.whole = self.picked == [*range(len(args))]

    def tests_of(self, moved: Moved, name: str) -> Iterator[str]:
        """Yield what must hold of one tensor, and of its gradient if it is a Var."""
        x = moved.x
        shown = self.holder(x, name)
        if shown == name:
            self.bound |= {f"{name}_layout": moved.layout, f"{name}_dtype": moved.storage.dtype}
            self.bound[f"{name}_class"] = x.__class__
            yield f"{name}.layout is {name}_layout and {name}.dtype is {name}_dtype"
            yield f"{name}.__class__ is {name}_class"
        if isinstance(x, Var):
            yield f"({shown}._grad is None) is {moved.grad is None}"
        if moved.grad is not None:
            self.bound[f"{name}_grad"] = moved.grad.layout
            yield f"{shown}._grad.layout is {name}_grad"


def indented(lines: Iterable[str]) -> list[str]:
    """Return the lines of a block."""
    return [f"    {line}" for line in lines]


def apart(fixed: list[Storage], *others: Storage) -> bool:
    """Return whether no two storages share memory."""
    spans = sorted([(x.buffer.ctypes.data, x.buffer.nbytes) for x in (*fixed, *others)])
    return all(begin + nbytes <= after for (begin, nbytes), (after, _) in pairwise(spans))


def moved(layout: Layout, offset: int) -> Layout:
    """Return a layout that begins further on."""
    return Layout.make(layout.shape, layout.strides, layout.offset + offset)
