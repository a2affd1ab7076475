"""Reductions over everything, the first dim, the last one and one in the middle."""

import itertools
import math

import numpy as np

from tests.benchmarks.case import Table, normal

TABLE = Table("reductions")
SHAPE = (64, 128, 128)
NUMPY = {"sum": np.sum, "mean": np.mean, "amax": np.max, "argmax": np.argmax}
NBYTES = 4 * 64 * 128 * 128

for name in ("sum", "mean", "amax", "argmax", "var"):
    for where, dim in (("all", None), ("first dim", 0), ("middle dim", 1), ("last dim", 2)):
        oracle = NUMPY.get(name)
        numpy = (
            (lambda x, d=dim: np.var(x, axis=d, ddof=1)) if oracle is None else lambda x, d=dim, f=oracle: f(x, axis=d)
        )
        if dim is None:
            fn = lambda m, x, name=name: getattr(m, name)(x)
        else:
            fn = lambda m, x, name=name, d=dim: getattr(m, name)(x, dim=d)
        row = {"numpy": numpy, "nbytes": NBYTES, "goal": 1.0}
        if name == "argmax":
            TABLE.add(f"{name}, {where}", normal(SHAPE), fn, **row)
        else:
            TABLE.both(f"{name}, {where}", normal(SHAPE), fn, goal2=1.0, rtol=1e-4, **row)

# Rows that are no whole number of vectors.
for shape, name in itertools.product([(100, 100, 100), (60, 500, 70)], ("sum", "mean")):
    for where, dim in (("middle dim", 1), ("last dim", 2)):
        TABLE.add(
            f"{name}, {where} of {shape}", normal(shape), lambda m, x, name=name, d=dim: getattr(m, name)(x, dim=d),
            numpy=lambda x, name=name, d=dim: NUMPY[name](x, axis=d), nbytes=4 * math.prod(shape), goal=1.0, rtol=1e-4,
        )  # fmt: skip
