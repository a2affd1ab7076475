"""Methods for kinds of tensors that minigrad does not have: complex, sparse, quantized, shared.

Every tensor is dense and real, so most tests return False, and most conversions return the tensor itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.declare.decorators import public
from minigrad.declare.names import MG
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops.linalg.matrices import vector_norm
from minigrad.ops.pointwise.arithmetic import sub
from minigrad.runtime.tensor import Tensor, describe, expect_tensors


@public(namespace=MG)
def is_complex(input: Tensor) -> bool:
    """Return False, because minigrad does not support complex dtypes."""
    return False


@public(namespace=MG)
def is_nonzero(input: Tensor) -> bool:
    """Return whether the only element is not zero.  Raises ArgumentError for another number of elements."""
    expect_tensors("is_nonzero", input)
    if input.numel() != 1:
        raise ArgumentError(
            f"is_nonzero: expected a tensor of one element, got {describe(input)}; use .any() or .all() for several "
            "elements"
        )
    return bool(input)


@public(namespace=MG)
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape."""
    expect_tensors("is_same_size", input, other)
    return input.shape == other.shape


def is_signed(x: Tensor) -> bool:
    """Return whether the dtype has negative numbers."""
    return x.dtype.kind in ("int", "float")


def is_set_to(x: Tensor, tensor: Tensor) -> bool:
    """Return whether another tensor has the same memory and the same layout."""
    return x.storage is tensor.storage and x.layout == tensor.layout


def same(name: str) -> Callable[[Tensor], Tensor]:
    """Return a conversion method that returns the tensor itself, because every tensor is dense and real."""

    def method(x: Tensor) -> Tensor:
        return x

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Return x itself: it is dense and real."
    return method


def never(name: str) -> Callable[[Tensor], bool]:
    """Return a method that returns False, for a kind that no tensor has."""

    def answer(x: Tensor) -> bool:
        return False

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = "Return False: there is no such tensor."
    return answer


def itemsize(x: Tensor) -> int:
    """Return the number of bytes of an element."""
    return x.dtype.itemsize


def real(x: Tensor) -> Tensor:
    """Return x itself, because complex numbers are not supported."""
    return x


def output_nr(x: Tensor) -> int:
    """Return the index of the tensor among the results of its node; 0 for a leaf."""
    return getattr(x.op, "index", 0)


def dist(x: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Return the p-norm of x - other: see `mg.dist`."""
    return vector_norm(sub(x, other), p)


def fill_diagonal_(x: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write a number to the diagonal of a matrix, in place, and return the matrix.

    A tensor with more than two dims must have equal lengths in all dims; its diagonal is x[i, i, ..., i].
    fill_value: the number to write.  wrap: whether a matrix with more rows than columns has further diagonals.  Each
    further diagonal begins in column 0, with one row between it and the end of the diagonal above.
    Raises ShapeError for a tensor with fewer than two dims, or with more than two dims of different lengths.
    """
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ShapeError(
            f"fill_diagonal_: expected a matrix, or at least 3 dims of equal lengths, got {describe(x)}; slice the "
            "tensor to equal lengths"
        )
    if x.ndim > 2:
        for k in range(x.shape[0]):
            x[(k,) * x.ndim] = fill_value
        return x
    rows, columns = x.shape
    for start in range(0, rows if wrap else min(rows, 1), columns + 1):
        x[start : start + columns].diagonal().fill_(fill_value)
    return x


def apply_(x: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by `callable(element)`, in place.

    The function runs in Python, so this is slow, and no gradient flows through it.
    """
    return written(x, [callable(value) for value in flat(x)])


def map_(x: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by `callable(element, other)`, in place, with `other` from `tensor`; see `apply_`.

    `tensor` is broadcast to the shape of x.
    """
    others = flat(tensor.expand(x.shape))
    return written(x, [callable(*values) for values in zip(flat(x), others, strict=True)])


def flat(x: Tensor) -> Any:
    """Return a list of the elements as Python numbers, in row-major order."""
    return x.detach().reshape(-1).tolist()


def written(x: Tensor, values: list[Any]) -> Tensor:
    """Write a list of elements into x, in row-major order, and return x."""
    x.copy_(x.new_tensor(values).reshape(x.shape))
    return x


def record_stream(x: Tensor, stream: Any) -> None:
    """Do nothing: the method exists for code from PyTorch; minigrad reuses the memory of a device in stream order."""


FUNCTIONS = (
    is_complex, is_nonzero, is_same_size, is_signed, is_set_to, dist, fill_diagonal_, apply_, map_,
    record_stream,
    *[same(name) for name in ("conj", "conj_physical", "resolve_conj", "resolve_neg", "to_dense")],
    *[never(name) for name in ("is_conj", "is_neg", "is_distributed", "is_shared")],
)  # fmt: skip
PROPERTIES = (
    itemsize, real, output_nr,
    *[never(f"is_{kind}") for kind in ("sparse", "sparse_csr", "quantized", "nested", "mkldnn", "vulkan", "ipu", "xla",
                                       "maia", "mtia")],
)  # fmt: skip
