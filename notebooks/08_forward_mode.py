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
# So far derivatives flowed backwards, from the result to the inputs. They can also ride along with the values, from the
# inputs to the result. That is *forward mode*. It is shorter, and once you have it, reverse mode falls out of it by
# turning a list around. It takes twenty-five minutes.
#
# **One idea:** each value carries its slope with it. **One bug:** two nested derivatives that confuse their slopes.
# **One check:** $\langle u, Jv\rangle = \langle J^{\mathsf T}u, v\rangle$, which needs no step and no tolerance but
# rounding.

# %%
import itertools
import math
import time

import matplotlib.pyplot as plt

import minigrad as mg

# %% [markdown]
# ## 1. Dual numbers
#
# Write a number as $a + a'\varepsilon$: a value and a slope, where $\varepsilon$ is a nudge so small that its square is
# nothing. Calculate with it as with any number, and strike out $\varepsilon^2$ where it comes up:
#
# $$(a + a'\varepsilon)(b + b'\varepsilon) = ab + (a'b + ab')\,\varepsilon$$
#
# The factor of $\varepsilon$ is the product rule. Nobody put it there; it follows from the multiplication. In Python, a
# dual number is a class with two numbers:


# %%
class Dual:
    """A value, and its slope along the direction that is asked for."""

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
    """A constant has the slope 0."""
    return x if isinstance(x, Dual) else Dual(x, 0.0)


def sin(x):
    """The sine of a dual number: the chain rule, once."""
    return Dual(math.sin(x.value), x.slope * math.cos(x.value))


def derivative(f, x):
    """The slope of f at x: x itself moves with slope 1."""
    return as_dual(f(Dual(x, 1.0))).slope


# %% [markdown]
# Thirty lines, and it differentiates programs. Nothing is nudged, so nothing is cut off. The slope of $x^3 - 2x$ at 2,
# for which chapter 01 had ten or eleven digits:

# %%
print(derivative(lambda x: x * x * x + -2 * x, 2.0))

# %% [markdown]
# Loops and branches are no obstacle. Python runs them as ever; the slopes come along. Three rounds of a loop, with the
# tangents that come out of it:


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
# Note what is *not* there: no graph, nothing saved, no way back. When a value is no longer needed, so is its slope.
#
# ## 2. The bug: whose slope is it?
#
# `derivative` returns a number, so you can nest one `derivative` inside another. The value of a dual number is then a
# dual number itself. A second derivative works:

# %%
print(derivative(lambda x: derivative(lambda y: y * y * y, x), 2.0), "is 6x at 2")

# %% [markdown]
# Now $x \cdot \frac{d}{dy}(x + y)$. By $y$, the sum $x + y$ has the derivative 1, whatever $x$ is. So this is
# $x \cdot 1$, and its derivative is 1.

# %%
print(derivative(lambda x: x * derivative(lambda y: x + y, 1.0), 1.0))

# %% [markdown]
# 2, and not 1. The inner `derivative` was handed $y = 1 + 1\varepsilon$, and from outside came $x = 1 + 1\varepsilon$.
# Their sum is $2 + 2\varepsilon$, and the inner one takes the whole 2 for the slope with respect to $y$. But one of the
# two belonged to the slope with respect to $x$: there are two nudges, and one $\varepsilon$ for both.
#
# This is called *perturbation confusion*. It raises no error. The fix: each derivative gets its own epsilon. We number
# the derivatives as they start, so an inner one has a larger number. When dual numbers of two derivatives meet in one
# operation, the inner derivative is handled first. It treats a dual number of the outer derivative as a constant, and
# stores it unchanged in its value or its slope. The value of an inner dual number can therefore be an outer dual
# number.


# %%
class Level:
    """A dual number that knows to which derivative it belongs."""

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
    """To which derivative x belongs; 0 is none."""
    return x.number if isinstance(x, Level) else 0


def apart(a, b):
    """Both as dual numbers of the inner derivative; what is not its own is a constant there."""
    inner = max(number_of(a), number_of(b))
    a, b = (x if number_of(x) == inner else Level(x, 0.0, inner) for x in (a, b))
    return a, b, inner


