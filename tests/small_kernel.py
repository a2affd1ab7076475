"""A kernel that compiles fast, for tests of the kernel cache."""

import numpy as np

from minigrad.kernels import calling, store


def scaled(factor):
    """Return the text of a small kernel."""
    return (
        f'"""A kernel that multiplies by {factor}."""\n\nimport numpy as np\nfrom numba import njit\n'
        + "from minigrad.kernels.cpu.native import natives\n\noperand = natives()[0]\n\n\n"
        + '@njit("void(int64, int64, int64)", no_cpython_wrapper=True, no_cfunc_wrapper=True)\n'
        + "def kernel(first, last, table):\n"
        + f"    operand(table, 3, np.int64)[0] = operand(table, 2, np.int64)[0] * {factor}\n"
    )


def run(factor=3):
    """Return the kernel's result and the kernel, as in a process that has not loaded it yet."""
    store.loaded.pop(store.file_of("scaled", scaled(factor)), None)
    out = np.zeros(1, np.int64)
    kernel = store.load("scaled", scaled(factor))
    calling.function(kernel, "alone")(np.array([5]), out, np.array([1, 0]))
    return int(out[0]), kernel
