"""Is it fast?  minigrad, PyTorch on the CPU and NumPy, side by side: `python -m tests.benchmarks`."""
