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
# # A1 · The precision microscope
#
# Your formula is right and your gradient is right, but the result is wrong. A computer stores a limited number of
# digits of each result and rounds the rest away. Usually this is harmless. In this appendix you see the cases in which
# rounding is harmful. You inspect the same graph in float64, float32, float16 and bfloat16, with the lost digits as
# colours. The appendix takes twenty minutes.
#
# **One idea:** a rounding error is small, but subtracting two nearly equal numbers makes it large relative to the
# result. **One bug:** a variance that is negative. **One check:** adding a constant to the data does not change their
# variance.

# %%
import math

import numpy as np
import matplotlib.pyplot as plt

import minigrad as mg

# %% [markdown]
# ## 1. The parts of a float
#
# A float is a number in scientific notation with base 2: $\pm\, 1.f \times 2^e$. One bit stores the sign, some bits
# store the *exponent* $e$, and the other bits store the *fraction* $f$. Here are the bits of a tenth:

# %%
WIDTHS = {"float64": (11, 52), "float32": (8, 23), "float16": (5, 10), "bfloat16": (8, 7)}


def anatomy(value, dtype):
    """Return the sign, exponent and fraction of a number as bits, and the number that they represent."""
    exponent, fraction = WIDTHS[dtype]
    x = mg.tensor(value, dtype=dtype)
    whole = int(x.numpy().reshape(1).view(f"u{x.dtype.itemsize}")[0])
    bits = f"{whole:0{1 + exponent + fraction}b}"
    return bits[0], bits[1 : 1 + exponent], bits[1 + exponent :], x.item()


for dtype in WIDTHS:
    sign, exponent, fraction, got = anatomy(0.1, dtype)
    shown = fraction if len(fraction) < 30 else fraction[:20] + "..."
    print(f"{dtype:8}  {sign} {exponent:11} {shown:23}  {got!r}")

# %% [markdown]
# In base 2, a tenth has infinitely many digits, like a third in base 10. So each dtype stores the nearest number that
# it can represent. Two properties describe a dtype. The width of the *fraction* determines the number of digits: the
# distance from 1 to the next larger number is called **eps**. The width of the *exponent* determines how large and how
# small numbers can be. Python and NumPy compute with float64, neural networks with float32, and large networks with
# **half precision**, which needs two bytes per number: float16 has 3.3 digits and a small range; bfloat16 has 2.4
# digits and the range of float32.

# %%
print("dtype          eps  digits   largest  smallest*")
for dtype, (exponent, fraction) in WIDTHS.items():
    eps, top = 2.0**-fraction, 2 ** (exponent - 1) - 1
    largest, smallest = 2.0**top * (2 - eps), 2.0 ** (1 - top)
    print(f"{dtype:8} {eps:9.2g} {(fraction + 1) * math.log10(2):7.1f} {largest:9.3g} {smallest:9.3g}")

# %% [markdown]
# (The * means: the smallest number with full precision. Smaller numbers have fewer digits, down to 0.) So the numbers
# of a dtype are dense near 0 and sparse far from it: with each power of two, the gaps double. The important quantity is
# the gap *relative* to the number. It is between half an eps and one eps for all numbers with full precision:

# %%
x = np.logspace(-8, 4.8, 1000)
for dtype, (exponent, fraction) in WIDTHS.items():
    power = np.maximum(np.floor(np.log2(x)), 2 - 2 ** (exponent - 1))
    plt.loglog(x, 2.0 ** (power - fraction) / x, label=dtype)
plt.xlabel("a number")
plt.ylabel("gap to the next, relative to it")
plt.ylim(1e-17, 10)
plt.legend()
plt.show()

# %% [markdown]
# ## 2. The microscope
#
# Rounding to the nearest number has an error of at most half a gap: half an eps. `mg.viz.precision(f, x)` runs `f` in
# float64, then in three smaller dtypes, and draws the graph once, with a row per dtype. The errors are relative errors
# of the worst element, in units of the dtype's eps:
#
# * **own** is the error of this op alone: the distance of its result from the float64 result *for the same operands*;
# * **all** is the distance from the float64 run: the error of this op and of all ops before it.
#
# First, a harmless function: products, and a sum of positive numbers.


# %%
def polynomial(x):
    """x * (x*x + 3)"""
    return (x * x + 3.0) * x


mg.viz.precision(polynomial, 0.1)

# %% [markdown]
# The first error is at the top: no dtype can represent a tenth, so the input is already rounded. Every **own** is at
# most 0.5, as expected. **all** remains small: the relative error of a product is about the sum of the relative errors
# of its operands, and the relative error of a sum of positive numbers is at most the larger error of its operands.
# `print` shows the same values as a table with a summary:

# %%
print(mg.viz.precision(polynomial, 0.1))

# %% [markdown]
# ## 3. Cancellation
#
# The next function looks equally harmless: how much longer is the side of a square of area $x + 1$ than the side of a
# square of area $x$?


