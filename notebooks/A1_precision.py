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
# Your formula is right, your gradient is right, and the number is wrong. A computer keeps a few digits of each number
# and throws the rest away, thousands of times a second. Mostly that is harmless. Here you see where it is not: the same
# graph in float64, float32, float16 and bfloat16, with the lost digits as colours. It takes twenty minutes.
#
# **One idea:** rounding costs almost nothing, and subtracting two nearly equal numbers shows what it has cost. **One
# bug:** a variance that is negative. **One check:** data that are moved keep their variance.

# %%
import math

import numpy as np
import matplotlib.pyplot as plt

import minigrad as mg

# %% [markdown]
# ## 1. The parts of a float
#
# A float is a number in scientific notation with base 2: $\pm\, 1.f \times 2^e$. One bit holds the sign, some hold the
# *exponent* $e$, and the others the *fraction* $f$. Here are the bits of a tenth:

# %%
WIDTHS = {"float64": (11, 52), "float32": (8, 23), "float16": (5, 10), "bfloat16": (8, 7)}


def anatomy(value, dtype):
    """Sign, exponent and fraction of a number as bits, and the number that they stand for."""
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
# A tenth has no end in base 2, as a third has none in base 10, so each dtype stores a neighbour of it. Two numbers sum
# a dtype up. The *fraction* says how many digits there are: the distance from 1 to the next number is called **eps**.
# The *exponent* says how large and small numbers may be. Python and NumPy compute with float64, neural networks with
# float32, and large ones with **half precision**, which takes two bytes per number: float16 has more digits (3.3) and a
# small range; bfloat16 has 2.4 digits and the range of float32.

# %%
print("dtype          eps  digits   largest  smallest*")
for dtype, (exponent, fraction) in WIDTHS.items():
    eps, top = 2.0**-fraction, 2 ** (exponent - 1) - 1
    largest, smallest = 2.0**top * (2 - eps), 2.0 ** (1 - top)
    print(f"{dtype:8} {eps:9.2g} {(fraction + 1) * math.log10(2):7.1f} {largest:9.3g} {smallest:9.3g}")

# %% [markdown]
# (* with all of its digits. Below that, the exponent stays and the fraction runs out of leading ones: digits go one by
# one, until there is 0.) So the numbers of a dtype are dense near 0 and sparse far from it: with each power of two the
# gaps double. The important quantity is the gap *relative* to the number, and it is about one eps everywhere in
# between.

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
# Rounding to the nearest number is off by at most half a gap: half an eps. `mg.viz.precision(f, x)` runs `f` in
# float64, then in three smaller dtypes, and draws the graph once, with a row for each of them. Errors are relative, of
# the worst element, and counted in eps of the dtype:
#
# * **own** is the error that arose in this box: the distance of its result from the float64 result *for the same
#   operands*;
# * **all** is the distance from the float64 run: the error that arose here, and the error of the operands.
#
# First, something harmless: products, and a sum of positive numbers.


# %%
def polynomial(x):
    """x * (x*x + 3)"""
    return (x * x + 3.0) * x


mg.viz.precision(polynomial, 0.1)

# %% [markdown]
# The first error is at the top: no dtype has a tenth, so the input is rounded before anything has begun. Every **own**
# is at most 0.5, as promised. And **all** stays small: a product adds the relative errors of its operands, and a sum of
# positive numbers has no more than the larger of them. Printed, the microscope is a table, and says what it found:

# %%
print(mg.viz.precision(polynomial, 0.1))

# %% [markdown]
# ## 3. Where digits go
#
# Now something that looks as harmless: how much longer is the side of a square of area $x + 1$ than that of one of area
# $x$?


# %%
def difference(x):
    return (x + 1.0).sqrt() - x.sqrt()


mg.viz.precision(difference, 1000.0)

