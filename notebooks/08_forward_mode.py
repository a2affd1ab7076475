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
# # 08 · Forward mode, and reverse from it
#
# So far derivatives were computed backwards, from the result to the inputs. They can also be computed together with the
# values, from the inputs to the result. This is *forward mode*. Its code is shorter, and you can derive reverse mode
# from it by reversing a list. The notebook takes about twenty-five minutes.
#
# **One idea:** each value is stored together with its derivative. **One bug:** two nested derivatives that confuse
# their slopes. **One check:** the identity $\langle u, Jv\rangle = \langle J^{\mathsf T}u, v\rangle$. It needs no step
# size, and its only error is rounding.

# %%
import itertools
import math
import time

import matplotlib.pyplot as plt

import minigrad as mg

# %% [markdown]
# ## 1. Dual numbers
#
# Write a number as $a + a'\varepsilon$: a value $a$ and a derivative $a'$, which is also called the *tangent* or slope.
# $\varepsilon$ is a symbol with $\varepsilon^2 = 0$. Calculate as with ordinary numbers, and drop every term with
# $\varepsilon^2$:
#
# $$(a + a'\varepsilon)(b + b'\varepsilon) = ab + (a'b + ab')\,\varepsilon$$
#
# The factor of $\varepsilon$ is the product rule. You did not have to write this rule: it follows from the
# multiplication. In Python, a dual number is a class with two attributes:


# %%
class Dual:
    """A value and its derivative with respect to the chosen input."""

    def __init__(self, value, slope):
        self.value, self.slope = value, slope

    def __add__(self, other):
        other = as_dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        other = as_dual(other)
        slope = self.slope * other.value + other.slope * self.value
        return Dual(self.value * other.value, slope)

    __radd__, __rmul__ = __add__, __mul__  # 2 * x is x * 2


def as_dual(x):
    """Convert a constant to a dual number with slope 0."""
    return x if isinstance(x, Dual) else Dual(x, 0.0)


def sin(x):
    """Return the sine of a dual number, by the chain rule."""
    return Dual(math.sin(x.value), x.slope * math.cos(x.value))


def derivative(f, x):
    """Return the derivative of f at x; the slope of x itself is 1."""
    return as_dual(f(Dual(x, 1.0))).slope


# %% [markdown]
# These thirty lines differentiate programs. There is no step $h$, so there is no truncation error. Here is the
# derivative of $x^3 - 2x$ at 2, of which chapter 01 found ten or eleven digits:

# %%
print(derivative(lambda x: x * x * x + -2 * x, 2.0))

# %% [markdown]
# Loops and branches work too: Python runs them as usual, and each operation computes a value and a slope. The plot
# shows a function with a loop, and its tangents at five points:


# %%
def wave(x):
    y = x
    for _ in range(3):
        y = sin(y) + 0.5 * x
    return y


xs = [k / 20 for k in range(-80, 81)]
plt.plot(xs, [wave(Dual(x, 1.0)).value for x in xs])
for x in (-3.0, -1.2, 0.4, 2.0, 3.4):
    y = wave(Dual(x, 1.0))
    plt.plot([x - 0.6, x + 0.6], [y.value - 0.6 * y.slope, y.value + 0.6 * y.slope], "C1")
    plt.plot(x, y.value, "C1o")
plt.title("one run gives the value and the slope")
plt.show()

# %% [markdown]
# Forward mode needs no graph, no saved values and no backward pass. When a value is no longer needed, its slope is not
# needed either.
#
# ## 2. The bug: two derivatives share one epsilon
#
# `derivative` returns a number, so you can nest one `derivative` inside another. The value of a dual number is then a
# dual number itself. A second derivative works:

# %%
print(derivative(lambda x: derivative(lambda y: y * y * y, x), 2.0), "is 6x at 2")

# %% [markdown]
# Now take $x \cdot \frac{d}{dy}(x + y)$. With respect to $y$, the sum $x + y$ has the derivative 1 for every $x$. So
# the expression is $x \cdot 1$, and its derivative with respect to $x$ is 1.

# %%
print(derivative(lambda x: x * derivative(lambda y: x + y, 1.0), 1.0))

