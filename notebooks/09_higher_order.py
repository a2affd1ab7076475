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
# # 09 · Derivatives of derivatives
#
# A gradient is computed by ordinary tensor code. So it has a gradient itself. This chapter puts that to use four times:
# to hold the slope of a network at one, to go down a valley in a few steps, to differentiate an answer without the way
# that led to it, and to fit a network to a law of nature. It takes twenty-five minutes.
#
# **One idea:** the way back is a computation like any other, and can be recorded. **One bug:** a second derivative that
# is silently missing. **One check:** `gradgradcheck`, which nudges the gradient.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg

# %% [markdown]
# ## 1. Record the way back
#
# The derivative of $x^3$ is $3x^2$, and the derivative of that is $6x$. `mg.grad` gives the first. For the second, it
# must be told to record what it does: `create_graph=True`.

# %%
x = mg.Var([1.0, 2.0, 3.0], dtype="float64", name="x")
(first,) = mg.grad((x * x * x).sum(), [x], create_graph=True)
print("3x^2 =", first.tolist())

# %% [markdown]
# Here is the graph of `first`. Its ops were not written by you: the rules of `mul` did multiply and add, and that was
# recorded. (The constants are the ones that the walk began with.) The whole machinery is one line of `walk` in
# [engine.py](../minigrad/autodiff/engine.py): while the rules run, recording is on or off, as `create_graph` says.
# Nothing else is needed for every order of derivative.

# %%
mg.viz.graph(first)

# %%
(second,) = mg.grad(first.sum(), [x])
print("6x =", second.tolist())

# %% [markdown]
# So go on: a step and three derivatives of it. Each element of the sum depends on its own $x$ only, so the gradient of
# the sum holds the slope at each.

# %%
x = mg.Var(mg.linspace(-3.0, 3.0, 121, dtype="float64"))
y = (2.0 * x).tanh()
for order in range(4):
    name = f"derivative {order}" if order else "the step"
    plt.plot(x.detach().numpy(), y.detach().numpy(), label=name)
    y = mg.grad(y.sum(), x, create_graph=True)
plt.legend()
plt.show()

# %% [markdown]
# Each order has to go back through the graph of the one before. `mg.tape` counts the ops:

# %%
y = (2.0 * x).tanh()
for order in range(1, 7):
    y = mg.grad(y.sum(), x, create_graph=True)
    tape = mg.tape(y)
    print(f"derivative {order}: {len(tape):4} ops, which hold {tape.saved // 1024:3} kB")

# %% [markdown]
# Two or three orders are cheap. After that there are more than twice as many ops each time.
#
# ## 2. The bug: a penalty that does nothing
#
# A *critic* is to give points around 3 large numbers, and points around 0 small ones. Unbounded, it would get steeper
# for ever. So its slope is held at 1: we add a penalty $(f' - 1)^2$ to the loss, at points in between. (Networks that
# paint pictures are trained this way: Gulrajani and others, arXiv 1704.00028.) The penalty contains a derivative, and
# training takes the derivative of that.


# %%
def critic(x, weights):
    """A number for each point."""
    w1, b1, w2 = weights
    return (x @ w1 + b1).tanh() @ w2


def penalty(x, weights):
    """How far the slopes of the critic are from 1."""
    point = mg.Var(x)
    slope = mg.grad(critic(point, weights).sum(), point)
    return ((slope - 1.0) ** 2).mean()


def loss_of(weights, penalty, real, fake, between):
    """The critic wants real and fake points far apart, at a slope of 1."""
    apart = critic(real, weights).mean() - critic(fake, weights).mean()
    return 10.0 * penalty(between, weights) - apart


between = mg.linspace(0.0, 3.0, 16, dtype="float64").reshape(16, 1)


def trained(penalty, steps=150):
    """The weights, and the penalty at each step."""
    mg.manual_seed(0)
    shapes = ((1, 16), (16,), (16, 1))
    weights = [mg.Var(mg.randn(*shape, dtype="float64") * 0.5) for shape in shapes]
    history = []
    for _ in range(steps):
        real = 3.0 + 0.1 * mg.randn(32, 1, dtype="float64")
        fake = 0.1 * mg.randn(32, 1, dtype="float64")
        history.append(penalty(between, weights).item())
        slopes = mg.grad(loss_of(weights, penalty, real, fake, between), weights)
        for w, g in zip(weights, slopes):
            w.set(w - 0.02 * g)
    return weights, history


