# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 10 · Kernels with Numba
#
# An op on tensors runs a loop, which is called a *kernel*. In this notebook you write some loops with Numba, divide one
# among threads (and lose results), and read memory in a better order. Then you read the instructions that the processor
# executes, for your own loops and for one of minigrad's ops. The notebook takes twenty-five minutes.
#
# **One idea:** a kernel is a loop over positions in memory. **One bug:** two threads that add to the same element.
# **One check:** NumPy returns the same result.

# %%
import re
import time

import matplotlib.pyplot as plt
import numba
import numpy as np

import minigrad as mg

# %% [markdown]
# ## 1. A loop over strides
#
# A tensor is a flat buffer with a shape, strides and an offset (chapter 05). A loop over its elements is therefore a
# loop over positions: begin at the offset, and go on by a stride.


# %%
@numba.njit
def scaled(buffer, offset, stride, n, factor):
    """Return factor times each of n elements; `stride` is the distance from one element to the next."""
    out = np.empty(n, buffer.dtype)
    at = offset
    for i in range(n):
        out[i] = factor * buffer[at]
        at += stride
    return out


buffer = np.arange(10, dtype=np.float32)
print("all, in order:           ", scaled(buffer, 0, 1, 10, 2.0))
print("every third:             ", scaled(buffer, 0, 3, 4, 2.0))
print("every second, backwards: ", scaled(buffer, 9, -2, 5, 2.0))

# %% [markdown]
# At the first call, `njit` compiles the function to machine code for the types of its arguments. This takes a moment;
# later calls are fast.


