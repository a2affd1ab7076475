"""GradStore: what `backward()` returns, a mapping from leaves to gradients that explains a miss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minigrad.errors import GradientError
from minigrad.runtime.rebasing import current
from minigrad.runtime.tensor import Tensor, describe


class GradStore:
    """Gradients of one backward, by tensor.

    `grads[x]` raises GradientError with the reason when there is none, `grads.get(x)` gives None instead.
    Iterating gives the tensors that have one.
    """

    def __init__(self) -> None:
        self._grads: dict[int, tuple[Tensor, Tensor]] = {}

    def _put(self, x: Tensor, gradient: Tensor) -> None:
        self._grads[x.id] = (x, gradient)

    def get(self, x: Tensor, default: Any = None) -> Any:
        """The gradient of x, or the default."""
        found = self._grads.get(x.id) if isinstance(x, Tensor) else None
        return default if found is None else found[1]

    def __getitem__(self, x: Tensor) -> Tensor:
        """The gradient of x.  Raises GradientError, with the reason, where there is none."""
        found = self._grads.get(x.id) if isinstance(x, Tensor) else None
        if found is None:
            raise GradientError(f"grads[...]: {self._reason(x)}")
        return found[1]

    def _reason(self, x: Any) -> str:
        if not isinstance(x, Tensor):
            return f"{describe(x)} is no tensor; ask for a Var"
        if not x.is_leaf:
            return (
                f"{describe(x)} is no leaf but the result of {current(x).name}; gradients are kept for Vars, "
                f"use mg.grad(y, x) for the one of an intermediate value"
            )
        if not x.is_variable:
            return f"{describe(x)} does not require a gradient; make it a mg.Var before the computation"
        name = getattr(x, "name", None)
        who = f"the Var {name!r}, {describe(x)}," if name else f"the Var {describe(x)}"
        return f"{who} was not reached: the result that was differentiated does not depend on it"

    def __contains__(self, x: Tensor) -> bool:
        """Whether x has a gradient here."""
        return isinstance(x, Tensor) and x.id in self._grads

    def __iter__(self) -> Iterator[Tensor]:
        """The tensors that have gradients."""
        return (x for x, _ in self._grads.values())

    def items(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Pairs of tensor and gradient."""
        return iter(self._grads.values())

    def __len__(self) -> int:
        """How many tensors have gradients."""
        return len(self._grads)

    def __repr__(self) -> str:
        return f"GradStore({', '.join(describe(x) for x in self)})"