# %% [markdown]
# Look at `sub`. Its **own** error is 0: the difference of two floats, of which none is more than twice the other, is
# *exact*. And it is the box where all is lost. The operands are 31.6386 and 31.6228, in float32 each off by less than
# 0.000001. The leading digits are equal and cancel, so what is left is small, and the errors are as large as before.
# Relative to the small result they are 355 eps: nearly three digits of seven are gone. bfloat16 has two digits and
# keeps none: 1001 is not even one of its numbers, and both roots are equal.
#
# This is **cancellation**. Subtracting does not make the error; it *shows* it. So the fix is not a better subtraction,
# but a formula without a subtraction. Multiply and divide by the sum of the roots:
#
# $$\sqrt{x+1} - \sqrt{x} = \frac{(x + 1) - x}{\sqrt{x+1} + \sqrt{x}} = \frac{1}{\sqrt{x+1} + \sqrt{x}}$$


# %%
def rewritten(x):
    return 1.0 / ((x + 1.0).sqrt() + x.sqrt())


print(mg.viz.precision(rewritten, 1000.0))

# %% [markdown]
# The same roots with the same errors, and all of the digits, in bfloat16 too.
#
# ## 4. The bug
#
# Fifty rods were cut to a metre, and measured in millimetres. How far do they spread? The variance is the mean of the
# squares minus the square of the mean, says the textbook, and needs one pass over the data. Its root is the spread.

# %%
rods = 1000.0 + 0.05 * mg.arange(50, dtype="float64").sin()


def variance(x):
    """E[x*x] - E[x]*E[x]"""
    mean = x.mean()
    return (x * x).mean() - mean * mean


print("float64: variance", round(variance(rods).item(), 6), " spread", round(variance(rods).sqrt().item(), 4))
print("float32: variance", variance(rods.float()).item(), " spread", variance(rods.float()).sqrt().item())

# %% [markdown]
# A variance is a mean of squares, so it cannot be negative. float32 has seven digits, and the rods differ in the fifth,
# so seven digits should be enough. Use the precision view.

# %%
mg.viz.precision(variance, rods)

# %% [markdown]
# Two numbers near a million are subtracted, and the answer is 0.00125. In float32, the gaps at a million are 0.06: the
# answer is lost before `sub` sees it. (In float16 there is no million, so `mul` is already infinite.) Subtract *first*,
# while the numbers are small, and square afterwards:


# %%
def mended(x):
    """E[(x - E[x])**2]"""
    away = x - x.mean()
    return (away * away).mean()


print(mg.viz.precision(mended, rods))

# %% [markdown]
# In float32 the variance is right to four digits. There is a `sub` again, and its worst element has no digit left. But
# look at what came in: the *inputs* were rounded, to multiples of 0.00006 mm, and how far a rod is from the mean, if
# that is 0.0002 mm, cannot be known much better than that from rounded lengths. No formula brings back what the data
# have lost: for a half, all of these rods are a metre long. So there are two kinds of loss:
#
# * the **method** loses digits that the data have: rewrite it. The first variance did that.
# * the **problem** needs digits that the data lack: keep more of them, or subtract the metre before you round.
#
# ### The check
#
# How would you have found it without float64? By something that must hold: moved data keep their variance. Move by a
# number that costs no rounding, and nothing may change.

# %%
small = mg.from_numpy(np.round(64 * np.sin(np.arange(50.0) / 4)).astype(np.float32))  # whole numbers
for f in (variance, mended):
    found = [f(small + shift).item() for shift in (0.0, 1024.0, 65536.0)]
    print(f"{f.__name__:8} moved by 0, 1024 and 65536:", [round(v, 1) for v in found])

# %% [markdown]
# ## 5. A million small errors
#
# One rounding is harmless. What about a million? Add a tenth to a running total, again and again. Once the total is
# large, its gaps are wider than a fifth, and a tenth more rounds back to where it was:

# %%
half = np.cumsum(np.full(4096, 0.1, np.float16))  # NumPy's cumsum keeps the total in the dtype
single = np.cumsum(np.full(1_000_000, 0.1, np.float32))
plt.plot(half, label="float16, one by one")
plt.plot(0.1 * np.arange(1, 4097), "--", label="right")
plt.legend()
plt.show()
print("4096 tenths in float16:", half[-1], " a million in float32:", single[-1])

# %% [markdown]
# The total of float16 stops at 256, where the gaps are 0.25. That of float32 goes on, and is off by one percent: its
# million errors all have the same sign for long stretches. What does minigrad do?

# %%
print("4096 tenths in float16:", mg.full((4096,), 0.1, dtype="float16").sum().item())
print("a million in float32:  ", mg.full((1_000_000,), 0.1).sum().item())

