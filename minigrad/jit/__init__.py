"""`mg.jit(step)`: record a function once, then run it as a list of launches without Python between them.

Read `jitted.py` first, then `recorder.py` (running a function on tensors without values), `program.py` (the record),
`tape.py` and `runner.py` (memory and kernels), `entry.py` (a call).
"""

import sys
from types import ModuleType
from typing import Any

from minigrad.jit.jitted import Jitted, jit

__all__ = ["Jitted", "jit"]


class CallableModule(ModuleType):
    """This package, which calls the function `jit`, since both have one name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return jit(*args, **kwargs)


sys.modules[__name__].__class__ = CallableModule