# %%
weights, history = trained(penalty)
print("penalty at the start", round(history[0], 3), "and at the end", round(history[-1], 3))

# %% [markdown]
# It runs, and the loss is computed as it should be. But the penalty grows! Ask it whether a gradient flows through it:

# %%
print("does the penalty require a gradient?", penalty(between, weights).requires_grad)

# %% [markdown]
# It does not. `mg.grad` did not record its walk, so `slope` is a plain number, and so is the penalty. On its own it
# would raise:

# %%
try:
    mg.grad(penalty(between, weights), weights)
except mg.MinigradError as error:
    print(error)

# %% [markdown]
# But in a *sum* it is a constant next to a term that has a gradient. Adding a constant is not a mistake, so there is no
# error. The fix is one argument:


# %%
def mended(x, weights):
    """How far the slopes of the critic are from 1, and the way there is recorded."""
    point = mg.Var(x)
    slope = mg.grad(critic(point, weights).sum(), point, create_graph=True)
    return ((slope - 1.0) ** 2).mean()


good, better = trained(mended)
print("penalty at the start", round(better[0], 3), "and at the end", round(better[-1], 3))

# %%
xs = mg.linspace(-1.0, 4.0, 101, dtype="float64").reshape(101, 1)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5))
for name, w, values in (
    ("without create_graph", weights, history),
    ("with create_graph", good, better),
):
    left.semilogy(values, label=name)
    right.plot(xs.numpy(), critic(xs, w).detach().numpy(), label=name)
left.set_title("the penalty at each step")
right.set_ylim(-6, 6)
right.set_title("what the critic says")
right.legend()
plt.show()

# %% [markdown]
# The second critic is a ramp of slope 1 between the two crowds, as was asked. How would you have found the bug in a
# larger program? By a nudge: difference quotients know nothing of graphs. `gradcheck` of the *loss*, in the weights:

# %%
crowds = [3.0 + mg.zeros(2, 1, dtype="float64"), mg.zeros(2, 1, dtype="float64"), between]


def with_bug(w1, b1, w2):
    return loss_of((w1, b1, w2), penalty, *crowds)


def without_bug(w1, b1, w2):
    return loss_of((w1, b1, w2), mended, *crowds)


for loss in (with_bug, without_bug):
    try:
        mg.testing.gradcheck(loss, good, modes="reverse")
        print(loss.__name__, "agrees with difference quotients")
    except mg.testing.GradcheckError as error:
        print(loss.__name__, "does not:", error)

# %% [markdown]
# (With the functions of `mg.func` you cannot make this mistake. A `mg.func.grad` inside a function that is being
# differentiated is always recorded.)
#
# ## 3. Newton: a step with a known length
#
# The gradient shows which direction leads down, and not how far to go. The curvature gives the distance. With the
# gradient $g$ and the Hessian $H$ of one point, a parabola has its lowest point at a step of $-H^{-1}g$, if $H$ is
# positive definite. Rosenbrock's valley is bent and flat; its lowest point is $(1, 1)$.


# %%
def valley(x):
    return 20.0 * (x[1] - x[0] * x[0]) ** 2 + (1.0 - x[0]) ** 2


def newton(f, x):
    """One step to the lowest point of the parabola."""
    slope, bends = mg.func.grad(f)(x), mg.func.hessian(f)(x)
    return x - mg.from_numpy(np.linalg.solve(bends.numpy(), slope.numpy()))


start = mg.tensor([-1.0, 1.5], dtype="float64")
steep, fast = [start], [start]
for _ in range(100):
    steep.append(steep[-1] - 0.01 * mg.func.grad(valley)(steep[-1]))
for k in range(6):
    fast.append(newton(valley, fast[-1]))
    away = math.dist(fast[-1].tolist(), (1, 1))
    print(f"Newton, step {k + 1}: {away:.1e} from (1, 1)")
print(f"gradient descent, step 100: {math.dist(steep[-1].tolist(), (1, 1)):.1e} from (1, 1)")

