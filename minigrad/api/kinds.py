"""Methods about kinds of tensors that minigrad does not have: complex, sparse, quantized, shared.

Every tensor here is dense and real, so most answers are False, and most conversions return the tensor itself.
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
    """Return False, since complex dtypes are not supported."""
    return False


@public(namespace=MG)
def is_nonzero(input: Tensor) -> bool:
    """Return whether the only element is not zero; raises ArgumentError for another number of elements."""
    expect_tensors("is_nonzero", input)
    if input.numel() != 1:
        raise ArgumentError(f"is_nonzero: expected one element, got {describe(input)}; use any() or all()")
    return bool(input)


@public(namespace=MG)
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have one shape."""
    expect_tensors("is_same_size", input, other)
    return input.shape == other.shape


def is_signed(x: Tensor) -> bool:
    """Return whether the dtype has negative numbers."""
    return x.dtype.kind in ("int", "float")


def is_set_to(x: Tensor, tensor: Tensor) -> bool:
    """Return whether another tensor shows the same memory in the same layout."""
    return x.storage is tensor.storage and x.layout == tensor.layout


def same(name: str) -> Callable[[Tensor], Tensor]:
    """Return the method that converts to the kind which every tensor has."""

    def method(x: Tensor) -> Tensor:
        return x

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Return x itself: it is dense and real."
    return method


def never(name: str) -> Callable[[Tensor], bool]:
    """Return the answer for a kind that no tensor has."""

    def answer(x: Tensor) -> bool:
        return False

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = "Return False: there is no such tensor."
    return answer


def itemsize(x: Tensor) -> int:
    """Return the number of bytes of an element."""
    return x.dtype.itemsize


def real(x: Tensor) -> Tensor:
    """x itself: there are no complex numbers."""
    return x


def output_nr(x: Tensor) -> int:
    """Return the index of the tensor among the results of its node."""
    return getattr(x.op, "index", 0)


def dist(x: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Return the p-norm of x - other: see `mg.dist`."""
    return vector_norm(sub(x, other), p)


def fill_diagonal_(x: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write a number to the diagonal, in place; for more than two dims, which must be equal, to x[i, i, ..., i].

    wrap: whether the diagonal of a matrix with more rows than columns restarts after one row in between.
    """
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ShapeError(f"fill_diagonal_: expected a matrix, or dims of the same length, got {describe(x)}")
    if x.ndim > 2:
        for k in range(x.shape[0]):
            x[(k,) * x.ndim] = fill_value
        return x
    rows, columns = x.shape
    for start in range(0, rows if wrap else min(rows, 1), columns + 1):
        x[start : start + columns].diagonal().fill_(fill_value)
    return x


def apply_(x: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by a function of it, in place; slow, as it runs in Python, and without a gradient."""
    return written(x, [callable(value) for value in flat(x)])


def map_(x: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by a function of it and the one of a tensor that broadcasts, in place; see `apply_`."""
    others = flat(tensor.expand(x.shape))
    return written(x, [callable(*values) for values in zip(flat(x), others, strict=True)])


def flat(x: Tensor) -> Any:
    """Return the elements as Python numbers."""
    return x.detach().reshape(-1).tolist()


def written(x: Tensor, values: list[Any]) -> Tensor:
    """Write elements into x."""
    x.copy_(x.new_tensor(values).reshape(x.shape))
    return x


def record_stream(x: Tensor, stream: Any) -> None:
    """Accept PyTorch's note for its allocator, which has no effect: memory of a device is used again in order."""


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
