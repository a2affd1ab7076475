"""PyTorch's name for `mg.dist`, for `import minigrad.distributed as dist`."""

from minigrad import dist
from minigrad.declare.advice import present

present(globals(), {name: getattr(dist, name) for name in vars(dist)["__all__"]})
