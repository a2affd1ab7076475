"""Neural networks: `functional` has the ops of layers under PyTorch's names."""

from typing import TYPE_CHECKING, NoReturn

from minigrad.api.absent import absent
from minigrad.declare.names import listed
from minigrad.nn import functional

__all__ = ["functional"]
__dir__ = listed(__all__)

if not TYPE_CHECKING:  # a type checker would take every name for one that is there

    def __getattr__(name: str) -> NoReturn:
        """Fail, and say what to write instead of a name that torch.nn has."""
        raise absent(__name__, name)
