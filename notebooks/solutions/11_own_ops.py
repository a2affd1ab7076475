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
# # 11 · Solutions
#
# **11.1** $(\log\cosh x)' = \sinh x / \cosh x = \tanh x$. The quotient would overflow near $x = 90$ in float32, where
# `tanh` is 1.

# %%
import minigrad as mg
from minigrad.learning.grading import check


def log_cosh_rule(g, x):
    return g * x.tanh()


check("11.1", log_cosh_rule)

# %% [markdown]
# **11.2** There is one rule per operand; in each rule the other operand is constant.


# %%
def weighted_rules(g, x, w):
    return g * 2.0 * w * x, g * (x * x + 3.0 * w * w)


check("11.2", weighted_rules)

# %% [markdown]
# **11.3** The gradient of the norm is the unit vector $x / \lVert x \rVert$. At 0, every vector of norm 1 or less is a
# subgradient; with the subgradient 0, a step of gradient descent does not change $x$.


# %%
def norm_rule(g, x, y):
    return g * x / (y + (y == 0))


check("11.3", norm_rule)

# %% [markdown]
# **11.4** A backward rule does not have to match the forward function. `gradcheck` rejects this rule where the gradient
# is clipped.


# %%
class ClipGradient(mg.Function):
    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g.clamp(-1.0, 1.0)


check("11.4", ClipGradient)
