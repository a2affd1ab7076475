"""Copies of views: `narrow_copy` returns the result of `narrow` in separate memory, and so on for the other views."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from minigrad.core.roles import Along, Flag, Ints, StretchedShape
from minigrad.core.shape import as_shape, normalize_dim
from minigrad.declare.decorators import composed
from minigrad.declare.signature import annotations_of
from minigrad.ops.casting import clone
from minigrad.ops.shape import views
from minigrad.ops.shape.joining import split
from minigrad.runtime.tensor import Tensor

VIEWS = (views.diagonal, views.narrow, views.permute, views.select, views.squeeze, views.t, views.transpose,
         views.unfold, views.unsqueeze)  # fmt: skip
METHODS = {"narrow"}


def copying(view: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Declare the op `view_copy`, which copies the result of a view and has the parameters of the view."""

    def definition(*args: Any, **params: Any) -> Tensor:
        return clone(view(*args, **params))

    declared: Any = view.__wrapped__  # type: ignore[attr-defined]
    definition.__name__ = f"{view.__name__}_copy"
    definition.__doc__ = f"Return a copy of the result of `{view.__name__}`, in separate memory."
    definition.__signature__ = inspect.signature(declared)  # type: ignore[attr-defined]
    definition.__annotations__ = annotations_of(declared) | {"return": Tensor}
    return composed(method=view.__name__ in METHODS)(definition)


COPIES = {f"{view.__name__}_copy": copying(view) for view in VIEWS}
globals().update(COPIES)  # pickle finds functions as attributes of their module
# ---- copies whose parameters differ from those of the view ----------------------------------------------------------


@composed(method=False)
def alias_copy(input: Tensor) -> Tensor:
    """Return a copy of the tensor, as `clone`."""
    return clone(input)


@composed(method=False)
def expand_copy(input: Tensor, size: StretchedShape, *, implicit: Flag = False) -> Tensor:
    """Return a copy of the result of `expand`, in separate memory.

    implicit: has no effect; PyTorch has this parameter.
    """
    return clone(views.expand(input, as_shape((size,), "expand_copy", hole=True)))


@composed(method=False)
def view_copy(input: Tensor, size: StretchedShape) -> Tensor:
    """Return a copy of the tensor in another shape with the same number of elements."""
    return clone(views.reshape(input, as_shape((size,), "view_copy", hole=True)))


@composed(method=False)
def slice_copy(
    input: Tensor, dim: Along = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Return a copy of input[start:end:step] along `dim`."""
    d = normalize_dim(dim, input.ndim, "slice_copy", input)
    return clone(input[(*(slice(None),) * d, slice(start, end, step))])


@composed(method=False)
def as_strided_copy(input: Tensor, size: Ints, stride: Ints, storage_offset: int | None = None) -> Tensor:
    """Return a copy of the result of `Tensor.as_strided`, a view of the storage with any shape and strides."""
    return clone(views.strided_view(input, size, stride, storage_offset))


@composed(method=False)
def split_copy(input: Tensor, split_size: int, dim: Along = 0) -> tuple[Tensor, ...]:
    """Return copies of the views that `split` returns."""
    return tuple([clone(part) for part in split(input, split_size, dim)])


@composed(method=False)
def split_with_sizes_copy(input: Tensor, split_sizes: Sequence[int], dim: Along = 0) -> tuple[Tensor, ...]:
    """Return copies of the views that `split_with_sizes` returns."""
    return tuple([clone(part) for part in split(input, list(split_sizes), dim)])


@composed(method=False)
def unbind_copy(input: Tensor, dim: Along = 0) -> tuple[Tensor, ...]:
    """Return copies of the slices at all positions along `dim`, without this dim."""
    d = normalize_dim(dim, input.ndim, "unbind_copy", input)
    return tuple([clone(views.select(input, dim=d, index=k)) for k in range(input.shape[d])])
