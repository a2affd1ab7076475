"""`mg.data.DistributedSampler` under PyTorch's name."""

from minigrad.api.absent import present
from minigrad.data.distributed import DistributedSampler

present(globals(), {"DistributedSampler": DistributedSampler})
