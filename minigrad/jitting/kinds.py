"""The kind of some arguments: calls of one kind share a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.errors import ArgumentError
from minigrad.jitting.moving import fixed_offset, stores_gradient
from minigrad.jitting.outside import PLAIN
from minigrad.runtime.tensor import Tensor, describe


def name_of(function: Any) -> str:
    """Return the name of a function in texts; for a module or another object, the name of its class."""
    return str(getattr(function, "__name__", type(function).__name__))


def shown_kind(tensors: Sequence[Tensor], slots: Sequence[int]) -> str:
    """Return the dtypes and shapes of the tensors among some arguments; tensors with equal slots share memory."""
    parts = []
    for k, x in enumerate(tensors):
        first = slots.index(slots[k])
        memory = "" if first == k else f" in the memory of tensor {first}"
        parts.append(f"tensor {first} again" if memory and x is tensors[first] else f"{describe(x)}{memory}")
    return f"({', '.join(parts)})"


def key_of(leaves: list[Any], tree: str, modes: tuple[Any, ...], symbolic: bool) -> tuple[Any, ...]:
    """Return the kind of the arguments of a call; calls with equal kinds can run the same program.

    The kind contains how the arguments are nested, the layouts, dtypes and devices of tensors, and other values.
    symbolic: whether the values of floats are left out.
    The offset of a tensor counts only as far as the alignment of its elements depends on it, unless the tensor shares
    memory with another argument.
    Raises ArgumentError for a NumPy array.
    """
    parts: list[Any] = [tree, *modes]
    storages = [x.storage for x in leaves if isinstance(x, Tensor)]
    for x in leaves:
        if isinstance(x, Tensor):
            layout = x.layout
            first = storages.index(x.storage)
            sole = storages.count(x.storage) == 1
            held = x._grad if stores_gradient(x) else None
            grad = None if held is None else held.layout
            parts.append((
                layout.shape, None if layout.is_contiguous else layout.strides, x.dtype, x.device, x.__class__,
                fixed_offset(layout, x.dtype, x.device) if sole else (first, layout.offset), grad, x.requires_grad,
            ))  # fmt: skip
        elif symbolic and type(x) is float:
            parts.append(float)
        elif isinstance(x, PLAIN):
            # A float is stored as text, because 0.0 and -0.0 are equal but of different kinds.
            parts.append((type(x), str(x) if isinstance(x, float) else x))
        elif isinstance(x, (np.ndarray, np.generic)):
            raise ArgumentError(
                f"jit: expected tensors, numbers and objects as arguments, got {describe(x)}, whose values a program "
                "would not read again; pass mg.from_numpy(array)"
            )
        else:
            parts.append((type(x), id(x)))
    return tuple(parts)
