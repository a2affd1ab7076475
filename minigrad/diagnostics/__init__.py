"""Why is this gradient what it is, and what does this graph hold: `explain_grad` and `tape`."""

from minigrad.diagnostics.gradient import Explanation, explain_grad
from minigrad.diagnostics.tape import Tape, tape

__all__ = ["Explanation", "Tape", "explain_grad", "tape"]
