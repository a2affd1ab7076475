"""PyTorch's questions about Apple's GPUs, which minigrad does not use."""


def is_available() -> bool:
    """Return False: there is no such device."""
    return False


def is_built() -> bool:
    """Return False: there is no such device."""
    return False
