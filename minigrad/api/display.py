"""How a tensor prints: the numbers as NumPy lays them out, then what it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minigrad.autodiff.grads import GradStore
from minigrad.config import OfContext
from minigrad.core.dtype import bool_, default_float, int64
from minigrad.runtime.tensor import Tensor, host_array
from minigrad.runtime.tracers import Tracer

_options: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80}
_blocks = OfContext({})


def set_printoptions(
    precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
    linewidth: int | None = None,
) -> None:  # fmt: skip
    """Set how tensors are printed in this process; what is left out stays.

    precision: digits after the point; threshold: elements from which the middle is left out; edgeitems: how many are
    shown at each end then; linewidth: characters of a line.
    """
    options = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({name: value for name, value in options.items() if value is not None})


@contextmanager
def printoptions(
    precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
    linewidth: int | None = None,
) -> Iterator[None]:  # fmt: skip
    """`set_printoptions` for a `with` block, in this thread or task."""
    options = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    block = _blocks.begin({name: value for name, value in options.items() if value is not None})
    try:
        yield
    finally:
        _blocks.end(block)


def option(name: str) -> Any:
    """An option in this thread or task: that of the newest block that sets it, else that of the process."""
    return next((block.value[name] for block in reversed(_blocks.blocks) if name in block.value), _options[name])


def hides_digits(array: Any) -> bool:
    """Whether a number that is nearly whole would print as if it were: 1.0000001 as `1.`.  Then all get their zeros."""
    if array.dtype.kind != "f":
        return False
    large = array[np.isfinite(array) & (np.abs(array) >= 0.5)]
    whole = np.rint(large)
    return bool(((whole != large) & (np.abs(large - whole) < 0.5 * 10.0 ** -option("precision"))).any())


def represent(x: Tensor) -> str:
    """`tensor([3., 1., 4.])`, with dtype, device, name and op where they are not the usual ones."""
    if isinstance(x, Tracer):
        return f"{type(x).__name__}({x.dtype}, shape={x.shape}, in a transform)"
    kind = "Var" if x.is_variable else "tensor"
    array = host_array(x)
    if x.dtype.itemsize == 2 and x.dtype.is_float:
        array = array.astype(np.float32)  # NumPy prints bfloat16 as integers
    options = {"max_line_width" if name == "linewidth" else name: option(name) for name in _options}
    if hides_digits(array):
        options["floatmode"] = "fixed"
    body = np.array2string(array, separator=", ", prefix=kind + "(", **options)
    notes = []
    if x.numel() == 0:
        notes.append(f"shape={x.shape}")
    if x.dtype not in (default_float(), int64, bool_):
        notes.append(f"dtype={x.dtype}")
    if str(x.device) != "cpu":
        notes.append(f"device={str(x.device)!r}")
    if name := getattr(x, "name", None):
        notes.append(f"name={name!r}")
    if x.op is not None:
        notes.append(f"op={x.op.op.label}")
    return f"{kind}({', '.join([body, *notes])})"


def as_html(x: Tensor) -> str:
    """In a notebook: the text, and where there are many numbers an image of them."""
    from minigrad.diagnostics import shown

    return shown.tensor_html(x, represent(x))


def grads_as_html(grads: GradStore) -> str:
    """In a notebook: a row for each Var."""
    from minigrad.diagnostics import shown

    return shown.grads_html({getattr(x, "name", None) or f"Var #{x.id}": g for x, g in grads.items()})


Tensor.__repr__ = represent  # type: ignore[assignment]
Tensor._repr_html_ = as_html  # type: ignore[assignment,method-assign]
GradStore._repr_html_ = grads_as_html  # type: ignore[attr-defined]
