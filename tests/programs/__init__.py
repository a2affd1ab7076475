"""Random programs: graphs that nobody thought of, held against difference quotients and PyTorch.

    python -m tests.programs [--count N] [--first SEED] [--order 3]

PyTorch is asked where it is installed.
"""
