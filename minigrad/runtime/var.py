"""Var: the tensor that a user may set and that gradients flow to.

A Var is a leaf of every graph: it has no BackpropOp, `backward` ends there, and its `.grad` accumulates the gradients.
`set` writes new values into its storage and increases the version, so that a graph which saved the old values raises an
error instead of using the new values.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from minigrad.core.dtype import DType, as_dtype, default_complex, default_float
from minigrad.core.storage import SEATED
from minigrad.errors import DeviceError, DTypeError, GradientError, MinigradError, ShapeError
from minigrad.runtime.data import store
from minigrad.runtime.operands import CONCRETE
from minigrad.runtime.tensor import PLAIN, Tensor, describe


def any_complex(data: Any) -> bool:
    """Return whether nested lists of numbers contain a complex number."""
    if isinstance(data, (list, tuple)):
        return any(map(any_complex, data))
    return isinstance(data, complex)


class Var(Tensor):
    """A leaf that requires a gradient.

    grad: None until a backward pass reaches the Var, then the sum over all backward passes; set it to None to start
    again.
    name: its name in pictures and messages.
    """

    __slots__ = ()
    is_variable = True
    _grad: Tensor | None
    name: str | None

    def __init__(self, data: Any, dtype: Any = None, device: Any = None, name: str | None = None) -> None:
        """Create a leaf with a copy of `data`: a number, nested lists, an array or a tensor.

        Dtypes are determined as by `mg.tensor`, except that Python ints without `dtype` become the default float dtype.
        Raises DTypeError for a dtype that is neither a float nor complex.
        """
        if dtype is None and not isinstance(data, (Tensor, np.ndarray, np.generic)):
            dtype = default_complex() if any_complex(data) else default_float()
        kind = as_dtype(dtype if dtype is not None else data.dtype)
        self.check_dtype(kind)
        super().__init__(*store(data, kind, device, "Var"))
        self.storage.tracked = True
        self._grad = None
        self.name = name

    @property
    def grad(self) -> Tensor | None:
        """The sum of the gradients so far, or None."""
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        """Set None, or a gradient for this Var; its shape, dtype and device must be the same as the Var's."""
        if value is not None:
            self._check_gradient(value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def _check_gradient(self, value: Any) -> None:
        wrong = (GradientError, "the tensor itself") if value is self else unlike(value, self)
        if wrong is None:
            return
        error, got = wrong
        raise error(
            f"grad: the gradient of {'the Var ' * self.is_variable}{describe(self)} must have its shape and dtype and "
            f"be on {self.device}, got {got}; set .grad to None or to such a tensor"
        )

    @classmethod
    def of(cls, x: Tensor) -> Var:
        """Make x, a new tensor, a Var, and return it.  Raise DTypeError unless x has floats."""
        storage: Any = x.storage
        cls.check_dtype(x.dtype)
        leaf: Any = x
        leaf.__class__ = cls
        leaf._grad = leaf.name = None
        storage.tracked = True
        return cast(Var, leaf)

    @classmethod
    def placeholder(cls, x: Tensor) -> Var:
        """Return a Var on the memory of x that temporarily replaces x; this memory stays that of a plain tensor."""
        twin = cls.__new__(cls)
        Tensor.__init__(twin, x.storage, x.layout)
        cls.check_dtype(x.dtype)
        x.storage.tracked = x.storage.tracked or SEATED
        twin._grad, twin.name = None, None
        return twin

    @staticmethod
    def check_dtype(kind: DType, name: str = "Var") -> None:
        """Raise DTypeError for a dtype that carries no gradient; name: the function that a user calls."""
        if not kind.is_inexact:
            raise DTypeError(
                f"{name}: dtype must be a floating dtype, because gradients need one, got {kind}; pass dtype=mg.float32"
            )

    def as_tensor(self) -> Tensor:
        """Return the value as a plain tensor that shares the storage; no gradient flows through it."""
        return self.detach()


CONCRETE.add(Var)
PLAIN.add(Var)


# ---- comparison of a value with a tensor -----------------------------------------------------------------------------


def unlike(value: Any, like: Tensor) -> tuple[type[MinigradError], str] | None:
    """Return the error class for a value that differs from `like` in shape, dtype or device, and a description.

    The result is None if the value fits.
    """
    if not isinstance(value, Tensor):
        return GradientError, describe(value)
    if value.shape != like.shape:
        return ShapeError, describe(value)
    if value.dtype is not like.dtype:
        return DTypeError, describe(value)
    if value.device is not like.device:
        return DeviceError, f"{describe(value)} on {value.device}"
    return None
