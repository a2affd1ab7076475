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
# # 04 · Solutions
#
# **04.1** Use random weights with the shape of the results. Compare shapes first, then use the tolerance of the
# notebook. The rule passes only if the comparison is *true*: a comparison with `nan` is false.
# `not (error > tolerance)` would accept `nan`.

# %%
import numpy as np

from minigrad.learning.exercises.patients import INDEX, PATIENTS, show
from minigrad.learning.grading import check


def numeric(f, g, x, h=1e-6):
    result = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = h
        result[i] = np.sum(g * (f(x + step) - f(x - step))) / (2 * h)
    return result


def holds(f, rule, x):
    y = f(x)
    g = np.random.default_rng(0).standard_normal(np.shape(y))
    want, found = numeric(f, g, x), np.asarray(rule(g, x))
    if found.shape != x.shape:
        return False
    tolerance = 1e-5 * np.abs(want).max() + 10 * 2.0**-52 * np.sum(np.abs(g * y)) / 1e-6
    return bool(np.abs(found - want).max() <= tolerance)


check("04.1", holds)

# %% [markdown]
# **04.2** Check every operand of every patient. The checker rejects ten rules. For `relu` the middle element is exactly
# 0; if you move this element, the checker accepts the rule.

# %%
accused = {name for name, p in PATIENTS.items() if not all(holds(*p.operand(k)) for k in range(len(p.operands)))}
f, rule, x = PATIENTS["relu"].operand(0)
print("accused:", sorted(accused))
print("relu at", x + 0.1, "holds:", holds(f, rule, x + 0.1))
wrong_ones = accused - {"relu"}

check("04.2", wrong_ones)

# %% [markdown]
# **04.3** The ratios show two mistakes at once: 1/3 at all elements is a factor, and -1 is a sign. The ratios of `root`
# are near 1 and differ at each element. This is the sign of a stale value: the value before the last Newton step.

# %%
for name in sorted(wrong_ones):
    for k in range(len(PATIENTS[name].operands)):
        f, rule, x = PATIENTS[name].operand(k)
        if not holds(f, rule, x):
            g = np.random.default_rng(1).standard_normal(np.shape(f(x)))
            want, found = numeric(f, g, x), rule(g, x)
            there = np.abs(want) > 1e-12  # no ratio where both are 0
            print(f"{name:14} operand {k}: {(found[there] / want[there])[:4].round(4)}")
show("root")

# %%
diagnosis = {
    "add_bias": "sum",
    "centre": "path",
    "cube": "factor",
    "difference": "sign",
    "pick": "overwritten",
    "product": "transpose",
    "ratio": "swapped",
    "root": "stale",
    "running_total": "reversed",
}

check("04.3", diagnosis)

# %% [markdown]
# **04.4** All three mistakes are the missing `+=` of notebook 02 in another form. In `centre`, element $i$ changes its
# own result with slope 1 and, through the mean, all results with slope $-1/n$. So its gradient is
# $g_i - \frac1n \sum_j g_j$. In `add_bias`, the bias is used once per row, so its gradient is a sum over the rows. In
# `pick`, `np.add.at` adds both gradients if an index repeats, while `gradient[INDEX] += g` would keep one of the two.


# %%
def centre_rule(g, x):
    return (g - g.mean(),)


def add_bias_rule(g, x, b):
    return g, g.sum(0)


def pick_rule(g, x):
    gradient = np.zeros_like(x)
    np.add.at(gradient, INDEX, g)
    return (gradient,)


check("04.4", {"centre": centre_rule, "add_bias": add_bias_rule, "pick": pick_rule})

# %% [markdown]
# **04.5** Compute both numbers from random u and v. Both are rounded, so compare both numbers relative to their size.


# %%
def transposed(push, pull, n, m):
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal(m), rng.standard_normal(n)
    return bool(np.isclose(u @ push(v), pull(u) @ v, rtol=1e-6, atol=0))


check("04.5", transposed)
