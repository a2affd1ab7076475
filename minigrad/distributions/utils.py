"""Helper functions of distributions: broadcasting, computed attributes, log odds, triangular matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import update_wrapper
from numbers import Number
from typing import Any

from minigrad.core.dtype import default_float, finfo
from minigrad.core.shape import broadcast_shapes
from minigrad.errors import ArgumentError, ShapeError
from minigrad.nn import functional as F
from minigrad.ops import creation
from minigrad.ops.shape.diagonals import tril_indices
from minigrad.ops.shape.views import expand
from minigrad.runtime.recording import recording_on
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import readable

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
EULER = 0.57721566490153286061


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Return numbers and tensors as tensors of the same shape; numbers take the dtype of the first tensor.

    values (Tensor or float): The numbers and tensors.

    Returns: One tensor per value; a tensor that already has the common shape is not copied.

    Raises ArgumentError if a value is neither a number nor a tensor.
    """
    for value in values:
        if not isinstance(value, (Tensor, Number)):
            raise ArgumentError(
                f"broadcast_all: expected tensors and numbers, got {describe(value)}; convert it with mg.tensor"
            )
    first = next((value for value in values if isinstance(value, Tensor)), None)
    dtype, device = (default_float(), None) if first is None else (first.dtype, first.device)
    tensors = [
        value if isinstance(value, Tensor) else creation.tensor(value, dtype=dtype, device=device) for value in values
    ]
    shape = broadcast_shapes("distributions", *[x.shape for x in tensors])
    return tuple([x if x.shape == shape else expand(x, shape=shape) for x in tensors])


def all_hold(condition: Tensor) -> bool | None:
    """Return whether a condition holds for all elements; None where no values can be read, as while jit records."""
    return bool(condition.all().item()) if readable(condition) else None


def summed(x: Any, dims: int) -> Any:
    """Return the sum over the last `dims` dims."""
    return x.sum(tuple(range(-dims, 0))) if dims > 0 else x


class derived:
    """An attribute that is computed at each use, unless the object stores a value of this name."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else self.compute(owner)


class Formula:
    """A function that becomes the method of the class in which it is declared."""

    def __init__(self, compute: Callable[..., Any]) -> None:
        self.compute = compute

    def __set_name__(self, owner: Any, name: str) -> None:
        compute, inherited = self.compute, getattr(super(owner, owner), name)

        def checked(self: Any, value: Any) -> Any:
            if isinstance(value, Number):
                value = creation.tensor(value, dtype=self._like.dtype, device=self._like.device)
            self._validate_sample(value)
            return compute(self, value)

        text = compute.__doc__ or inherited.__doc__
        method = update_wrapper(checked if name in ("log_prob", "cdf") else compute, inherited)
        method.__doc__, method.__module__, method.__qualname__ = text, owner.__module__, f"{owner.__qualname__}.{name}"
        setattr(owner, name, method)


def formula(compute: Callable[..., Any]) -> Any:
    """Declare a method by its formula, a function; `log_prob` and `cdf` check their value before they compute.

    The signature and the docstring are those of the method of the base class, unless the function has a docstring.
    """
    return Formula(compute)


class lazy_property:
    """Compute an attribute at its first use, with gradients, and store the value in the object.

    method: The method that computes the value.
    """

    def __init__(self, method: Callable[[Any], Any]) -> None:
        self.method, self.__doc__ = method, method.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        with recording_on():
            value = self.method(owner)
        setattr(owner, self.method.__name__, value)
        return value


def clamp_probs(probs: Tensor) -> Tensor:
    """Return probabilities limited to [eps, 1 - eps] with the eps of the dtype, so that their logarithms are finite.

    probs: Probabilities.

    Returns: The limited probabilities.
    """
    eps = float(finfo(probs.dtype).eps)
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return the logarithms of probabilities, or the log odds of binary probabilities, after `clamp_probs`.

    probs: Probabilities.
    is_binary: Whether each element is the probability of 1, instead of the last dim containing all probabilities.

    Returns: The logarithms, of the shape of `probs`.
    """
    p = clamp_probs(probs)
    return p.log() - (-p).log1p() if is_binary else p.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return the softmax over the last dim, or the sigmoid of binary log odds.

    logits: Logarithms of weights, or log odds.
    is_binary: Whether each element contains log odds.

    Returns: The probabilities, of the shape of `logits`.
    """
    return logits.sigmoid() if is_binary else F.softmax(logits, -1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the elements of the lower triangles of square matrices, row by row.

    mat: Matrices, of shape (..., n, n).
    diag: The last diagonal to include, as in `mg.tril`.

    Returns: Vectors with the elements.

    Raises ShapeError if `diag` is not the index of a diagonal.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ShapeError(f"tril_matrix_to_vec: diag must be from {-n} to {n - 1}, got {diag}; pass diag=0")
    rows, columns = tril_indices(n, n, diag, device=mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return the lower triangular matrices whose elements `tril_matrix_to_vec` returns; other elements are 0.

    vec: Vectors, of shape (..., k).
    diag: The last diagonal that is filled, as in `mg.tril`.

    Returns: Square matrices.

    Raises ShapeError if no matrix has k elements in this triangle.
    """
    k = vec.shape[-1]
    n = (-(1 + 2 * diag) + math.sqrt((1 + 2 * diag) ** 2 + 8 * k + 4 * abs(diag) * (diag + 1))) / 2
    if abs(n - round(n)) > 1e-6:
        raise ShapeError(
            f"vec_to_tril_matrix: expected as many elements as a triangle up to diagonal {diag}, got {k}; pass 6 "
            "elements for a 3 x 3 matrix, for example"
        )
    n = round(n)
    rows, columns = tril_indices(n, n, diag, device=vec.device)
    result = creation.zeros(*vec.shape[:-1], n * n, dtype=vec.dtype, device=vec.device)
    filled = result.index_copy(-1, rows * n + columns, vec)
    return filled.reshape(*vec.shape[:-1], n, n)
