"""`DataParallel`, and `mg.dist.DistributedDataParallel` under its PyTorch name."""

from minigrad.declare.advice import present
from minigrad.dist.parallel import DistributedDataParallel
from minigrad.nn.modules.data_parallel import DataParallel

present(globals(), {"DataParallel": DataParallel, "DistributedDataParallel": DistributedDataParallel})
