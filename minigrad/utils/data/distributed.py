"""`mg.data.DistributedSampler` under PyTorch's name."""

from minigrad.data.distributed import DistributedSampler
from minigrad.declare.advice import present

present(globals(), {"DistributedSampler": DistributedSampler})
