"""PyTorch's switch `fill_uninitialized_memory`: see `mg.use_deterministic_algorithms`."""

from __future__ import annotations

import sys
from types import ModuleType

from minigrad.backends.switches import deterministic


class WithSwitch(ModuleType):
    """The class of this module, so that an assignment to the switch has an effect."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether `empty` fills its memory while deterministic algorithms are enabled; True at first."""
        return deterministic.fill

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, value: bool) -> None:
        deterministic.set(fill=value)


sys.modules[__name__].__class__ = WithSwitch