numbers = itertools.count(1)


def derivative(f, x):
    """As before, with an epsilon of its own."""
    mine = next(numbers)
    y = f(Level(x, 1.0, mine))
    return y.slope if number_of(y) == mine else 0.0


print(derivative(lambda x: x * derivative(lambda y: x + y, 1.0), 1.0))
print(derivative(lambda x: derivative(lambda y: y * y * y, x), 2.0), "is 6x at 2, still")

# %% [markdown]
# Follow $x + y$ once. $x$ is `Level(1, 1, number=1)`, and $y$ is `Level(1, 1, number=2)`. Number 2 is handled first. It
# treats $x$ as a constant, so the sum is `Level(x + 1, 0 + 1, number=2)`. The slope of the sum is 1, and the slope of
# $x$ is stored unchanged inside the value.
#
# minigrad has to get this right for every nesting, of forward mode, reverse mode and batches. Its answer has the same
# form: a transform that is at work is a *level* with a depth, a number that grows, and the deepest level among the
# operands is asked first. It is in `Transform` and `transform_of` of [tracers.py](../minigrad/runtime/tracers.py).

# %%
one = mg.tensor(1.0, dtype="float64")


def slope(f, x):
    """The derivative by minigrad's forward mode."""
    return mg.func.jvp(f, (x,), (mg.ones_like(x),))[1]


def by_forward(x):
    return x * slope(lambda y: x + y, one)


def by_reverse(x):
    return x * mg.func.grad(lambda y: x + y)(one)


print("forward in forward:", slope(by_forward, one).item())
print("reverse in reverse:", mg.func.grad(by_reverse)(one).item())
print("reverse in forward:", slope(by_reverse, one).item())

# %% [markdown]
# ## 3. With vectors: a column for each run
#
# `mg.func.jvp(f, (x,), (v,))` gives $f(x)$ and $Jv$: how all outputs move if the input moves along $v$. $J$ is the
# Jacobian, the table of all slopes, with an output a row and an input a column. With $v = (0, 1, 0, \dots)$ one run
# gives one column. `mg.func.vjp`, of chapter 06, gives $J^{\mathsf T}u$, and with $u = (0, 1, 0, \dots)$ one row.

# %%
mg.manual_seed(0)
x = mg.linspace(-1.0, 1.0, 8, dtype="float64")


def blur(x):
    """Each output looks at three neighbours: 8 inputs, 6 outputs."""
    return mg.tanh(x[:-2] + 2.0 * x[1:-1] - x[2:])


y, pull = mg.func.vjp(blur, x)
inputs, outputs = mg.eye(8, dtype="float64"), mg.eye(6, dtype="float64")
columns = mg.stack([mg.func.jvp(blur, (x,), (inputs[k],))[1] for k in range(8)], 1).numpy()
rows = mg.stack([pull(outputs[k])[0] for k in range(6)]).numpy()
print("8 columns:", columns.shape, "  6 rows:", rows.shape)
print("they differ by", abs(columns - rows).max(), "at most, so they are the same table")

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True)
three_columns, three_rows = columns.copy(), rows.copy()
three_columns[:, 3:] = three_rows[3:] = 0.0
for ax, title, table in (
    (axes[0], "3 runs forward: 3 columns", three_columns),
    (axes[1], "3 walks back: 3 rows", three_rows),
    (axes[2], "all of it", rows),
):
    ax.matshow(table, cmap="RdBu", vmin=-2, vmax=2)
    ax.set_title(title)
plt.show()

# %% [markdown]
# So what does a whole Jacobian cost? With $n$ inputs and $m$ outputs, $n$ runs forward or $m$ walks back. A function
# from 2 numbers to 100 is for forward mode, one from 100 to 2 for reverse mode:

# %%
weights = mg.randn(100, 2, dtype="float64") * 0.1


