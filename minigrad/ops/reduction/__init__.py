"""Ops that reduce dims, and running reductions."""
