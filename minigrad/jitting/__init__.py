"""`mg.jit(step)`: record a function once, then run it as a list of launches without Python between them.

Read `jitted.py` first, then `recorder.py` (running a function on tensors without values), `program.py` (the record),
`tape.py` and `runner.py` (memory and kernels), `entry.py` (a call), `source.py` (a program as text).
"""

from minigrad.jitting.jitted import Jitted, jit

__all__ = ["Jitted", "jit"]
