"""Every float32 through the unary functions: `python -m tests.kernels.exhaustive_vecmath exp log`, minutes a function.

The exact value is NumPy's in float64, or that of the float64 kernel where NumPy has no such function.
"""

import sys

import numpy as np
from tqdm import tqdm

sys.path.insert(0, "tests")
from vector_loops import BINARY, evaluate

from minigrad.kernels import vecmath

BLOCK = 1 << 22
NUMPY = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
}


def largest(name):
    """The largest error of a function in ulp, where it is, and how many results are wrong in kind."""
    worst, where, wrong = 0.0, 0.0, 0
    reference = getattr(np, NUMPY.get(name, name), None) or (lambda x: evaluate(name, x))
    for start in tqdm(range(0, 1 << 32, BLOCK), desc=name):
        x = np.arange(start, start + BLOCK, dtype=np.uint64).astype(np.uint32).view(np.float32)
        got = evaluate(name, x)
        with np.errstate(all="ignore"):
            exact = reference(x.astype(np.float64))
            rounded = exact.astype(np.float32)
            finite = np.isfinite(rounded) & np.isfinite(got)
            unit = np.ldexp(1.0, np.maximum(np.frexp(np.where(finite, exact, 1.0))[1] - 1, -126) - 23)
            far = np.where(finite, np.abs(got.astype(np.float64) - exact) / unit, 0.0)
        # At the edge of overflow the nearest may be infinite and the result the largest number, or the other way round.
        edge = np.abs(exact) > 3.4028234e38
        kind = ~finite & ~edge & ~((rounded == got) | (np.isnan(exact) & np.isnan(got)))
        wrong += int(kind.sum())
        k = int(far.argmax())
        if far[k] > worst:
            worst, where = float(far[k]), float(x[k])
    return worst, where, wrong


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(vecmath.FUNCTIONS - set(BINARY)):
        worst, where, wrong = largest(name)
        print(f"{name}: at most {worst:.3f} ulp, at {where!r}; {wrong} results of the wrong kind", flush=True)
