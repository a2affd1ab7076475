"""A launch: a record of its steps, the memory between them and its index checks, and the function that runs them.

A slot is the index of a buffer: first come the operands of the call, then its results, then temporaries.  A step is a
kernel with the slots and the scalar arguments (numbers) that it receives.  Eager mode calls `Launch.call`, whose code
is generated from the record once; a recorder, a fused program, the graph of a device or a picture reads the record
instead.  `steps.py` builds records of several steps, and `base.py` makes a record of any object that a backend returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from minigrad.backends.limits import ClassLimits, FirstLimits, IndexLimits
from minigrad.core.code import defined
from minigrad.core.dtype import DType
from minigrad.core.op import Spec
from minigrad.core.storage import Storage

Slots = tuple[int, ...]
Limits = IndexLimits | ClassLimits | FirstLimits


class Executable:
    """Store a kernel in the form that a step runs.

    name: the name of the kernel, for reports.
    path: the path of the kernel's source file, or "".
    flags: whether a true result means that an index was out of range.
    argument: how the call passes a buffer.
    takes_numbers: whether the scalar arguments follow the buffers; otherwise `bound` fixes them.
    numbers: the scalar arguments for steps that do not specify scalar arguments.
    enqueued: whether a run only adds work to the queue of a device.  Such a run allocates no memory, and the host reads
    no memory of the device.
    """

    __slots__ = ("flags", "name", "path")
    argument = "{}"
    enqueued = False
    takes_numbers = False
    numbers: Any = None

    def __init__(self, name: str, path: str = "", flags: bool = False) -> None:
        self.name, self.path, self.flags = name, path, flags

    def bound(self, numbers: Any) -> Callable[..., Any]:
        """Return the function that runs the kernel."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class HostFunction(Executable):
    """A Python function that runs on the host: a loop of a device that is written in Python, or a check."""

    __slots__ = ("function",)

    def __init__(self, name: str, function: Callable[..., Any], flags: bool = True) -> None:
        super().__init__(name, flags=flags)
        self.function = function

    def bound(self, numbers: Any) -> Callable[..., Any]:
        return self.function


class Enqueued(HostFunction):
    """A Python function that adds work to the queue of a device, such as a call of a library."""

    __slots__ = ()
    enqueued = True


class Scratch(NamedTuple):
    """Temporary memory of one launch: its size, and the function that allocates it."""

    numel: int
    dtype: DType
    make: Callable[[], Any]

    @property
    def nbytes(self) -> int:
        return self.numel * self.dtype.itemsize


class Constant(NamedTuple):
    """Memory that every call reads."""

    storage: Storage


class Step(NamedTuple):
    """One kernel, the slots of its buffers and its scalar arguments.

    unless_same: two slots; a call in which they are one buffer skips the step.
    """

    kernel: Executable
    slots: Slots
    numbers: Any = None
    unless_same: tuple[int, int] | None = None


class Flag(NamedTuple):
    """An index check on the host.

    After `after` steps, the first `length` integers in a temporary must be in [low, high]; otherwise the launch ends
    there.
    """

    slot: int
    after: int
    length: int
    low: int
    high: int
    to_host: Callable[[Any], Any]

    def raised(self, storage: Any) -> bool:
        """Return whether a number in the temporary is outside the range."""
        return self.excludes(self.to_host(storage))

    def excludes(self, numbers: Any) -> bool:
        """Return whether one of the numbers that the host has read is outside the range."""
        read = numbers[: self.length].tolist()
        return min(read) < self.low or max(read) > self.high


class Part(NamedTuple):
    """A request that a launch implements: the slots of its operands and then of its `results`, and their specs."""

    request: Any
    slots: Slots
    specs: tuple[Spec, ...]
    results: int = 1

    @property
    def written(self) -> Slots:
        """The slots of the results."""
        return self.slots[len(self.slots) - self.results :]


