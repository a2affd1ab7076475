"""Is it fast?  minigrad, PyTorch on the CPU and NumPy, side by side: `python -m tests.benchmarks`."""

import os

# Before NumPy is imported: the threads of its OpenBLAS would else spin through the next library's turn, and that one
# would look half as fast on a machine with two processors.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "10")