# %%
u, v = np.meshgrid(np.linspace(-1.6, 1.8, 80), np.linspace(-3.2, 2.5, 80))
plt.contour(u, v, np.log1p(20 * (v - u * u) ** 2 + (1 - u) ** 2), 14, colors="lightgrey")
for name, way in (("100 steps down the gradient", steep), ("6 steps of Newton", fast)):
    points = mg.stack(way).numpy()
    plt.plot(points[:, 0], points[:, 1], "o-", markersize=3, label=name)
plt.plot(1, 1, "k*")
plt.legend()
plt.ylim(-3.2, 2.5)
plt.show()

# %% [markdown]
# Near the end, the number of right digits doubles with each step. The price is $H$ and its equations; with a million
# weights, $H$ does not fit into memory. (Products $Hv$ are possible, see chapter 08.) A warning: Newton's method goes
# to a point where the slope is 0, which may be a top or a saddle.
#
# ## 4. The derivative of an answer
#
# Some functions are equations. Let $z$ be the number with $z = \tanh(wz + x)$, found by going round and round:


# %%
def round_of(z, x):
    return (0.9 * z + x).tanh()


def answer(x, rounds=60):
    """z with z = tanh(0.9 z + x)."""
    z = mg.zeros_like(x)
    for _ in range(rounds):
        z = round_of(z, x)
    return z


x = mg.tensor(0.3, dtype="float64")
z = answer(x)
print("z =", z.item(), " one more round:", round_of(z, x).item())

# %% [markdown]
# How does $z$ change with $x$? `backward` goes through all the rounds, and keeps all of them. But the answer does not
# depend on the way. Differentiate the equation itself, $z = f(z, x)$, on both sides:
#
# $$\frac{dz}{dx} = f_z \frac{dz}{dx} + f_x \qquad\text{so}\qquad \frac{dz}{dx} = \frac{f_x}{1 - f_z}$$
#
# Two derivatives of *one* round, at the answer. Beside it, the gradient through 1, 2, 3, ... rounds:

# %%
f_z, f_x = mg.func.grad(round_of, argnums=(0, 1))(z, x)
implicit = f_x.item() / (1 - f_z.item())
through = [mg.func.grad(lambda x, n=n: answer(x, n))(x).item() for n in range(1, 25)]
print("implicit:", implicit, "  through 24 rounds:", through[-1])
plt.semilogy(range(1, 25), [abs(g - implicit) for g in through], "o-")
plt.xlabel("rounds that were recorded")
plt.ylabel("distance from the implicit gradient")
plt.show()

# %% [markdown]
# They agree in the end, but what is kept on the way differs:

# %%
variable = mg.Var(x)
print("24 rounds:", len(mg.tape(answer(variable, 24))), "ops are kept")
print("one round, at the answer:", len(mg.tape(round_of(z, variable))), "ops are kept")

# %% [markdown]
# With vectors, $f_z$ is a matrix, and the division becomes $v = u + f_z^{\mathsf T}v$: again a fixed point, found by
# going round and round, with `mg.func.vjp` for $f_z^{\mathsf T}v$. That is `examples/fixed_point.py`.
#
# ## 5. A law instead of data
#
# No data now. A network $y(t)$ is to obey $y'' = -y$ with $y(0) = 0$ and $y'(0) = 1$. We are not telling it that this
# is the sine. The second derivative with respect to $t$ is forward mode twice. Each $t$ changes only its own $y$, so
# all points are computed at once. The form $y = t + t^2 N(t)$ fulfils the two conditions for any network $N$.

# %%
WIDTH = 10
t = mg.linspace(0.0, math.pi, 24, dtype="float64").unsqueeze(1)


def curve(w, t):
    """t + t^2 N(t), with the weights of N in one vector."""
    a, b, c = w[:WIDTH], w[WIDTH : 2 * WIDTH], w[2 * WIDTH :]
    return t + t * t * ((t * a + b).tanh() @ c.unsqueeze(1))


def slope(f, t):
    """The derivative at each point."""
    return mg.func.jvp(f, (t,), (mg.ones_like(t),))[1]


def left_over(w):
    """y'' + y at each point: 0 where the law holds."""
    bend = slope(lambda t: slope(lambda t: curve(w, t), t), t)
    return (bend + curve(w, t)).squeeze(1)