# %% [markdown]
# The result is 2 instead of 1. The inner `derivative` sets $y = 1 + 1\varepsilon$, and the outer one has set
# $x = 1 + 1\varepsilon$. Their sum is $2 + 2\varepsilon$, and the inner `derivative` returns the whole 2 as the slope
# with respect to $y$. But half of this slope is a slope with respect to $x$. Two derivatives share one $\varepsilon$.
#
# This bug is called *perturbation confusion*. It raises no error. The fix: each derivative gets its own epsilon. We
# number the derivatives as they start, so an inner derivative has a larger number than an outer derivative. When dual
# numbers of two derivatives meet in one operation, the inner derivative is handled first. It treats a dual number of
# the outer derivative as a constant, and stores it unchanged in its value or its slope. The value of an inner dual
# number can therefore be an outer dual number.


# %%
class Level:
    """A dual number with the number of the derivative that it belongs to."""

    def __init__(self, value, slope, number):
        self.value, self.slope, self.number = value, slope, number

    def __add__(self, other):
        a, b, number = apart(self, other)
        return Level(a.value + b.value, a.slope + b.slope, number)

    def __mul__(self, other):
        a, b, number = apart(self, other)
        return Level(a.value * b.value, a.slope * b.value + b.slope * a.value, number)

    __radd__, __rmul__ = __add__, __mul__


def number_of(x):
    """Return the number of the derivative that x belongs to; 0 for a constant."""
    return x.number if isinstance(x, Level) else 0


def apart(a, b):
    """Return both as dual numbers of the inner derivative; others are constants for it."""
    inner = max(number_of(a), number_of(b))
    a, b = (x if number_of(x) == inner else Level(x, 0.0, inner) for x in (a, b))
    return a, b, inner


numbers = itertools.count(1)


def derivative(f, x):
    """Return the derivative of f at x, with its own epsilon."""
    mine = next(numbers)
    y = f(Level(x, 1.0, mine))
    return y.slope if number_of(y) == mine else 0.0


print(derivative(lambda x: x * derivative(lambda y: x + y, 1.0), 1.0))
print(derivative(lambda x: derivative(lambda y: y * y * y, x), 2.0), "is still 6x at 2")

# %% [markdown]
# Follow $x + y$ once. $x$ is `Level(1, 1, number=1)`, and $y$ is `Level(1, 1, number=2)`. Number 2 is handled first. It
# treats $x$ as a constant, so the sum is `Level(x + 1, 0 + 1, number=2)`. The slope of the sum is 1, and the slope of
# $x$ is stored unchanged inside the value.
#
# minigrad must do this right for every nesting of forward mode, reverse mode and batches. Its solution has the same
# form. Each active transform has a depth, a number that grows with the nesting, and the operand with the deepest
# transform is handled first. The code is in `Transform` and `transform_of` of
# [tracers.py](../minigrad/runtime/tracers.py).

# %%
one = mg.tensor(1.0, dtype="float64")


def slope(f, x):
    """Return the derivative of f at x, by minigrad's forward mode."""
    return mg.func.jvp(f, (x,), (mg.ones_like(x),))[1]


def by_forward(x):
    return x * slope(lambda y: x + y, one)


def by_reverse(x):
    return x * mg.func.grad(lambda y: x + y)(one)


print("forward in forward:", slope(by_forward, one).item())
print("reverse in reverse:", mg.func.grad(by_reverse)(one).item())
print("reverse in forward:", slope(by_reverse, one).item())

# %% [markdown]
# ## 3. Vectors: one run computes one column
#
# `mg.func.jvp(f, (x,), (v,))` returns $f(x)$ and $Jv$, the derivative of all outputs along the direction $v$. $J$ is
# the Jacobian, with one row per output and one column per input. With $v = (0, 1, 0, \dots)$ one run computes one
# column. `mg.func.vjp` of chapter 06 computes $J^{\mathsf T}u$, and with $u = (0, 1, 0, \dots)$ this is one row.

# %%
mg.manual_seed(0)
x = mg.linspace(-1.0, 1.0, 8, dtype="float64")


def blur(x):
    """Combine three neighbours for each output: 8 inputs, 6 outputs."""
    return mg.tanh(x[:-2] + 2.0 * x[1:-1] - x[2:])


