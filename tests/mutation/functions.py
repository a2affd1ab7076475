"""Mutants of Functions: their forward, setup_context, backward and jvp, as a user would get them wrong.

`samples.py` has some of each sort, and one is an example's.  What should notice is `gradcheck` in all of its modes and
`gradgradcheck`, which is what they are for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import minigrad as mg
from examples import own_kernel
from minigrad.testing import gradcheck, gradgradcheck
from tests.mutation import samples
from tests.mutation.mutant import Mutant, attribute, rewritten
from tests.mutation.trees import tree_of, variants

PLAIN = getattr(own_kernel.leak, "py_func", own_kernel.leak)  # nothing is compiled for this
LEAK = (own_kernel.Leak, lambda x: own_kernel.Leak.apply(x, 0.5), ((2, 3),))
METHODS = ("forward", "setup_context", "backward", "jvp", "vmap")


def mutants() -> Iterator[Mutant]:
    """Those of every sample."""
    for cls, function, shapes in (LEAK, *samples.SAMPLES):
        check = partial(checked, function, shapes)
        for name in METHODS:
            method = cls.__dict__.get(name)
            if method is None:
                continue
            fn = method.__func__
            for what, make in variants(tree_of(fn), statements=True):
                yield Mutant("function", cls.__name__, f"{name}: {what}", partial(rewritten, fn, make), check)
    for fwd, bwd, function, shapes in samples.CUSTOM:
        check = partial(checked, function, shapes)
        for fn in (fwd, bwd):
            for what, make in variants(tree_of(fn), statements=True):
                yield Mutant("function", "custom_vjp", f"{fn.__name__}: {what}", partial(rewritten, fn, make), check)


def checked(function: Any, shapes: tuple[tuple[int, ...], ...]) -> None:
    """First derivatives in all modes, and second ones."""
    rng = np.random.default_rng(3)
    given = [mg.Var(rng.uniform(0.4, 1.6, shape), "float64", "reference") for shape in shapes]
    with attribute(own_kernel, "leak", PLAIN):
        gradcheck(function, given, modes=("reverse", "forward", "batched"))
        gradgradcheck(function, given)
