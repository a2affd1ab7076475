"""PyTorch's queries about Apple GPUs, which minigrad does not support."""


def is_available() -> bool:
    """Return False: Apple GPUs are not supported."""
    return False


def is_built() -> bool:
    """Return False: Apple GPUs are not supported."""
    return False