def seconds(work):
    """The best of three."""
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
# A loss has *one* output, and a network a million inputs. Its gradient is one row: one walk back, or a million runs
# forward. That is the whole reason why training uses reverse mode, in spite of the graph that it has to keep.
#
# (`mg.func.jacfwd` and `mg.func.jacrev` make all columns or all rows in one batch. The work is the same, the overhead
# of each call is paid once.)
#
# ## 4. Both at once: the Hessian times a vector
#
# The gradient $\nabla f$ is a function from $n$ numbers to $n$. Its Jacobian is the Hessian $H$, the second
# derivatives. And `jvp` of a function along $v$ is Jacobian times $v$. So forward mode over reverse mode gives $Hv$,
# for the price of a few gradients, and $H$ is never written down:


# %%
def valley(x):
    """Rosenbrock's: a bent valley, 0 at (1, 1, ...)."""
    return (100.0 * (x[1:] - x[:-1] * x[:-1]) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def hessian_times(f, x, v):
    """Forward over reverse."""
    return mg.func.jvp(mg.func.grad(f), (x,), (v,))[1]


x = mg.linspace(-1.0, 1.0, 6, dtype="float64")
v = mg.ones_like(x)
print("by hand     ", hessian_times(valley, x, v).tolist())
print("mg.func.hvp ", mg.func.hvp(valley, (x,), (v,)).tolist())
print("with all H  ", (mg.func.hessian(valley)(x) @ v).tolist())

# %% [markdown]
# `mg.func.hvp` gives the same, and goes another way: it takes the gradient of $\langle\nabla f, v\rangle$, reverse over
# reverse. (It was measured to be the faster of the two: [decision 025](../docs/decisions/025-transforms.md).) How much
# does the matrix cost that nobody needs?

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
# The product hardly notices the size. The matrix has $n^2$ entries, and somebody has to fill them in.
#
# ## 5. Reverse from forward
#
# Look again at the slopes that `Dual` computes. In `__add__` two slopes are added. In `__mul__` each slope is
# multiplied by a *value*. A slope is never multiplied by another slope: the function from the slopes of the inputs to
# the slope of the result is *linear*. It is a list of "add so much of this to that".
#
# So pass slopes that are not numbers, but objects that record the operations on them. `Dual` remains unchanged:


# %%
class Line:
    """A slope that is not known yet: so much of this one, so much of that one."""

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
# That is the derivative of the program, as a straight list without loops or branches. Read from top to bottom it is
# forward mode. Now read it from bottom to top. If `line 6` counts 1, how much does each of its parts count? That much,
# times its factor:


# %%
def counts(of, lines):
    """How much each line counts for the last one: the list, turned around."""
    found = dict.fromkeys(lines, 0.0)
    found[of] = 1.0
    for line in reversed(lines):
        for factor, part in line.parts:
            found[part] += factor * found[line]
    return found


bar = counts(y.slope, Line.made)
print("by a:", bar[a.slope], "  by b:", bar[b.slope])
print("by hand:", 2.0 + math.cos(3.0), "and", 3.0)

# %% [markdown]
# Both derivatives in one walk. You know this loop: it is `backward` of chapter 02, with the newest first and `+=` where
# paths meet. Nobody wrote a reverse rule for the product or the sine. *Reverse mode is forward mode's list,
# transposed*: where forward says "add $c$ times line i to line j", reverse says "add $c$ times j to i". In a matrix
# that swaps $c$ from place $(j, i)$ to $(i, j)$. So $J$ becomes $J^{\mathsf T}$.
#
# minigrad declares the reverse rules, and gets forward mode out of them, by the same trick the other way round. A rule
# $u \mapsto J^{\mathsf T}u$ is linear in $u$; so *its* derivative, in reverse mode, is the transpose of the transpose:

# %%
x = mg.linspace(-1.0, 1.0, 8, dtype="float64")
v = mg.randn(8, dtype="float64")
y, pull = mg.func.vjp(blur, x)
_, push = mg.func.vjp(lambda u: pull(u)[0], mg.zeros_like(y))
print("reverse of reverse:", push(v)[0].tolist()[:3])
print("forward mode:      ", mg.func.jvp(blur, (x,), (v,))[1].tolist()[:3])

# %% [markdown]
# [forward.py](../minigrad/autodiff/forward.py) tries cheaper ways first: an op may declare a `jvp=` of its own, or that
# it is linear; and for an elementwise op the table of slopes has entries on its diagonal only, so it is its own
# transpose, and the reverse rule *is* the forward rule. `by_transposing` is what is left, and right for every op.
#
# ## 6. The check
#
# If $J$ and $J^{\mathsf T}$ belong together, then for any $u$ and $v$ the numbers $\langle u, Jv\rangle$ and
# $\langle J^{\mathsf T}u, v\rangle$ are the same: both are $\sum_{ij} u_i J_{ij} v_j$. (Chapter 04 used this; now you
# know where it comes from.) No step, so nothing is cut off. Draw $u$ and $v$ at random, or errors that cancel would
# pass:

# %%
u = mg.randn(6, dtype="float64")
print("<u, Jv>  =", (u * mg.func.jvp(blur, (x,), (v,))[1]).sum().item())
print("<J'u, v> =", (pull(u)[0] * v).sum().item())

# %% [markdown]
# `gradcheck` does this before it nudges anything. Here is an op with a rule for each mode; the one for reverse has lost
# its 2, as in the tour:


# %%
@mg.elementwise(
    dtype=mg.rules.to_float,
    vjp=(lambda g, x, y: g * y * -x,),
    jvp=lambda dx, x, y: dx * y * x * -2.0,
)
def bump(x):
    """exp(-x*x), with a wrong rule for reverse mode."""
    return math.exp(-x * x)


point = mg.Var([0.5, 1.0], dtype=mg.float64)
try:
    mg.testing.gradcheck(bump, point)
except mg.testing.GradcheckError as error:
    print(error.report)

# %% [markdown]
# The two modes differ by a factor of 2, and the first line says so. Which one is wrong, the identity does not know; the
# quotients decide that. And one caution: leave out `jvp=`, and minigrad derives forward mode *from the wrong rule*.
# Then both modes agree, on the wrong number:


# %%
@mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, x, y: g * y * -x,))
def lonely_bump(x):
    """exp(-x*x), with a wrong rule for reverse mode and none for forward mode."""
    return math.exp(-x * x)


