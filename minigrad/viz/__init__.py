"""Pictures and texts that show what was computed: the op graph, and the road of one value."""

from minigrad.viz.explain import explain, explanation, kernels
from minigrad.viz.graph import Graph, graph

__all__ = ["Graph", "explain", "explanation", "graph", "kernels"]
