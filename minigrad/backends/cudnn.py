"""PyTorch's switches of cuDNN, for scripts that write them: they change nothing, for cuDNN is not used.

`mg.cuda.deterministic` chooses between reproducible sums and faster ones.
"""

enabled = False
benchmark = False
deterministic = True
allow_tf32 = False


def is_available() -> bool:
    """Return False: kernels are minigrad's own."""
    return False


def version() -> None:
    """Return None: there is no cuDNN."""