try:
    mg.testing.gradcheck(lonely_bump, point)
except mg.testing.GradcheckError as error:
    print(error.report)

# %% [markdown]
# The identity proves that two modes fit each other. That they fit the *function*, only a nudge can tell. So a checker
# needs both.
#
# ## Exercises
#
# **08.1** The division of two dual numbers, each given as a pair (value, slope). Return the pair.

# %%
from minigrad.learning.grading import check, hint


def divided(a, b):
    """(a + a' eps) / (b + b' eps)."""
    return ...  # write it here


check("08.1", divided)

# %% [markdown]
# **08.2** The Jacobian of a function from vectors to vectors by columns, with `mg.func.jvp`: a tensor of shape
# (outputs, inputs), in float64. Try it without looking at `by_columns`.


# %%
def jacobian(f, x):
    """All columns, one run each."""
    return ...  # write it here


check("08.2", jacobian)

# %% [markdown]
# **08.3** The curvature of a scalar function along $v$, which is $v^{\mathsf T} H v$. No matrix and no nudges, please:
# calling `f` once or twice is enough.


# %%
def curvature(f, x, v):
    """How fast the slope along v grows along v."""
    return ...  # write it here


check("08.3", curvature)

# %% [markdown]
# **08.4** Turn a list around. A derivative is written down as `lines` of `(j, c, i)`, each of which says "add $c$ times
# slope $i$ to slope $j$"; `push` runs them. Write `pull`, its transpose, so that
# $\langle u, \mathtt{push}(v)\rangle = \langle\mathtt{pull}(u), v\rangle$ for all $u$ and $v$.


# %%
def push(lines, v):
    """Forward: the slopes after all lines, from the slopes before."""
    slopes = list(v)
    for j, c, i in lines:
        slopes[j] += c * slopes[i]
    return slopes


def pull(lines, u):
    """Reverse: a list as long as u."""
    return ...  # write it here


check("08.4", pull)
