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
# **05.1** The offset is the position of element $(0, 0, \dots)$. Each step along a dimension adds the stride of this
# dimension.

# %%
from itertools import pairwise

from minigrad.learning.grading import check


def position(strides, offset, index):
    return offset + sum(i * s for i, s in zip(index, strides))


check("05.1", position)

# %% [markdown]
# **05.2** The flipped view starts at the last entry along `dim`, which is `shape[dim] - 1` steps further, and goes
# backwards. The formula is also right for a dimension that was flipped before: the second flip restores the first
# offset.


# %%
def flipped(shape, strides, offset, dim):
    turned = list(strides)
    turned[dim] = -strides[dim]
    return tuple(turned), offset + (shape[dim] - 1) * strides[dim]


check("05.2", flipped)

# %% [markdown]
# **05.3** New dimensions are on the left and have stride 0. An expanded dimension of size 1 has stride 0 too. All other
# dimensions keep their strides.


# %%
def broadcast_strides(shape, strides, target):
    new = len(target) - len(shape)
    kept = [0 if n == 1 and m > 1 else s for n, s, m in zip(shape, strides, target[new:])]
    return (0,) * new + tuple(kept)


check("05.3", broadcast_strides)

# %% [markdown]
# **05.4** No index steps along a dimension of size 1, so its stride does not matter. For two other neighbouring
# dimensions, one step along the left dimension must be as long as a full run along the right dimension.


# %%
def flattens(shape, strides):
    dims = [(n, s) for n, s in zip(shape, strides) if n > 1]
    return all(left == n * right for (_, left), (n, right) in pairwise(dims))


check("05.4", flattens)

# %% [markdown]
# **05.5** The next window starts `step` positions further, and the next element of a window is one position further.
# The last window starts at `n - size` or before, so there are `(n - size) // step + 1` windows.


# %%
def sliding(n, size, step):
    return ((n - size) // step + 1, size), (step, 1)


check("05.5", sliding)