class Launch:
    """Store a sequence of steps, and the function that runs the steps.

    arguments: the number of buffers that a call receives: the operands, followed by the results.
    temporaries: the scratch memory of the launch, whose slots follow the slots of the arguments.
    flags: index checks between or after the steps.
    always_fails: whether every call has an index out of range.
    limits: describes the index that a failed check refers to, if the op names one.
    parts: the requests that the launch implements, in order.
    call: the function that runs the launch on the buffers, generated at its first use.  If an index is out of range it
    raises IndexOutOfRange, or returns True if the launch has no limits.
    """

    __slots__ = ("always_fails", "arguments", "call", "flags", "limits", "parts", "steps", "temporaries")
    call: Callable[..., Any]

    def __init__(
        self, arguments: int, steps: Sequence[Step] = (), temporaries: Sequence[Scratch | Constant] = (),
        flags: Sequence[Flag] = (), always_fails: bool = False, parts: Sequence[Part] = (),
    ) -> None:  # fmt: skip
        self.arguments, self.always_fails = arguments, always_fails
        self.steps, self.temporaries, self.flags = tuple(steps), tuple(temporaries), tuple(flags)
        self.parts = tuple(parts)
        self.limits: Limits | None = None

    def __call__(self, *buffers: Any) -> Any:
        return self.call(*buffers)

    def __getattr__(self, name: str) -> Any:
        if name != "call":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.call = written(self) if self.limits is None else checked(self, self.limits)
        return self.call

    @property
    def origin(self) -> Launch:
        """The launch with the same requests, slots and kernels whose record exists: itself, unless it is a copy."""
        return self

    def numbers(self) -> Iterable[Any]:
        """Return the scalar arguments of each step."""
        return [step.numbers for step in self.steps]

    def offsets(self) -> Any:
        """Return the offsets of the specs of all parts."""
        return [spec.layout.offset for part in self.parts for spec in part.specs]

    def __repr__(self) -> str:
        kernels = ", ".join([step.kernel.name for step in self.steps])
        return f"<Launch of {self.arguments} buffers: {kernels or 'no steps'}>"

    @property
    def requests(self) -> tuple[Any, ...]:
        """The requests that the launch implements."""
        return tuple([part.request for part in self.parts])

    @property
    def fast(self) -> tuple[Any, Any]:
        """Return the function of the only step and its scalar arguments, for the fast path of small calls.

        The scalar arguments follow the buffers of the call.  For a launch with several steps or with checks, the result
        is (None, None).
        """
        if len(self.steps) != 1 or self.flags or self.always_fails or self.limits is not None:
            return None, None
        kernel, slots, numbers, same = self.steps[0]
        plain = kernel.takes_numbers and not kernel.flags and same is None and slots == tuple(range(self.arguments))
        return (kernel.bound(numbers), numbers) if plain else (None, None)

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the kernels, each once."""
        return tuple(dict.fromkeys([step.kernel.path for step in self.steps if step.kernel.path]))

    def temporary(self, slot: int) -> Scratch | Constant | None:
        """Return the memory of a slot, or None for an operand or a result."""
        return self.temporaries[slot - self.arguments] if slot >= self.arguments else None

    def lifetimes(self) -> dict[int, tuple[int, int]]:
        """Return the first and the last step of each scratch memory that is used, by its slot."""
        result: dict[int, tuple[int, int]] = {}
        for k, step in enumerate(self.steps):
            for slot in step.slots:
                if isinstance(self.temporary(slot), Scratch):
                    result[slot] = (result.get(slot, (k, k))[0], k)
        for flag in self.flags:
            if flag.slot in result:
                first, last = result[flag.slot]
                result[flag.slot] = (first, max(last, flag.after - 1))
        return result

    def on_slots(self, slots: Slots, first: int, after: int = 0) -> tuple[list[Step], list[Flag], list[Part]]:
        """Return the steps, flags and parts on other slots.

        slots: the new slots of the buffers of the call.
        first: the first new slot of the temporaries.
        after: the number of steps that come before.
        """
        to = (*slots, *range(first, first + len(self.temporaries)))
        steps = []
        for kernel, old_slots, numbers, same in self.steps:
            pair = same and (to[same[0]], to[same[1]])
            steps.append(Step(kernel, tuple([to[slot] for slot in old_slots]), numbers, pair))
        flags = [flag._replace(slot=to[flag.slot], after=flag.after + after) for flag in self.flags]
        return steps, flags, [part._replace(slots=tuple([to[slot] for slot in part.slots])) for part in self.parts]

    def within(self, limits: Limits | None) -> Launch:
        """Return the launch with the index, or the classes, that its errors refer to."""
        made = Launch(self.arguments, self.steps, self.temporaries, self.flags, self.always_fails, self.parts)
        made.limits = limits
        return made


class Calls:
    """The functions through which call plans run launches; a backend that records launches overrides them."""

    @property
    def preparer(self) -> Any:
        """The backend that prepares launches for this one: itself, unless it records those of another backend."""
        return self

    def function(self, launch: Launch) -> Callable[..., Any]:
        """Return the function that calls a launch on buffers of this backend.

        A plan calls the only kernel of a launch itself, so the function of such a launch is generated at its first use.
        """
        return launch.call if launch.fast[0] is None else launch

    def fast(self, launch: Launch) -> tuple[Any, Any]:
        """Return the function of the launch's only kernel and its numbers, for the fast path, or (None, None)."""
        return launch.fast


