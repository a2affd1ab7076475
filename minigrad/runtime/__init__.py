"""Tensors, the records of their ops, and the dispatch path from a call to a kernel."""
