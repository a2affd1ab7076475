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
# # 10 · Solutions
#
# **10.1** A step along dimension $d$ moves by the stride of $d$, for all values of the other indices.

# %%
import math

from minigrad.learning.grading import check


def position(index, strides, offset):
    return offset + sum(i * s for i, s in zip(index, strides, strict=True))


check("10.1", position)

# %% [markdown]
# **10.2** This is the formula of 10.1 in two loops. A stride of 0 reads one row repeatedly, and a negative stride reads
# backwards. The loops need no special case for such strides.


# %%
def strided_sum(buffer, shape, strides, offset):
    total = 0.0
    for i in range(shape[0]):
        for j in range(shape[1]):
            total += buffer[position((i, j), strides, offset)]
    return total


check("10.2", strided_sum)

# %% [markdown]
# **10.3** Each part writes to its own entry, so no two threads write to the same element.


# %%
def largest_in_parts(values, parts):
    n = len(values)
    return [max(values[p * n // parts : (p + 1) * n // parts], default=-math.inf) for p in range(parts)]


check("10.3", largest_in_parts)

# %% [markdown]
# **10.4** Arithmetic and memory access overlap, so the longer of both times is the least time of the kernel.


# %%
def least_time(flops, size, peak, bandwidth):
    return max(flops / peak, size / bandwidth)


check("10.4", least_time)