Loop = Launch | Executable | Callable[..., Any]  # the results that a backend's method may return for a request
NO_STEPS = Launch(0)  # the launch of a loop without elements, for any buffers


def as_launch(made: Any, arguments: int, name: str, flags: bool = True) -> Launch:
    """Return the launch record for `made`: a record, a kernel, or a function of `arguments` buffers.

    flags: whether a true result of a function means that an index was out of range.
    """
    if isinstance(made, Launch):
        return made
    if isinstance(made, Executable):
        return Launch(arguments, [Step(made, tuple(range(arguments)), made.numbers)])
    return Launch(arguments, [Step(HostFunction(name, made, flags), tuple(range(arguments)))])


def remapped(made: Any, slots: Slots, arguments: int) -> Launch:
    """Return a launch that passes some of its `arguments` buffers, given by `slots`, to another launch."""
    inner = as_launch(made, len(slots), getattr(made, "__name__", "function"))
    steps, flags, parts = inner.on_slots(slots, arguments)
    return Launch(arguments, steps, inner.temporaries, flags, inner.always_fails, parts)


# ---- from the record to a function ----------------------------------------------------------------------------------


def written(launch: Launch) -> Callable[..., Any]:
    """Generate the function of a launch, because a Python loop over the steps would take as long as a small kernel.

    Each call allocates its own scratch memory, so two threads may run one launch at the same time.  A piece of scratch
    memory exists from the first to the last step that uses it.
    """
    if launch.always_fails:
        return lambda *buffers: True
    if not launch.steps:
        return lambda *buffers: False
    kernel, numbers = launch.fast
    if kernel is not None and launch.arguments == 2:  # this saves the 10 us of generating a function
        return lambda a, out: kernel(a, out, numbers)
    if kernel is not None and launch.arguments == 3:
        return lambda a, b, out: kernel(a, b, out, numbers)
    names = {k: f"b{k}" for k in range(launch.arguments)}
    bound: dict[str, Any] = {}
    for slot, memory in enumerate(launch.temporaries, launch.arguments):
        # The buffer of a temporary is not stored in a variable: an allocator caches only buffers without other
        # references.
        names[slot] = f"c{slot}" if isinstance(memory, Constant) else f"s{slot}.buffer"
        if isinstance(memory, Constant):
            bound[names[slot]] = memory.storage.buffer
        else:
            bound[f"make{slot}"] = memory.make
    head = f"def launch({', '.join([names[k] for k in range(launch.arguments)])}):"
    text = "\n    ".join([head, *lines_of(launch, names, bound)])
    return defined("launch", text, bound)


def checked(launch: Launch, limits: Limits) -> Callable[..., None]:
    """Return the function of a launch that raises IndexOutOfRange for a wrong index."""
    run = written(launch)

    def call(*buffers: Any) -> None:
        if run(*buffers):
            raise limits.error(buffers)

    return call


def lines_of(launch: Launch, names: dict[int, str], bound: dict[str, Any]) -> Iterator[str]:
    """Generate the lines of the function, and add the objects they name to `bound`."""
    lifetimes, last = launch.lifetimes(), len(launch.steps) - 1
    if last == 0 and not launch.flags and not lifetimes and launch.steps[0].unless_same is None:
        yield f"return {call_of(0, launch.steps[0], names, bound)}"
        return
    yield "wrong = False"
    for k, step in enumerate(launch.steps):
        yield from [f"s{slot} = make{slot}()" for slot, (first, _) in lifetimes.items() if first == k]
        call = call_of(k, step, names, bound)
        unless = "{} is not {}".format(*[names[slot] for slot in step.unless_same]) if step.unless_same else ""
        conditions = " and ".join(filter(None, (unless, call if step.kernel.flags else "")))
        effect = "wrong = True" if step.kernel.flags else call
        yield f"if {conditions}: {effect}" if conditions else effect
        for j, flag in enumerate(launch.flags):
            if flag.after == k + 1:
                bound[f"raised{j}"] = flag.raised
                yield f"if raised{j}(s{flag.slot}): return True"
        yield from [f"del s{slot}" for slot, (_, end) in lifetimes.items() if end == k < last]
    yield "return wrong"


def call_of(k: int, step: Step, names: dict[int, str], bound: dict[str, Any]) -> str:
    """Generate the call of one step."""
    kernel = step.kernel
    bound[f"run{k}"] = kernel.bound(step.numbers)
    arguments = [kernel.argument.format(names[slot]) for slot in step.slots]
    if kernel.takes_numbers:
        bound[f"n{k}"] = step.numbers
        arguments.append(f"n{k}")
    return f"run{k}({', '.join(arguments)})"
