"""Data-parallel training in several processes, over MPI: collectives on tensors, and `DistributedDataParallel`.

This package can also be called: `mg.dist(x, y)` is the function `torch.dist`, the norm of a difference.

Start a script with `python -m minigrad run -n 4 train.py`.  Names and arguments are those of `torch.distributed`.  The
transport is the MPI that `mpi4py` finds.  A program that was started without a launcher is a group of one process.
"""

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from minigrad.declare.advice import imported, present
from minigrad.declare.names import MG, namespaces
from minigrad.dist.checkpoint import Checkpoint
from minigrad.dist.collectives import (
    ReduceOp,
    Work,
    all_gather,
    all_gather_object,
    all_reduce,
    barrier,
    broadcast,
    broadcast_object_list,
    gather_object,
    recv,
    reduce,
    send,
)
from minigrad.dist.group import (
    destroy_process_group,
    get_rank,
    get_world_size,
    init_process_group,
    is_available,
    is_initialized,
)
from minigrad.dist.parallel import DistributedDataParallel
from minigrad.dist.scaling import predict_scaling

present(globals(), imported(globals()))


class CallableModule(ModuleType):
    """The class of this package: a call runs the function `torch.dist`."""

    __signature__ = inspect.signature(namespaces[MG]["dist"])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return namespaces[MG]["dist"](*args, **kwargs)

    def __reduce__(self) -> Any:
        """Copy and pickle this package as a function: by its name."""
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = CallableModule
