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
# # 04 · Gradient checking as a craft
#
# From here on you will write rules for gradients, and some rules will be wrong. A wrong rule does not crash the
# program: the network only learns less well. So you need a checker, and you need to know its limits: which errors it
# finds, which errors it misses, and which correct rules it rejects. You build a checker, and then find nine wrong rules
# among fourteen functions. The notebook takes twenty-five minutes.
#
# **One idea:** a rule and a *finite difference* (nudging) compute the same number in two ways, and the pattern of their
# differences shows the cause. **One bug:** a checker that accepts wrong rules. **One check:** plant mistakes, and count
# how many are caught.

# %%
import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad import f64

rng = np.random.default_rng(0)

# %% [markdown]
# ## 1. One number, computed in two ways
#
# A function of arrays has many results, and each result has a derivative with respect to each input. To get one number,
# multiply each result by a weight and add: $\langle g, f(x) \rangle = \sum_i g_i f_i(x)$. The weights $g$ are the
# *incoming gradient* (in JAX: the *cotangent*), as in exercise 02.4. A *rule* (in full: *VJP rule*) takes $g$ and $x$
# and returns the gradient of that number with respect to $x$.
#
# Softmax converts any numbers to positive numbers with the sum 1: the larger a number, the larger its share. Suppose
# that somebody sends you the rule in the next cell. You need no derivation here; the question is whether it is right.


# %%
def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def softmax_rule(g, x):
    y = softmax(x)
    return y * (g - (g * y).sum())


def numeric(f, g, x, h=1e-6):
    """Return the gradient of <g, f(x)>, by a central difference for each element of x."""
    result = np.zeros_like(x)
    for i in np.ndindex(x.shape):  # every index of x
        step = np.zeros_like(x)
        step[i] = h
        result[i] = np.sum(g * (f(x + step) - f(x - step))) / (2 * h)
    return result


x = np.array([0.5, -1.0, 2.0])
g = np.array([1.0, 0.0, 0.0])
print("rule             ", softmax_rule(g, x))
print("finite difference", numeric(softmax, g, x))

# %% [markdown]
# ## 2. The bug: all weights 1
#
# Which weights should a checker use? The simplest choice is 1 for every result; then the number is the sum of the
# results. Many checkers do this. Let us plant three mistakes in the rule, and see whether such a checker finds them.


# %%
def twice_too_large(g, x):
    y = softmax(x)
    return 2.0 * y * (g - (g * y).sum())


def wrong_sign(g, x):
    y = softmax(x)
    return y * ((g * y).sum() - g)


def without_y(g, x):
    y = softmax(x)
    return g - (g * y).sum()


def error_of(f, rule, x, g):
    """Return the largest difference between the rule and finite differences."""
    return np.abs(rule(g, x) - numeric(f, g, x)).max()


rules = (softmax_rule, twice_too_large, wrong_sign, without_y)
for rule in rules:
    print(f"{rule.__name__:16} error {error_of(softmax, rule, x, np.ones(3)):.1e}")

# %% [markdown]
# All four rules pass, although three are wrong. The reason is the weighted sum that we check. The results of softmax
# have the sum 1 for every $x$. So their sum has the gradient 0, and every rule that returns 0 for equal weights is
# right *for this number*. A checker needs weights for which a wrong rule is not right by accident. Draw them at random:

# %%
for rule in rules:
    print(f"{rule.__name__:16} error {error_of(softmax, rule, x, rng.standard_normal(3)):.1e}")

# %% [markdown]
# Now only the right rule passes. Rules are linear in $g$, and so is the error of a wrong rule. A linear function that
# is not 0 everywhere is 0 at a random $g$ only with probability 0. minigrad's checker draws the weights from a seed, so
# that a failure can be reproduced.
#
# ## 3. The tolerance
#
# The errors are never 0. From notebook 01 you know both parts of the error of a central difference: the truncation
# error, which is proportional to $h^2$, and the rounding error, about $\varepsilon / h$ times the size of the rounded
# values. Plot the error against $h$ for the right rule, for a rule that is wrong by a factor of 2, and for a rule that
# is wrong by a hundredth of a percent:


# %%
def slightly_off(g, x):
    return 1.0001 * softmax_rule(g, x)


