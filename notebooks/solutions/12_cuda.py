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
# # 12 · Solutions
#
# **12.1** In Python `//` rounds down, also for negative numbers. So `-(-n // size)` rounds up.

# %%
import os

import minigrad as mg
from minigrad.learning.grading import check

if os.environ.get("MINIGRAD_CUDA") != "real":
    mg.settings.cuda = "simulator"


def blocks_for(n, threads):
    return -(-n // threads)


check("12.1", blocks_for)

# %% [markdown]
# **12.2** Neighbouring threads read neighbouring elements, in the opposite direction. The 32 threads of a warp still
# need only one memory access.


# %%
@mg.cuda.kernel
def backwards(x, out, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x  # noqa: F821
    while i < n:
        out[i] = x[n - 1 - i]
        i += cuda.gridDim.x * cuda.blockDim.x  # noqa: F821


check("12.2", backwards)

# %% [markdown]
# **12.3** The barrier is outside `if t < half`: all threads must reach it, including the threads that add nothing.


# %%
@mg.cuda.kernel
def largest(x, out, n):
    t = cuda.threadIdx.x  # noqa: F821
    shared = cuda.shared.array(16, np.float32)  # noqa: F821
    shared[t] = x[t] if t < n else np.float32(-np.inf)  # noqa: F821
    cuda.syncthreads()  # noqa: F821
    half = 8
    while half > 0:
        if t < half:
            shared[t] = max(shared[t], shared[t + half])
        cuda.syncthreads()  # noqa: F821
        half //= 2
    if t == 0:
        out[0] = shared[0]


check("12.3", largest)

# %% [markdown]
# **12.4** All threads must read before any thread writes. Within one block a barrier ensures this. There is no barrier
# across blocks, so a kernel for long arrays would write to a second array.


# %%
@mg.cuda.kernel
def smooth(x, n):
    t = cuda.threadIdx.x  # noqa: F821
    mean = np.float32(0)  # noqa: F821
    if t < n:
        left = x[t - 1] if t > 0 else x[t]
        right = x[t + 1] if t < n - 1 else x[t]
        mean = (left + x[t] + right) / np.float32(3)  # noqa: F821
    cuda.syncthreads()  # noqa: F821
    if t < n:
        x[t] = mean


check("12.4", smooth)
