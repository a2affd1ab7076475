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
# # 12 · Kernels for a GPU, without a GPU
#
# A GPU runs one function in many threads at once. Such a function is called a *kernel*. In this notebook you write
# kernels, from a simple one to a tiled matrix product, and run them in minigrad's simulator. The simulator is a Python
# program that executes the same kernel text as a GPU, thread by thread. The simulator raises an error for mistakes that
# a GPU does not report. The notebook takes about half an hour; change the cells and run them again. If you have a GPU,
# set `MINIGRAD_CUDA=real` before you start Jupyter, and skip the cells with mistakes.

# %%
import os

import minigrad as mg

if os.environ.get("MINIGRAD_CUDA") != "real":
    mg.settings.cuda = "simulator"
print("device:", mg.cuda.get_device_name())

# %% [markdown]
# ## 1. Map: one thread per element
#
# Threads are grouped into *blocks*, and blocks into a *grid*. In a kernel, `cuda.threadIdx.x` is the index of the
# thread in its block, `cuda.blockIdx.x` the index of the block, and `cuda.blockDim.x` the number of threads per block.
# From these three values, each thread computes the index of the element that it works on. The kernel receives tensors
# as pointers to their first elements, and sizes as integers. `square[3, 4]` launches 3 blocks of 4 threads.


