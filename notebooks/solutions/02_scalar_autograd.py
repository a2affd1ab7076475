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
# # 02 · Solutions
#
# **02.1** For constant $b$, the derivative of $a/b$ with respect to $a$ is $1/b$. For constant $a$, the derivative of
# $a \cdot b^{-1}$ with respect to $b$ is $-a\,b^{-2}$.

# %%
import math

from minigrad.learning.grading import check


def divide(a, b):
    return a / b, (1 / b, -a / (b * b))


check("02.1", divide)

# %% [markdown]
# **02.2** From $y = 1 / (1 + e^{-a})$ follows $y' = e^{-a} y^2$, and $e^{-a} y$ is $1 - y$. So $y' = y (1 - y)$. The
# exponential of a negative number is at most 1, so it cannot overflow. The sign of $a$ determines whether
# $1 / (1 + e^{-a})$ or $e^a / (1 + e^a)$ has such an exponential.


# %%
def logistic(a):
    e = math.exp(-abs(a))
    y = 1 / (1 + e) if a >= 0 else e / (1 + e)
    return y, (y * (1 - y),)


check("02.2", logistic)

# %% [markdown]
# **02.3** Visit the parents first, and append a Value after all of its parents. Then each parent comes before the
# Values that use it; reversed, this is the order for the backward pass. `seen` limits the visits to one per Value.


# %%
def order(y):
    seen, found = set(), []

    def visit(v):
        if v not in seen:
            seen.add(v)
            for parent in v.parents:
                visit(parent)
            found.append(v)

    visit(y)
    return found[::-1]


check("02.3", order)

# %% [markdown]
# **02.4** The table begins with the weights instead of a single 1. All Values from which any of the results was
# computed are visited, in one common order. Later notebooks call these weights the incoming gradient; JAX's term is
# cotangent.


# %%
def gradients(ys, weights, xs):
    table, found, todo = {}, {}, list(ys)
    for y, w in zip(ys, weights):
        table[y.id] = table.get(y.id, 0.0) + w
    while todo:
        v = todo.pop()
        if v.id not in found:
            found[v.id] = v
            todo.extend(v.parents)
    for v in sorted(found.values(), key=lambda v: v.id, reverse=True):
        for parent, slope in zip(v.parents, v.slopes):
            table[parent.id] = table.get(parent.id, 0.0) + slope * table[v.id]
    return [table.get(x.id, 0.0) for x in xs]


check("02.4", gradients)