# %%
def seconds(function, *args, repeat=5):
    """Return the shortest time of several calls."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - start)
    return min(times)


large = np.ones(1_000_000, np.float32)
plain = seconds(scaled.py_func, large, 0, 1, 100_000, 2.0, repeat=1)
compiled = seconds(scaled, large, 0, 1, 100_000, 2.0)
print(f"as Python {plain * 1e3:.1f} ms, compiled {compiled * 1e3:.3f} ms: {plain / compiled:.0f} times as fast")

# %% [markdown]
# ## 2. The bug: a race
#
# With `parallel=True`, the iterations of a `prange` loop are divided among threads. Here they count how often each of
# four values occurs. Each thread reads a count, adds 1, and writes the result back. If two threads do this at the same
# time, both read the same count, and one of the two additions is lost. This is called a *race*.


# %%
@numba.njit(parallel=True)
def racing_counts(values, kinds):
    counts = np.zeros(kinds, np.int64)
    for i in numba.prange(len(values)):
        counts[values[i]] += 1
    return counts


values = np.random.default_rng(0).integers(0, 4, 4_000_000)
right = np.bincount(values)
found = racing_counts(values, 4)
print("right:", right)
print("found:", found, " lost:", (right - found).sum(), "of", len(values), "on", numba.get_num_threads(), "threads")

# %% [markdown]
# No error was raised, and each run may lose a different number of counts (with a single thread, none). Such a bug can
# remain unnoticed for years. The fix: no two threads write to the same element. Divide the work into parts, give each
# part its own row of counts, and add the rows at the end, in a fixed order. minigrad's sums also add partial results in
# a fixed order, so their results do not depend on the number of threads.


# %%
@numba.njit(parallel=True)
def counts_in_parts(values, kinds, parts):
    rows = np.zeros((parts, kinds), np.int64)
    for p in numba.prange(parts):
        for i in range(p * len(values) // parts, (p + 1) * len(values) // parts):
            rows[p, values[i]] += 1
    return rows.sum(0)


print("in parts:", counts_in_parts(values, 4, 16), "equal:", (counts_in_parts(values, 4, 16) == right).all())

# %% [markdown]
# ## 3. The order of memory
#
# The processor reads memory in *cache lines* of 64 bytes, which is 16 floats. A loop that uses one float of each line
# wastes the other fifteen. A transpose must read or write one of the two matrices with a large stride. If it works in
# *tiles* (small squares), each line stays in the cache until all of its elements have been used.


# %%
@numba.njit
def transposed(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j, i] = x[i, j]


@numba.njit
def transposed_in_tiles(x, out, tile):
    for top in range(0, x.shape[0], tile):
        for left in range(0, x.shape[1], tile):
            for i in range(top, min(top + tile, x.shape[0])):
                for j in range(left, min(left + tile, x.shape[1])):
                    out[j, i] = x[i, j]


x = np.random.default_rng(0).random((2048, 2048), np.float32)
out = np.empty_like(x)
transposed(x, out)
transposed_in_tiles(x, out, 32)
assert (out == x.T).all()
tiles = [4, 8, 16, 32, 64, 128, 512]
times = [seconds(transposed_in_tiles, x, out, tile, repeat=3) for tile in tiles]
plt.plot(tiles, [1e3 * t for t in times], "o-", label="in tiles")
plt.axhline(1e3 * seconds(transposed, x, out, repeat=3), color="gray", label="row by row")
plt.xscale("log", base=2)
plt.xlabel("side of a tile")
plt.ylabel("ms for 2048 x 2048")
plt.legend()
plt.show()

# %% [markdown]
# ## 4. The instructions of the processor
#
# A processor has instructions that add 4, 8 or 16 floats at once (*SIMD*). The assembly shows whether the compiler uses
# them: on x86, `vaddps` adds several floats (*packed*), and `vaddss` adds a *single* float. Compare an elementwise
# addition with a sum:


# %%
@numba.njit
def add(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] + y[i]


def sum_of(x):
    total = np.float32(0)
    for i in range(len(x)):
        total += x[i]
    return total


def additions(function):
    """Return the numbers of packed and of single float additions in the assembly of a function, on x86."""
    (text,) = function.inspect_asm().values()
    return len(re.findall(r"\bv?addps\b", text)), len(re.findall(r"\bv?addss\b", text))


strict, free = numba.njit(sum_of), numba.njit(sum_of, fastmath=True)
a = np.ones(1000, np.float32)
add(a, a, a.copy()), strict(a), free(a)
for name, function in (("map", add), ("sum, in order", strict), ("sum, any order", free)):
    packed, single = additions(function)
    print(f"{name:15} packed {packed:3}   single {single:3}")

# %% [markdown]
# The sum has no packed addition. Floats are rounded at each step, so a different order of the additions has a different
# result, and the compiler must not change the order. `fastmath=True` permits it. minigrad permits it only for the
# additions of sums, and documents how large the error can be.
#
# ## 5. One of minigrad's kernels
#
# `mg.viz.kernel` shows the code that an op runs, from the function of one element to the assembly, forward and backward
# side by side. Open the parts below. The VJP rule of `tanh`, `g * (1 - y * y)`, is compiled to one loop too.

# %%
v = mg.Var(mg.linspace(-3, 3, 1000))
mg.viz.kernel(v.tanh())

# %% [markdown]
# The files were written by [specialize.py](../minigrad/kernels/specialize.py): it pastes the function of one element
# into nested loops of [elementwise.py](../minigrad/kernels/cpu/elementwise.py), with the dtypes and strides of your
# operands. A different layout needs a different loop:

# %%
for name, operand in (("contiguous", v), ("every second", v[::2]), ("transposed matrix", v.reshape(10, 100).T)):
    (path,) = mg.viz.kernels(operand.exp())
    print(f"{name:18} {path.name}")

# %% [markdown]
# ## 6. How fast could it be? The roofline
#
# A kernel has to move its bytes and execute its arithmetic operations. The machine can move a limited number of bytes
# per second, and compute a limited number of operations per second. The larger of the two times is a lower bound for
# the time of the kernel. Measure both limits with an addition of large arrays and a matrix product, then plot some ops
# under this *roofline*.

# %%
n = 4_000_000
source, target = mg.ones(n), mg.empty(n)
bandwidth = 8 * n / seconds(lambda: mg.add(source, 0.0, out=target))
square = mg.ones(512, 512)
peak = 2 * 512**3 / seconds(lambda: square @ square)
print(f"memory {bandwidth / 1e9:.0f} GB/s, arithmetic {peak / 1e9:.0f} GFLOP/s")

ops = {
    "add": (lambda: mg.add(source, source, out=target), n, 12 * n),
    "exp": (lambda: mg.exp(source, out=target), 20 * n, 8 * n),
    "sum": (lambda: source.sum(), n, 4 * n),
    "matmul 128": (lambda: square[:128, :128] @ square[:128, :128], 2 * 128**3, 12 * 128**2),
    "matmul 512": (lambda: square @ square, 2 * 512**3, 12 * 512**2),
}
intensity = np.logspace(-2, 3, 50)
plt.loglog(intensity, np.minimum(peak, bandwidth * intensity) / 1e9, color="gray", label="roofline")
for name, (run, flops, size) in ops.items():
    plt.plot(flops / size, flops / seconds(run) / 1e9, "o", label=name)
plt.xlabel("operations per byte")
plt.ylabel("GFLOP/s")
plt.legend()
plt.show()

# %% [markdown]
# `add` and `sum` are near the sloped part of the line: their time is the time of memory, so faster arithmetic would not
# help. (Small tensors are in a cache, which is faster than memory, so their points may be above the line.) `matmul` is
# under the flat part: its time is the time of arithmetic. For this reason, the kernel of `matmul` uses tiles and
# registers.
#
# ## Exercises
#
# **10.1** Return the position in the buffer of the element at `index`, an integer. `index` and `strides` are tuples
# with one integer per dim, and `offset` is an integer.

# %%
from minigrad.learning.grading import check, hint


def position(index, strides, offset):
    """Return the position of an element in the buffer."""
    return ...  # write it here


check("10.1", position)

# %% [markdown]
# **10.2** Sum a matrix with arbitrary strides. `buffer` is a NumPy array of one dim; `shape` and `strides` are tuples
# of two integers, and `offset` is an integer. Return the sum as a float. The absolute and the relative tolerance are
# $10^{-6}$. Use a loop over positions; NumPy views are forbidden.


# %%
def strided_sum(buffer, shape, strides, offset):
    """Return the sum of the elements of a matrix."""
    return ...  # write it here


check("10.2", strided_sum)

# %% [markdown]
# **10.3** Find the largest element of each part. Each part has its own result, so that threads do not write to the same
# element. `values` is a float array of `n` elements. Part `p` of `parts` contains the elements from index `p * n //
# parts` up to, but not including, `(p + 1) * n // parts`. Return an array of `parts` floats; the entry of an empty part
# is minus infinity. The absolute and the relative tolerance are $10^{-6}$.


# %%
def largest_in_parts(values, parts):
    """Return an array with the largest element of each part."""
    return ...  # write it here


check("10.3", largest_in_parts)

# %% [markdown]
# **10.4** Return the least time that a kernel can take on a machine, in seconds. `flops` is its number of operations
# and `size` the number of bytes that it moves; `peak` is the machine's operations per second, and `bandwidth` its bytes
# per second. All four are positive numbers.


# %%
def least_time(flops, size, peak, bandwidth):
    """Return a time in seconds."""
    return ...  # write it here


check("10.4", least_time)
