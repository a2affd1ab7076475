"""Var: the tensor that a user may set and that gradients flow to.

A Var is a leaf of every graph: it has no BackpropOp, `backward` ends there, and its `.grad` accumulates the gradients.
`set` writes new values into its storage and increases the version, so that a graph which saved the old values raises an
error instead of using the new values.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from minigrad.core.dtype import DType, as_dtype, default_float
from minigrad.core.storage import SEATED
from minigrad.errors import DTypeError
from minigrad.runtime.data import store
from minigrad.runtime.likeness import unlike
from minigrad.runtime.operands import CONCRETE
from minigrad.runtime.tensor import PLAIN, Tensor, describe


class Var(Tensor):
    """A leaf that requires a gradient.

    grad: None until a backward pass reaches the Var, then the sum over all backward passes; set it to None to start
    again.
    name: its name in pictures and messages.

    A user may set further attributes, such as `x.tag = 1`.  Each assignment to an attribute of a Var takes about 0.1 µs
    more than one of a tensor; other tensors take no attributes, because a dict in each would make every call slower.
    """

    __slots__ = ()
    is_variable = True
    _grad: Tensor | None
    name: str | None
    _own: dict[str, Any]  # the attributes that a user has set; unset before the first

    def __init__(self, data: Any, dtype: Any = None, device: Any = None, name: str | None = None) -> None:
        """Create a leaf with a copy of `data`: a number, nested lists, an array or a tensor.

        Dtypes are determined as by `mg.tensor`, except that Python ints without `dtype` become the default float dtype.
        Raises DTypeError for a dtype that is not a float.
        """
        if dtype is None and not isinstance(data, (Tensor, np.ndarray, np.generic)):
            dtype = default_float()
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

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            if hasattr(type(self), name):  # a property that cannot be set
                raise
            if not hasattr(self, "_own"):
                self._own = {}
            self._own[name] = value

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that a user has set; Python calls this method if it finds no other attribute."""
        if name != "_own" and name in getattr(self, "_own", ()):
            return self._own[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __delattr__(self, name: str) -> None:
        if name in getattr(self, "_own", ()):
            del self._own[name]
        else:
            object.__delattr__(self, name)

    def _check_gradient(self, value: Any) -> None:
        wrong = unlike(value, self)
        if wrong is None:
            return
        error, got = wrong
        raise error(
            f"grad: the gradient of the Var {describe(self)} must have its shape and dtype and be on {self.device}, "
            f"got {got}; set .grad to None or to such a tensor",
            op="grad",
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
        if not kind.is_float:
            raise DTypeError(
                f"{name}: dtype must be a floating dtype, because gradients need one, got {kind}; pass "
                "dtype=mg.float32",
                op=name,
            )

    def as_tensor(self) -> Tensor:
        """Return the value as a plain tensor that shares the storage; no gradient flows through it."""
        return self.detach()


CONCRETE.add(Var)
PLAIN.add(Var)