# %%
@mg.cuda.kernel
def square(x, out, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x  # noqa: F821
    if i < n:
        out[i] = x[i] * x[i]


x = mg.arange(10, dtype="float32", device="cuda")
out = mg.empty(10, dtype="float32", device="cuda")
square[3, 4](x, out, 10)
print(out.tolist())

# %% [markdown]
# Three blocks of four threads are twelve threads, two more than there are elements. For this reason the kernel has the
# line `if i < n`. Without this line, a GPU would write beyond the end of the tensor, into other memory. The simulator
# raises an error that names the thread:


# %%
@mg.cuda.kernel
def square_without_a_bound(x, out, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x  # noqa: F821
    out[i] = x[i] * x[i]


try:
    square_without_a_bound[3, 4](x, out, 10)
except mg.KernelError as error:
    print(error)

# %% [markdown]
# ## 2. Grid-stride: any grid for any length
#
# A thread may process more than one element: after each element it moves ahead by the number of threads in the grid. At
# every step, neighbouring threads read neighbouring elements, so the GPU reads the elements of 32 threads with few
# accesses to memory. All of minigrad's elementwise kernels are loops like this one.


# %%
@mg.cuda.kernel
def saxpy(a, x, y, out, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x  # noqa: F821
    while i < n:
        out[i] = a[0] * x[i] + y[i]
        i += cuda.gridDim.x * cuda.blockDim.x  # noqa: F821


a, y = mg.tensor([2.0], device="cuda"), mg.ones(10, device="cuda")
for blocks, threads in ((1, 1), (2, 2), (5, 32)):
    saxpy[blocks, threads](a, x, y, out, 10)
    print(f"{blocks} x {threads:2} threads:", out.tolist())

# %% [markdown]
# ## 3. Shared memory: threads of a block work together
#
# For a sum, threads must exchange values. The threads of a block share a small, fast *shared memory*. They also have a
# *barrier*, `cuda.syncthreads()`, at which each thread waits until all threads of the block have reached it. Here a
# block adds its elements in a tree: in each step, the first half of the active threads add the values of the second
# half.


# %%
@mg.cuda.kernel
def sum_of_block(x, out, n):
    t = cuda.threadIdx.x  # noqa: F821
    shared = cuda.shared.array(64, np.float32)  # noqa: F821
    shared[t] = x[t] if t < n else np.float32(0)  # noqa: F821
    cuda.syncthreads()  # noqa: F821
    half = 32
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()  # noqa: F821
        half //= 2
    if t == 0:
        out[0] = shared[0]


numbers = mg.arange(60, dtype="float32", device="cuda")
total = mg.empty(1, dtype="float32", device="cuda")
sum_of_block[1, 64](numbers, total, 60)
print("sum of 0 to 59:", total.item(), "expected:", 59 * 60 / 2)

# %% [markdown]
# ## 4. A race, and how the simulator finds it
#
# The next kernel is the sum of section 3 without the barrier inside the loop. A thread may read an element that another
# thread has not written yet, or has already overwritten. On a GPU, the result is right most of the time, because groups
# of 32 threads (*warps*) often run in step. The simulator records for each element which threads have accessed it since
# the last barrier. If two threads access the same element and one of them writes, the simulator raises an error.


# %%
@mg.cuda.kernel
def sum_with_a_race(x, out, n):
    t = cuda.threadIdx.x  # noqa: F821
    shared = cuda.shared.array(64, np.float32)  # noqa: F821
    shared[t] = x[t] if t < n else np.float32(0)  # noqa: F821
    cuda.syncthreads()  # noqa: F821
    half = 32
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        half //= 2
    if t == 0:
        out[0] = shared[0]


try:
    sum_with_a_race[1, 64](numbers, total, 60)
except mg.KernelError as error:
    print("race:", error)

# %% [markdown]
# Another mistake is a barrier that only some threads reach: on a GPU the block may wait forever.


# %%
@mg.cuda.kernel
def barrier_for_some(x, out, n):
    t = cuda.threadIdx.x  # noqa: F821
    if t < n:
        out[t] = x[t]
        cuda.syncthreads()  # noqa: F821


try:
    barrier_for_some[1, 16](x, out, 10)
except mg.KernelError as error:
    print("barrier:", error)

# %% [markdown]
# ## 5. Matrix product in tiles
#
# Each element of `a @ b` needs a row of `a` and a column of `b`. If each thread reads both from the device's memory,
# every element of `a` is read once for each column of `b`. With tiles, a block of 4 x 4 threads copies a 4 x 4 part of
# `a` and of `b` into shared memory, and then uses each copied element four times. Tiles of real kernels have 64 or 128
# rows and columns.


# %%
@mg.cuda.kernel
def matmul(a, b, out, m, k, n):
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y  # noqa: F821
    row = cuda.blockIdx.y * 4 + ty  # noqa: F821
    column = cuda.blockIdx.x * 4 + tx  # noqa: F821
    part_a = cuda.shared.array((4, 4), np.float32)  # noqa: F821
    part_b = cuda.shared.array((4, 4), np.float32)  # noqa: F821
    acc = np.float32(0)  # noqa: F821
    first = 0
    while first < k:
        part_a[ty, tx] = a[row * k + first + tx] if row < m and first + tx < k else np.float32(0)  # noqa: F821
        part_b[ty, tx] = b[(first + ty) * n + column] if first + ty < k and column < n else np.float32(0)  # noqa: F821
        cuda.syncthreads()  # noqa: F821
        for j in range(4):
            acc += part_a[ty, j] * part_b[j, tx]
        cuda.syncthreads()  # noqa: F821
        first += 4
    if row < m and column < n:
        out[row * n + column] = acc


m, k, n = 5, 6, 7
left = mg.arange(m * k, dtype="float32", device="cuda").reshape(m, k)
right = mg.arange(k * n, dtype="float32", device="cuda").reshape(k, n)
product = mg.empty(m, n, dtype="float32", device="cuda")
matmul[(2, 2), (4, 4)](left, right, product, m, k, n)
print("equal to the CPU's product:", bool((product.cpu() == left.cpu() @ right.cpu()).all()))

# %% [markdown]
# Both barriers are needed. Because of the first barrier, no thread uses a tile before all of its elements are copied.
# Because of the second barrier, no thread copies the next tile while other threads still use this one. Remove one of
# the barriers and run the cell.
#
# ## 6. The output of the compiler
#
# PTX is the intermediate language of NVIDIA's compiler; the driver or an assembler translates it to machine code.
# `ld.global` reads the device's memory, `st.shared` writes shared memory, `bar.sync` is the barrier, and `fma`
# multiplies and adds in one instruction. Compiling needs the package numba-cuda, but no GPU.

# %%
try:
    ptx = matmul.ptx(left, right, product, m, k, n)
    words = ("ld.global", "st.shared", "ld.shared", "bar.sync", "fma.rn.f32", "st.global")
    for word in words:
        print(f"{word:12}", sum(word in line for line in ptx.splitlines()), "times")
except mg.KernelError as error:
    print(error)

# %% [markdown]
# ## 7. minigrad's own kernels
#
# An op is declared once, as a function of numbers; each backend generates its own loop around this function.
# In the checkout, `docs/cuda.md` shows the loops of both backends side by side. The command line prints them for any
# op:
#
#     python -m minigrad kernel mul
#     python -m minigrad kernel mul --device cuda
#
# Everything else works as on the CPU, including gradients:

# %%
w = mg.Var([1.0, 2.0, 3.0], device="cuda")
(w * w + w * 5.0).sum().backward()
print("gradient on", w.grad.device, "is", w.grad.tolist())

# %% [markdown]
# [simulator.py](../minigrad/backends/cuda/simulator.py) runs the text of a kernel thread by thread.
# [watched.py](../minigrad/backends/cuda/watched.py) records the accesses of each thread.
#
# ## Exercises
#
# The grader runs your kernels with various grids and lengths, and shows you the errors of the simulator.
#
# **12.1** Return the number of blocks of `threads` threads that is needed so that each of `n` elements has its own
# thread. `n >= 0` and `threads > 0` are integers; the result is an integer, and 0 for `n = 0`.

# %%
from minigrad.learning.grading import check, hint


def blocks_for(n, threads):
    """Return the number of blocks."""
    return ...  # write it here


check("12.1", blocks_for)

# %% [markdown]
# **12.2** Write the `n` elements of `x` into `out` in reverse order. The kernel must work for any grid, so use a
# grid-stride loop as in section 2.


# %%
@mg.cuda.kernel
def backwards(x, out, n):
    pass  # write it here


check("12.2", backwards)

# %% [markdown]
# **12.3** Write the largest of the `n` elements of `x` into `out[0]`. `n` is at most 16, and the kernel runs as one
# block of 16 threads. Use a tree in shared memory, with barriers. (No float32 is less than `np.float32(-np.inf)`.)


# %%
@mg.cuda.kernel
def largest(x, out, n):
    pass  # write it here


check("12.3", largest)

# %% [markdown]
# **12.4** In one block of up to 16 threads, each thread should replace its element of `x` by the mean of three
# elements: the left neighbour, the element itself and the right neighbour. At both ends, the element itself replaces
# the missing neighbour. This kernel works in place, so it has a race. Fix the race. The absolute and the relative
# tolerance of the means are $10^{-5}$.


# %%
@mg.cuda.kernel
def smooth(x, n):
    t = cuda.threadIdx.x  # noqa: F821
    if t < n:
        left = x[t - 1] if t > 0 else x[t]
        right = x[t + 1] if t < n - 1 else x[t]
        x[t] = (left + x[t] + right) / np.float32(3)  # noqa: F821


check("12.4", smooth)
