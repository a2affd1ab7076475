"""Pictures and texts that explain a computation, such as the op graph and the call path of a value."""

from minigrad.declare.advice import present
from minigrad.runtime.noting import scope
from minigrad.viz.curves import Curves, curves
from minigrad.viz.explain import explain, explanation, kernels
from minigrad.viz.graph import Graph, graph
from minigrad.viz.heat import Heat, tensor
from minigrad.viz.log import Log
from minigrad.viz.machine import kernel
from minigrad.viz.memory import Memory, memory
from minigrad.viz.picture import Picture
from minigrad.viz.precision import Precision, precision
from minigrad.viz.program import program
from minigrad.viz.step import Steps, step
from minigrad.viz.strides import layout

__all__ = [
    "Curves", "Graph", "Heat", "Log", "Memory", "Picture", "Precision", "Steps", "curves", "explain", "explanation",
    "graph", "kernel", "kernels", "layout", "memory", "precision", "program", "scope", "step", "tensor",
]  # fmt: skip
present(globals(), {name: globals()[name] for name in __all__})
