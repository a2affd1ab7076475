"""Kernels: loops over strided memory, written as modules from scalar functions and templates."""
