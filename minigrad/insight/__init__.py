"""Why is this gradient what it is, and what does this graph hold: `explain_grad` and `tape`."""

from minigrad.insight.gradient import Explanation, explain_grad
from minigrad.insight.tape import Tape, tape

__all__ = ["Explanation", "Tape", "explain_grad", "tape"]
