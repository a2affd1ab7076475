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
# # 05 · Solutions
#
# **05.1** The offset is where the index of zeros lies; each step along a dim adds its stride.

# %%
from itertools import pairwise

from minigrad.learning.grading import check


def place(strides, offset, index):
    return offset + sum(i * s for i, s in zip(index, strides))


check("05.1", place)

# %% [markdown]
# **05.2** The walk starts at what was the last entry, `shape[dim] - 1` steps further, and goes the other way. This also
# holds for a dim that is read backwards already: the second flip brings the first start back.


# %%
def flipped(shape, strides, offset, dim):
    turned = list(strides)
    turned[dim] = -strides[dim]
    return tuple(turned), offset + (shape[dim] - 1) * strides[dim]


check("05.2", flipped)

# %% [markdown]
# **05.3** New dims stand on the left, with stride 0; so has each dim of size 1 that is stretched. All others keep the
# stride that they have, whatever it is.


# %%
def broadcast_strides(shape, strides, target):
    new = len(target) - len(shape)
    kept = [0 if n == 1 and m > 1 else s for n, s, m in zip(shape, strides, target[new:])]
    return (0,) * new + tuple(kept)


check("05.3", broadcast_strides)

# %% [markdown]
# **05.4** Nobody ever steps along a dim of size 1, so its stride says nothing. For the others, a step on the left has
# to be as long as a whole run on the right.


# %%
def flattens(shape, strides):
    dims = [(n, s) for n, s in zip(shape, strides) if n > 1]
    return all(left == n * right for (_, left), (n, right) in pairwise(dims))


check("05.4", flattens)

# %% [markdown]
# **05.5** The next window starts `step` places further, the next number in it one place. The last window that is whole
# starts at `n - size` or before, which makes `(n - size) // step + 1` of them.


# %%
def sliding(n, size, step):
    return ((n - size) // step + 1, size), (step, 1)


check("05.5", sliding)
