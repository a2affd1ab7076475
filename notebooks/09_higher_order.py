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
# A gradient is computed by ordinary tensor code, so the gradient has a gradient too. This chapter has four
# applications: keep the slope of a network near 1, find a minimum in a few steps, differentiate the solution of an
# equation without its iterations, and fit a network to a differential equation. The notebook takes about twenty-five
# minutes.
#
# **One idea:** the backward pass is an ordinary computation, so it can be recorded. **One bug:** a second derivative
# that is missing without an error. **One check:** `gradgradcheck`, which compares second derivatives with finite
# differences of the gradient.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg

# %% [markdown]
# ## 1. Record the backward pass
#
# The derivative of $x^3$ is $3x^2$, and the derivative of that is $6x$. `mg.grad` computes the first derivative. For
# the second derivative, `mg.grad` must record its own operations: pass `create_graph=True`.

# %%
x = mg.Var([1.0, 2.0, 3.0], dtype="float64", name="x")
(first,) = mg.grad((x * x * x).sum(), [x], create_graph=True)
print("3x^2 =", first.tolist())

# %% [markdown]
# Here is the graph of `first`. You did not write these ops: the rules of `mul` multiplied and added, and minigrad
# recorded these operations. (The constants are the incoming gradients of ones.) In
# [engine.py](../minigrad/autodiff/engine.py), the recording takes one line of the function `walk`: `create_graph`
# switches recording on or off while the rules run. This line is enough for derivatives of every order.

# %%
mg.viz.graph(first)

# %%
(second,) = mg.grad(first.sum(), [x])
print("6x =", second.tolist())

# %% [markdown]
# You can repeat this for higher derivatives. Here are a smooth step and three of its derivatives. Each term of the sum
# depends on one element of $x$ only, so the gradient of the sum contains the derivative at each point.

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
# Each derivative is a backward pass through the graph of the previous derivative. `mg.tape` counts the ops:

# %%
y = (2.0 * x).tanh()
for order in range(1, 7):
    y = mg.grad(y.sum(), x, create_graph=True)
    tape = mg.tape(y)
    print(f"derivative {order}: {len(tape):4} ops, which save {tape.saved // 1024:3} kB")

# %% [markdown]
# Two or three derivatives are cheap. After that, each further derivative has more than twice as many ops as the
# previous derivative.
#
# ## 2. The bug: a penalty without a gradient
#
# A *critic* is a network $f$ that should return large numbers near 3 and small numbers near 0. Without a limit,
# training would make $f$ steeper and steeper. So we add the penalty $(f' - 1)^2$ to the loss, at points in between; the
# penalty keeps the slope near 1. (Networks that generate images are trained with such a penalty: Gulrajani and others,
# arXiv 1704.00028.) The penalty contains a derivative, and training needs the gradient of this derivative.


# %%
def critic(x, weights):
    """Return one number per point."""
    w1, b1, w2 = weights
    return (x @ w1 + b1).tanh() @ w2


def penalty(x, weights):
    """Return the mean squared distance of the slopes of the critic from 1."""
    point = mg.Var(x)
    slope = mg.grad(critic(point, weights).sum(), point)
    return ((slope - 1.0) ** 2).mean()


def loss_of(weights, penalty, real, fake, between):
    """Return the loss of the critic: small if real and fake points are far apart, at a slope of 1."""
    apart = critic(real, weights).mean() - critic(fake, weights).mean()
    return 10.0 * penalty(between, weights) - apart


between = mg.linspace(0.0, 3.0, 16, dtype="float64").reshape(16, 1)


def trained(penalty, steps=150):
    """Return the trained weights, and the penalty at each step."""
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
# The program runs, and the value of the loss is right. But the penalty grows! Check whether the penalty has a gradient:

# %%
print("does the penalty require a gradient?", penalty(between, weights).requires_grad)

# %% [markdown]
# The penalty has no gradient. `mg.grad` did not record its backward pass, so `slope` is a constant, and the penalty is
# a constant too. The gradient of the penalty alone raises an error:

# %%
try:
    mg.grad(penalty(between, weights), weights)
except mg.MinigradError as error:
    print(error)

# %% [markdown]
# But in the loss, the penalty is a constant that is added to a term with a gradient. Adding a constant is not a
# mistake, so there is no error. The fix is one argument:


# %%
def recorded_penalty(x, weights):
    """Return the same penalty, with a graph of its derivative."""
    point = mg.Var(x)
    slope = mg.grad(critic(point, weights).sum(), point, create_graph=True)
    return ((slope - 1.0) ** 2).mean()


good, better = trained(recorded_penalty)
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
right.set_title("output of the critic")
right.legend()
plt.show()

# %% [markdown]
# Between the two groups of points, the second critic has the slope 1, as intended. How can you find this bug in a
# larger program? Finite differences do not use the graph, so they include the penalty. Run `gradcheck` on the *loss*,
# with respect to the weights:

# %%
crowds = [3.0 + mg.zeros(2, 1, dtype="float64"), mg.zeros(2, 1, dtype="float64"), between]


def with_bug(w1, b1, w2):
    return loss_of((w1, b1, w2), penalty, *crowds)


def without_bug(w1, b1, w2):
    return loss_of((w1, b1, w2), recorded_penalty, *crowds)


for loss in (with_bug, without_bug):
    try:
        mg.testing.gradcheck(loss, good, modes="reverse")
        print(loss.__name__, "agrees with finite differences")
    except mg.testing.GradcheckError as error:
        print(loss.__name__, "disagrees:", error)

# %% [markdown]
# (With `mg.func` you cannot make this mistake: a `mg.func.grad` inside a function that is being differentiated is
# always recorded.)
#
# ## 3. Newton's method: a step with a known length
#
# The gradient shows which direction leads down, but not how far to go. The curvature determines the distance. Near a
# point, the function is close to a parabola with the gradient $g$ and the Hessian $H$. If $H$ is positive definite, the
# parabola has its minimum at a step of $-H^{-1}g$. Rosenbrock's valley is curved and flat; its minimum is at $(1, 1)$.


# %%
def valley(x):
    return 20.0 * (x[1] - x[0] * x[0]) ** 2 + (1.0 - x[0]) ** 2


def newton(f, x):
    """Return the minimum of the parabola at x."""
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
# Near the minimum, the number of correct digits doubles with each step. But each step has to compute $H$ and to solve a
# linear system; with a million weights, $H$ does not fit into memory. (Products $Hv$ are possible, see chapter 08.) A
# warning: Newton's method searches for a point where the gradient is 0. Such a point may also be a maximum or a saddle
# point.
#
# ## 4. The derivative of a solution
#
# Some functions are defined by an equation. Let $z$ be the number with $z = \tanh(0.9z + x)$. Repeating the right side
# finds it:


# %%
def round_of(z, x):
    return (0.9 * z + x).tanh()


def answer(x, rounds=60):
    """Return z with z = tanh(0.9 z + x)."""
    z = mg.zeros_like(x)
    for _ in range(rounds):
        z = round_of(z, x)
    return z


x = mg.tensor(0.3, dtype="float64")
z = answer(x)
print("z =", z.item(), " one more round:", round_of(z, x).item())

# %% [markdown]
# What is the derivative of $z$ with respect to $x$? `backward` goes through all rounds, and must save all of them. But
# the solution does not depend on the rounds. Differentiate both sides of the equation $z = f(z, x)$ with respect to
# $x$:
#
# $$\frac{dz}{dx} = f_z \frac{dz}{dx} + f_x \qquad\text{so}\qquad \frac{dz}{dx} = \frac{f_x}{1 - f_z}$$
#
# where $f_z$ and $f_x$ are the partial derivatives, and $f_z \ne 1$. This formula needs two derivatives of *one* round,
# at the solution. The plot compares the result with the gradient through 1, 2, 3, ... rounds:

# %%
f_z, f_x = mg.func.grad(round_of, argnums=(0, 1))(z, x)
implicit = f_x.item() / (1 - f_z.item())
through = [mg.func.grad(lambda x, n=n: answer(x, n))(x).item() for n in range(1, 25)]
print("implicit:", implicit, "  through 24 rounds:", through[-1])
plt.semilogy(range(1, 25), [abs(g - implicit) for g in through], "o-")
plt.xlabel("recorded rounds")
plt.ylabel("distance from the implicit gradient")
plt.show()

# %% [markdown]
# After enough rounds the two derivatives agree, but the numbers of recorded ops differ:

# %%
variable = mg.Var(x)
print("24 rounds:", len(mg.tape(answer(variable, 24))), "ops are recorded")
print("one round, at the solution:", len(mg.tape(round_of(z, variable))), "ops are recorded")

# %% [markdown]
# With vectors, $f_z$ is a matrix, and the division becomes the linear system $v = u + f_z^{\mathsf T}v$. Its solution
# is a fixed point again, which is found in the same way, with `mg.func.vjp` for $f_z^{\mathsf T}v$. The script
# [fixed_point.py](../examples/fixed_point.py) does this.
#
# ## 5. Training with a differential equation instead of data
#
# This section trains without data. A network $y(t)$ should satisfy $y'' = -y$ with $y(0) = 0$ and $y'(0) = 1$. The
# solution is the sine, but the program does not use this. The second derivative with respect to $t$ is forward mode,
# applied twice. Each $y$ depends on one $t$ only, so one call computes all points. The form $y = t + t^2 N(t)$
# satisfies the two conditions for every smooth network $N$.

# %%
WIDTH = 10
t = mg.linspace(0.0, math.pi, 24, dtype="float64").unsqueeze(1)


