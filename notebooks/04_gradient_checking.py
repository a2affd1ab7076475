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
# From here on you will write rules for gradients, and some will be wrong. A wrong rule does not crash: the network
# learns a little worse. So you need a checker, and you need to know its limits: which errors it finds, which errors it
# misses, and which correct rules it rejects. You build one, and then hunt nine wrong rules among fourteen. Twenty-five
# minutes.
#
# **One idea:** a rule and a nudge compute the same number in two ways, and the pattern of the differences shows their
# cause. **One bug:** a checker that accepts wrong rules. **One check:** plant mistakes, and count how many are caught.

# %%
import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad import f64

rng = np.random.default_rng(0)

# %% [markdown]
# ## 1. Two ways to one number
#
# A function of arrays has many results, and many slopes. To get one number, give each result a weight and add up:
# $\langle g, f(x) \rangle = \sum_i g_i f_i(x)$. The weights $g$ are the *incoming gradient* (in JAX: the *cotangent*),
# the weights of exercise 02.4. A *rule* takes them and returns the gradient of that number with respect to $x$.
#
# Softmax turns any numbers into positive numbers with the sum 1: the larger a number, the larger its part. Somebody
# claims that the next cell has its rule. Its derivation does not matter here; the question is whether it is right.


# %%
def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def softmax_rule(g, x):
    y = softmax(x)
    return y * (g - (g * y).sum())


def numeric(f, g, x, h=1e-6):
    """The gradient of <g, f(x)>, by nudging each element of x both ways."""
    result = np.zeros_like(x)
    for i in np.ndindex(x.shape):  # every place in x
        step = np.zeros_like(x)
        step[i] = h
        result[i] = np.sum(g * (f(x + step) - f(x - step))) / (2 * h)
    return result


x = np.array([0.5, -1.0, 2.0])
g = np.array([1.0, 0.0, 0.0])
print("by the rule  ", softmax_rule(g, x))
print("by nudging it", numeric(softmax, g, x))

# %% [markdown]
# ## 2. The bug: all weights 1
#
# Which weights should a checker use? The simplest choice is 1 for every result: the sum. Many checkers do this. Let us
# plant three mistakes in the rule, and see whether such a checker finds them.


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
    """The largest difference between the rule and nudging."""
    return np.abs(rule(g, x) - numeric(f, g, x)).max()


rules = (softmax_rule, twice_too_large, wrong_sign, without_y)
for rule in rules:
    print(f"{rule.__name__:16} error {error_of(softmax, rule, x, np.ones(3)):.1e}")

# %% [markdown]
# All four pass, and three are wrong! The reason is the checked number. The results of softmax have the sum 1 for every
# $x$. So their sum has the gradient 0, and every rule that returns 0 for equal weights is right *for this number*. A
# checker needs weights that do not fit a rule by accident. Draw them at random:

# %%
for rule in rules:
    print(f"{rule.__name__:16} error {error_of(softmax, rule, x, rng.standard_normal(3)):.1e}")

# %% [markdown]
# Now only the right one passes. A rule is linear in $g$, so a wrong rule that is right for random weights would be a
# great piece of luck. minigrad's checker draws them from a seed, so that a failure can be repeated.
#
# ## 3. How far apart is too far?
#
# The errors are never 0. From notebook 01 you know both parts: cutting off, about $h^2$, and rounding off, about
# $\varepsilon / h$ times the size of the rounded values. And you know the slope of each. Draw the error over $h$, for
# the right rule, for one that is wrong by a factor 2, and for one that is wrong by a hundredth of a percent:


# %%
def slightly_off(g, x):
    return 1.0001 * softmax_rule(g, x)


steps = [10.0 ** (-k / 3) for k in range(1, 34)]
g = rng.standard_normal(3)
for rule in (softmax_rule, slightly_off, twice_too_large):
    errors = [np.abs(rule(g, x) - numeric(softmax, g, x, h)).max() for h in steps]
    plt.loglog(steps, errors, "o-", markersize=3, label=rule.__name__)
plt.xlabel("the nudge h")
plt.ylabel("largest error")
plt.legend()
plt.show()

# %% [markdown]
# The curve of a right rule is a V. The curve of a wrong rule has a floor: no step makes the rule right. This is the
# surest sign of a mistake, and minigrad's report of each failure has this curve, as a row of numbers.
#
# So the tolerance belongs just above the V. A tolerance of 1 percent, which some checkers have, would pass
# `slightly_off`, and with it rules that forgot a small term. Nor may it be one number for all functions:


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
# A fixed tolerance of `1e-6` accepts the wrong rule and rejects the right one. A tolerance works if it has two parts.
# One part is relative to the gradient. The other part is for rounding, and grows with the values of the function: it is
# $\varepsilon \langle |g|, |f(x)| \rangle / h$, ten times, to be on the safe side.


