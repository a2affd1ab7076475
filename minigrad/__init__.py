"""minigrad: automatic differentiation in Python that shows its machine code."""