# %% [markdown]
# The loss is the sum of the squares of the values that `left_over` returns. For such a sum, Newton's method has a short
# form. Let $r$ be the values of `left_over`, and $J$ their derivatives with respect to the weights (third derivatives
# in all!). The gradient is $2J^{\mathsf T}r$, and the Hessian is close to $2J^{\mathsf T}J$ (Gauss and Newton); the
# factor 2 cancels in the step. A number added to the diagonal keeps the steps short while the parabola cannot be
# trusted (Levenberg and Marquardt).

# %%
mg.manual_seed(0)
w, damping = 0.5 * mg.randn(3 * WIDTH, dtype="float64"), 1.0
before = curve(w, t)
for step in range(16):
    rest, table = left_over(w).numpy(), mg.func.jacrev(left_over)(w).numpy()
    move = np.linalg.solve(table.T @ table + damping * np.eye(len(w)), table.T @ rest)
    trial = w - mg.from_numpy(move)
    better = (left_over(trial).numpy() ** 2).sum() < (rest**2).sum()
    w, damping = (trial, damping / 5) if better else (w, damping * 5)
    if step % 3 == 0:
        print(f"step {step:2}: mean square of y'' + y is {(rest**2).mean():.1e}")
apart = abs(curve(w, t).numpy() - np.sin(t.numpy())).max()
print(f"farthest from the sine: {apart:.0e}")

# %%
plt.plot(t.numpy(), before.numpy(), label="before")
plt.plot(t.numpy(), curve(w, t).numpy(), label="after")
plt.plot(t.numpy(), np.sin(t.numpy()), "k--", label="the sine")
plt.legend()
plt.ylim(-1, 1.5)
plt.show()

# %% [markdown]
# ## 6. The check
#
# All of this rests on rules whose own derivatives are right. `gradgradcheck` nudges the gradient, in the input and in
# the incoming gradient:

# %%
point = mg.Var([0.5, 1.0, -0.7], dtype=mg.float64)
print(mg.testing.gradgradcheck(lambda x: (x * x).tanh(), point))

# %% [markdown]
# And it finds what `gradcheck` cannot. In this rule somebody detached the output, "to save memory". The first
# derivative is right, and every test of it passes. The second one has lost a term.


# %%
@mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, x, y: g * y.detach() * (x * -2.0),))
def bump(x):
    """exp(-x*x), with a rule that hides half of what it depends on."""
    return math.exp(-x * x)


print("gradcheck:", bool(mg.testing.gradcheck(bump, point)))
try:
    mg.testing.gradgradcheck(bump, point)
except mg.testing.GradcheckError as error:
    print(error)

# %% [markdown]
# A rule that is to be differentiated again must say with tensors, openly, what it depends on. That is what chapter 11
# is about.
#
# ## Exercises
#
# **09.1** The second derivative of a function of one number, at a `mg.Var`. Use `mg.grad` twice.

# %%
from minigrad.learning.grading import check, hint


def second(f, x):
    """f''(x) for a 0-d Var x."""
    return ...  # write it here


check("09.1", second)

# %% [markdown]
# **09.2** The penalty of section 2 once more, for points with several coordinates: `x` has shape (points, coordinates),
# `critic(x)` shape (points,). The slope at a point is the length of its gradient. Return the mean of (slope - 1)²; it
# must be fit to train with.


# %%
def slope_penalty(critic, x):
    """x is a mg.Var; the weights are inside of critic."""
    return ...  # write it here


check("09.2", slope_penalty)

# %% [markdown]
# **09.3** Newton for an equation: the $x$ with $f(x) = 0$, where $f$ and $x$ are vectors of the same size. Start at
# `x`, do eight steps. (The line that goes through $f(x)$ with the Jacobian $J$ is zero at $x - J^{-1}f(x)$.)


# %%
def root(f, x):
    """x with f(x) = 0, as a float64 tensor."""
    return ...  # write it here


check("09.3", root)

# %% [markdown]
# **09.4** The derivative of an answer. `solve(x)` gives the $z$ with $g(z, x) = 0$, all three numbers, but by a method
# that cannot be differentiated. Return $dz/dx$, from derivatives of `g` at the answer.


# %%
def derivative_of_answer(g, solve, x):
    """dz/dx at the 0-d tensor x."""
    return ...  # write it here


check("09.4", derivative_of_answer)
