"""Print tensors: the elements in PyTorch's format, then dtype, device, name and op.

All elements have the same width.  Floats are printed as `3.` if all of them are integers, otherwise with `precision`
digits after the decimal point.  They have an exponent if the largest magnitude is more than 1e8 or more than 1000 times
the smallest, or if the smallest is less than 1e-4 and not all elements are integers.
Source: these thresholds and the line breaks are those of PyTorch's `_tensor_str.py`.

IPython displays errors, so `install` registers a handler with IPython, if it is running when minigrad is imported.  The
error itself does not change.  `settings.short_errors = False`, or MINIGRAD_SHORT_ERRORS=0, shows all frames.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import numpy as np

from minigrad.autodiff.grads import GradStore
from minigrad.config import OfContext, settings
from minigrad.core.dtype import bool_, default_float, int64
from minigrad.core.roles import Choice
from minigrad.declare.advice import defined_above
from minigrad.errors import MinigradError
from minigrad.runtime.data import host_array
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer

_options: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
PROFILES: dict[str, dict[str, Any]] = {
    "default": dict(_options), "short": _options | {"precision": 2, "edgeitems": 2},
    "full": _options | {"threshold": math.inf},
}  # fmt: skip
_blocks = OfContext({})


def set_printoptions(
    precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
    linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """Set how tensors are printed in this process.

    An omitted option does not change, except `sci_mode`: each call without it resets it to None.

    precision: Number of digits after the decimal point.
    threshold: Largest number of elements of a tensor that is printed in full.
    edgeitems: Number of elements that are printed at each end of a dim, for a tensor with more elements than
    `threshold`.
    sci_mode: Whether elements are printed with an exponent.  None selects the form from the magnitudes of the elements.

    Raises ArgumentError if `profile` is another string.
    """
    _options.update(changed(precision, threshold, edgeitems, linewidth, profile) | {"sci_mode": sci_mode})


@contextmanager
def printoptions(
    precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
    linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None,
) -> Iterator[None]:  # fmt: skip
    """Set print options for a `with` block, in this thread or task: see `set_printoptions`."""
    own = changed(precision, threshold, edgeitems, linewidth, profile)
    block = _blocks.begin(own if sci_mode is None else own | {"sci_mode": sci_mode})
    try:
        yield
    finally:
        _blocks.end(block)


def changed(precision: Any, threshold: Any, edgeitems: Any, linewidth: Any, profile: str | None) -> dict[str, Any]:
    """Return the options of a profile, updated with the options that are not None."""
    Choice(*PROFILES, None).expect("set_printoptions", profile=profile)
    own = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    return PROFILES.get(profile or "", {}) | {name: value for name, value in own.items() if value is not None}


def option(name: str) -> Any:
    """Return the value of an option: from the newest `with` block that sets it, otherwise that of the process."""
    return next((block.value[name] for block in reversed(_blocks.blocks) if name in block.value), _options[name])


def number_format(array: Any) -> Callable[[Any], str]:
    """Return the function that formats the elements of an array; it depends on the smallest and largest magnitude."""
    precision, mode = option("precision"), option("sci_mode")
    if array.dtype.kind == "c":
        real, imag = number_format(array.real), number_format(np.abs(array.imag))
        return lambda value: f"{real(value.real)}{'-' if np.signbit(value.imag) else '+'}{imag(abs(value.imag))}j"
    if array.dtype.kind != "f":
        return lambda value: str(value.item())
    values = np.abs(array[np.isfinite(array) & (array != 0)].astype(np.float64))
    whole = bool((values == np.ceil(values)).all())
    low, high = (values.min(), values.max()) if values.size else (1.0, 1.0)
    with np.errstate(over="ignore"):
        wide = bool(high / low > 1000.0 or high > 1e8 or (low < 1e-4 and not whole))
    if wide if mode is None else mode:
        return lambda value: f"{value:.{precision}e}"
    if whole:
        return lambda value: f"{value:.0f}" + ("." if math.isfinite(value) else "")
    return lambda value: f"{value:.{precision}f}"


def shown_part(array: Any, edge: int) -> Any:
    """Return the elements of a long array that are printed: `edge` elements at both ends of each dim."""
    for dim, length in enumerate(array.shape):
        if length > 2 * edge:
            array = np.take(array, [*range(edge), *range(length - edge, length)], dim)
    return array


def laid_out(array: Any, indent: int) -> str:
    """Return the elements as text in nested brackets; `indent`: the number of characters before the first bracket."""
    if not array.size:
        return "[]"
    edge = option("edgeitems") if array.size > option("threshold") else None
    seen = array if edge is None else shown_part(array, edge)
    written = number_format(seen)
    # Zeros, inf and nan do not count for the width; without other elements, the width is 1, as in PyTorch.
    counted = seen[np.isfinite(seen) & (seen != 0)] if seen.dtype.kind == "f" else seen
    width = max([len(written(value)) for value in counted.reshape(-1)], default=1)
    return nested(array, lambda value: written(value).rjust(width), width, indent, edge)


def nested(array: Any, written: Callable[[Any], str], width: int, indent: int, edge: int | None) -> str:
    """Return the elements as text, with one pair of brackets per dim.

    edge: the number of elements that are printed at each end of a long dim; None prints all.
    """
    if array.ndim == 0:
        return written(array[()])
    cut = edge is not None and len(array) > 2 * edge
    parts = [*array[:edge], *array[len(array) - edge :]] if cut and edge is not None else list(array)
    if array.ndim > 1:
        texts = [nested(part, written, width, indent + 1, edge) for part in parts]
        if cut:
            texts.insert(len(texts) // 2, "...")
        return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(texts) + "]"
    texts = [written(value) for value in parts]
    if cut:
        texts.insert(len(texts) // 2, " ...")
    count = max(1, (option("linewidth") - indent) // (width + 2))
    lines = [", ".join(texts[k : k + count]) for k in range(0, len(texts), count)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def represent(x: Tensor) -> str:
    """Return `tensor([3., 1., 4.])`, with dtype, device, name and op where they are not the defaults."""
    if isinstance(x, Tracer):
        return f"{type(x).__name__}({x.dtype}, shape={x.shape}, in a transform)"
    kind = "Var" if x.is_variable else "tensor"
    array = host_array(x)
    if x.dtype.itemsize == 2 and x.dtype.is_float:
        array = array.astype(np.float32)  # Python cannot format bfloat16
    indent = len(kind) + 1
    text = laid_out(array, indent)
    notes = []
    if x.numel() == 0 and x.ndim != 1:
        notes.append(f"shape={x.shape}")
    if x.dtype is not default_float() and (x.numel() == 0 or x.dtype not in (int64, bool_)):
        notes.append(f"dtype={x.dtype}")
    if str(x.device) != "cpu":
        notes.append(f"device={str(x.device)!r}")
    if name := getattr(x, "name", None):
        notes.append(f"name={name!r}")
    if x.op is not None:
        notes.append(f"op={x.op.op.label}")
    length = len(text) - text.rfind("\n") + 1 + (indent if "\n" not in text else 0)
    for note in notes:  # a note is on the line of the elements if it fits there, otherwise on a new line
        apart = length + len(note) + 2 > option("linewidth")
        text += f",\n{' ' * indent}{note}" if apart else f", {note}"
        length = indent + len(note) if apart else length + len(note) + 2
    return f"{kind}({text})"


def as_html(x: Tensor) -> str:
    """Return the HTML of a tensor for a notebook: its text, and an image if it has many elements."""
    return defined_above("diagnostics.shown", "tensor_html")(x, represent(x))


def grads_as_html(grads: GradStore) -> str:
    """Return the HTML of gradients for a notebook: a table with one row per Var."""
    named = {getattr(x, "name", None) or f"Var #{x.id}": g for x, g in grads.items()}
    return defined_above("diagnostics.shown", "grads_html")(named)


Tensor.__repr__ = represent  # type: ignore[assignment]
Tensor._repr_html_ = as_html  # type: ignore[assignment,method-assign]
GradStore._repr_html_ = grads_as_html  # type: ignore[attr-defined]


# ---- shorten the tracebacks in a notebook: show the user's frames and the frame that raised, but no other ------------


PACKAGE = os.path.dirname(os.path.dirname(__file__))  # links are not resolved, as in the file names of frames
OURS = (os.path.join(PACKAGE, ""), "<minigrad ")


def shortened(tb: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this package, except the last frame, which raised the error."""
    frames = []
    while tb is not None:
        if tb.tb_next is None or not tb.tb_frame.f_code.co_filename.startswith(OURS):
            frames.append(tb)
        tb = tb.tb_next
    result: TracebackType | None = None
    for each in reversed(frames):
        result = TracebackType(result, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return result


def show(shell: Any, kind: type[BaseException], error: BaseException, tb: TracebackType, tb_offset: Any = None) -> Any:
    """Display an error with shortened tracebacks, and store it for %debug and %tb; IPython calls this handler."""
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, tb
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    short = settings.short_errors
    before = {each: each.__traceback__ for each in led_to(error)} if short else {}
    try:
        for each, whole in before.items():
            each.__traceback__ = shortened(whole)
        way = shortened(tb) if short else tb
        lines = shell.InteractiveTB.structured_traceback(kind, error, way, tb_offset=tb_offset)
    finally:
        for each, whole in before.items():
            each.__traceback__ = whole
    shell._showtraceback(kind, error, lines)
    return lines


def led_to(error: BaseException) -> list[BaseException]:
    """Return the errors that are shown before this one: the chain of causes and contexts, the nearest first."""
    result: list[BaseException] = []
    here = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    while here is not None and here is not error and here not in result:
        result.append(here)
        here = here.__cause__ or (None if here.__suppress_context__ else here.__context__)
    return result


def install() -> None:
    """Register the handler with IPython, if IPython is running and the user has not set another handler."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is not None and not getattr(shell, "custom_exceptions", ()):
        shell.set_custom_exc((MinigradError,), show)
