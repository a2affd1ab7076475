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
# **A4.1** A write into a tensor that nobody else has is as good as a pure function, and it is recorded as an op of its
# own: the gradient of `x` is 0 where it was written over, and that of `value` comes from there.

# %%
import minigrad as mg
from minigrad.learning.grading import check


def at_set(x, index, value):
    y = x.clone()
    y[index] = value
    return y


check("A4.1", at_set)

# %% [markdown]
# **A4.2** The generator is made inside, so each call begins its stream anew, and the default one is not asked.


# %%
def dropout(x, keep, key):
    drawn = mg.rand(*x.shape, generator=mg.Generator(key))
    return x * (drawn < keep).to(x.dtype) / keep


check("A4.2", dropout)

# %% [markdown]
# **A4.3** `tree_map` visits the leaves in the same order each time. So a list of the leaves, and later an iterator over
# the pieces, fit each other. All steps are ops, so gradients flow.


# %%
def ravel(tree):
    leaves = []
    mg.func.tree_map(leaves.append, tree)

    def unravel(flat):
        pieces = iter(flat.split([x.numel() for x in leaves]))
        return mg.func.tree_map(lambda x: next(pieces).reshape(x.shape), tree)

    return mg.cat([x.reshape(-1) for x in leaves]), unravel


check("A4.3", ravel)
