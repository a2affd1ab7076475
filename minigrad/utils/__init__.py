"""PyTorch's names for tools: `utils.data` is `mg.data`, and `utils.checkpoint` has `mg.checkpoint`."""

from minigrad.declare.advice import present
from minigrad.utils import checkpoint, data, deterministic, dlpack

present(globals(), {"checkpoint": checkpoint, "data": data, "deterministic": deterministic, "dlpack": dlpack})
