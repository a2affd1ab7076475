"""A recorded function as eager callers see it: results, gradients and counts of writes around its launches.

`Entry` writes the call of one program as a Python function, as call plans do: a loop over arguments, storages and
results would cost more than the kernels of a small step.  `guards.py` holds the guards; `writing.py` holds the
lines that prepare memory, launch kernels and record gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from minigrad.autodiff.grads import are_open, stores
from minigrad.core.storage import Storage
from minigrad.func.trees import flatten
from minigrad.jitting.exchange import Exchange
from minigrad.jitting.guards import conditions_of, names_of_arguments, write_attempt, write_fits
from minigrad.jitting.moving import Made, ViewOf
from minigrad.jitting.program import HostCall, Item, written_by
from minigrad.jitting.reasons import not_fused
from minigrad.jitting.recorder import Recording
from minigrad.jitting.symbols import Symbol, stored
from minigrad.jitting.tape import Rows, Tape
from minigrad.jitting.writing import BOUND, Lines, indented

STREAM = "uint64"  # the dtype in which the state of a generator is read


class Unrepeatable(Exception):
    """Raised if a program does not fit a call, so that the function itself has to run.

    Either the arithmetic on the call's floats raises an error, or its tensors share memory but not a storage.
    """


class Entry(Lines):
    """Store a recorded program of a jitted function, and the generated functions that run it.

    call: a function of the tensor arguments that runs the program and returns the result of the jitted function.
    attempt: a function of all arguments that returns the same result, or REFUSED if the program cannot run on them now.
    count: the number of arguments of `attempt`, or -1 if arguments are nested.
    condition: the condition under which `attempt` runs the program, as text.
    symbolic: whether each call reads the floats among the arguments; otherwise they are constants of the program.
    exchange: the exchange that replaces the program by its fused form; None when this is done, or without fusion.
    fits: a function of the tensors that returns whether their layouts and gradients are unchanged; `Recording.outside`
    compares all other conditions.
    """

    call: Callable[..., Any]
    fits: Callable[..., bool]
    attempt: Callable[..., Any]

    def __init__(self, recording: Recording, fuse: bool) -> None:
        self.recording = made = recording
        self.function = made.function
        self.symbolic, args, kwargs = made.symbolic, made.args, made.kwargs
        self.floats = [x for x in flatten((args, kwargs))[0] if type(x) is float] if made.symbolic else []
        self.program, self.outside = made.program, made.outside
        self.bound = dict(BOUND)
        self.replaceable: dict[str, str] = {}
        self.names: dict[int, str] = {}  # maps a slot that the call provides to the name of its storage
        self.shifted = [slot for slot, own in made.argument_slots if own]
        for k, (slot, _) in enumerate(made.argument_slots):
            self.names.setdefault(slot, f"x{k}.storage")
        self.provided = [*self.names]
        for k, (slot, (holder, part)) in enumerate(made.holders.items()):
            if slot not in self.names:
                name = self.holder(holder, f"p{k}")
                self.names[slot] = f"old{k}" if part else f"{name}.storage"
                if part:
                    self.replaceable[f"old{k}"] = f"{name}._grad.storage"
                self.provided.append(slot)
        self.fresh = self.leaving()
        for k, slot in enumerate(self.fresh):
            self.names[slot] = f"s{k}"
        self.fuses = fuse
        self.exchange = Exchange(self.program, self.stays) if fuse else None
        self.bind()
        nested = bool(kwargs) or any(isinstance(x, (list, tuple, dict)) for x in args)
        self.count = -1 if nested else len(args)
        # The condition is written once, because modes and tensors may have changed when `fuse` writes the lines again.
        self.condition = "" if nested else conditions_of(self, args)
        self.write_call()
        self.fits = write_fits(self, self.numbers())

    def fuse(self) -> None:
        """Switch to the fused form of the program, if its kernels are compiled."""
        if self.bind():
            self.write_call()

    def bind(self) -> bool:
        """Bind the launches to memory, in their fused form if its kernels are compiled; return whether they are."""
        fusion = None if self.exchange is None else self.exchange.fused()
        if fusion:
            self.exchange = None
        if fusion or not hasattr(self, "tape"):
            self.tape = Tape(self.program, [*self.provided, *self.fresh], fusion)
        return bool(fusion)

    def stays(self, slot: int) -> bool:
        """Return whether a slot is memory that the caller has, or a constant."""
        return slot in self.names or self.program.memory[slot].kind != "temporary"

    def leaving(self) -> list[int]:
        """Return the slots that the caller keeps, in results and gradients; each call allocates new memory for them."""
        made = self.recording
        seen = [leaf[0] for leaf in made.results if isinstance(leaf, Made)]
        calls = [item for item in self.program.items if isinstance(item, HostCall)]
        for _, g in [*made.final, *[pair for call in calls for pair in call.gradients]]:
            seen += [g[0]] if g is not None else []
        return [slot for slot in dict.fromkeys(seen) if slot not in self.names]

    # ---- the call

    def write_call(self) -> None:
        """Write the functions that run the program."""
        parameters = [*[f"x{k}" for k in range(len(self.recording.argument_slots))], *self.numbers()]
        self.call = self.define("call", parameters, self.lines_of_call())
        if self.count >= 0:
            names = names_of_arguments(self, self.recording.args)
            lines = self.lines_of_attempt(parameters)
            self.attempt = write_attempt(self, names, self.condition, lines, not self.is_atomic())

    def lines_of_attempt(self, parameters: list[str]) -> list[str]:
        """Return the lines that run the program, for the function that has compared the arguments."""
        return [*self.lines_of_call(["if turn.recording: return REFUSED"])]

    def is_atomic(self) -> bool:
        """Return whether no other thread can run between the first access to memory that calls share and the last.

        Such memory are the arrays of offsets and the tables of addresses.  CPython switches threads at calls and at
        backward jumps only, and there is one call between these accesses, which holds the GIL.
        """
        steps, program = self.tape.steps, self.program
        rows = [step for step in steps if isinstance(step, Rows) and step.own is None and step.holds_gil]
        return len(rows) == len(steps) == 1 and not (program.draws or program.symbols or program.arithmetic)

    def lines_of_call(self, before: Iterable[str] = ()) -> Iterator[str]:
        """Write the lines that run the program, with the lines `before` after the last allocation."""
        run, versions = [*self.run()], [*self.versions()]
        yield from [
            *self.memory_test(),
            *self.gradient_test(),
            *self.symbols(),
            *self.memory(),
            *before,
            *self.draws(),
            *self.buffers(),
            *(["try:", *indented(run), "finally:", *indented(versions)] if versions else run),
        ]
        yield from self.gradients(self.recording.final, "g")
        yield from self.results()

    def memory_test(self) -> Iterator[str]:
        """Write the test that no two storages share memory that another library, such as NumPy, owns.

        The test is written only if fused loops write into memory of the caller, because the order of their accesses is
        correct only for separate storages.
        """
        if not any(item.fused for item in self.tape.items if isinstance(item, Item)):
            return
        if not self.writes_into_provided:
            return
        fixed = [self.real[slot] for slot in self.provided if slot in self.recording.holders]
        passed = [self.names[slot] for slot in self.provided if slot not in self.recording.holders]
        self.bound |= {"apart": apart, "fixed": fixed, "Unrepeatable": Unrepeatable}
        tests = [f"{name}.allocator is None" for name in passed]
        tests = ["True"] if any(storage.allocator is None for storage in fixed) else tests
        if tests and len(passed) + len(fixed) > 1:
            yield f"if ({' or '.join(tests)}) and not apart(fixed, {', '.join(passed)}): raise Unrepeatable"

    def gradient_test(self) -> Iterator[str]:
        """Write the test that each `.grad` to which the program adds may be written, and shares no memory.

        A gradient that shared memory at the recording has no name of its own, so `fits` compares it.
        """
        written = [
            self.holder(x, f"p{k}")
            for k, (slot, (x, part)) in enumerate(self.recording.holders.items())
            if part and slot in self.recording.versions
        ]
        if written:
            self.bound |= {"are_open": are_open, "stores": stores, "Storage": Storage, "Unrepeatable": Unrepeatable}
            plain = [
                f"(g := {x}._grad).__class__ is Tensor and g.op is None and g.storage.__class__ is Storage"
                for x in written
            ]
            tests = ["not stores.references", "not stores.lasting", *plain]
            yield f"if not ({' and '.join(tests)}) and not are_open({', '.join(written)}): raise Unrepeatable"
            yield from self.separation_test()
            yield "g = memories = None  # an allocator keeps only memory that nothing else refers to"

    def separation_test(self) -> Iterator[str]:
        """Write the test that the gradients in use share memory neither with each other nor with other tensors."""
        used = [self.names[slot] for slot in self.tape.arguments if slot in self.names]
        memories = [self.replaceable[name] for name in used if name in self.replaceable]
        holders = self.recording.holders
        self.bound["others"] = {self.real[slot] for slot in self.provided if slot in holders and not holders[slot][1]}
        tests = [f"len(memories) < {len(memories)}", "not memories.isdisjoint(others)"]
        tests += [f"{self.names[slot]} in memories" for slot in self.provided if slot not in holders]
        if memories:
            yield f"memories = {{{', '.join(memories)}}}"
            yield f"if {' or '.join(tests)}: raise Unrepeatable"

    @cached_property
    def real(self) -> dict[int, Storage]:
        """The real storage of each slot of memory that existed before the recording."""
        return {twin.buffer.number: real for real, twin in self.recording.storages.items()}

    @cached_property
    def writes_into_provided(self) -> bool:
        """Whether a launch writes into memory that a call provides."""
        slots = {*self.provided}
        users = [x for x in self.program.items if isinstance(x, Item) and not slots.isdisjoint(x.slots)]
        return not all(slots.isdisjoint(written_by(item)) for item in users)

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
            self.bound |= {"Unrepeatable": Unrepeatable, "np": np}
            yield from (
                "try:",
                *indented(lines),
                "except (ArithmeticError, TypeError, ValueError): raise Unrepeatable from None",
            )

    def draws(self) -> Iterator[str]:
        """Write the lines that store the states of generators and advance them."""
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

    def versions(self) -> Iterator[str]:
        """Write the lines that count writes into memory that the caller has."""
        for slot, count in self.recording.versions.items():
            if slot in self.names and slot not in self.fresh:
                yield f"{self.names[slot]}.version += {count}"

    def results(self) -> Iterator[str]:
        """Write the lines that make the results."""
        made = self.recording
        lines, _, names = self.leaves_of_a_call()
        yield from lines
        if made.tree.kind is None:
            yield f"return {names[0]}"
        elif made.tree.kind is tuple and all(part.kind is None for part in made.tree.parts):
            yield f"return ({', '.join(names)}{',' if names else ''})"
        else:
            self.bound["build"] = made.tree.build
            yield f"return build(iter([{', '.join(names)}]))"

    def leaves_of_a_call(self) -> tuple[list[str], list[str], list[str]]:
        """Return the lines that make the tensors among the results, their names, and the names of all leaves.

        Each tensor is named once, even if it is several leaves.
        """
        lines, made, names = list[str](), dict[int, str](), list[str]()
        for k, leaf in enumerate(self.recording.results):
            name = f"y{k}"
            key = id(self.recording.leaves[k])
            if isinstance(leaf, Made):
                if key not in made:
                    made[key] = name
                    lines += self.tensor(name, leaf)
                names.append(made[key])
            elif isinstance(leaf, ViewOf):
                name = f"view{key}"
                if name not in names:
                    self.bound[f"{name}_of"] = leaf.of
                    lines.append(f"{name} = {name}_of({self.holder(leaf.source, f'{name}_source')})")
                names.append(name)
            else:
                names.append(leaf.text if isinstance(leaf, Symbol) else self.holder(leaf, name))
        return lines, [*made.values()], names

    def report(self) -> str:
        """Return the size of each program of the function as text, and the launches that share no loop."""
        return "\n    ".join([self.sizes(), *(self.unfused() if self.fuses else ())])

    def sizes(self) -> str:
        """Return the size of each program of the function as text."""
        return self.size()

    def unfused(self) -> Iterator[str]:
        """Yield a line for each reason why launches share no loop, once the fused form exists."""
        if self.exchange is None:
            yield from not_fused(self.program, self.stays, self.tape.items)

    def tapes(self) -> list[tuple[str, Tape]]:
        """Return the programs of the function, each with its name in reports."""
        return [("", self.tape)]


def apart(fixed: list[Storage], *others: Storage) -> bool:
    """Return whether no two storages share memory."""
    spans = sorted([(x.data_ptr(), x.nbytes) for x in (*fixed, *others)])
    return all(begin + nbytes <= after for (begin, nbytes), (after, _) in pairwise(spans))
