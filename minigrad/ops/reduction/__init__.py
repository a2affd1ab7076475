"""Reductions over dims, and scans (running reductions) along a dim."""
