"""Pictures and texts that show what was computed: the op graph, and the road of one value."""

from minigrad.viz.explain import explain, explanation, kernels
from minigrad.viz.graph import Graph, graph
from minigrad.viz.step import Steps, step

__all__ = ["Graph", "Steps", "explain", "explanation", "graph", "kernels", "step"]