# %%
def tolerance(f, g, x, h=1e-6):
    """By how much a right rule may differ from nudging."""
    relative = 1e-5 * np.abs(numeric(f, g, x, h)).max()
    rounding = 10 * 2.0**-52 * np.sum(np.abs(g * f(x))) / h
    return relative + rounding


for f, rule in ((tiny, tiny_rule), (huge, huge_rule), (softmax, softmax_rule), (softmax, slightly_off)):
    g = rng.standard_normal(3)
    passes = error_of(f, rule, x, g) <= tolerance(f, g, x)
    print(f"{rule.__name__:13} {'passes' if passes else 'is wrong'}")

# %% [markdown]
# ## 4. The shape of a difference
#
# "Wrong" is the smaller part of the report. *Where*, and *by which factor*, is the larger part. Here is an op of our
# own as a `mg.Function`: `forward` computes, `backward` is the rule, and `ctx` carries the values that `forward` saves
# for `backward`. The gradient with respect to `b` is wrong.


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
# The error names the argument, the worst element, both values, and a suspicion: the values are right, but at the
# positions of the transpose. The report has more: each element in colour, and the curve over the steps, which is a
# floor.

# %%
report

# %% [markdown]
# If you have no such suggestion, use this table:
#
# | what you see | what it may be |
# |---|---|
# | one ratio at all elements: 2, 1/3 | a factor forgotten |
# | the ratio -1 | a sign |
# | the right numbers at wrong positions | a transpose, a reversal, operands swapped |
# | a wrong shape, or all elements too small | a missing sum over a broadcast dim |
# | single rows or elements too small | `=` where `+=` belongs |
# | the same offset at all elements | a forgotten path, such as the path through a mean |
# | a ratio near 1, another at each element | a stale value: saved too early, or changed since |
# | few elements, where x is special | a branch, or a kink |
#
# ## 5. The innocent: kinks
#
# `relu` has the slope 0 on the left of 0 and 1 on the right. A rule has to choose; minigrad's rule chooses 0. The
# central difference at 0 is 0.5.

# %%
kinked = np.array([-1.0, 0.0, 2.0])
print("by the rule", (kinked > 0) * 1.0, " by nudging", numeric(lambda x: np.maximum(x, 0), np.ones(3), kinked))

# %% [markdown]
# Neither one-sided derivative agrees with 0.5, so the checker must not reject the rule. Compare the slopes from both
# sides: if they differ, and still differ as the step shrinks, the point is a kink. minigrad's checker then moves the
# point a little to the left and to the right, and compares on both sides. Its report mentions this, because nothing was
# compared at the kink itself:

# %%
print(mg.testing.gradcheck(mg.relu, mg.Var(kinked, dtype=f64)))

# %% [markdown]
# ## 6. The innocent: float32
#
# Networks run in float32, which has 7 digits. Draw the V of the same right rule in both:

# %%
for kind in (np.float64, np.float32):
    at, weights = x.astype(kind), g.astype(kind)
    errors = [np.abs(softmax_rule(g, x) - numeric(softmax, weights, at, kind(h))).max() for h in steps]
    plt.loglog(steps, errors, "o-", markersize=3, label=kind.__name__)
plt.axvline(1e-6, color="grey", linewidth=1)
plt.xlabel("the nudge h")
plt.ylabel("largest error of a right rule")
plt.legend()
plt.show()

# %% [markdown]
# The grey line marks a good step for float64; in float32, hardly a digit of the quotient is left there. The V of
# float32 has its bottom near $\varepsilon^{1/3} \approx 5 \cdot 10^{-3}$, with four or five digits. There are two
# solutions: check the same function in float64, which is best, or use that step and a matching tolerance. `gradcheck`
# chooses by the dtype:

# %%
for dtype in (f64, mg.f32):
    print(mg.testing.gradcheck(mg.tanh, mg.Var([0.5, -1.0, 2.0], dtype=dtype), modes="reverse"))