y, pull = mg.func.vjp(blur, x)
inputs, outputs = mg.eye(8, dtype="float64"), mg.eye(6, dtype="float64")
columns = mg.stack([mg.func.jvp(blur, (x,), (inputs[k],))[1] for k in range(8)], 1).numpy()
rows = mg.stack([pull(outputs[k])[0] for k in range(6)]).numpy()
print("8 columns:", columns.shape, "  6 rows:", rows.shape)
print("the largest difference is", abs(columns - rows).max(), "so both are the same matrix")

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True)
three_columns, three_rows = columns.copy(), rows.copy()
three_columns[:, 3:] = three_rows[3:] = 0.0
for ax, title, table in (
    (axes[0], "3 forward runs: 3 columns", three_columns),
    (axes[1], "3 backward passes: 3 rows", three_rows),
    (axes[2], "the whole Jacobian", rows),
):
    ax.matshow(table, cmap="RdBu", vmin=-2, vmax=2)
    ax.set_title(title)
plt.show()

# %% [markdown]
# How much does a whole Jacobian cost? With $n$ inputs and $m$ outputs, it takes $n$ forward runs or $m$ backward
# passes. Use forward mode for a function from 2 numbers to 100, and reverse mode for one from 100 to 2:

# %%
weights = mg.randn(100, 2, dtype="float64") * 0.1


