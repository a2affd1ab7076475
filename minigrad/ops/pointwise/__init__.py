"""Elementwise ops: each element of the result depends on one element of each operand."""
