"""`DataParallel`, and `mg.dist.DistributedDataParallel` under its PyTorch name."""

from typing import Any

from minigrad.declare.advice import present
from minigrad.nn.modules.data_parallel import DataParallel

DistributedDataParallel: Any  # defined in `dist`, which imports this package
present(globals(), {"DataParallel": DataParallel}, {"DistributedDataParallel": "dist.parallel"})
