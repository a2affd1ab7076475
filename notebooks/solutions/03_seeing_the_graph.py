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
# # 03 · Solutions
#
# **03.1** The solution is `under` of notebook 02: a stack, and a set of the visited ids, so that each op is visited
# once. Paths end at Vars, which have names, and at constants, which are `None`.

# %%
import minigrad as mg
from minigrad.learning.grading import check


def reached(y):
    names, seen, todo = set(), set(), [y.op or y]
    while todo:
        node = todo.pop()
        if node is None or node.id in seen:
            continue
        seen.add(node.id)
        if isinstance(node, mg.BackpropOp):
            todo.extend(node.parents)
        else:
            names.add(node.name)
    return names


check("03.1", reached)

# %% [markdown]
# **03.2** The smallest and the largest element depend on `x`. As tensors they are part of the graph: a nudge of the
# smallest element changes all results.


# %%
def scaled(x):
    low, high = x.amin(), x.amax()
    return (x - low) / (high - low)


check("03.2", scaled)

# %% [markdown]
# **03.3** Where `x` is not positive, the inner `where` passes 1 to the root, so the derivative of the root is 0.5
# instead of infinite. The outer `where` replaces the value by 0, and passes the gradient 0 to the root in the backward
# pass. The product of 0 and 0.5 is 0.


# %%
def safe_root(x):
    positive = x > 0.0
    return mg.where(positive, mg.where(positive, x, 1.0).sqrt(), 0.0)


check("03.3", safe_root)

# %% [markdown]
# **03.4** The first backward pass must keep the saved values for the second one. `mg.grad` returns each gradient
# separately, and does not add it to `x.grad`.


# %%
def separate(a, b, x):
    return mg.grad(a, x, retain_graph=True), mg.grad(b, x)


check("03.4", separate)
