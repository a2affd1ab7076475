"""`mg.data.DistributedSampler` under PyTorch's name."""

from minigrad.declare.advice import present
from minigrad.dist.sampler import DistributedSampler

present(globals(), {"DistributedSampler": DistributedSampler})
