"""Elements in row-major order: their positions, and how they are read into a compute dtype and written back.

Only this module handles layouts and dtypes for the loops of this backend.  `Layout.offsets` yields the positions of
elements, `cast_array` converts them, and `to_logical` views memory as numbers: 16-bit floats are stored as uint16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.core.dtype import as_dtype, cast_array, to_logical
from minigrad.core.layout import Layout
from minigrad.core.op import Spec

Buffer = NDArray[Any]


@lru_cache(maxsize=4096)  # a gradient check reads the same layouts hundreds of times
def positions(layout: Layout) -> NDArray[np.int64]:
    """Return the offsets of the elements, in row-major order of the index."""
    return np.fromiter(layout.offsets(), np.int64, layout.numel)


def collect(buffer: Buffer, spec: Spec, compute: np.dtype[Any]) -> NDArray[Any]:
    """Return the elements in row-major order, in the compute dtype."""
    return cast_array(to_logical(buffer, spec.dtype)[positions(spec.layout)], as_dtype(compute))


def read(buffer: Buffer, spec: Spec, compute: np.dtype[Any]) -> list[Any]:
    """Return the elements in row-major order, as scalars of the compute dtype: see `compute_type`."""
    values = collect(buffer, spec, compute)
    return values.tolist() if compute.kind == "b" else list(values)


def write(buffer: Buffer, spec: Spec, values: Sequence[Any], compute: np.dtype[Any]) -> None:
    """Store scalars of the compute dtype, given in row-major order; a real dtype stores the real parts."""
    array = np.array(values, compute)
    buffer[positions(spec.layout)] = cast_array(array if spec.dtype.is_complex else array.real, spec.dtype)


def quiet(launch: Callable[..., Any]) -> Callable[..., Any]:
    """Return a launch without NumPy's warnings: infinities, nan and wrapping are valid results here."""

    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return launch(*args)

    return run
