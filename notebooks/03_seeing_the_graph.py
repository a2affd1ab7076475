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
# # 03 · Seeing the graph
#
# A program that computes with Vars records a graph. In notebook 02 you built a graph of numbers; here you inspect
# minigrad's graph. You see the graph as a picture, as a backward pass step by step, as a list of saved values, and as
# an answer to "why is my gradient `None`?". The notebook takes twenty minutes.
#
# **One idea:** a wrong gradient has its cause at one op, and the graph shows you this op. **One bug:** a connection in
# the graph that was cut without an error message. **One check:** after the fix, the gradient exists and agrees with
# finite differences.

# %%
import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad import f64

# %% [markdown]
# ## 1. Read a picture
#
# The example has three points, a curve $\tanh(w x + \text{shift})$, and the sum of the squared errors. `w` and `shift`
# are *Vars*: tensors whose gradient you want. The data are plain tensors: arrays of numbers, as in NumPy. `f64` is the
# *dtype* (the type of the elements): float64, as in Python's `float`.

# %%
w = mg.Var(0.5, dtype=f64, name="w")
shift = mg.Var(-1.0, dtype=f64, name="shift")
x = mg.tensor([1.0, 2.0, 3.0], dtype=f64)
target = mg.tensor([0.0, 1.0, 1.0], dtype=f64)


def loss_of(w, shift):
    """Return the sum of the squared differences between the curve and the targets."""
    h = (w * x + shift).tanh()
    error = h - target
    return (error * error).sum()


loss = loss_of(w, shift)
mg.viz.graph(loss)

# %% [markdown]
# An arrow goes from an operand to the result. Vars are yellow, constants (here the data) are grey and dashed,
# operations are blue, and the result is green. A box shows the operation, and the dtype and shape of its result:
# `float64(3,)` is an array of three numbers, `float64()` is a single number. After "saves", the box lists the values
# that are saved for the backward pass. `mul` saves the operands that its derivatives need; `add` and `sub` save
# nothing, since their derivatives are 1 and -1. The small words at the arrows are names of operands: the first `mul`
# saves its `other`, which is `x`.
#
# The picture is drawn from objects that your program can read. A result has an `op`, which is its node in the graph.
# The `parents` of a node are the nodes of its operands, or a Var, or `None` for a constant; `saved` contains the saved
# values. In notebook 02 these were `parents` and `slopes`.

# %%
node = loss.op
while node is not None:
    parents = [getattr(p, "name", p) for p in node.parents]
    print(f"{node.name:5} saves {len(node.saved)} tensors; its parents: {parents}")
    node = node.parents[0] if isinstance(node.parents[0], mg.BackpropOp) else None

# %% [markdown]
# ## 2. The backward pass, step by step
#
# `mg.viz.step` runs the backward pass as `backward` does, and records each step. Use the buttons, or click into the
# picture and use the arrow keys; the space bar plays the steps. Look for three things:
#
# * the *incoming gradient* of a node, written with a bar: $\bar y$ is the gradient of the loss with respect to the
#   node's result $y$;
# * the *rule*: the gradient of the loss with respect to each operand, as a formula;
# * a node where *paths meet*: both operands of the last `mul` are `error`, so the gradient of `error` has two parts.

# %%
mg.viz.step(loss)

# %% [markdown]
# `print` shows the steps as text. Compare the two lines of step 2 with notebook 02: "path 1 of 2" and "path 2 of 2"
# are the `+=`.

# %%
print(mg.viz.step(loss))

# %% [markdown]
# `shift` is one number that was added to three numbers; this is called *broadcasting*. So `shift` was used three times,
# and its gradient is the sum of three gradients: `sum(ȳ, to=())`. A gradient is summed in this way wherever a small
# tensor is combined with a larger tensor. Step 1 is the opposite case: `spread` passes the gradient of a sum to each of
# its terms.
#
# The stepper does not change the program: no `.grad` has been written, and the graph is still complete. Now run
# `backward` itself. The gradients equal those of the stepper:

# %%
print(loss.backward())

# %% [markdown]
# ## 3. Saved values, and when they are freed
#
# A graph needs memory: its saved values exist until a backward pass uses them. `mg.tape` lists the saved values. Memory
# is allocated in blocks of 64 bytes, so three float64 numbers need one block, and so would eight. The last `mul` saves
# `error` for both of its operands, but stores it once. The summary lists further memory "for pictures": ops of at most
# six elements also store their operands, so that graphs can show values. (Under `mg.debug()`, section 4, the empty
# columns contain times. *Checkpointing*, in the last line, computes values again instead of saving them; chapter 07
# explains it.)

