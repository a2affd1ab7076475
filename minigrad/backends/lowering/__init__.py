"""Requests composed of simpler requests, for devices that do not implement them.

Each function here is a definition: `Scan` is one `Elementwise` per position, a convolution is a view of windows, a
product and a sum.  The definitions are readable and correct; for speed, a device implements the request itself.  All
compositions end at four kinds, `Elementwise`, `Reduce`, `Gather` and `Scatter`: a device that implements these four
is complete.  `backends/steps.py` composes a launch of launches, `functions.py` has the scalar functions; the other
files are families of requests, as in `core/requests.py`.
"""

from importlib import import_module
from pkgutil import iter_modules

for _family in iter_modules(__path__, f"{__name__}."):
    import_module(_family.name)