steps = [10.0 ** (-k / 3) for k in range(1, 34)]
g = rng.standard_normal(3)
for rule in (softmax_rule, slightly_off, twice_too_large):
    errors = [np.abs(rule(g, x) - numeric(softmax, g, x, h)).max() for h in steps]
    plt.loglog(steps, errors, "o-", markersize=3, label=rule.__name__)
plt.xlabel("step h")
plt.ylabel("largest error")
plt.legend()
plt.show()

# %% [markdown]
# The curve of a right rule has the shape of a V. The curve of a wrong rule becomes flat, because no step makes the
# rule right. This is the clearest sign of a mistake, and minigrad's report of each failure contains this curve as a row
# of numbers.
#
# So choose a tolerance just above the bottom of the V. A tolerance of 1 percent, which some checkers use, would accept
# `slightly_off`, and also rules that lack a small term. The tolerance must also depend on the function:


# %%
def tiny(x):
    return 1e-9 * x**3


def tiny_rule(g, x):
    return g * 1e-9 * x**2  # the 3 is missing


def huge(x):
    return 1e9 * x**3


def huge_rule(g, x):
    return g * 3e9 * x**2


for f, rule in ((tiny, tiny_rule), (huge, huge_rule)):
    g = rng.standard_normal(3)
    error, size = error_of(f, rule, x, g), np.abs(numeric(f, g, x)).max()
    print(f"{rule.__name__}: error {error:.1e}, relative to the gradient {error / size:.1e}")

# %% [markdown]
# A fixed tolerance of `1e-6` accepts the wrong rule and rejects the right one. A good tolerance is the sum of two
# parts. One part is relative to the gradient. The other part allows for rounding, and grows with the values of the
# function: ten times $\varepsilon \langle |g|, |f(x)| \rangle / h$, where the factor of ten is a safety margin.


# %%
def tolerance(f, g, x, h=1e-6):
    """Return the largest difference from finite differences that a right rule may have."""
    relative = 1e-5 * np.abs(numeric(f, g, x, h)).max()
    rounding = 10 * 2.0**-52 * np.sum(np.abs(g * f(x))) / h
    return relative + rounding


for f, rule in ((tiny, tiny_rule), (huge, huge_rule), (softmax, softmax_rule), (softmax, slightly_off)):
    g = rng.standard_normal(3)
    passes = error_of(f, rule, x, g) <= tolerance(f, g, x)
    print(f"{rule.__name__:13} {'passes' if passes else 'is wrong'}")

# %% [markdown]
# ## 4. The pattern of the differences
#
# A report that says only "wrong" is not very useful. It should also show *where* the rule is wrong, and *by which
# factor*. Here is our own op as a `mg.Function`: `forward` computes the result, `backward` is the rule, and `ctx`
# stores the values that `forward` saves for `backward`. The gradient with respect to `b` is wrong.


