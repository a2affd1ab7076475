"""In-place views: `x.t_()`, `x.unsqueeze_(0)` and similar methods change the layout of a tensor over its memory.

A graph that saved the tensor would read it in the new layout.  So these methods are only for tensors without gradients,
and they count as a write: a graph that saved such a tensor detects it, as in PyTorch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from minigrad.declare import names
from minigrad.errors import GradientError
from minigrad.ops.shape import views
from minigrad.runtime.changes import rebind
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer


def view_in_place(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the method `name_`, the in-place form of a view."""

    def method(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if isinstance(x, Tracer) or x.requires_grad or x.storage.tracked:
            raise GradientError(
                f"{name}_: the tensor must not require a gradient or share memory with a tensor that does, got "
                f"{describe(x)}; write x = x.{name}(...)",
                op=f"{name}_",
            )
        layout = function(x, *args, **kwargs).layout
        if layout is not x.layout:
            rebind(x, x.storage, layout)
            x.storage.version += 1
        return x

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = (
        f"`{name}` in place: x itself shows its memory so, and is returned.  Raises GradientError for a tensor that "
        f"requires a gradient, or shares memory with one."
    )
    method.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return method


VIEWS: dict[str, Any] = {
    **{name: names.methods[name] for name in ("squeeze", "unsqueeze", "t", "transpose")},
    "as_strided": views.strided_view, "swapaxes": names.methods["transpose"], "swapdims": names.methods["transpose"],
}  # fmt: skip
FUNCTIONS = tuple([view_in_place(name, function) for name, function in VIEWS.items()])
