"""Functions over a tuple of operands, written out for operands one by one, do what they do with the tuple."""

from __future__ import annotations

import ast
import itertools
from typing import Any

import pytest

from minigrad.runtime.unrolling import unrolled


def total(xs, scale):
    """A loop, a list that it fills, lists of all, a constant and a choice."""
    mask = 0
    kept = []
    for k, x in enumerate(xs):
        own = x * scale
        if own > 2:
            own = -own
        kept.append(own)
        if own < 0:
            mask |= 1 << k
    chosen = xs[mask % len(xs)]
    both = tuple(kept)
    if any(x > 3 for x in xs):
        mask += 100
    if tuple([x + 0 for x in xs]) == tuple(range(len(xs))):
        mask += 1000
    return mask, both, chosen, max(*[x + scale for x in xs], 0), others(xs, mask)


def others(xs, mask):
    """A function that is written out as well."""
    return [mask, *xs]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_function_written_out_returns_what_it_returns(count: int) -> None:
    names = tuple(f"a{k}" for k in range(count))
    definition = unrolled(total, {"xs": names}, ("others",))
    space: dict[str, Any] = {"others": lambda *given: [given[-1], *given[:-1]]}
    exec(ast.unparse(definition), space)
    assert not [node for node in ast.walk(definition) if isinstance(node, (ast.For, ast.ListComp, ast.GeneratorExp))]
    for xs in itertools.product(range(5), repeat=count):
        for scale in (1, 2):
            assert space["total"](*xs, scale) == total(xs, scale)


def test_what_loops_over_something_else_stays_a_loop() -> None:
    def doubled(xs, more):
        """A loop and a list over what is no group."""
        found = []
        for each in more:
            found = [*found, each, *xs]
        return [x * 2 for x in found]

    space: dict[str, Any] = {}
    exec(ast.unparse(unrolled(doubled, {"xs": ("a", "b")})), space)
    assert space["doubled"](1, 2, [5, 6]) == doubled((1, 2), [5, 6]) == [10, 2, 4, 12, 2, 4]