# %% [markdown]
# The elements have half precision, but the *total* does not. Sums of float16 and bfloat16 are computed in float32, sums
# of float32 in float64, and each is rounded once at the end. Widening every element would cost time, so in long sums
# eight vectors are added in float32 before they are widened. The first lines of
# [short.py](../minigrad/kernels/cpu/short.py) state how large the error can be. That is why **own** of `sum` and `mean`
# is at most 0.5 in the tables above. This holds within one op. A `for` loop of yours that adds tensors rounds each
# time.
#
# ## 6. Gradients that are too small for their dtype
#
# Networks are trained in half precision, since these numbers are twice as fast to move. But gradients are small
# numbers. Here all data are exact in float16, and so is the answer. Pass the *gradient function* to `mg.viz.precision`:
# the backward pass consists of ops like any other.

# %%
x = mg.tensor([1.0, 2.0, 3.0, 4.0]) / 1024
target = 0.5 * x + 2.0**-15
w = mg.tensor(0.5)


def loss(w, x, target):
    """The mean square of what is missing."""
    miss = w * x - target
    return (miss * miss).mean()


print(mg.viz.precision(mg.func.grad(loss), w, x, target))

# %% [markdown]
# No digit is lost in bfloat16: its exponents reach as far as those of float32. The smallest number of float16 is
# 0.00000006. The last `mul`, of the error and `x`, has elements below that: two of the four become 0. (So do the
# squares in the loss, but the backward pass does not read those.) The fix uses the chain rule: the gradient of 16384
# times the loss is 16384 times the gradient. So multiply the *loss*, run the backward pass with large numbers, and
# divide in float32, which has the range for it. A power of two costs no rounding.


# %%
def scaled(w, x, target):
    return loss(w, x, target) * 2.0**14


print(str(mg.viz.precision(mg.func.grad(scaled), w, x, target, dtypes=["float16"])).splitlines()[-1])

# %% [markdown]
# Exact: $-0.00244 / 16384$ is the gradient. This is *loss scaling*. Scale too much, and the gradient is `inf`; so
# training programs double the scale until that happens, and then halve it.
#
# | | float16 | bfloat16 |
# |---|---|---|
# | digits | 3.3 | 2.4 |
# | range | 0.00006 to 65504 | that of float32 |
# | needs loss scaling | yes | no |
#
# The precision view runs the function on special values that record each op. For every op, the same op runs in float64
# twice: once on the rounded operands, and once on the operands of the float64 run. The code is one page: see `Rough` in
# [precision.py](../minigrad/diagnostics/precision.py).
#
# ## Exercises
#
# `hint("A1.1")` gives a hint, and asked again a larger one.
#
# **A1.1** How far is it from `x` to the next larger float, for a dtype with so many bits of fraction? `x` is positive,
# and large enough to have all of its digits.

# %%
from minigrad.learning.grading import check, hint


def gap(x, fraction):
    """For x = 1.0 and fraction = 23 it is 2.0**-23."""
    return ...  # write it here


check("A1.1", gap)

# %% [markdown]
# **A1.2** Compute $1 - \cos x$ for a tensor, with all the digits that its dtype has, also near 0, and so that gradients
# flow. (A formula from school: $\cos 2a = 1 - 2 \sin^2 a$.)


# %%
def one_minus_cos(x):
    """1 - cos(x)"""
    return ...  # write it here


check("A1.2", one_minus_cos)

# %% [markdown]
# **A1.3** Add up `numbers`, a list of positive NumPy numbers of one dtype (float16 or float32), so well that the total
# is right to two eps, however many there are. You may use a wider dtype, as minigrad does. Or, more fun, a second
# number of the same dtype that remembers what the last addition lost: that is `(total - new_total) + number`.


# %%
def careful_sum(numbers):
    """The sum."""
    return ...  # write it here


check("A1.3", careful_sum)

# %% [markdown]
# **A1.4** Compute the gradient of `loss(w)` with respect to `w`, a float16 Var, by loss scaling. Return a float32
# tensor from which the scale is removed.


# %%
def unscaled_gradient(loss, w, scale):
    """A float32 tensor of the shape of w."""
    return ...  # write it here


check("A1.4", unscaled_gradient)
