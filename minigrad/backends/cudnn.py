"""PyTorch's switches of cuDNN, for scripts that set them.  They have no effect, because minigrad does not use cuDNN.

`mg.cuda.deterministic` chooses between reproducible sums and faster ones.
"""

from minigrad.backends.switches import flags as flags

enabled = False
benchmark = False
deterministic = True
allow_tf32 = False


def is_available() -> bool:
    """Return False: minigrad uses its own kernels."""
    return False


def version() -> None:
    """Return None: minigrad does not use cuDNN."""
