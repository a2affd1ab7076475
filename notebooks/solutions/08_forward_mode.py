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
# # 08 · Solutions
#
# **08.1** If $c = a / b$, then $a = cb$, and by the product rule $a' = c'b + cb'$. Solve for $c'$.

# %%
import minigrad as mg
from minigrad.learning.grading import check


def divided(a, b):
    value = a[0] / b[0]
    return value, (a[1] - value * b[1]) / b[0]


check("08.1", divided)

# %% [markdown]
# **08.2** $J$ times the unit vector $k$ is column $k$. `mg.stack(..., 1)` puts the columns side by side.


# %%
def jacobian(f, x):
    units = mg.eye(len(x), dtype="float64")
    return mg.stack([mg.func.jvp(f, (x,), (units[k],))[1] for k in range(len(x))], 1)


check("08.2", jacobian)

# %% [markdown]
# **08.3** `jvp` of the gradient along $v$ is $Hv$. Its scalar product with $v$ is the curvature. You can also
# differentiate along $v$ twice: with $s(t) = f(x + tv)$ the curvature is $s''(0)$, by forward over forward mode.


# %%
def curvature(f, x, v):
    _, product = mg.func.jvp(mg.func.grad(f), (x,), (v,))
    return (v * product).sum()


check("08.3", curvature)

# %% [markdown]
# **08.4** Let $u_j$ be the weight of slope $j$ in the result. The line adds $c$ times slope $i$ to slope $j$, so it
# adds $c\,u_j$ to the weight of slope $i$. Start with the last line, since $u_j$ must be complete before it is used.


# %%
def pull(lines, u):
    counts = list(u)
    for j, c, i in reversed(lines):
        counts[i] += c * counts[j]
    return counts


check("08.4", pull)