def seconds(work):
    """Return the shortest time of three calls."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def by_columns(f, x):
    units = mg.eye(len(x), dtype="float64")
    return mg.stack([mg.func.jvp(f, (x,), (units[k],))[1] for k in range(len(x))], 1)


def by_rows(f, x):
    y, pull = mg.func.vjp(f, x)
    units = mg.eye(len(y), dtype="float64")
    return mg.stack([pull(units[k])[0] for k in range(len(y))])


def many_outputs(x):
    """From 2 numbers to 100."""
    return mg.tanh(weights @ x)


def many_inputs(x):
    """From 100 numbers to 2."""
    return mg.tanh(weights.T @ x)


for f, n in ((many_outputs, 2), (many_inputs, 100)):
    x = mg.full((n,), 0.5, dtype="float64")
    for way in (by_columns, by_rows):
        took = seconds(lambda f=f, x=x, way=way: way(f, x))
        print(f"{f.__doc__:25} {way.__name__:10} {1000 * took:6.2f} ms")

# %% [markdown]
# A loss has *one* output, and a network may have a million parameters. The gradient is one row: it takes one backward
# pass, or a million forward runs. For this reason training uses reverse mode, although it must store the graph.
#
# (`mg.func.jacfwd` and `mg.func.jacrev` compute all columns or all rows in one batch. The arithmetic is the same, but
# the overhead of a call occurs only once.)
#
# ## 4. Both at once: the Hessian times a vector
#
# The gradient $\nabla f$ is a function from $n$ numbers to $n$. Its Jacobian is the Hessian $H$, the second
# derivatives. And `jvp` of a function along $v$ is its Jacobian times $v$. So forward mode over reverse mode computes
# $Hv$ at the cost of a few gradients, and $H$ is never built. (The second derivatives of $f$ must exist and be
# continuous.)


# %%
def valley(x):
    """Return Rosenbrock's function: a curved valley with the minimum 0 at (1, 1, ...)."""
    return (100.0 * (x[1:] - x[:-1] * x[:-1]) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def hessian_times(f, x, v):
    """Return Hv, by forward over reverse mode."""
    return mg.func.jvp(mg.func.grad(f), (x,), (v,))[1]


x = mg.linspace(-1.0, 1.0, 6, dtype="float64")
v = mg.ones_like(x)
print("jvp of grad ", hessian_times(valley, x, v).tolist())
print("mg.func.hvp ", mg.func.hvp(valley, (x,), (v,)).tolist())
print("matrix H @ v", (mg.func.hessian(valley)(x) @ v).tolist())

# %% [markdown]
# `mg.func.hvp` returns the same product by another method: it computes the gradient of $\langle\nabla f, v\rangle$,
# which is reverse over reverse mode. (In the measurements of [decision 025](../docs/decisions/025-transforms.md),
# reverse over reverse was the faster method.) How much time does the full matrix cost?

# %%
sizes, products, matrices = [10, 50, 200, 400], [], []
for n in sizes:
    x = mg.linspace(-1.0, 1.0, n, dtype="float64")
    v = mg.ones_like(x)
    products.append(1000 * seconds(lambda x=x, v=v: mg.func.hvp(valley, (x,), (v,))))
    matrices.append(1000 * seconds(lambda x=x, v=v: mg.func.hessian(valley)(x) @ v))
plt.loglog(sizes, products, "o-", label="hvp")
plt.loglog(sizes, matrices, "s-", label="hessian, then times v")
plt.xlabel("inputs")
plt.ylabel("ms")
plt.legend()
plt.show()

# %% [markdown]
# The time for the product hardly depends on $n$. The matrix has $n^2$ entries, and each must be computed.
#
# ## 5. Reverse from forward
#
# Look again at the slopes that `Dual` computes. In `__add__` two slopes are added. In `__mul__` each slope is
# multiplied by a *value*. A slope is never multiplied by another slope: the function from the slopes of the inputs to
# the slope of the result is *linear*. This function is a list of steps of the form "add $c$ times this slope to that
# slope".
#
# So use slopes that are not numbers, but objects that record these steps. `Dual` remains unchanged:


# %%
class Line:
    """A slope without a value: a weighted sum of other slopes."""

    made = []

    def __init__(self, *parts):
        self.parts = parts
        Line.made.append(self)

    def __mul__(self, number):
        return Line((number, self))

    def __add__(self, other):
        return Line((1.0, self), (1.0, other)) if isinstance(other, Line) else self

    __radd__ = __add__  # a constant's slope is 0.0


a, b = Dual(3.0, Line()), Dual(2.0, Line())
y = a * b + sin(a)
for k, line in enumerate(Line.made):
    terms = [f"{c:.2f} * line {Line.made.index(of)}" for c, of in line.parts]
    print(f"line {k} =", " + ".join(terms) or "an input")

# %% [markdown]
# This list is the derivative of the program, without loops or branches. Read from top to bottom, it is forward mode.
# Now read it from bottom to top. Give `line 6` the weight 1. What are the weights of its parts? Each part receives the
# weight of the line times its factor:


# %%
def counts(of, lines):
    """Return the weight of each line in the result, from the last line to the first."""
    found = dict.fromkeys(lines, 0.0)
    found[of] = 1.0
    for line in reversed(lines):
        for factor, part in line.parts:
            found[part] += factor * found[line]
    return found


bar = counts(y.slope, Line.made)
print("derivative with respect to a:", bar[a.slope], "  to b:", bar[b.slope])
print("by hand:                     ", 2.0 + math.cos(3.0), "  and ", 3.0)

# %% [markdown]
# One pass computes both derivatives. You have seen this loop before: it is `backward` of chapter 02, with the newest
# node first and `+=` where paths meet. But here no reverse rule for the product or the sine was written. *Reverse mode
# is the list of forward mode, transposed*: a step "add $c$ times line i to line j" becomes "add $c$ times line j to
# line i". In a matrix this moves the entry $c$ from $(j, i)$ to $(i, j)$. So $J$ becomes $J^{\mathsf T}$.
#
# minigrad does the opposite: it declares the reverse rules, and derives forward mode from them. A rule
# $u \mapsto J^{\mathsf T}u$ is linear in $u$. So the VJP of *this rule* multiplies by the transpose of $J^{\mathsf T}$,
# which is $J$:

# %%
x = mg.linspace(-1.0, 1.0, 8, dtype="float64")
v = mg.randn(8, dtype="float64")
y, pull = mg.func.vjp(blur, x)
_, push = mg.func.vjp(lambda u: pull(u)[0], mg.zeros_like(y))
print("reverse of reverse:", push(v)[0].tolist()[:3])
print("forward mode:      ", mg.func.jvp(blur, (x,), (v,))[1].tolist()[:3])

# %% [markdown]
# [forward.py](../minigrad/autodiff/forward.py) tries cheaper methods first. An op may declare its own `jvp=`, or
# declare that it is linear. The Jacobian of an elementwise op is diagonal, so it equals its transpose, and the reverse
# rule *is* the forward rule. For all other ops, `by_transposing` uses the method above; it is right for every op.
#
# ## 6. The check
#
# If the two modes use the same $J$, then for all $u$ and $v$ the numbers $\langle u, Jv\rangle$ and
# $\langle J^{\mathsf T}u, v\rangle$ are equal: both are $\sum_{ij} u_i J_{ij} v_j$. (Chapter 06 derived this identity.)
# There is no step size, so there is no truncation error. Use random $u$ and $v$; otherwise errors that cancel would
# pass:

# %%
u = mg.randn(6, dtype="float64")
print("<u, Jv>  =", (u * mg.func.jvp(blur, (x,), (v,))[1]).sum().item())
print("<J'u, v> =", (pull(u)[0] * v).sum().item())

# %% [markdown]
# `gradcheck` makes this comparison before it computes finite differences. Here is an op with one rule per mode. The
# reverse rule lacks the factor 2, as in the tour:


# %%
@mg.elementwise(
    dtype=mg.rules.to_float,
    vjp=(lambda g, x, y: g * y * -x,),
    jvp=lambda dx, x, y: dx * y * x * -2.0,
)
def bump(x):
    """Compute exp(-x*x), with a wrong rule for reverse mode."""
    return math.exp(-x * x)


point = mg.Var([0.5, 1.0], dtype=mg.float64)
try:
    mg.testing.gradcheck(bump, point)
except mg.testing.GradcheckError as error:
    print(error.report)

# %% [markdown]
# The two modes differ by a factor of 2, as the line with `NOT` shows. The identity cannot decide which mode is wrong;
# the finite differences can. The comparison has one limit: without `jvp=`, minigrad derives forward mode *from the
# wrong rule*. Then both modes agree on a wrong number:


# %%
@mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, x, y: g * y * -x,))
def lonely_bump(x):
    """Compute exp(-x*x), with a wrong rule for reverse mode and no rule for forward mode."""
    return math.exp(-x * x)


