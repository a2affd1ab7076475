"""The base class of invertible transforms of samples, and transforms that consist of other transforms.

A subclass defines `_call`, `_inverse` and `log_abs_det_jacobian`, and its `domain` and `codomain`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any
from weakref import ref

from minigrad.core.conditions import Ndim
from minigrad.core.roles import Choice
from minigrad.distributions import constraints
from minigrad.distributions.utils import formula, summed
from minigrad.errors import absent_method
from minigrad.ops.creation import zeros_like
from minigrad.runtime.tensor import Tensor


class Transform:
    """An invertible transform of tensors.

    cache_size: If 1, the inverse of the last result is the same tensor from which the result was computed.
    """

    bijective = False
    stores_tensors = True  # `mg.jit` looks for tensors among the attributes
    domain: Any = constraints.real
    codomain: Any = constraints.real
    _inverted: Any = None

    def __init__(self, cache_size: int = 0) -> None:
        Choice(0, 1).expect(type(self).__name__, cache_size=cache_size)
        self.cache_size, self._last = cache_size, (None, None)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return an equal transform with another cache size."""
        if self.cache_size == cache_size:
            return self
        twin = copy.copy(self)
        twin.cache_size, twin._last, twin._inverted = cache_size, (None, None), None
        return twin

    @property
    def sign(self) -> Any:
        """1 if the transform is increasing, -1 if it is decreasing; a transform of vectors has none."""
        raise NotImplementedError(f"{type(self).__name__}: this Transform has no sign; set sign = 1 if it increases")

    @property
    def event_dim(self) -> int:
        """The larger number of event dims of the domain and the codomain."""
        return max(self.domain.event_dim, self.codomain.event_dim)

    def __call__(self, x: Any) -> Any:
        """Return the transformed x."""
        if self.cache_size and self._last[0] is x:
            return self._last[1]
        y = self._call(x)
        self._last = (x, y) if self.cache_size else (None, None)
        return y

    def inverse(self, y: Any) -> Any:
        """Return the value that is transformed to y."""
        if self.cache_size and self._last[1] is y:
            return self._last[0]
        x = self._inverse(y)
        self._last = (x, y) if self.cache_size else (None, None)
        return x

    @property
    def inv(self) -> Transform:
        """The inverse as a Transform, whose `inv` is this transform."""
        inverse = self._inverted() if self._inverted is not None else None
        if inverse is None:
            inverse = Inverse(self)
            self._inverted = ref(inverse)  # a weak reference, because the inverse refers to this transform
        return inverse

    def _call(self, x: Any) -> Any:
        raise absent_method(self, "a Transform", "_call(self, x)")

    def _inverse(self, y: Any) -> Any:
        raise absent_method(self, "an invertible Transform", "_inverse(self, y)")

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of the result for an argument of a given shape."""
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of the argument for a result of a given shape."""
        return tuple(shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the logarithm of the absolute Jacobian determinant at x; y is the transformed x."""
        raise NotImplementedError(
            f"{type(self).__name__}: this Transform does not define log_abs_det_jacobian; add a method "
            "log_abs_det_jacobian(self, x, y)"
        )

    def _fields(self) -> tuple[Any, ...]:
        """Return the arguments of the constructor, by which two transforms of a class are compared."""
        derived = ("cache_size", "domain", "codomain", "bijective", "sign")
        return tuple([value for name, value in vars(self).items() if name[0] != "_" and name not in derived])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or type(self)._call is Transform._call:
            return False
        own, others = self._fields(), other._fields()
        return len(own) == len(others) and all(map(_same, own, others))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _same(a: Any, b: Any) -> bool:
    """Return whether two numbers, tensors or other values are equal."""
    equal = a is b or a == b
    return bool(equal.all().item()) if isinstance(equal, Tensor) else bool(equal)


class Inverse(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self.transform, self.cache_size = transform, transform.cache_size
        self.domain, self.codomain, self.bijective = transform.codomain, transform.domain, transform.bijective

    sign: Any = property(lambda self: self.transform.sign)

    @property
    def inv(self) -> Transform:
        """The transform whose inverse this is."""
        return self.transform

    def __call__(self, x: Any) -> Any:
        """Return the inverse, from the cache of the transform if possible."""
        return self.transform.inverse(x)

    def inverse(self, y: Any) -> Any:
        return self.transform(y)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self.transform.with_cache(cache_size).inv

    forward_shape: Any = formula(lambda self, shape: self.transform.inverse_shape(shape))
    inverse_shape: Any = formula(lambda self, shape: self.transform.forward_shape(shape))
    log_abs_det_jacobian: Any = formula(lambda self, x, y: -self.transform.log_abs_det_jacobian(y, x))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inverse) and self.transform == other.transform

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{self.transform!r}.inv"


def widened(constraint: Any, event_dim: int) -> Any:
    """Return a set whose values have at least `event_dim` dims."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


class ComposeTransform(Transform):
    """Compose several transforms, which are applied in order.

    parts: Transforms in the order in which they are applied.
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    domain: Any = property(lambda self: self._end(self.parts[::-1], "domain", "codomain"))
    codomain: Any = property(lambda self: self._end(self.parts, "codomain", "domain"))

    def _end(self, parts: list[Transform], own: str, other: str) -> Any:
        """Return the set of the last of the parts, with as many event dims as all parts together require."""
        if not parts:
            return constraints.real
        dims = getattr(parts[0], other).event_dim
        for part in parts:
            least = getattr(part, own).event_dim
            dims = max(dims + least - getattr(part, other).event_dim, least)
        return widened(getattr(parts[-1], own), dims)

    bijective: Any = property(lambda self: all(part.bijective for part in self.parts))

    @property
    def sign(self) -> Any:
        """The product of the signs of the parts."""
        return math.prod([part.sign for part in self.parts], start=1)

    @property
    def inv(self) -> Transform:
        """The inverse; the identity is its own inverse."""
        return super().inv if self.parts else self

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self.cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def _call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part.inverse(y)
        return y

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return tuple(shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the sum of the values of all parts."""
        if not self.parts:
            return zeros_like(x)
        total: Any = 0.0
        dims = self.domain.event_dim
        for k, part in enumerate(self.parts):
            image = y if k == len(self.parts) - 1 else part(x)
            total = total + summed(part.log_abs_det_jacobian(x, image), dims - part.domain.event_dim)
            dims += part.codomain.event_dim - part.domain.event_dim
            x = image
        return total

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts})"


class IndependentTransform(Transform):
    """Reinterpret the last dims of a transform as event dims, over which log determinants are summed.

    base_transform: The transform of the elements.
    reinterpreted_batch_ndims: Number of dims that become event dims.
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.bijective = base_transform.bijective
        self.domain = constraints.independent(base_transform.domain, reinterpreted_batch_ndims)
        self.codomain = constraints.independent(base_transform.codomain, reinterpreted_batch_ndims)

    sign: Any = property(lambda self: self.base_transform.sign)

    def _call(self, x: Any) -> Any:
        Ndim(least=self.domain.event_dim, advice="add dims with x[None]").expect("IndependentTransform", x=x)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        Ndim(least=self.codomain.event_dim, advice="add dims with y[None]").expect("IndependentTransform", y=y)
        return self.base_transform.inverse(y)

    forward_shape: Any = formula(lambda self, shape: self.base_transform.forward_shape(shape))
    inverse_shape: Any = formula(lambda self, shape: self.base_transform.inverse_shape(shape))
    log_abs_det_jacobian: Any = formula(
        lambda self, x, y: summed(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)
    )
