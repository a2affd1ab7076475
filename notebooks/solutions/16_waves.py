# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 16 · Solutions
#
# **16.1** The function is real, so both differences are real numbers. They become the two parts of the gradient. The
# factor $u$ would have a minus before the second one.

# %%
import math

import numpy as np

import minigrad as mg
from minigrad.learning.grading import check


def gradient_of(f, z):
    h = 1e-6
    by_x = (f(z + h) - f(z - h)) / (2 * h)
    by_y = (f(z + 1j * h) - f(z - 1j * h)) / (2 * h)
    return complex(by_x, by_y)


check("16.1", gradient_of)

# %% [markdown]
# **16.2** To first order, $dy = da\,\bar b + a\,\overline{db}$. So
# $dL = \mathrm{Re}(u\bar b\,da) + \mathrm{Re}(ua\, \overline{db})$. The first factor is $u\bar b$: the derivative with
# respect to $a$ is $\bar b$, and no further conjugate appears. A number and its conjugate have the same real part, so
# the second term is $\mathrm{Re}(\overline{ua}\,db)$.


# %%
def conj_product_rule(u, a, b):
    return u * b.conj(), (u * a).conj()


check("16.2", conj_product_rule)

# %% [markdown]
# **16.3** `rfft` multiplies by the rows $0$ to $n/2$ of $F$. The transposed matrix has these rows as columns, so it
# multiplies $u$, followed by zeros, by $F^\top = F$. `irfft` would be wrong: it divides by $n$, turns in the other
# direction, and counts most of the terms twice.


# %%
def rfft_rule(u, n):
    return mg.fft.fft(u, n=n).real


check("16.3", rfft_rule)

# %% [markdown]
# **16.4** $e^{2\pi i ks/\ell}$ has the derivative $\frac{2\pi i k}{\ell}$ times itself. The factors are imaginary and
# have opposite signs for $k$ and $-k$, so the transposed map is minus the map: for two periodic functions,
# $\int pq' = -\int p'q$. The result is real up to rounding errors, and `.real` drops these.


# %%
def slope(x, length):
    n = len(x)
    k = np.fft.fftfreq(n) * n
    factors = mg.tensor(2j * math.pi / length * k)
    return mg.fft.ifft(mg.fft.fft(x) * factors).real


check("16.4", slope)

# %% [markdown]
# **16.5** The FFT of the signal with zeros after it compares with eight times as many frequencies, so its largest term
# is in the right valley. Each further grid is ten times finer, around the best frequency of the previous one. (Newton's
# method with `mg.func.grad` needs fewer steps.) A formula with the phases of neighbouring elements would be right
# without noise, but the exercise has noise.


# %%
def frequency(s):
    s = s.numpy()
    n = len(s)
    w, width = 2 * math.pi * np.argmax(np.abs(np.fft.fft(s, 8 * n))) / (8 * n), math.pi / n
    for _ in range(12):
        grid = w + np.linspace(-width, width, 41)
        sums = s @ np.exp(-1j * np.outer(np.arange(n), grid))
        w, width = grid[np.argmax(np.abs(sums))], width / 10
    return w % (2 * math.pi)


check("16.5", frequency)