# %%
def difference(x):
    return (x + 1.0).sqrt() - x.sqrt()


mg.viz.precision(difference, 1000.0)

# %% [markdown]
# Look at `sub`. Its **own** error is 0: the difference of two positive floats is *exact* if neither is more than twice
# the other. Yet this is the op where the digits are lost. The operands are 31.6386 and 31.6228; in float32, each has an
# error of less than 0.000001. The leading digits are equal and cancel, so the result is small, but the errors are as
# large as before. Relative to the small result they are 355 eps: nearly three of seven digits are lost. bfloat16 has
# two digits and loses both: it cannot represent 1001, so the two roots are equal.
#
# This is called **cancellation**. The subtraction does not make the error; it makes an earlier error large relative to
# the result. So the fix is not a better subtraction, but a formula without a subtraction. Multiply and divide by the
# sum of the roots:
#
# $$\sqrt{x+1} - \sqrt{x} = \frac{(x + 1) - x}{\sqrt{x+1} + \sqrt{x}} = \frac{1}{\sqrt{x+1} + \sqrt{x}}$$


# %%
def rewritten(x):
    return 1.0 / ((x + 1.0).sqrt() + x.sqrt())


print(mg.viz.precision(rewritten, 1000.0))

# %% [markdown]
# The roots have the same errors as before, but the result has all of its digits, in bfloat16 too.
#
# ## 4. The bug
#
# Fifty rods were cut to a length of one metre, and measured in millimetres. How much do their lengths vary? Many
# textbooks compute the variance as the mean of the squares minus the square of the mean, because this needs only one
# pass over the data. Its root is the standard deviation.

# %%
rods = 1000.0 + 0.05 * mg.arange(50, dtype="float64").sin()


def variance(x):
    """E[x*x] - E[x]*E[x]"""
    mean = x.mean()
    return (x * x).mean() - mean * mean


print("float64: variance", round(variance(rods).item(), 6), " deviation", round(variance(rods).sqrt().item(), 4))
print("float32: variance", variance(rods.float()).item(), " deviation", variance(rods.float()).sqrt().item())

# %% [markdown]
# A variance is a mean of squares, so it cannot be negative. float32 has seven digits, and the lengths of the rods
# differ in the fifth digit, so seven digits should be enough. Look at the single ops:

# %%
mg.viz.precision(variance, rods)

# %% [markdown]
# `sub` subtracts two numbers near a million, and the correct result is 0.00125. In float32, the gaps near a million are
# 0.06, so the result is already lost in the operands. (The largest number of float16 is 65504, so there `mul` is
# infinite.) Subtract *first*, while the numbers are small, and square afterwards:


# %%
def fixed(x):
    """E[(x - E[x])**2]"""
    away = x - x.mean()
    return (away * away).mean()


print(mg.viz.precision(fixed, rods))

# %% [markdown]
# In float32, the variance is now right to four digits. There is a `sub` again, and its worst element has hardly a
# correct digit. But this error comes from the *inputs*, which were rounded to multiples of 0.00006 mm. If a rod differs
# from the mean by 0.0002 mm, this difference cannot be much more exact than the rounded lengths. No formula can restore
# digits that the data do not have: in float16, all of these rods have the same length. So there are two kinds of loss:
#
# * the **method** loses digits that the data have, like the first variance: rewrite it;
# * the **problem** needs digits that the data do not have: store more digits, or subtract the metre before you round.
#
# ### The check
#
# How can you find such a bug without float64? Use a property that must hold: adding a constant to the data does not
# change their variance. If the additions are exact, the result must not change at all.

# %%
small = mg.from_numpy(np.round(64 * np.sin(np.arange(50.0) / 4)).astype(np.float32))  # integers
for f in (variance, fixed):
    found = [f(small + shift).item() for shift in (0.0, 1024.0, 65536.0)]
    print(f"{f.__name__:8} moved by 0, 1024 and 65536:", [round(v, 1) for v in found])

# %% [markdown]
# ## 5. A million small errors
#
# One rounding is harmless, but a million of them may not be. Add a tenth to a running total many times. Once the gaps
# at the total are wider than a fifth, the sum of the total and a tenth rounds back to the total:

# %%
half = np.cumsum(np.full(4096, 0.1, np.float16))  # NumPy's cumsum stores the total in the same dtype
single = np.cumsum(np.full(1_000_000, 0.1, np.float32))
plt.plot(half, label="float16, one by one")
plt.plot(0.1 * np.arange(1, 4097), "--", label="right")
plt.legend()
plt.show()
print("4096 tenths in float16:", half[-1], " a million in float32:", single[-1])

# %% [markdown]
# The total in float16 stops at 256, where the gaps are 0.25. The total in float32 grows further, but its error is one
# percent, because long series of its rounding errors have the same sign. Compare minigrad's sums:

# %%
print("4096 tenths in float16:", mg.full((4096,), 0.1, dtype="float16").sum().item())
print("a million in float32:  ", mg.full((1_000_000,), 0.1).sum().item())

