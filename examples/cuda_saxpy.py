"""Compute a * x + y on a GPU in three ways; without a GPU, the simulator runs the same kernels in Python.

The three ways are tensor arithmetic, an op that is declared once for every device, with its gradient, and a custom
kernel with blocks and threads.  The last part omits a bounds check on purpose, and the simulator reports the thread
that leaves the array.
"""

import minigrad as mg


@mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g, x: g * x, lambda g, a: g * a, lambda g: g))
def saxpy(a, x, y):
    """Compute a * x + y in one pass over memory; both backends generate their loops around this line."""
    return a * x + y


@mg.cuda.kernel
def saxpy_by_hand(a, x, y, out, n):
    """Compute n elements in a grid-stride loop, which is correct for a grid of any size."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x  # noqa: F821  kernels are given `cuda`
    while i < n:
        out[i] = a[0] * x[i] + y[i]
        i += cuda.gridDim.x * cuda.blockDim.x  # noqa: F821


@mg.cuda.kernel
def saxpy_too_far(a, x, y, out, n):
    """Compute the same elements without a loop and without a bounds check."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x  # noqa: F821
    out[i] = a[0] * x[i] + y[i]


def near(found: mg.Tensor, wanted: mg.Tensor) -> bool:
    """Return whether two tensors agree to some ulps; they may be on different devices."""
    return all(abs(p - q) < 1e-6 for p, q in zip(found.tolist(), wanted.tolist(), strict=True))


def main() -> None:
    """Compare the three ways with each other and with the CPU."""
    n = 1000
    x, y = mg.linspace(0.0, 1.0, n, dtype="float32"), mg.linspace(1.0, 2.0, n, dtype="float32")
    a, wanted = mg.tensor([3.0], dtype="float32"), x * 3.0 + y
    x, y, a = x.cuda(), y.cuda(), a.cuda()
    print("device:", mg.cuda.get_device_name())

    start, end = mg.cuda.Event(enable_timing=True), mg.cuda.Event(enable_timing=True)
    start.record()
    sums = a * x + y
    end.record()
    print("as two ops: ", bool((sums.cpu() == wanted).all()), f"in {start.elapsed_time(end):.3f} ms")
    print("as one op:  ", near(saxpy(a, x, y), wanted))

    out = mg.empty(n, dtype="float32", device="cuda")
    saxpy_by_hand[3, 128](a, x, y, out, n)
    print("by hand:    ", near(out, wanted))

    if mg.cuda.get_device_name() == "simulator":
        try:
            saxpy_too_far[8, 128](a, x, y, out, n)
        except mg.KernelError as error:
            print("too far:    ", error)
    print("in use:     ", mg.cuda.memory_allocated(), "bytes")


if __name__ == "__main__":
    if mg.cuda.is_available():
        main()
    else:
        with mg.override(cuda="simulator"):
            main()
