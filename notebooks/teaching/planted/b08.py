"""The trace of a square matrix, by a view of its diagonal. `gradcheck` passes, but the values are wrong."""

import minigrad as mg


def diagonal(x):
    n = x.shape[0]
    return x.as_strided((n,), (n,))


def trace(x):
    return diagonal(x).sum()


x = mg.Var(mg.arange(9, dtype="float64").reshape(3, 3), name="x")