# %%
loss = loss_of(w, shift)
mg.tape(loss)

# %% [markdown]
# `backward` frees each saved value as soon as it has been used. After that, the picture shows "freed", and a second
# backward pass raises an error:

# %%
loss.backward()
mg.viz.graph(loss)

# %%
try:
    loss.backward()
except mg.GradientError as error:
    print(error)

# %% [markdown]
# The error names the remedy. With `retain_graph=True`, the values and their memory remain for one more backward pass.
# `.grad` accumulates over backward passes, as in section 6 of notebook 02, so the cell sets it to `None` first. The
# result is exactly twice the gradient:

# %%
w.grad = shift.grad = None
loss = loss_of(w, shift)
loss.backward(retain_graph=True)
once = w.grad.item()
loss.backward()
print("once", once, " twice", w.grad.item(), " ratio", w.grad.item() / once)

# %% [markdown]
# ## 4. Five causes of a gradient that is None
#
# A gradient is `None` if the graph has no path to the Var. Under `mg.debug()`, minigrad records all calls with their
# lines in a journal, including calls that are not part of a graph. `x.explain_grad(y)` reads this journal. Each of
# these functions loses the path to `x` for a different reason:


# %%
def detached(x):
    return (x * 2.0).detach().sum()


def not_recorded(x):
    with mg.no_grad():
        h = x * 2.0
    return h.sum()


def an_index(x):
    return x.argmax().to(f64) * 2.0


def python_numbers(x):
    return mg.tensor([2.0 * x[0].item(), 2.0 * x[1].item()], dtype=f64).sum()


def not_used(x):
    return (w * 2.0).sum()


def explain(function, values):
    """Run a function under debug, and print the explanation of its gradient."""
    with mg.debug():
        x = mg.Var(values, dtype=f64, name="x")
        found = x.explain_grad(function(x))
    print(f"{function.__name__}: {found}\n")


for function in (detached, not_recorded, an_index, python_numbers, not_used):
    explain(function, [1.0, 4.0])

# %% [markdown]
# `In[11]:2` means line 2 of the cell that ran as number 11: there, the graph was cut. The fourth cause is the hardest
# to notice. `item()` returns a Python number, and `mg.tensor` makes a new constant from it; no operation connects this
# constant with `x`. In the last function, `x` was not used at all.
#
# ## 5. Gradients that are zero or nan
#
# The path from the result to the Var can also be intact while the gradient is zero or `nan`. Then `explain_grad`
# examines the graph:


# %%
def dead(x):
    return (x - 5.0).relu().sum()


def steps(x):
    return (x.round() * 3.0).sum()


def root_of_positive(x):
    return mg.where(x > 0.0, x.sqrt(), 0.0).sum()


for function in (dead, steps, root_of_positive):
    explain(function, [0.0, 4.0])

# %% [markdown]
# The last case is common in practice. The value is right: `where` took 0 instead of the root. But both branches were
# computed, and the backward pass goes through both. The derivative of a root at 0 is infinite, the incoming gradient is
# 0, and $0 \cdot \infty$ is `nan`. The stepper shows the step where `nan` appears:

# %%
x_bad = mg.Var([0.0, 4.0], dtype=f64, name="x")
for frame in mg.viz.step(root_of_positive(x_bad)).frames:
    for share in frame.shares:
        print(f"{frame.title:5} passes to {share.name:5} {share.text} = {share.value['text']}")

# %% [markdown]
# The fix is a second `where` around the operand of the root. You write this fix in exercise 03.3.
#
# ## 6. The bug
#
# Here is a cloud of points. In which direction is the cloud widest? There is one parameter, an angle. We increase the
# width of the cloud in this direction by small steps along its gradient with respect to the angle.

# %%
rng = np.random.default_rng(0)
cloud = mg.from_numpy(rng.standard_normal((40, 2)) @ np.array([[2.0, 1.0], [-0.2, 0.4]]))


def width(angle):
    """Return the mean of the squared coordinates of the points along a direction."""
    direction = mg.tensor([angle.cos().item(), angle.sin().item()], dtype=f64)
    along = (cloud * direction).sum(1)
    return (along * along).mean()


angle = mg.Var(-0.6, dtype=f64, name="angle")
print("width", width(angle).item())
try:
    width(angle).backward()
except mg.GradientError as error:
    print(error)

