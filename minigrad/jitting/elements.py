"""Elements of storages as NumPy arrays, on any device: for verification and for the text of a program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minigrad.backends.registry import backend_of
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.core.requests import Copy
from minigrad.core.storage import Storage


def elements_of(storage: Storage) -> NDArray[np.generic]:
    """Return the elements of a storage; on a host device, memory is shared."""
    array: NDArray[np.generic] = backend_of(storage.device).to_host(storage)
    return array


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
