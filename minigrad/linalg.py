"""Linear algebra under PyTorch's names and arguments: `mg.linalg.cholesky(A)`.

Nothing is computed here: each name is an op of `minigrad/ops/linalg`.
"""

from typing import TYPE_CHECKING, NoReturn

from minigrad.api.absent import absent
from minigrad.declare.names import LINALG, listed, namespaces

globals().update(namespaces[LINALG])
__all__ = sorted(namespaces[LINALG])
__dir__ = listed(__all__)

if not TYPE_CHECKING:  # a type checker would take every name for one that is there

    def __getattr__(name: str) -> NoReturn:
        """Fail, and say what to write instead of a name that torch.linalg has."""
        raise absent(__name__, name)
