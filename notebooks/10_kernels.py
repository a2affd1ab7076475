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
# Below the tensors are loops. In this notebook you write some loops with Numba, share one among threads and lose
# numbers on the way, and read memory in a better order. Then you read the instructions that the processor received, for
# your own loops and for one of minigrad's ops. It takes twenty-five minutes.
#
# **One idea:** a kernel is a loop over positions in memory. **One bug:** two threads that add to one number. **One
# check:** the same sum by NumPy.

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
    """factor times each of n elements that lie `stride` apart."""
    out = np.empty(n, buffer.dtype)
    at = offset
    for i in range(n):
        out[i] = factor * buffer[at]
        at += stride
    return out


buffer = np.arange(10, dtype=np.float32)
print("from the front, all:     ", scaled(buffer, 0, 1, 10, 2.0))
print("every third:             ", scaled(buffer, 0, 3, 4, 2.0))
print("every second, backwards: ", scaled(buffer, 9, -2, 5, 2.0))

# %% [markdown]
# `njit` makes machine code of the function at its first call, for the types that come. That takes a while; what is
# compiled is fast.


# %%
def seconds(function, *args, repeat=5):
    """The shortest of some calls."""
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
# With `parallel=True`, the rounds of a `prange` loop are shared among threads. Here they count how often each of four
# values occurs. Each thread reads a count, adds 1, writes it back; and if two do so at once, both read the same number,
# and one of the two is lost.


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
# Nothing was raised, and each run may lose others (on a single thread, none). Such a bug can hide for years. The cure
# is that no two threads write to one element. Cut the work into parts, give each part a row of its own, and add the
# rows at the end, in order. The same is done by minigrad's sums, so their results do not depend on the number of
# threads.


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
# Memory comes in lines of 64 bytes: 16 floats. A loop that uses one float of each line wastes the other fifteen. To
# turn a matrix, one side must be walked across its lines; in *tiles*, small squares, the lines stay near until all of
# them has been used.


# %%
@numba.njit
def turned(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j, i] = x[i, j]


@numba.njit
def turned_in_tiles(x, out, tile):
    for top in range(0, x.shape[0], tile):
        for left in range(0, x.shape[1], tile):
            for i in range(top, min(top + tile, x.shape[0])):
                for j in range(left, min(left + tile, x.shape[1])):
                    out[j, i] = x[i, j]


x = np.random.default_rng(0).random((2048, 2048), np.float32)
out = np.empty_like(x)
turned(x, out)
turned_in_tiles(x, out, 32)
assert (out == x.T).all()
tiles = [4, 8, 16, 32, 64, 128, 512]
times = [seconds(turned_in_tiles, x, out, tile, repeat=3) for tile in tiles]
plt.plot(tiles, [1e3 * t for t in times], "o-", label="in tiles")
plt.axhline(1e3 * seconds(turned, x, out, repeat=3), color="gray", label="row by row")
plt.xscale("log", base=2)
plt.xlabel("side of a tile")
plt.ylabel("ms for 2048 x 2048")
plt.legend()
plt.show()

# %% [markdown]
# ## 4. The instructions of the processor
#
# A processor has instructions that add 4, 8 or 16 floats at once. Whether the compiler uses them can be read in the
# assembly: on x86 `vaddps` is *packed*, several at once, `vaddss` is a *single* one. First a map, then a sum:


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
    """How many packed and single additions of floats its assembly has, on x86."""
    (text,) = function.inspect_asm().values()
    return len(re.findall(r"\bv?addps\b", text)), len(re.findall(r"\bv?addss\b", text))


strict, free = numba.njit(sum_of), numba.njit(sum_of, fastmath=True)
a = np.ones(1000, np.float32)
add(a, a, a.copy()), strict(a), free(a)
for name, function in (("map", add), ("sum, in order", strict), ("sum, any order", free)):
    packed, single = additions(function)
    print(f"{name:15} packed {packed:3}   single {single:3}")

