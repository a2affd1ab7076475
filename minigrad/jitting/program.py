"""A recorded program: launches on memory that does not exist yet, and the backend that records them.

While a function is recorded, its tensors are on a *twin* of their device: a `Device` of the same name and another
identity.  Call plans are stored by device, so the twin has separate plans, and eager calls have no additional cost.
The backend of the twin lets the real backend prepare each launch, and records it instead of running it.

The buffer of a storage on the twin is a `Slot`: a number.  It has no values, so code that reads a value raises
`RecordingError`.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from minigrad.backends import registry
from minigrad.backends.base import Backend
from minigrad.backends.launch import Launch, Part
from minigrad.core.allocator import Key
from minigrad.core.device import Device
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.requests import Copy, Request
from minigrad.core.storage import Storage
from minigrad.errors import RecordingError
from minigrad.runtime.recording import definition_of, user_line

INSIDE = 3  # frames above a launch that are never those of a user: `add`, a function of the backend, and its caller
SOME = 1024  # launches between two readings of the clock
PATIENCE = 1.0  # seconds after which a recording shows its progress
numbers = itertools.count()


class Slot:
    """The buffer of a storage on a twin.

    number: unique in the process.
    device: the real device.
    value: the elements of a constant, otherwise None.
    """

    __slots__ = ("device", "dtype", "nbytes", "number", "size", "value")

    def __init__(self, numel: int, dtype: DType, device: Device, value: NDArray[Any] | None = None) -> None:
        self.number = next(numbers)
        self.size, self.dtype, self.device, self.value = numel, dtype, device, value
        self.nbytes = numel * dtype.itemsize

    def view(self, dtype: Any) -> NoReturn:
        """Raise RecordingError: see `RecordingBackend.records`."""
        raise refusal(
            "views of complex numbers as pairs (view_as_real, view_as_complex) cannot be recorded; use x.real, x.imag "
            "and mg.complex(real, imag)"
        )


class Memory(NamedTuple):
    """Describe the memory of one slot of a program.

    kind: "temporary" (allocated while the function ran), "argument", "outside" (memory of a tensor that the function
    reaches by a variable), "constant", "symbol" (a number that each call reads) or "drawn" (the state of a generator).
    value: the elements of a constant.
    device: the device of the memory in a call; the memory of a recording is on another, abstract device.
    """

    numel: int
    dtype: DType
    kind: str
    value: Any
    device: Device

    @property
    def nbytes(self) -> int:
        return self.numel * self.dtype.itemsize


class Item(NamedTuple):
    """One launch, the numbers of its slots and the user's line. fused: the launches that it replaces."""

    launch: Launch
    slots: tuple[int, ...]
    line: str
    fused: tuple[Item, ...] = ()


def written_by(item: Item) -> set[int]:
    """Return the slots that a launch writes; all of its slots if the record does not specify them."""
    launch = item.launch.origin
    parts = launch.parts
    if not parts:
        return set(item.slots)
    if len(parts) == 1 and parts[0].results == 1:  # the usual launch, which a long program has many times
        slot = parts[0].slots[-1]
        return {item.slots[slot]} if slot < launch.arguments else set()
    last = {item.slots[-1]} if len(launch.parts) > 1 else set()
    return last | {item.slots[k] for part in launch.parts for k in part.written if k < launch.arguments}


def sole_part(item: Item) -> Part | None:
    """Return the request of a launch that has only one, on its own buffers, and cannot fail; otherwise None."""
    launch = item.launch
    if len(launch.parts) != 1 or launch.limits is not None or launch.flags or launch.always_fails:
        return None
    part = launch.parts[0]
    return None if any(slot >= launch.arguments for slot in part.slots) else part


class HostCall(NamedTuple):
    """A function that each call runs between two launches: a step of an optimizer or of a schedule.

    gradients: the gradients that it may read, as `Recording.gradients` returns them.
    """

    function: Callable[[], Any]
    line: str
    gradients: tuple[Any, ...] = ()


