"""Sets of values, under the names of `torch.distributions.constraints`: domains of parameters and of samples.

Each constraint has `check`, which returns whether each value, of `event_dim` dims, is in the set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.core.dtype import float64
from minigrad.distributions.utils import formula
from minigrad.errors import absent_method
from minigrad.ops.creation import full
from minigrad.ops.shape.joining import cat as joined
from minigrad.ops.shape.joining import stack as stacked
from minigrad.runtime.tensor import Tensor


class Constraint:
    """Define the base class of sets of values.

    `words` describes the set in error messages, `is_discrete` is whether the set is discrete, and `event_dim` is the
    number of last dims that form one value.
    """

    is_discrete = False
    event_dim = 0
    words = "in the domain"

    def check(self, value: Tensor) -> Tensor:
        """Return a bool tensor of the batch shape: whether each value is in the set."""
        raise absent_method(self, "a Constraint", "check(self, value)")

    def __repr__(self) -> str:
        fields = ", ".join(f"{key}={value}" for key, value in vars(self).items() if not key.startswith("_"))
        return f"{type(self).__name__.lstrip('_')}({fields})"


class _Dependent(Constraint):
    """A set that depends on other parameters, so it cannot be checked alone."""

    def __init__(self, *, is_discrete: bool | None = None, event_dim: int | None = None) -> None:
        self._static: dict[str, Any] = {"is_discrete": is_discrete, "event_dim": event_dim}

    def _declared(self, name: str) -> Any:
        if self._static[name] is None:
            raise NotImplementedError(f"constraints.dependent: {name} depends on parameters; read it from d.support")
        return self._static[name]

    is_discrete: Any = property(lambda self: self._declared("is_discrete"))
    event_dim: Any = property(lambda self: self._declared("event_dim"))

    def __call__(self, *, is_discrete: bool | None = None, event_dim: int | None = None) -> _Dependent:
        """Return a copy with other properties."""
        other: dict[str, Any] = {"is_discrete": is_discrete, "event_dim": event_dim}
        return _Dependent(**{**self._static, **{name: x for name, x in other.items() if x is not None}})

    def check(self, value: Tensor) -> Tensor:
        """Raise ValueError, because the set is not known."""
        raise ValueError("constraints.dependent: cannot check a set that depends on parameters; check d.support")


class dependent_property(property, _Dependent):
    """Declare a property whose value is a constraint that depends on the parameters of the distribution.

    fn: The method that returns the constraint; without it, the result is a decorator.
    is_discrete: Whether the set is discrete, if this does not depend on the parameters.
    event_dim: Number of last dims that form one value, if this does not depend on the parameters.
    """

    def __init__(
        self, fn: Callable[[Any], Any] | None = None, *, is_discrete: bool | None = None, event_dim: int | None = None
    ) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Any) -> dependent_property:  # type: ignore[override]
        """Return the property of a method."""
        return dependent_property(fn, **self._static)


def is_dependent(constraint: Any) -> bool:
    """Return whether a constraint depends on parameters, so that it cannot be checked alone.

    constraint (Constraint): The constraint.

    Returns: Whether `check` is not defined.
    """
    return isinstance(constraint, _Dependent)


class independent(Constraint):
    """Reinterpret the last dims of a constraint as dims of one value, all of whose elements must be in the set.

    base_constraint: The constraint of the elements.
    reinterpreted_batch_ndims: Number of dims that become event dims.
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    is_discrete: Any = property(lambda self: self.base_constraint.is_discrete)
    event_dim: Any = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)
    words: Any = property(lambda self: self.base_constraint.words)

    def check(self, value: Tensor) -> Tensor:
        kept = self.base_constraint.check(value)
        n = kept.ndim - self.reinterpreted_batch_ndims
        return kept.reshape(*kept.shape[:n], -1).all(-1) if self.reinterpreted_batch_ndims else kept


class _Where(Constraint):
    """A set that is defined by a function, such as the reals."""

    def __init__(
        self, name: str, words: str, holds: Callable[[Any], Any], discrete: bool = False, dims: int = 0
    ) -> None:
        self._name, self._words, self._holds, self._discrete, self._dims = name, words, holds, discrete, dims

    is_discrete: Any = property(lambda self: self._discrete)
    event_dim: Any = property(lambda self: self._dims)
    words: Any = property(lambda self: self._words)
    check: Any = formula(lambda self, value: self._holds(value))

    def __repr__(self) -> str:
        return f"{self._name}()"


def _plain(bound: Any) -> str:
    """Return a bound for a message, without the digits of 0.0 and without the elements of a tensor."""
    return "its bound" if isinstance(bound, Tensor) and bound.numel() != 1 else f"{float(bound):g}"


class greater_than(Constraint):
    """The numbers above `lower_bound`."""

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    words: Any = property(
        lambda self: "positive" if _plain(self.lower_bound) == "0" else f"above {_plain(self.lower_bound)}"
    )
    check: Any = formula(lambda self, value: value > self.lower_bound)


class greater_than_eq(greater_than):
    """The numbers of at least `lower_bound`."""

    words: Any = property(lambda self: f"at least {_plain(self.lower_bound)}")
    check: Any = formula(lambda self, value: value >= self.lower_bound)


class less_than(Constraint):
    """The numbers below `upper_bound`."""

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    words: Any = property(lambda self: f"below {_plain(self.upper_bound)}")
    check: Any = formula(lambda self, value: value < self.upper_bound)


