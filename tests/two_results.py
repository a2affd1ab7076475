"""An op of two float results, declared as a user declares one."""

from __future__ import annotations

from typing import Any

import minigrad as mg


@mg.scalar
def _twice(x):
    return x * 2.0


@mg.scalar
def _thrice(x):
    return x * 3.0


def twice_and_thrice(rule: Any = lambda g0, g1: g0 * 2.0 + g1 * 3.0, **more: Any) -> Any:
    """The op, with `more` of a declaration; its rule is given zeros for what nothing used."""

    @mg.kernel(dtype=lambda op, specs: (specs[0].dtype,) * 2, shape=lambda op, x: (x.shape,) * 2, outputs=("a", "b"),
               vjp=(rule,), zeros=True, **more)  # fmt: skip
    def two_and_three(backend, a, b, x):
        """Twice and three times x."""
        first = backend.prepare(mg.requests.Elementwise(_twice, a.dtype.compute), a, x)
        second = backend.prepare(mg.requests.Elementwise(_thrice, b.dtype.compute), b, x)
        return lambda x, a, b: (first(x, a), second(x, b))

    return two_and_three
