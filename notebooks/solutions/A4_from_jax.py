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
# # A4 · Solutions
#
# **A4.1** If no other name refers to the copy, a write to it is as safe as a pure function. The write is recorded as an
# op: the gradient with respect to `x` is 0 at the elements that were overwritten, and `value` receives the gradient of
# these elements.

# %%
import minigrad as mg
from minigrad.learning.grading import check


def at_set(x, index, value):
    y = x.clone()
    y[index] = value
    return y


check("A4.1", at_set)

# %% [markdown]
# **A4.2** Each call creates its own generator from the key, so two calls with equal keys draw equal numbers. The
# default generator is not used.


# %%
def dropout(x, keep, key):
    drawn = mg.rand(*x.shape, generator=mg.Generator(key))
    return x * (drawn < keep).to(x.dtype) / keep


check("A4.2", dropout)

# %% [markdown]
# **A4.3** `tree_map` visits the leaves of equal structures in one order. So the list of the leaves and the later
# iterator over the pieces have the same order. All steps are ops, so the result is differentiable.


# %%
def ravel(tree):
    leaves = []
    mg.func.tree_map(leaves.append, tree)

    def unravel(flat):
        pieces = iter(flat.split([x.numel() for x in leaves]))
        return mg.func.tree_map(lambda x: next(pieces).reshape(x.shape), tree)

    return mg.cat([x.reshape(-1) for x in leaves]), unravel


check("A4.3", ravel)
