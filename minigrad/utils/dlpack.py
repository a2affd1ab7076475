"""`mg.from_dlpack` under PyTorch's name, and its counterpart."""

from __future__ import annotations

from typing import Any

from minigrad.api.interop.arrays import dlpack, from_dlpack
from minigrad.declare.advice import present
from minigrad.runtime.tensor import Tensor


def to_dlpack(tensor: Tensor) -> Any:
    """Return a DLPack capsule of a tensor, which another library can use once."""
    return dlpack(tensor, max_version=(1, 0))


present(globals(), {"from_dlpack": from_dlpack, "to_dlpack": to_dlpack})
