"""Requests made of simpler ones, for devices that do not serve them.

Each function here is a definition: what `Scan` means as one `Elementwise` a position, what a convolution means as a
view of windows, a product and a sum.  It is meant to be read, and to be right; a device that wants to be fast serves
the request itself.  Everything ends at four kinds, `Elementwise`, `Reduce`, `Gather` and `ScatterAdd`: a device that
serves them is whole.  `backends/steps.py` says how a launch is made of launches, `functions.py` has the scalar
functions; the other files are families of requests, as in `core/requests.py`.
"""

from minigrad.backends.lowering import along, elements, factors, indexing, pooling, products, random, rotations, rows
from minigrad.backends.steps import Steps, Value, lowerings, lowers

__all__ = [
    "Steps", "Value", "along", "elements", "factors", "indexing", "lowerings", "lowers", "pooling", "products",
    "random", "rotations", "rows",
]  # fmt: skip