def curve(w, t):
    """Return t + t^2 N(t), with the weights of N in one vector."""
    a, b, c = w[:WIDTH], w[WIDTH : 2 * WIDTH], w[2 * WIDTH :]
    return t + t * t * ((t * a + b).tanh() @ c.unsqueeze(1))


def slope(f, t):
    """Return the derivative of f at each point."""
    return mg.func.jvp(f, (t,), (mg.ones_like(t),))[1]


def left_over(w):
    """Return y'' + y at each point: 0 where the equation holds."""
    bend = slope(lambda t: slope(lambda t: curve(w, t), t), t)
    return (bend + curve(w, t)).squeeze(1)


# %% [markdown]
# The loss is the sum of the squares of the values that `left_over` returns. For such a sum, Newton's method has a short
# form. Let $r$ be the values of `left_over`, and $J$ their Jacobian with respect to the weights (a third derivative in
# total). The gradient is $2J^{\mathsf T}r$. Near a good fit, the Hessian is close to $2J^{\mathsf T}J$ (the
# Gauss-Newton method); the factor 2 cancels in the step. A number added to the diagonal keeps the steps short as long
# as the approximation is bad (the Levenberg-Marquardt method).

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
print(f"largest distance from the sine: {apart:.0e}")

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
# All applications in this chapter need rules whose own derivatives are right. `gradgradcheck` computes finite
# differences of the gradient, with respect to the input and to the incoming gradient:

# %%
point = mg.Var([0.5, 1.0, -0.7], dtype=mg.float64)
print(mg.testing.gradgradcheck(lambda x: (x * x).tanh(), point))

# %% [markdown]
# `gradgradcheck` finds a mistake that `gradcheck` cannot find. The rule below detaches the output, "to save memory".
# The first derivative is right, so `gradcheck` passes. The second derivative lacks a term.


# %%
@mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, x, y: g * y.detach() * (x * -2.0),))
def bump(x):
    """Compute exp(-x*x), with a rule that detaches y."""
    return math.exp(-x * x)


print("gradcheck:", bool(mg.testing.gradcheck(bump, point)))
try:
    mg.testing.gradgradcheck(bump, point)
except mg.testing.GradcheckError as error:
    print(error)

# %% [markdown]
# If a rule will be differentiated again, every dependence on an operand or a result must be part of the graph. Chapter
# 11 shows how to write such rules.
#
# ## Exercises
#
# Write your answer, then run the cell: `check` reports the result. `hint("09.1")` prints a hint, and a larger one at
# each further call. Results are compared with a tolerance of `1e-9` in 09.1 to 09.3, and of `1e-7` in 09.4.
#
# **09.1** Compute the second derivative of `f` at `x`, a `mg.Var` of shape () in float64. `f` returns a tensor of shape
# (). Use `mg.grad` twice. Return a tensor of shape (). The absolute and the relative tolerance are $10^{-9}$.

# %%
from minigrad.learning.grading import check, hint


def second(f, x):
    """Return f''(x) for a Var x of shape ()."""
    return ...  # write it here


check("09.1", second)

# %% [markdown]
# **09.2** Write the penalty of section 2 for points with several coordinates. `x`, a `mg.Var`, has shape (points,
# coordinates), and `critic(x)` has shape (points,). The slope at a point is the norm of the gradient at this point.
# Return the mean of (slope - 1)², a tensor of shape (). Training needs the gradient of the penalty with respect to the
# weights of the critic, so the result must be differentiable. The absolute and the relative tolerance are $10^{-9}$.


# %%
def slope_penalty(critic, x):
    """Return the penalty at the Var x; the function critic contains its weights."""
    return ...  # write it here


check("09.2", slope_penalty)

# %% [markdown]
# **09.3** Solve $f(x) = 0$ with Newton's method, where $f(x)$ and $x$ are vectors of the same length. Start at `x`, a
# float64 tensor, and do eight steps. (The linear approximation of $f$ at $x$, with the Jacobian $J$, is zero at
# $x - J^{-1}f(x)$.) Return the solution, a float64 tensor. The absolute and the relative tolerance are $10^{-9}$.


# %%
def root(f, x):
    """Return x with f(x) = 0, a float64 tensor."""
    return ...  # write it here


check("09.3", root)

# %% [markdown]
# **09.4** Differentiate a solution. `solve(x)` returns the $z$ with $g(z, x) = 0$; $z$, $x$ and $g(z, x)$ are float64
# tensors of shape (). `solve` uses a method that cannot be differentiated. Return $dz/dx$ as a float or a tensor of
# shape (), computed from the derivatives of `g` at the solution. The absolute and the relative tolerance are $10^{-7}$.


# %%
def derivative_of_answer(g, solve, x):
    """Return dz/dx at the tensor x of shape ()."""
    return ...  # write it here


check("09.4", derivative_of_answer)