# %%
class Product(mg.Function):
    """The matrix product a @ b."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b.T, g.T @ a


a, b = (mg.Var(rng.standard_normal((3, 3)), dtype=f64) for _ in range(2))
try:
    mg.testing.gradcheck(Product.apply, [a, b], names=("a", "b"), modes="reverse")  # the other modes come in section 7
except mg.testing.GradcheckError as error:
    report = error.report
    print(error)

# %% [markdown]
# The error names the argument, the worst element, both values, and a possible cause: the values are right, but at the
# positions of the transpose. The report contains more: each element in colour, and the curve over the steps, which is
# flat.

# %%
report

# %% [markdown]
# If the report suggests no cause, use this table. The ratio is the rule's value divided by the finite difference.
#
# | observation | possible cause |
# |---|---|
# | the same ratio at all elements, such as 2 or 1/3 | a forgotten factor |
# | the ratio -1 | a wrong sign |
# | the right values at wrong positions | a transpose, a reversal, swapped operands |
# | a wrong shape, or all elements too small | a missing sum over a broadcast dim |
# | some rows or elements too small | `=` instead of `+=` |
# | the same offset at all elements | a forgotten path, such as the path through a mean |
# | a ratio near 1 that differs between elements | a stale value: saved too early, or changed later |
# | errors only where x has a special value, such as 0 | a branch, or a kink |
#
# ## 5. A false alarm: kinks
#
# A *kink* is a point where a function has no derivative, but a slope on each side. `relu` has a kink at 0: its slope is
# 0 on the left and 1 on the right. A rule has to choose one value; minigrad's rule chooses 0. The central difference at
# 0 is 0.5.

# %%
kinked = np.array([-1.0, 0.0, 2.0])
print("rule", (kinked > 0) * 1.0, " finite difference", numeric(lambda x: np.maximum(x, 0), np.ones(3), kinked))

# %% [markdown]
# The rule is right, but 0.5 is neither of the two slopes. So a checker must not compare at a kink. To detect a kink, a
# checker computes the slopes on both sides. If these slopes differ, and still differ as the step shrinks, the point is
# a kink. minigrad's checker then moves the point a little to the left and to the right, and compares on both sides. The
# report mentions the kink, because nothing was compared at the kink itself:

# %%
print(mg.testing.gradcheck(mg.relu, mg.Var(kinked, dtype=f64)))

# %% [markdown]
# ## 6. A false alarm: float32
#
# Most networks are computed in float32, which has about 7 digits. Plot the V of the same right rule in both dtypes:

# %%
for kind in (np.float64, np.float32):
    at, weights = x.astype(kind), g.astype(kind)
    errors = [np.abs(softmax_rule(g, x) - numeric(softmax, weights, at, kind(h))).max() for h in steps]
    plt.loglog(steps, errors, "o-", markersize=3, label=kind.__name__)
plt.axvline(1e-6, color="grey", linewidth=1)
plt.xlabel("step h")
plt.ylabel("largest error of a right rule")
plt.legend()
plt.show()

# %% [markdown]
# The grey line marks a good step for float64. In float32, the finite difference has hardly one correct digit there. The
# V of float32 has its bottom near $\varepsilon^{1/3} \approx 5 \cdot 10^{-3}$, with four or five correct digits. There
# are two solutions: check the same function in float64, which is best, or use this larger step and a larger tolerance.
# `gradcheck` chooses the step and the tolerance by the dtype:

# %%
for dtype in (f64, mg.f32):
    print(mg.testing.gradcheck(mg.tanh, mg.Var([0.5, -1.0, 2.0], dtype=dtype), modes="reverse"))

# %% [markdown]
# ## 7. A check without a step: forward against reverse
#
# If $x$ moves in a direction $v$, the results move in the direction $Jv$. Here $J$ is the *Jacobian*: the matrix of all
# derivatives, with one row per result and one column per input. A rule works in the other direction: from weights $u$
# it computes $J^\mathsf{T} u$, with the transpose of the same matrix. Both products must agree:
#
# $$\langle u, J v \rangle = \langle J^\mathsf{T} u, v \rangle.$$
#
# This identity contains no $h$, so it has no truncation error. minigrad also computes $Jv$, with separate rules (*JVP
# rules*): this is *forward mode*, the subject of notebook 08. `mg.func.vjp` returns the value and a function `pull`
# that computes $J^\mathsf{T} u$; `mg.func.jvp` returns the value and $Jv$.

# %%
point = mg.tensor(x, dtype=f64)
u, v = (mg.tensor(rng.standard_normal(3), dtype=f64) for _ in range(2))


def curve(x):
    return (x * x).tanh()


y, pull = mg.func.vjp(curve, point)
_, pushed = mg.func.jvp(curve, (point,), (v,))
(pulled,) = pull(u)
print("<u, Jv>  ", (u * pushed).sum().item())
print("<J'u, v> ", (pulled * v).sum().item())

# %% [markdown]
# The two numbers agree to about fifteen digits, and the comparison took only three calls. `gradcheck` makes this
# comparison too. But the identity shows only that the two rules agree, not that they are right: if both contain the
# same wrong factor 2, they still agree. Only finite differences can decide.
#
# ## 8. The check: plant mistakes, and count
#
# How good is a checker? Test it with rules that you know to be right or wrong. It should find all wrong rules, and
# reject no right rule.

# %%
known = [(softmax, rule, rule is softmax_rule) for rule in (*rules, slightly_off)]
known += [(tiny, tiny_rule, False), (huge, huge_rule, True)]


def careless(f, rule, x):
    """Use the weights 1 and the same tolerance for all functions."""
    return error_of(f, rule, x, np.ones(x.shape)) < 1e-6


def careful(f, rule, x):
    """Use random weights, and a tolerance that depends on the function."""
    g = np.random.default_rng(1).standard_normal(x.shape)
    return error_of(f, rule, x, g) <= tolerance(f, g, x)


for checker in (careless, careful):
    found = sum(not checker(f, rule, x) for f, rule, right in known if not right)
    rejected = sum(not checker(f, rule, x) for f, rule, right in known if right)
    print(f"{checker.__name__}: {found} of 5 wrong rules found, {rejected} of 2 right rules rejected")

# %% [markdown]
# minigrad's own checker is tested in the same way. [gradcheck.py](../minigrad/testing/gradcheck.py) contains the
# function that you call, `quotients.py` in the same folder computes the finite differences, and `report.py` finds the
# possible causes of section 4.
#
# ## Exercises
#
# `hint("04.1")` prints a hint; a second call prints a larger one.
#
# **04.1** Write your own checker. `f` is a function of one float64 array, `rule(g, x)` is its rule, and `x` is the
# point, an array of any shape. Return `True` if the rule is right at `x`, and `False` otherwise. The grader plants
# mistakes. Some rules are right for equal weights only, wrong at one element, or wrong by a hundredth of a percent.
# Some return a gradient of the wrong shape, or `nan`. The grader also has right rules for large and small functions. No
# point is at a kink.

# %%
from minigrad.learning.grading import check, hint


def holds(f, rule, x):
    """Return whether rule(g, x) is the gradient of <g, f(x)> with respect to x."""
    return ...  # write it here


check("04.1", holds)

# %% [markdown]
# **04.2** Find the wrong rules. `PATIENTS` contains fourteen functions, each with one rule per operand.
# `PATIENTS["cube"].operand(0)` returns `f, rule, x` for the first operand of `cube`: the arguments of your checker.
# Which patients have a wrong rule? Assign their names to `wrong_ones`, as a list or set. (Some points are at kinks.)

# %%
from minigrad.learning.exercises.patients import PATIENTS, show

for name, patient in PATIENTS.items():
    shapes = ", ".join(str(each.shape) for each in patient.operands)
    print(f"{name:14} of operands {shapes}")

# %%
wrong_ones = ...  # write it here

check("04.2", wrong_ones)

# %% [markdown]
# **04.3** What is wrong with each rule? Look at the differences first, then at the code with `show(name)`. Assign a
# dict from the name of each wrong patient to one word, as in `{"somebody": "sign"}`. The words are factor, overwritten,
# path, reversed, sign, stale, sum, swapped and transpose; use each of them once. *path* means a forgotten path, and
# *overwritten* means `=` instead of `+=`.

# %%
diagnosis = ...  # write it here

check("04.3", diagnosis)

# %% [markdown]
# **04.4** Write right rules for `centre`, `add_bias` and `pick`, three of the wrong patients. Each rule takes the
# incoming gradient `g`, with the shape of the result, and the operands. It returns a tuple with one gradient per
# operand, of the operand's shape. Each rule must work for all shapes that the function accepts. The relative tolerance
# is $10^{-9}$, and the absolute tolerance $10^{-12}$. `pick` uses the indices `INDEX`, which are in
# `minigrad.learning.exercises.patients` too.


# %%
def centre_rule(g, x):
    return ...  # write it here


def add_bias_rule(g, x, b):
    return ...  # write it here


def pick_rule(g, x):
    return ...  # write it here


check("04.4", {"centre": centre_rule, "add_bias": add_bias_rule, "pick": pick_rule})

# %% [markdown]
# **04.5** Write the check without a step. `push(v)` takes an array of shape `(n,)` and returns $Jv$, of shape `(m,)`.
# `pull(u)` takes an array of shape `(m,)` and should return $J^\mathsf{T} u$, of shape `(n,)`. Return True if `pull` is
# the transpose of `push`, up to rounding, and False otherwise. Judge a difference relative to the size of the terms in
# the sums, because all elements of a matrix may be small.


# %%
def transposed(push, pull, n, m):
    """Return whether pull is the transpose of push: True or False."""
    return ...  # write it here


check("04.5", transposed)
