"""The steps of random programs in NumPy: their values by another hand, and views that write through as well.

The module stands for a library: its tensors are arrays with the methods that programs call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class Array(np.ndarray):
    """A tensor."""

    def __getitem__(self, index: Any) -> Any:
        """A view, of one element too."""
        if index is ...:
            return super().__getitem__(index)
        return super().__getitem__((*index, ...) if isinstance(index, tuple) else (index, ...))

    def along(self, dim: int, index: Any) -> Any:
        return self[(slice(None),) * dim + (index,)]

    # ---- views ----

    def transpose(self, a: int, b: int) -> Any:
        return np.swapaxes(self, a, b)

    def narrow(self, dim: int, start: int, length: int) -> Any:
        return self.along(dim, slice(start, start + length))

    def select(self, dim: int, index: int) -> Any:
        return self.along(dim, index)

    def unsqueeze(self, dim: int) -> Any:
        return np.expand_dims(self, dim)

    def expand(self, *shape: int) -> Any:
        return np.broadcast_to(self, shape, subok=True)

    def flip(self, dim: int) -> Any:
        return self.along(dim, slice(None, None, -1))

    def diagonal(self) -> Any:
        return np.lib.stride_tricks.as_strided(self, (min(self.shape),), (sum(self.strides),), subok=True)

    def detach(self) -> Any:
        return self

    # ---- folds ----

    def sum(self, dim: int | None = None, keepdim: bool = False) -> Any:
        return tensor(np.add.reduce(self, axis=dim, keepdims=keepdim))

    def mean(self, dim: int, keepdim: bool = False) -> Any:
        return self.sum(dim, keepdim) / self.shape[dim]

    def logsumexp(self, dim: int, keepdim: bool = False) -> Any:
        total = np.log(np.exp(self).sum(dim, True))
        return total if keepdim else total.select(dim, 0)

    def softmax(self, dim: int) -> Any:
        return np.exp(self) / np.exp(self).sum(dim, True)

    def log_softmax(self, dim: int) -> Any:
        return self - self.logsumexp(dim, True)

    def cumsum(self, dim: int) -> Any:
        return np.add.accumulate(self, axis=dim)

    def index_select(self, dim: int, index: Any) -> Any:
        return np.take(self, np.asarray(index), axis=dim)

    # ---- writes ----

    def copy_(self, value: Any) -> Any:
        self[...] = np.array(value)
        return self

    def masked_fill_(self, mask: Any, value: float) -> Any:
        return self.copy_(np.where(mask, value, self))


UNARY: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "exp": np.exp, "square": np.square, "neg": np.negative,
    "atan": np.arctan, "expm1": np.expm1, "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "erf": lambda x: tensor(np.vectorize(math.erf, otypes=[float])(np.asarray(x))),
}  # fmt: skip
WRITES: dict[str, Callable[..., Any]] = {
    "add_": np.add, "sub_": np.subtract, "mul_": np.multiply, "sin_": np.sin, "exp_": np.exp,
    "fill_": lambda x, value: value, "zero_": lambda x: 0.0,
}  # fmt: skip
for name, function in UNARY.items():
    setattr(Array, name, lambda self, function=function: function(self))
for name, function in WRITES.items():
    setattr(Array, name, lambda self, *more, function=function: self.copy_(function(self, *more)))


def tensor(values: Any) -> Array:
    """A tensor of its own memory."""
    return np.array(values).view(Array)


def zeros(shape: Sequence[int]) -> Array:
    return tensor(np.zeros(shape))


def stack(parts: Sequence[Any], dim: int) -> Array:
    return tensor(np.stack(parts, dim))


def cat(parts: Sequence[Any], dim: int) -> Array:
    return tensor(np.concatenate(parts, dim))


def where(mask: Any, a: Any, b: Any) -> Array:
    return tensor(np.where(mask, a, b))
