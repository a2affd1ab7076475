"""Explain a gradient and report the memory of a graph: `explain_grad` and `tape`."""

from minigrad.declare.advice import imported, present
from minigrad.diagnostics.gradient import Explanation, explain_grad
from minigrad.diagnostics.tape import Tape, tape

present(globals(), imported(globals()))