# %% [markdown]
# The value is right, but there is no graph for the backward pass. In larger programs there is often a graph, because of
# other parameters. Then `backward` raises no error, and only `angle.grad` remains `None`. Call `explain_grad`:

# %%
explain(width, -0.6)

# %% [markdown]
# The values left the graph in the line that builds `direction`: `mg.tensor` makes constants. `mg.stack` also joins
# several tensors into one, but as an op that is recorded:


# %%
def width(angle):
    """Return the mean of the squared coordinates of the points along a direction."""
    direction = mg.stack([angle.cos(), angle.sin()])  # recorded
    along = (cloud * direction).sum(1)
    return (along * along).mean()


explain(width, -0.6)
print(mg.testing.gradcheck(width, angle))

# %% [markdown]
# The gradient exists, and finite differences agree with it. Now take steps along this gradient; `set` assigns a new
# value to a Var:

# %%
for _ in range(40):
    angle.grad = None
    width(angle).backward()
    angle.set(angle + 0.05 * angle.grad)

points, a = cloud.numpy(), angle.item()
plt.scatter(points[:, 0], points[:, 1], s=12)
plt.plot([-5 * np.cos(a), 5 * np.cos(a)], [-5 * np.sin(a), 5 * np.sin(a)], "r")
plt.axis("equal")
plt.title(f"widest at {np.degrees(a):.0f} degrees")
plt.show()

# %% [markdown]
# ## 7. A cut in one of two paths
#
# `None` is a harmless bug, because you notice it. If there are two paths and one of them is cut, the gradient exists
# and is wrong. This function scales a vector to length 1, but converts the length to a Python number:


# %%
def unit(x):
    length = (x * x).sum().sqrt().item()
    return x / length


explain(unit, [3.0, 4.0])
try:
    mg.testing.gradcheck(unit, mg.Var([3.0, 4.0], dtype=f64))
except mg.testing.GradcheckError as error:
    print(error)

# %% [markdown]
# `explain_grad` reports that the gradient exists, and this is true: the other path is intact. Only finite differences
# show that one of the two paths is missing. (The numbers differ from those above, since the checker multiplies the
# results by random weights. The next notebook explains the reason, and how to choose a good step.) The code of
# `mg.viz.step` is in [film.py](../minigrad/viz/film.py), and the code of `explain_grad` in
# [gradient.py](../minigrad/diagnostics/gradient.py).
#
# ## Exercises
#
# `hint("03.1")` prints a hint; a second call prints a larger one.
#
# **03.1** Read a graph yourself. `y` is a tensor that was computed from Vars, or a Var. Return the names of the Vars
# that a backward pass from `y` would reach, as a set of strings. `y.op` is `None` for a Var; a parent is a
# `BackpropOp`, a Var, or `None`.

# %%
from minigrad.learning.grading import check, hint


def reached(y):
    """Return the set of the names of the Vars that y was computed from."""
    return ...  # write it here


check("03.1", reached)

# %% [markdown]
# **03.2** This function scales the elements of a one-dimensional tensor `x` to the range from 0 to 1. It cuts the graph
# at two points. Fix the function: return a tensor of the shape of `x`, whose gradient includes the paths through the
# minimum and the maximum. The absolute and the relative tolerance are $10^{-9}$ for the values and $10^{-6}$ for the
# gradient. (Tensors have `amin()` and `amax()`.)
#
# ```python
# def scaled(x):
#     low, high = min(x.tolist()), max(x.tolist())
#     return (x - low) / (high - low)
# ```


# %%
def scaled(x):
    """Return x, shifted and scaled to the range from 0 to 1."""
    return ...  # write it here


check("03.2", scaled)

# %% [markdown]
# **03.3** Return the root of each positive element of `x`, a float64 tensor of one dim, and 0 for the other elements.
# The gradient must be 0 where the value is 0, without a `nan`. The absolute and the relative tolerance are $10^{-9}$
# for the values and $10^{-6}$ for the gradient.


# %%
def safe_root(x):
    """Return sqrt(x) where x > 0, otherwise 0."""
    return ...  # write it here


check("03.3", safe_root)

# %% [markdown]
# **03.4** Separate two gradients. The scalar losses `a` and `b` were computed from the Var `x` and share a part of the
# graph. Return a pair: the gradient of `a` with respect to `x`, and the gradient of `b` with respect to `x`. The two
# gradients must not be added, and no error may be raised. The absolute and the relative tolerance are $10^{-9}$.


# %%
def separate(a, b, x):
    """Return the gradients of a and of b with respect to x."""
    return ...  # write it here


check("03.4", separate)
