"""Tensors in other libraries: NumPy and its functions, DLPack, and the array API standard."""
