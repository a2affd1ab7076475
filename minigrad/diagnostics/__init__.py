"""Explain a gradient and report the memory of a graph: `explain_grad` and `tape`."""

from minigrad.diagnostics.gradient import Explanation, explain_grad
from minigrad.diagnostics.tape import Tape, tape

__all__ = ["Explanation", "Tape", "explain_grad", "tape"]