# %% [markdown]
# The sum has no packed addition: floats are rounded at each step, so another order gives another result, and the
# compiler may not change yours. `fastmath=True` gives it leave. minigrad gives leave for sums alone, and says how large
# the error can be.
#
# ## 5. One of minigrad's kernels
#
# `mg.viz.kernel` shows what an op runs, from the function of one element to the assembly, forward and backward side by
# side. Open the parts below. The rule of `tanh`, `g * (1 - y * y)`, has become one loop too.

# %%
v = mg.Var(mg.linspace(-3, 3, 1000))
mg.viz.kernel(v.tanh())

# %% [markdown]
# The files were written by [specialize.py](../minigrad/kernels/specialize.py): it pastes the function of one element
# into a loop nest of [elementwise.py](../minigrad/kernels/cpu/elementwise.py), with the dtypes and steps of your
# operands. Another layout gets another loop:

# %%
for name, operand in (("dense", v), ("every second", v[::2]), ("a matrix, turned", v.reshape(10, 100).T)):
    (path,) = mg.viz.kernels(operand.exp())
    print(f"{name:17} {path.name}")

# %% [markdown]
# ## 6. How fast could it be? The roofline
#
# A kernel has to fetch its bytes and do its arithmetic. The machine moves so many bytes a second and does so many
# operations a second; the larger of the two times is the least that a kernel can take. Measure the machine by a copy
# and a product of matrices, then draw some ops under this roof.

# %%
n = 4_000_000
source, target = mg.ones(n), mg.empty(n)
bandwidth = 8 * n / seconds(lambda: mg.add(source, 0.0, out=target))
square = mg.ones(512, 512)
peak = 2 * 512**3 / seconds(lambda: square @ square)
print(f"moves {bandwidth / 1e9:.0f} GB/s, multiplies and adds {peak / 1e9:.0f} GFLOP/s")

ops = {
    "add": (lambda: mg.add(source, source, out=target), n, 12 * n),
    "exp": (lambda: mg.exp(source, out=target), 20 * n, 8 * n),
    "sum": (lambda: source.sum(), n, 4 * n),
    "matmul 128": (lambda: square[:128, :128] @ square[:128, :128], 2 * 128**3, 12 * 128**2),
    "matmul 512": (lambda: square @ square, 2 * 512**3, 12 * 512**2),
}
intensity = np.logspace(-2, 3, 50)
plt.loglog(intensity, np.minimum(peak, bandwidth * intensity) / 1e9, color="gray", label="the roof")
for name, (run, flops, size) in ops.items():
    plt.plot(flops / size, flops / seconds(run) / 1e9, "o", label=name)
plt.xlabel("operations for each byte")
plt.ylabel("GFLOP/s")
plt.legend()
plt.show()

# %% [markdown]
# `add` and `sum` are at the slope: they wait only for memory, so faster arithmetic would not help. (Small tensors are
# in a cache, which is faster than memory, so their points may be above the slope.) `matmul` is under the flat part.
# That is why tiles and registers matter in its kernel.
#
# ## Exercises

# %%
from minigrad.learning.grading import check, hint


def position(index, strides, offset):
    """Where the element of an index lies in the buffer; both tuples have one entry a dim."""
    return ...  # write it here


check("10.1", position)

# %% [markdown]
# **10.2** Sum a matrix that lies anyhow in a buffer: a loop over positions, no NumPy views.


# %%
def strided_sum(buffer, shape, strides, offset):
    """The sum of the elements of a matrix of two dims."""
    return ...  # write it here


check("10.2", strided_sum)

# %% [markdown]
# **10.3** The largest element of each part, so that threads need not share one number. Part `p` of `parts` has the
# elements from `p * n // parts` up to `(p + 1) * n // parts`; an empty part gives minus infinity.


# %%
def largest_in_parts(values, parts):
    """An array with one number for each part."""
    return ...  # write it here


check("10.3", largest_in_parts)

# %% [markdown]
# **10.4** The least time that a kernel can take on a machine, in seconds.


# %%
def least_time(flops, size, peak, bandwidth):
    """flops: operations; size: bytes; peak: operations a second; bandwidth: bytes a second."""
    return ...  # write it here


check("10.4", least_time)
