"""Advice for imports of modules that minigrad does not have, such as `import minigrad.utils.tensorboard`.

Python asks the finders of `sys.meta_path` in order.  `Advice` is the last one, so it is asked only if there is no such
module, and its error is a ModuleNotFoundError like Python's own.  `absent.py` has the advice.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any


class MissingModule(ModuleNotFoundError):
    """The error for a missing module; as for a missing name, its advice is looked up when the message is read."""

    def __str__(self) -> str:
        from minigrad.api.absent import advice_for  # imported here, because only messages need it

        module, _, name = str(self.name).rpartition(".")
        advice = advice_for(module, name)
        return f"{self.args[0]}: {advice}" if advice else str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return ModuleNotFoundError, (str(self),)


class Advice(MetaPathFinder):
    """The finder that raises `MissingModule` for a submodule of a package of minigrad."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Raise MissingModule for a name in minigrad, and return None for every other name."""
        if fullname.startswith("minigrad."):
            raise MissingModule(f"No module named {fullname!r}", name=fullname)


def install() -> None:
    """Append the finder to `sys.meta_path` once; a reload of minigrad replaces the earlier finder."""
    sys.meta_path[:] = [each for each in sys.meta_path if type(each).__name__ != Advice.__name__] + [Advice()]
