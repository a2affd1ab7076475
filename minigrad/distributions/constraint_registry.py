"""The transforms whose images are given sets: `biject_to` returns bijections, `transform_to` any transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.distributions import constraints as sets
from minigrad.distributions import transforms as maps
from minigrad.errors import ArgumentError
from minigrad.runtime.tensor import Tensor, describe


class ConstraintRegistry:
    """A table from constraints to functions that make a transform from all real numbers to the set.

    An object is called with a constraint and returns the transform.

    Parameters
    ----------
    constraint : Constraint
        The set of the call.

    Returns
    -------
    Transform
        The transform to the set.
    """

    def __init__(self) -> None:
        self._factories: dict[Any, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """Register a factory for a class of constraints, or for one object; without a factory, return a decorator."""
        if factory is None:
            return lambda function: self.register(constraint, function)
        if not isinstance(constraint, sets.Constraint) and not (
            isinstance(constraint, type) and issubclass(constraint, sets.Constraint)
        ):
            raise ArgumentError(
                f"register: expected a Constraint or a subclass of it, got {describe(constraint)}; pass "
                "constraints.positive, for example"
            )
        # The named sets share a class, so each is registered by its name.
        self._factories[_key(constraint)] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """Return the transform to a set.  Raises NotImplementedError if none is registered."""
        factory = self._factories.get(_key(constraint))
        if factory is None:
            raise NotImplementedError(
                f"ConstraintRegistry: no transform to {constraint} is registered; register a factory with register()"
            )
        return factory(constraint)


def _key(constraint: Any) -> Any:
    if isinstance(constraint, sets._Where):
        return repr(constraint)
    return constraint if isinstance(constraint, type) else type(constraint)


def _above(constraint: Any) -> Any:
    return maps.ComposeTransform([maps.ExpTransform(), maps.AffineTransform(constraint.lower_bound, 1)])


def _between(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if not isinstance(low, Tensor) and not isinstance(high, Tensor) and (low, high) == (0, 1):
        return maps.SigmoidTransform()
    return maps.ComposeTransform([maps.SigmoidTransform(), maps.AffineTransform(low, high - low)])


def _fill(registry: ConstraintRegistry) -> ConstraintRegistry:
    """Register the sets for which both registries use the same kind of transform."""
    table: dict[Any, Callable[[Any], Any]] = {
        sets.real: lambda c: maps.ComposeTransform([]),
        sets.greater_than: _above, sets.greater_than_eq: _above,
        sets.less_than: lambda c: maps.ComposeTransform([maps.ExpTransform(), maps.AffineTransform(c.upper_bound, -1)]),
        sets.interval: _between, sets.half_open_interval: _between,
        sets.corr_cholesky: lambda c: maps.CorrCholeskyTransform(),
        sets.independent: lambda c: (
            maps.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims)
        ),
        sets.cat: lambda c: maps.CatTransform([registry(each) for each in c.cseq], c.dim, c.lengths),
        sets.stack: lambda c: maps.StackTransform([registry(each) for each in c.cseq], c.dim),
    }  # fmt: skip
    for constraint, factory in table.items():
        registry.register(constraint, factory)
    return registry


biject_to, transform_to = _fill(ConstraintRegistry()), _fill(ConstraintRegistry())
biject_to.register(sets.simplex, lambda c: maps.StickBreakingTransform())
transform_to.register(sets.simplex, lambda c: maps.SoftmaxTransform())
transform_to.register(sets.lower_cholesky, lambda c: maps.LowerCholeskyTransform())  # ignores the upper triangle
for _set in sets.positive_definite, sets.positive_semidefinite:
    transform_to.register(_set, lambda c: maps.PositiveDefiniteTransform())
