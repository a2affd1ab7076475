"""Single launches and host calls of a program on NumPy arrays, if `Jitted.source` does not print them as loops.

The arrays are copied into memory with the strides that the launch expects, and back afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.registry import backend_of
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.requests import Copy
from minigrad.core.storage import Storage
from minigrad.errors import ArgumentError
from minigrad.jitting.arrays import Array
from minigrad.jitting.module import functions_of
from minigrad.jitting.moving import Made
from minigrad.jitting.program import HostCall, Item
from minigrad.jitting.source import Source
from minigrad.runtime.tensor import Tensor


def launch(entry: Any, k: int, arrays: Sequence[Any]) -> None:
    """Run a launch on the arrays that the text passes: those of all slots except constants and generator states."""
    sources = [*functions_of(entry).values()]
    source = next(each for each in reversed(sources) if each.first <= k)
    item = source.tape.items[k - source.first]
    if not isinstance(item, Item):
        raise ArgumentError(
            f"launch: k must be the index of a launch, got {k}, the index of a host call; call host({k})"
        )
    passed = passed_arrays(source, k - source.first, item)
    memory_of, buffers = entry.program.memory, dict[int, Any]()
    for slot in item.slots:
        memory = memory_of[slot]
        if slot in [each for each, _ in passed]:
            buffers.setdefault(slot, np.zeros(memory.numel, memory.dtype.storage))
        else:
            buffers[slot] = memory.value if memory.kind == "constant" else drawn(entry, slot, k)
    for (slot, shown), array in zip(passed, arrays, strict=True):
        seen(shown, buffers[slot])[...] = array
    stored = {
        slot: backend_of(memory_of[slot].device).from_host(buffer, memory_of[slot].dtype, memory_of[slot].device)
        for slot, buffer in buffers.items()
    }
    if item.launch.call(*[stored[slot].buffer for slot in item.slots]):
        raise IndexError(f"{item.line}: launch: an index is out of range in {item.launch!r}")
    for (slot, shown), array in zip(passed, arrays, strict=True):
        if isinstance(array, np.ndarray):
            array[...] = seen(shown, elements_of(stored[slot]))


def passed_arrays(source: Source, k: int, item: Item) -> list[tuple[int, Array | None]]:
    """Return the slots of launch `k` that the text passes, each with its array, or None for a number.

    A loop passes the arrays of its sample, and numbers that differ between the rounds.
    """
    rounds = next((x for x in source.rounds.values() if x.repeat.first <= k < x.repeat.end), None)
    if rounds is None:
        return [(slot, source.array_in(None, slot)) for slot in item.slots if source.is_passed(slot)]
    passed: list[tuple[int, Array | None]] = []
    for slot, other in zip(item.slots, rounds.body[(k - rounds.repeat.first) % rounds.repeat.period].slots):
        column = rounds.columns.get(other)
        if column is not None and column.family.is_numbers:
            passed.append((slot, None))
        elif source.is_passed(other):
            passed.append((slot, source.array_in(rounds, other)))
    return passed


def seen(array: Array | None, buffer: Any) -> Any:
    """Return memory with the shape and strides of its array in the text; None stands for a number."""
    if array is None:
        return buffer.reshape(())
    strides = [s * buffer.itemsize for s in array.strides]
    return np.lib.stride_tricks.as_strided(buffer, array.shape, strides)


def drawn(entry: Any, slot: int, k: int) -> Any:
    """Return the state of a generator for one launch; the last launch of `run` that draws advances the generator."""
    generator, first = next((g, first) for g, at, first in entry.program.draws if at == slot)
    stream = generator.in_use()
    if k >= len(entry.tape.items):  # the launch belongs to `back`, and draws the numbers that `run` has drawn before
        first -= entry.program.taken[generator]
    state = np.array([stream.seed, (stream.offset + first) % 2**64], np.uint64).view(np.int64)
    mine = {at for g, at, _ in entry.program.draws if g is generator}
    uses = [j for j, item in enumerate(entry.tape.items) if isinstance(item, Item) and mine & {*item.slots}]
    if k == max(uses):
        stream.offset += entry.program.taken[generator]
    return state


def host(entry: Any, k: int, arrays: Sequence[Any]) -> None:
    """Run a host call on the tensors themselves.

    The arrays are copied into the tensors before the call, and the tensors into the arrays after it.
    """
    call = entry.tape.items[k]
    if not isinstance(call, HostCall):
        raise ArgumentError(
            f"host: k must be the index of a host call, got {k}, the index of a launch; call launch({k})"
        )
    source = Source(entry)
    arrays_of = source.arrays.arrays
    by_slot = dict(zip(source.passed(call), arrays, strict=True))
    outside = {slot: source.real(slot) for slot in by_slot if source.real(slot) is not None}
    for slot, storage in outside.items():
        elements = elements_of(storage)
        seen(arrays_of.get(slot), elements)[...] = by_slot[slot]
        store_elements(storage, elements)
        storage.version += 1
    before = [(x, x._grad) for x, _ in call.gradients]
    for x, made in call.gradients:
        x._grad = None if made is None else gradient(x, made, source, by_slot[made.slot])
    call.function()
    for x, g in before:
        x._grad = g
    for slot, storage in outside.items():
        by_slot[slot][...] = seen(arrays_of.get(slot), elements_of(storage))


def gradient(x: Any, made: Made, source: Source, array: Any) -> Tensor:
    """Return the gradient of a Var from the array of its memory."""
    memory = source.memory[made.slot]
    elements = np.zeros(memory.numel, memory.dtype.storage)
    seen(source.arrays.arrays.get(made.slot), elements)[...] = array
    return Tensor(backend_of(memory.device).from_host(elements, memory.dtype, memory.device), made.layout)


# ---- elements of storages as arrays ----------------------------------------------------------------------------------


def elements_of(storage: Storage) -> NDArray[np.generic]:
    """Return the elements of a storage; on a host device, memory is shared."""
    return backend_of(storage.device).to_host(storage)


def store_elements(storage: Storage, elements: NDArray[np.generic]) -> None:
    """Write elements into a storage, starting at its beginning."""
    if isinstance(storage.buffer, np.ndarray):
        storage.buffer[: elements.size] = elements
        return
    backend, layout = backend_of(storage.device), Layout.contiguous((elements.size,))
    source = backend.from_host(elements, storage.dtype, storage.device)
    # Two Spec objects mean two separate pieces of memory.
    copy = backend.prepare(Copy(), Spec(layout, storage.dtype), Spec(layout, storage.dtype))
    copy(source.buffer, storage.buffer)