class Program:
    """Store the launches and host calls of a recorded function, in the order in which they ran.

    memory: the description of each slot, by its index.
    arithmetic: lines of Python that compute numbers from symbols, one line per operation.
    symbols: pairs of the name of a number and the slot that contains it.
    refused: the first error that made the recording impossible, even if the function has caught this error.
    draws: one entry per draw of random numbers: the generator, the slot of its state, and the number of blocks that the
    call has drawn before.
    taken: for each generator, the number of blocks that a call draws.
    repeats: the loops among the items, see `repeats.py`; None until they have been searched.
    whole: the number of items of the recorded function, if the program is a part of it.
    """

    def __init__(self) -> None:
        self.items: list[Item | HostCall] = []
        self.repeats: list[Any] | None = None
        self.whole = 0
        self.began = self.shown = time.monotonic()
        self.memory: dict[int, Memory] = {}
        self.draws: list[tuple[Any, int, int]] = []
        self.arithmetic: list[str] = []
        self.symbols: list[tuple[str, int]] = []
        self.refused: RecordingError | None = None
        self.taken: dict[Any, int] = {}

    def new(self, numel: int, dtype: DType, kind: str, device: Device) -> Slot:
        """Return a new slot on a real device."""
        slot = Slot(numel, dtype, device)
        self.memory[slot.number] = Memory(max(1, numel), dtype, kind, None, device)
        return slot

    def add(self, launch: Launch, buffers: tuple[Any, ...]) -> bool:
        """Record a launch on some slots.  Return False: no index is known to be out of range."""
        known = self.memory
        slots = [x.number if x.__class__ is Slot and x.number in known else self.number(x) for x in buffers]
        self.items.append(Item(launch, tuple(slots), user_line(INSIDE) or ""))
        if not len(self.items) % SOME:
            self.show_progress()
        return False

    def show_progress(self) -> None:
        """Print the number of launches on stderr after a second, and then whenever the time has doubled."""
        now = time.monotonic()
        if now - self.began < max(PATIENCE, 2 * (self.shown - self.began)):
            return
        self.shown = now
        print(
            f"minigrad: mg.jit has recorded {len(self.items):,} launches in {now - self.began:.1f} s, at "
            f"{self.items[-1].line}; later calls do not record",
            file=sys.stderr, flush=True,
        )  # fmt: skip

    def number(self, slot: Any) -> int:
        """Return the number of a slot of this program.  Raise RecordingError for any other buffer."""
        if slot.__class__ is not Slot:
            raise refusal(
                "the function writes into a tensor on another device than its other tensors; move all tensors to one "
                "device with .to(device)"
            )
        if slot.number not in self.memory:
            if slot.value is None:
                raise refusal(
                    "the function uses a tensor from an earlier recording, which has no values; return tensors from "
                    "the function instead of storing them elsewhere"
                )
            self.memory[slot.number] = Memory(max(1, slot.size), slot.dtype, "constant", slot.value, slot.device)
        return int(slot.number)


class _Recording(threading.local):
    program: Program | None = None


recording = _Recording()  # stores the recording that runs in each thread


def refusal(words: str) -> RecordingError:
    """Return an error for the user's line.  The recording fails even if the function catches it."""
    error, program = RecordingError(f"{user_line()}: jit: {words}"), recording.program
    if program is not None and program.refused is None:
        program.refused = error
    return error


def inner_function(function: Any) -> Any:
    """Return the function that a call runs: `forward` of a module, `func` of a partial, `__call__` of an object."""
    candidates = (function, *[getattr(function, name, None) for name in ("forward", "func", "__call__")])
    return next((each for each in candidates if hasattr(each, "__code__")), function)


def defined_at(function: Any) -> str:
    """Return the line where a function is defined, as the start of a message."""
    definition = definition_of(inner_function(function))
    return definition and f"{definition}: "


def current() -> Program:
    """Return the program that this thread records.  Raise RecordingError if there is none."""
    program = recording.program
    if program is None:
        raise RecordingError(
            f"{user_line()}: jit: a tensor of a recorded function was used after the recording, when it has no values; "
            "return the tensor from the function instead of storing it elsewhere"
        )
    return program