# %% [markdown]
# ## 7. A check without a step: forward against reverse
#
# Nudge $x$ along a direction $v$, and the results move along $Jv$, where $J$ is the table of all slopes, a row for each
# result. A rule goes in the other direction: from weights $u$ it returns $J^\mathsf{T} u$, with the rows and columns of
# the same table exchanged. Both products must agree:
#
# $$\langle u, J v \rangle = \langle J^\mathsf{T} u, v \rangle.$$
#
# There is no $h$ in it, so nothing is cut off. minigrad computes $Jv$ too, with rules of its own: that is forward mode,
# and a later notebook is about it. `mg.func.vjp` returns the value and the rule at a point, as a function `pull`;
# `mg.func.jvp` returns the value and $Jv$.

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
# The two numbers agree in fifteen digits, for the price of three calls. That is why `gradcheck` begins with this line:
# it is the first of its checks. But the identity shows only that the two rules agree, not that they are right: if both
# contain the same wrong factor 2, they still agree. Only finite differences can decide.
#
# ## 8. The check: plant mistakes, and count
#
# How good is a checker? Test it with rules that you know to be right or wrong. It should find all wrong rules, and
# reject no right rule.

# %%
known = [(softmax, rule, rule is softmax_rule) for rule in (*rules, slightly_off)]
known += [(tiny, tiny_rule, False), (huge, huge_rule, True)]


def careless(f, rule, x):
    """Weights 1, and one tolerance for all."""
    return error_of(f, rule, x, np.ones(x.shape)) < 1e-6


def careful(f, rule, x):
    """Random weights, and a tolerance that knows the size of things."""
    g = np.random.default_rng(1).standard_normal(x.shape)
    return error_of(f, rule, x, g) <= tolerance(f, g, x)


for checker in (careless, careful):
    caught = sum(not checker(f, rule, x) for f, rule, right in known if not right)
    accused = sum(not checker(f, rule, x) for f, rule, right in known if right)
    print(f"{checker.__name__}: {caught} of 5 wrong rules caught, {accused} of 2 right ones accused")

# %% [markdown]
# minigrad's own checker is tested like that: [gradcheck.py](../minigrad/testing/gradcheck.py) has the function that you
# call, `quotients.py` in the same folder computes the finite differences, and `patterns.py` has the suspicions of
# section 4.
#
# ## Exercises
#
# `hint("04.1")` gives a hint, and asked again a larger one.
#
# **04.1** Your own checker: return `True` if the rule is right at x, and `False` otherwise. The grader plants mistakes.
# Among them are rules that are right for equal weights only, wrong at one element, wrong by a hundredth of a percent,
# or of the wrong shape, and one that returns `nan`. The grader also has right rules for large and small functions. No
# point has a kink.

# %%
from minigrad.learning.grading import check, hint


def holds(f, rule, x):
    """Whether rule(g, x) is the gradient of <g, f(x)>."""
    return ...  # write it here


check("04.1", holds)

# %% [markdown]
# **04.2** The hunt. `PATIENTS` has fourteen functions, each with a rule for each of its operands.
# `PATIENTS["cube"].operand(0)` returns `f, rule, x` for its first operand, the arguments of your checker. Which
# patients have a wrong rule? Assign their names to `wrong_ones`, as a list or set. (Mind the kinks.)

# %%
from minigrad.learning.exercises.patients import PATIENTS, show

for name, patient in PATIENTS.items():
    shapes = ", ".join(str(each.shape) for each in patient.operands)
    print(f"{name:14} of operands {shapes}")

# %%
wrong_ones = ...  # write it here

check("04.2", wrong_ones)

# %% [markdown]
# **04.3** What is wrong with each rule? Look at the differences first, then at the code with `show(name)`. Give one
# word for each wrong patient, as in `{"somebody": "sign"}`: factor, overwritten, path, reversed, sign, stale, sum,
# swapped, transpose. Each word is needed once; *path* means a forgotten path, and *overwritten* means `=` where `+=`
# belongs.

# %%
diagnosis = ...  # write it here

check("04.3", diagnosis)

# %% [markdown]
# **04.4** Fix three of them: write rules for any shape that the function takes. Each rule returns a tuple, with one
# gradient for each operand. `pick` uses the indices `INDEX`, which are in `minigrad.learning.exercises.patients` too.


# %%
def centre_rule(g, x):
    return ...  # write it here


def add_bias_rule(g, x, b):
    return ...  # write it here


def pick_rule(g, x):
    return ...  # write it here


check("04.4", {"centre": centre_rule, "add_bias": add_bias_rule, "pick": pick_rule})

# %% [markdown]
# **04.5** The check without a step. `push(v)` returns $Jv$, an array of shape `(m,)` from one of shape `(n,)`.
# `pull(u)` should return $J^\mathsf{T} u$. Return whether they are transposes of each other, up to rounding. Compare a
# difference with the numbers that were added; all numbers of a matrix may be small.


# %%
def transposed(push, pull, n, m):
    """True or False."""
    return ...  # write it here


check("04.5", transposed)
