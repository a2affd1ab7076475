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
# # 01 · Solutions
#
# **01.1** Nudge `x` to the right and to the left; the two points are `2 * h` apart.

# %%
from minigrad.learning.grading import check


def central(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


check("01.1", central)

# %% [markdown]
# **01.2** With $D(h) = f' + c h^2 + \dots$ and $D(h/2) = f' + c h^2 / 4 + \dots$, the combination $4 D(h/2) - D(h)$ is
# $3 f'$, and the next term of the error is of order $h^4$.


# %%
def richardson(f, x, h):
    return (4 * central(f, x, h / 2) - central(f, x, h)) / 3


check("01.2", richardson)

# %% [markdown]
# **01.3** From $h^p = \varepsilon / h$ follows $h = \varepsilon^{1/(p+1)}$: `1.5e-8`, `6e-6` and `7e-4` for the orders
# 1, 2 and 4. The error for this step is $\varepsilon^{p/(p+1)}$, so a higher order has a smaller error.


# %%
def best_step(order):
    return 2.0 ** (-52 / (order + 1))


check("01.3", best_step)

# %% [markdown]
# **01.4** With $h = 10^{-30}$ the first neglected term, of order $h^2$ relative to the result, is far below the last
# digit.


# %%
def complex_step(f, x):
    return f(complex(x, 1e-30)).imag / 1e-30


check("01.4", complex_step)