class NoAllocator:
    """A replacement for the allocator of slots.

    The engine adds gradients in place if a storage has an allocator.
    """

    def free(self, buffer: Any) -> None:
        """Do nothing."""


NO_ALLOCATOR: Any = NoAllocator()


class RecordingBackend(Backend):
    """The backend of a twin.

    real: the backend whose launches are recorded.
    device: the device that the twin represents.
    """

    records = True  # a program compares positions in memory, and those of parts of complex numbers have another unit

    def __init__(self, real: Backend, device: Device) -> None:
        self.real, self.device = real, device

    @property
    def preparer(self) -> Backend:
        return self.real

    def allocate(self, numel: int, dtype: DType, device: Device) -> Storage:
        return Storage(current().new(numel, dtype, "temporary", self.device), dtype, device, NO_ALLOCATOR, numel)

    def maker(self, numel: int, dtype: DType, device: Device) -> Callable[[], Storage]:
        memory, key = Memory(max(1, numel), dtype, "temporary", None, self.device), Key.of(0, numel)

        def make() -> Storage:
            slot = Slot(numel, dtype, self.device)
            current().memory[slot.number] = memory
            storage = Storage(slot, dtype, device, NO_ALLOCATOR)
            storage.key = key
            return storage

        return make

    def from_host(self, values: NDArray[Any], dtype: DType, device: Device) -> Storage:
        """Return memory that each call fills: eager mode allocates it in each call, and may write into it."""
        constant = self.constant(values, dtype, device)
        storage = self.allocate(values.size, dtype, device)
        layout = Layout.contiguous((values.size,))
        # Two Spec objects mean two separate pieces of memory.
        launch = self.real.prepare(Copy(), Spec(layout, dtype), Spec(layout, dtype))
        current().add(launch, (constant.buffer, storage.buffer))
        return storage

    def constant(self, values: NDArray[Any], dtype: DType, device: Device) -> Storage:
        slot = Slot(values.size, dtype, self.device, np.array(values))
        return Storage(slot, dtype, device, NO_ALLOCATOR, values.size)

    def to_host(self, storage: Storage) -> NDArray[Any]:
        raise refusal(
            "the function requests the value of a tensor (item(), float(), bool(), print, numpy(), a mask or a tensor "
            "without dims as an index), but no values exist while the function is recorded; return the tensor, use "
            "mg.where instead of a branch, and x[i[None]][0] instead of x[i]"
        )

    def prepare(self, request: Request, outs: Spec | tuple[Spec, ...], *operands: Spec) -> Launch:
        launch = self.real.prepare(request, outs, *operands)
        recorded = launch.within(launch.limits)
        recorded.call = self.function(launch)
        return recorded

    def function(self, launch: Launch) -> Callable[..., Any]:
        return lambda *slots: current().add(launch, slots)

    def sent(self, spec: Spec) -> Spec:
        return self.real.sent(spec)

    def taken(self, spec: Spec) -> Spec:
        return self.real.taken(spec)

    def sending(self, launch: Launch, specs: tuple[Spec, ...]) -> Launch:
        return self.real.sending(launch, specs)

    def receiving(self, launch: Launch, specs: tuple[Spec, ...]) -> Launch:
        return self.real.receiving(launch, specs)

    def fast(self, launch: Launch) -> tuple[Any, Any]:
        return None, None


_twins: dict[Device, tuple[Device, RecordingBackend]] = {}


def real_of(device: Device) -> Device:
    """Return the device that a twin represents; return any other device unchanged."""
    backend = registry.backend_of(device)
    return backend.device if isinstance(backend, RecordingBackend) else device


def twin_of(device: Device) -> Device:
    """Return the twin of a device, which records for the current backend of the device."""
    real = registry.backend_of(device)
    twin, backend = _twins.get(device, (None, None))
    if twin is None or backend is None or backend.real is not real:
        twin, backend = twin or Device.made(device.kind, device.index), RecordingBackend(real, device)
        _twins[device] = twin, backend
    registry.serve_device(twin, backend)
    return twin
