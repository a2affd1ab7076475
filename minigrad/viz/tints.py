"""Colors for quantities: the gradient at each box, or the bytes that are saved for each box."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from minigrad.diagnostics.flow import flow, values
from minigrad.diagnostics.tape import in_units, size_of
from minigrad.errors import ArgumentError
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.tensor import Tensor
from minigrad.viz.svg import NONE, ODD, STEPS

STRENGTH = ("", NONE, *STEPS, ODD)

Legend = list[tuple[str, str]]


def tinted(colour: str | None, y: Tensor, order: Mapping[str, tuple[str, Any]]) -> tuple[dict[str, str], Legend]:
    """Return the color of each box by id, and a legend; nothing if it is None.

    `order` contains the vertices of the picture.  Raises ArgumentError unless `colour` is "gradient", "bytes" or None.
    """
    if colour is None:
        return {}, []
    if colour == "gradient":
        return by_gradient(y, order)
    if colour == "bytes":
        return by_bytes(order)
    raise ArgumentError(
        f"viz.graph: colour must be 'gradient' or 'bytes', got {colour!r}; pass colour='gradient', for example"
    )


def by_gradient(y: Tensor, order: Mapping[str, tuple[str, Any]]) -> tuple[dict[str, str], Legend]:
    """Color by the largest element of the incoming gradient, in powers of ten below the overall maximum."""
    gradients = flow(y, name="viz.graph").gradients
    sizes = {}
    for key, (kind, item) in order.items():
        ids = (item.ids or (item.id,)) if isinstance(item, BackpropOp) else (item.id,) if kind == "var" else ()
        parts = [np.abs(values(gradients[i])).max(initial=0.0) for i in ids if i in gradients]
        if kind != "constant":
            sizes[key] = float(np.max(parts, initial=0.0))  # NumPy's max, because it returns nan if any value is nan
    finite = [size for size in sizes.values() if 0 < size < math.inf]
    top = math.floor(math.log10(max(finite))) if finite else 0

    def tint(size: float) -> str:
        if not math.isfinite(size):
            return ODD
        return NONE if size == 0 else STEPS[max(0, 4 - max(0, top - math.floor(math.log10(size))))]

    legend = [(STEPS[4 - k], f"|g| from 1e{top - k}" if k < 4 else f"below 1e{top - 3}") for k in range(5)]
    return {key: tint(size) for key, size in sizes.items()}, [*legend, (NONE, "0"), (ODD, "not finite")]


def by_bytes(order: Mapping[str, tuple[str, Any]]) -> tuple[dict[str, str], Legend]:
    """Color by the bytes that an op saves for its backward rule; each storage counts for every op that saved it."""
    sizes = {}
    for key, (kind, item) in order.items():
        if kind == "op":
            held = {id(x.storage): x.storage for x in item.saved or () if hasattr(x.storage, "buffer")}
            sizes[key] = sum(map(size_of, held.values()))
    most = max(sizes.values(), default=0) or 1
    legend = [(STEPS[k], f"up to {in_units(most * (k + 1) / 5)}") for k in range(5)]
    return {key: STEPS[min(4, 5 * size // most)] if size else NONE for key, size in sizes.items()}, [
        *legend,
        (NONE, "0"),
    ]
