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
# # 09 · Solutions
#
# **09.1** The first `mg.grad` records its operations, so that the second `mg.grad` can differentiate them. The second
# `mg.grad` does not have to record.

# %%
import numpy as np

import minigrad as mg
from minigrad.learning.grading import check


def second(f, x):
    first = mg.grad(f(x), x, create_graph=True)
    return mg.grad(first, x)


check("09.1", second)

# %% [markdown]
# **09.2** Without `create_graph=True` the value of the penalty would not change. For this reason the mistake is hard to
# notice.


# %%
def slope_penalty(critic, x):
    slopes = mg.grad(critic(x).sum(), x, create_graph=True)
    lengths = (slopes * slopes).sum(1).sqrt()
    return ((lengths - 1.0) ** 2).mean()


check("09.2", slope_penalty)

# %% [markdown]
# **09.3** With $f = \nabla h$ this is Newton's method of section 3, since the Jacobian of a gradient is the Hessian.
# Each step computes the Jacobian again, at the new point.


# %%
def root(f, x):
    for _ in range(8):
        table = mg.func.jacfwd(f)(x)
        x = x - mg.from_numpy(np.linalg.solve(table.numpy(), f(x).numpy()))
    return x


check("09.3", root)

# %% [markdown]
# **09.4** $g(z(x), x) = 0$ holds for all $x$, so $g_z \frac{dz}{dx} + g_x = 0$. With $g = z - f(z, x)$, this equation
# is the formula of section 4.


# %%
def derivative_of_answer(g, solve, x):
    g_z, g_x = mg.func.grad(g, argnums=(0, 1))(solve(x), x)
    return -g_x.item() / g_z.item()


check("09.4", derivative_of_answer)
