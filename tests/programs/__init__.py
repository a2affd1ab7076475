"""Random programs: graphs that nobody thought of, held against difference quotients, NumPy and PyTorch.

    python -m tests.programs [--count N] [--first SEED] [--order 3] [--no-writes | --nested | --written]

PyTorch is asked where it is installed.
"""