try:
    mg.testing.gradcheck(lonely_bump, point)
except mg.testing.GradcheckError as error:
    print(error.report)

# %% [markdown]
# The identity shows that the two modes are consistent with each other. Only finite differences can show that they are
# consistent with the *function*. So a checker needs both.
#
# ## Exercises
#
# Write your answer, then run the cell: `check` reports the result. `hint("08.1")` prints a hint, and a larger one at
# each further call.
#
# **08.1** Divide two dual numbers. `a` and `b` are pairs (value, slope) of floats. Return the pair (value, slope) of
# $a / b$. The absolute and the relative tolerance are $10^{-9}$.

# %%
from minigrad.learning.grading import check, hint


def divided(a, b):
    """Return (a + a' eps) / (b + b' eps) as a pair (value, slope)."""
    return ...  # write it here


check("08.1", divided)

# %% [markdown]
# **08.2** Compute the Jacobian of `f` at the vector `x`, column by column, with `mg.func.jvp`. `f` returns a vector,
# and all tensors are float64. Return a tensor of shape (outputs, inputs). The absolute and the relative tolerance are
# $10^{-9}$. Try to write the function without reading `by_columns`.


# %%
def jacobian(f, x):
    """Return the Jacobian of f at x; each column takes one run."""
    return ...  # write it here


check("08.2", jacobian)

# %% [markdown]
# **08.3** Compute the curvature of the scalar-valued function `f` at `x` along $v$, which is $v^{\mathsf T} H v$. `x`
# and `v` are float64 vectors. Return a scalar tensor. The absolute and the relative tolerance are $10^{-9}$. Do not
# build the Hessian, do not use finite differences, and call `f` at most twice.


# %%
def curvature(f, x, v):
    """Return the second derivative of f at x along v."""
    return ...  # write it here


check("08.3", curvature)

# %% [markdown]
# **08.4** Transpose a list. `lines` describes a derivative. Each line `(j, c, i)` means "add $c$ times slope $i$ to
# slope $j$", and `push` runs the lines in order. Write `pull`, the transpose of `push`: a function of the lines and a
# list `u` of floats, as long as `v`, so that $\langle u, \mathtt{push}(v)\rangle = \langle\mathtt{pull}(u), v\rangle$
# for all $u$ and $v$. Return a list of floats. The absolute and the relative tolerance are $10^{-9}$.


# %%
def push(lines, v):
    """Return the slopes after all lines, from the slopes before them."""
    slopes = list(v)
    for j, c, i in lines:
        slopes[j] += c * slopes[i]
    return slopes


def pull(lines, u):
    """Return the transpose of push applied to u, a list as long as u."""
    return ...  # write it here


check("08.4", pull)
