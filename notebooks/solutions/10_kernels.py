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
# **10.1** A step in dim $d$ moves by its stride, whatever the others do.

# %%
import math

from minigrad.learning.grading import check


def place(index, strides, offset):
    return offset + sum(i * s for i, s in zip(index, strides, strict=True))


check("10.1", place)

# %% [markdown]
# **10.2** The same formula in two loops. A stride of 0 reads one row again and again, a negative one goes backwards;
# the loop need not know.


# %%
def strided_sum(buffer, shape, strides, offset):
    total = 0.0
    for i in range(shape[0]):
        for j in range(shape[1]):
            total += buffer[place((i, j), strides, offset)]
    return total


check("10.2", strided_sum)

# %% [markdown]
# **10.3** Each part writes to its own entry. The entries are joined afterwards, in the order of the parts.


# %%
def largest_in_parts(values, parts):
    n = len(values)
    return [max(values[p * n // parts : (p + 1) * n // parts], default=-math.inf) for p in range(parts)]


check("10.3", largest_in_parts)

# %% [markdown]
# **10.4** Arithmetic and memory work at the same time; the slower of the two sets the time.


# %%
def least_time(flops, size, peak, bandwidth):
    return max(flops / peak, size / bandwidth)


check("10.4", least_time)