# %% [markdown]
# The elements have half precision, but the *total* does not. minigrad computes sums of float16 and bfloat16 in float32,
# and sums of float32 in float64. It rounds the result once, at the end. Converting every element would take time, so in
# long float32 sums, eight vectors are added in float32 before they are converted. The first lines of
# [short.py](../minigrad/kernels/cpu/short.py) state how large the error can be. For this reason, **own** of `sum` and
# `mean` is at most 0.5 in the tables above. Only the sum inside one op is rounded once: a `for` loop that adds tensors
# rounds after each addition.
#
# ## 6. Gradients that are too small for their dtype
#
# Networks are often trained in half precision, because these numbers need half of the memory traffic. But gradients can
# be very small. In this example, all data and the correct gradient can be represented exactly in float16. Pass the
# *gradient function* to `mg.viz.precision`; the backward pass consists of ordinary ops:

# %%
x = mg.tensor([1.0, 2.0, 3.0, 4.0]) / 1024
target = 0.5 * x + 2.0**-15
w = mg.tensor(0.5)


def loss(w, x, target):
    """Return the mean of the squared errors."""
    error = w * x - target
    return (error * error).mean()


print(mg.viz.precision(mg.func.grad(loss), w, x, target))

# %% [markdown]
# No digit is lost in bfloat16: its exponents reach as far as those of float32. The smallest positive number of float16
# is 0.00000006. The last `mul`, of the error and `x`, has smaller elements: two of the four become 0. (The squares in
# the loss become 0 too, but the backward pass does not read these squares.) The fix uses the chain rule: the gradient
# of 16384 times the loss is 16384 times the gradient. So multiply the *loss*, run the backward pass with large numbers,
# and divide in float32, which has the range for it. A power of two costs no rounding.


# %%
def scaled(w, x, target):
    return loss(w, x, target) * 2.0**14


print(str(mg.viz.precision(mg.func.grad(scaled), w, x, target, dtypes=["float16"])).splitlines()[-1])

# %% [markdown]
# The gradient $-0.00244 / 16384$ is exact. This method is called *loss scaling*. If the scale is too large, the
# gradient is `inf`; so training programs double the scale until this happens, and then halve it.
#
# | | float16 | bfloat16 |
# |---|---|---|
# | digits | 3.3 | 2.4 |
# | range | 0.00006 to 65504 | that of float32 |
# | needs loss scaling | yes | no |
#
# The precision view runs the function on special values that record each op. For every op, the same op runs in float64
# twice: once on the rounded operands, and once on the operands of the float64 run. The code is short: see `Rough` in
# [precision.py](../minigrad/diagnostics/precision.py).
#
# ## Exercises
#
# `hint("A1.1")` prints a hint; a second call prints a larger one.
#
# **A1.1** Return the distance from `x` to the next larger float of a dtype whose fraction has `fraction` bits. `x` is a
# positive float that the dtype can represent with full precision, and `fraction` is a positive integer. The result is a
# float, with a relative error of at most $10^{-9}$.

# %%
from minigrad.learning.grading import check, hint


def gap(x, fraction):
    """Return the distance; for x = 1.0 and fraction = 23 it is 2.0**-23."""
    return ...  # write it here


check("A1.1", gap)

# %% [markdown]
# **A1.2** Compute $1 - \cos x$ for each element of `x`, a float32 or float64 tensor of any shape. Return a tensor of
# the same shape and dtype. The relative error of the value and of the derivative must be at most $2^{-20}$ in float32
# and $2^{-48}$ in float64, also near 0. The function must be differentiable, so use minigrad's ops. (A formula from
# school: $\cos 2a = 1 - 2 \sin^2 a$.)


# %%
def one_minus_cos(x):
    """Return 1 - cos(x)."""
    return ...  # write it here


check("A1.2", one_minus_cos)

# %% [markdown]
# **A1.3** Add `numbers`, a list of positive NumPy numbers of one dtype (float16 or float32). Return the total as a
# float or a NumPy number, with a relative error of at most two eps of the dtype, for lists of any length. You may use a
# wider dtype, as minigrad does. A more interesting method needs no wider dtype: a second number stores the error of the
# last addition, `(total - new_total) + number`, and is added to the next number.


# %%
def careful_sum(numbers):
    """Return the sum."""
    return ...  # write it here


check("A1.3", careful_sum)

# %% [markdown]
# **A1.4** Compute the gradient of `loss(w)` with respect to `w`, a float16 Var, by loss scaling. `loss(w)` is a scalar
# tensor, and `scale` is a positive float. Return the gradient without the scale, as a float32 tensor of the shape of
# `w`, with a relative error of at most $10^{-3}$.


# %%
def unscaled_gradient(loss, w, scale):
    """Return the gradient, a float32 tensor of the shape of w."""
    return ...  # write it here


check("A1.4", unscaled_gradient)
