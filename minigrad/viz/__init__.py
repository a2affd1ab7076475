"""What does a computation look like?

`layered` says where the boxes and arrows of an op graph go, `svg` draws them. Both are pure functions over names, sizes
and edges: they know no tensors, so they draw a graph of any origin.
"""