class interval(Constraint):
    """The numbers from `lower_bound` to `upper_bound`."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    words: Any = property(lambda self: f"from {_plain(self.lower_bound)} to {_plain(self.upper_bound)}")
    check: Any = formula(lambda self, value: (value >= self.lower_bound) & (value <= self.upper_bound))


class half_open_interval(interval):
    """The numbers of at least `lower_bound` and below `upper_bound`."""

    check: Any = formula(lambda self, value: (value >= self.lower_bound) & (value < self.upper_bound))


def if_integer(value: Tensor, condition: Tensor) -> Tensor:
    """Return the condition for integers, and False for other numbers; an integer dtype needs no test."""
    return (value % 1 == 0) & condition if value.dtype.is_float else condition


class integer_interval(interval):
    """The integers from `lower_bound` to `upper_bound`."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return if_integer(value, super().check(value))


class multinomial(Constraint):
    """The vectors of counts of at least 0 whose sum is at most `upper_bound`."""

    is_discrete = True
    event_dim = 1
    words = "counts with the sum total_count"

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    check: Any = formula(lambda self, value: (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound))


class cat(Constraint):
    """The tensors whose parts along a dim are in different sets.

    cseq: One set per part.
    dim: The dim along which the parts are concatenated.
    lengths: Lengths of the parts; all are 1 by default.
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    is_discrete: Any = property(lambda self: any(each.is_discrete for each in self.cseq))
    event_dim: Any = property(lambda self: max(each.event_dim for each in self.cseq))

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        return joined([each.check(part) for each, part in zip(self.cseq, parts, strict=True)], self.dim)


class stack(cat):
    """The tensors whose slices along a dim are in different sets.

    cseq: One set per slice.
    dim: The dim of the slices.
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @staticmethod
    def _dims(cseq: list[Constraint], dim: int) -> int:
        most = max(each.event_dim for each in cseq)
        return most + 1 if dim + most < 0 else most

    event_dim: Any = property(lambda self: self._dims(self.cseq, self.dim))

    def check(self, value: Tensor) -> Tensor:
        parts = value.unbind(self.dim)
        return stacked([each.check(part) for each, part in zip(self.cseq, parts, strict=True)], self.dim)


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: that of its components, for values without the dim of the components."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    is_discrete: Any = property(lambda self: self.base_constraint.is_discrete)
    event_dim: Any = property(lambda self: self.base_constraint.event_dim)
    check: Any = formula(lambda self, value: self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1))


def _flat(holds: Tensor, dims: int = 2) -> Tensor:
    """Return whether a condition holds for all elements of the last dims."""
    return holds.reshape(*holds.shape[: holds.ndim - dims], -1).all(-1)


def _square(x: Tensor) -> Tensor:
    return full(x.shape[:-2], x.shape[-1] == x.shape[-2], dtype=bool, device=x.device)


def _symmetric(x: Tensor) -> Tensor:
    fits = x.shape[-1] == x.shape[-2]
    return _flat((x - x.mT).abs() <= 1e-6 + 1e-5 * x.abs()) if fits else _square(x)


def _corr_cholesky(x: Tensor) -> Tensor:
    return _flat((x.square().sum(-1) - 1).abs() < (1e-7 if x.dtype is float64 else 1e-4), 1) & _lower_cholesky(x)


def _lower_cholesky(x: Tensor) -> Tensor:
    return _flat(x.tril() == x) & (x.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _eigenvalues(x: Tensor) -> Tensor:
    from minigrad import linalg

    return linalg.eigvalsh(x)


def _factors(x: Tensor) -> Tensor:
    from minigrad import linalg

    return linalg.cholesky_ex(x).info == 0  # eigenvalues below the rounding error may be negative


dependent = _Dependent()
boolean = _Where("boolean", "0 or 1", lambda x: (x == 0) | (x == 1), True)
real = _Where("real", "numbers that are not nan", lambda x: x == x)
real_vector = independent(real, 1)
positive, nonnegative = greater_than(0), greater_than_eq(0)
nonnegative_integer = _Where("nonnegative_integer", "integers of at least 0", lambda x: if_integer(x, x >= 0), True)
positive_integer = _Where("positive_integer", "integers of at least 1", lambda x: if_integer(x, x >= 1), True)
unit_interval = interval(0.0, 1.0)
one_hot = _Where("one_hot", "one-hot vectors", lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), True, 1)
simplex = _Where(
    "simplex", "weights of at least 0 with the sum 1",
    lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < (1e-6 if x.dtype is float64 else 1e-5)), False, 1,
)  # fmt: skip
square = _Where("square", "square matrices", _square, False, 2)
symmetric = _Where("symmetric", "symmetric matrices", _symmetric, False, 2)
positive_semidefinite = _Where(
    "positive_semidefinite", "positive semidefinite", lambda x: _symmetric(x) & (_eigenvalues(x) >= 0).all(-1), False, 2
)
positive_definite = _Where("positive_definite", "positive definite", lambda x: _symmetric(x) & _factors(x), False, 2)
lower_triangular = _Where("lower_triangular", "lower triangular", lambda x: _flat(x.tril() == x), False, 2)
lower_cholesky = _Where("lower_cholesky", "lower triangular with a positive diagonal", _lower_cholesky, False, 2)
corr_cholesky = _Where("corr_cholesky", "Cholesky factors of correlation matrices", _corr_cholesky, False, 2)
