"""`mg.jit(step)`: record a function once, then run it as a list of launches without Python between them.

Calls whose arguments are of one kind share a program.  The first such call is eager; the second records, and runs what
it has recorded; all later calls run only `Entry.attempt`, a generated function.

call        what happens                                  where
second      the function runs on tensors without values   jitted.py `look_up`, recorder.py `Recording`, program.py
later       guards: arguments, modes, outside tensors     guards.py `conditions_of`, outside.py
            results, memory, launches, .grad, versions    entry.py `lines_of_call`, with the lines of writing.py `Lines`
            one table of launches                         tape.py, runner.py
            one node, if a result has a graph             differentiable.py `Bridge`

A later call skips the function's Python, dispatch, plans, checks of operands, and one record for each op.  `fusion.py`
joins launches, `repeats.py` finds rounds of loops, of which one is fused, `placing.py` lays out memory, and `source.py`
prints a program as text.
"""

from minigrad.jitting.jitted import Jitted, jit

__all__ = ["Jitted", "jit"]
