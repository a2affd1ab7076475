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
# A GPU runs one function many times at once. This notebook writes such functions, from the smallest to a tiled matrix
# product, and runs them in minigrad's simulator: Python that runs the very text a GPU would be given, thread by thread,
# and raises an error for mistakes that a GPU makes in silence. It takes about half an hour; change the cells. With a
# GPU, set `MINIGRAD_CUDA=real` before the start, and leave out the cells with mistakes.

# %%
import os

import minigrad as mg

if os.environ.get("MINIGRAD_CUDA") != "real":
    mg.settings.cuda = "simulator"
print("device:", mg.cuda.get_device_name())

# %% [markdown]
# ## 1. Map: a thread for each element
#
# Threads come in *blocks*, blocks in a *grid*. Each thread knows where it is: `cuda.threadIdx.x` in its block,
# `cuda.blockIdx.x` for its block, `cuda.blockDim.x` for the size of blocks. From these it makes the number of the
# element that it works on. Tensors arrive as pointers to their first elements, sizes as integers.


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
# Three blocks of four threads are twelve, two more than there are elements: hence `if i < n`. A GPU would write beyond
# the end, into whatever lies there. The simulator says who did it.


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
# A thread may do more than one element: it goes on in steps as long as the whole grid. Neighbouring threads then read
# neighbouring elements at every step, which the memory of a GPU serves with one access for 32 threads. All of
# minigrad's elementwise kernels are loops like this one.


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
# A sum needs more than one element at a time. Threads of a block have a little fast memory in common, and a barrier,
# `cuda.syncthreads()`, at which each waits until all have come. Here a block adds up a tree: in each step, half of the
# threads that are left add what the other half has.


# %%
@mg.cuda.kernel
def sum_of_block(x, out, n):
    t = cuda.threadIdx.x  # noqa: F821
    room = cuda.shared.array(64, np.float32)  # noqa: F821
    room[t] = x[t] if t < n else np.float32(0)  # noqa: F821
    cuda.syncthreads()  # noqa: F821
    half = 32
    while half > 0:
        if t < half:
            room[t] += room[t + half]
        cuda.syncthreads()  # noqa: F821
        half //= 2
    if t == 0:
        out[0] = room[0]


numbers = mg.arange(60, dtype="float32", device="cuda")
total = mg.empty(1, dtype="float32", device="cuda")
sum_of_block[1, 64](numbers, total, 60)
print("sum of 0 .. 59:", total.item(), "and", 59 * 60 / 2)

# %% [markdown]
# ## 4. A race, and how the simulator finds it
#
# This is the same kernel without the barrier inside the loop. A thread may read an element that its neighbour has not
# written yet, or has written too early. On a GPU this is right most of the time, since 32 threads often go in step. The
# simulator remembers for each element who was there since the last barrier: two threads, one of them writing, are an
# error.


# %%
@mg.cuda.kernel
def sum_with_a_race(x, out, n):
    t = cuda.threadIdx.x  # noqa: F821
    room = cuda.shared.array(64, np.float32)  # noqa: F821
    room[t] = x[t] if t < n else np.float32(0)  # noqa: F821
    cuda.syncthreads()  # noqa: F821
    half = 32
    while half > 0:
        if t < half:
            room[t] += room[t + half]
        half //= 2
    if t == 0:
        out[0] = room[0]


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
# Each element of `a @ b` needs a row and a column. Read from the device's memory for each element, every number is read
# as often as the matrix is wide. With tiles, a block of 4 x 4 threads fetches a piece of `a` and one of `b` into shared
# memory, and each number that was fetched is used four times. Tiles of real kernels are 64 or 128 wide.


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
print("as the CPU's:", bool((product.cpu() == left.cpu() @ right.cpu()).all()))

# %% [markdown]
# Both barriers are needed: the first, so that nobody uses a tile before it is whole; the second, so that nobody fetches
# the next tile while others still use this one. Take one away and run the cell.
#
# ## 6. The output of the compiler
#
# PTX is the language that NVIDIA's compiler writes for a family of GPUs; the driver or an assembler turns it into
# machine code. `ld.global` reads the device's memory, `st.shared` writes shared memory, `bar.sync` is the barrier,
# `fma` multiplies and adds at once. Compiling needs no GPU, but the package numba-cuda.

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
# An op is declared once, as a function of numbers; each backend writes its loop around it. `docs/cuda.md` has the loops
# of both side by side, and for any op and dtype the command line prints them:
#
#     python -m minigrad kernel mul
#     python -m minigrad kernel mul --device cuda
#
# Everything else works as on the CPU, with gradients.

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
# The grader runs your kernels with grids and lengths of its own; what the simulator has to say is what you read.

# %%
from minigrad.learning.grading import check, hint


def blocks_for(n, threads):
    """How many blocks of so many threads have a thread for each of n elements; 0 for none."""
    return ...  # write it here


check("12.1", blocks_for)

# %% [markdown]
# **12.2** Write the elements of `x` backwards into `out`, for any grid, by strides of the grid.


# %%
@mg.cuda.kernel
def backwards(x, out, n):
    pass  # write it here


check("12.2", backwards)

# %% [markdown]
# **12.3** The largest of `n` numbers, at most 16 of them, by one block of 16 threads and a tree in shared memory. Mind
# the barriers. (`np.float32(-np.inf)` is less than every number.)


# %%
@mg.cuda.kernel
def largest(x, out, n):
    pass  # write it here


check("12.3", largest)

# %% [markdown]
# **12.4** Each thread should write the mean of its left neighbour, itself and its right neighbour, in one block of up
# to 16 threads; at both ends an element stands for the neighbour that is not there. This kernel works in place, and so
# it has a race. Mend it.


# %%
@mg.cuda.kernel
def smooth(x, n):
    t = cuda.threadIdx.x  # noqa: F821
    if t < n:
        left = x[t - 1] if t > 0 else x[t]
        right = x[t + 1] if t < n - 1 else x[t]
        x[t] = (left + x[t] + right) / np.float32(3)  # noqa: F821


check("12.4", smooth)
