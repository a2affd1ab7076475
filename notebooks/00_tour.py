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
# # A tour of minigrad
#
# This notebook is for somebody who learns how automatic differentiation works. You compute one gradient by hand and let
# `backward` compute it, look at what was recorded, open the code that the machine ran, and break a derivative to see it
# caught. At the end a network learns to read handwritten digits. It takes about half an hour; change the cells.
#
# It shows much, and explains little. If you would rather begin at the beginning, with school calculus and nothing else,
# open [01_nudging](01_nudging.ipynb) now, and come back whenever you like. No line here has to be understood to go on.

# %%
import math

import minigrad as mg

# %% [markdown]
# ## 1. A tensor is a view of memory
#
# A tensor is an array of numbers, as in NumPy: a flat storage and a *layout*, which is a shape, a stride for each
# dimension (*dim*), an offset. Element `[i, j]` lies at `offset + i * strides[0] + j * strides[1]`.

# %%
a = mg.arange(6).reshape(2, 3)
print(a)
print(a.layout)

# %% [markdown]
# Transposing, slicing and flipping change the layout and move nothing. A stride may be negative, and 0 where one row
# stands for many. All of these share one storage, so a write through one view changes every view that contains this
# element. All four contain the element at $(0, 0)$.

# %%
views = {"a.T": a.T, "a[:, ::2]": a[:, ::2], "a.flip(1)": a.flip(1), "a[0].expand(4, 3)": a[0].expand(4, 3)}
for name, view in views.items():
    print(f"{name:18} shape {view.shape}  strides {view.strides!s:8}  offset {view.offset}")
assert all(view.storage is a.storage for view in views.values())

a.T[0, 0] = 100
print(a)

# %% [markdown]
# `mg.explain` says it in words for any tensor.

# %%
mg.explain(a.flip(1))

# %% [markdown]
# ## 2. One gradient, by hand
#
# Take $y = x^2 + 5x + 4$ at one point, as three steps: $u = x \cdot x$, $v = 5x$, $y = (u + v) + 4$. Write $\bar u$
# for the derivative of $y$ by $u$, which is called the *gradient* at $u$. Going back from $\bar y = 1$, each step
# hands its incoming gradient to its operands, multiplied by its own derivative:
#
# * `add` passes it on unchanged: $\bar u = \bar v = \bar y$;
# * $v = 5x$ gives $\bar x \mathrel{+}= 5\,\bar v$;
# * $u = x \cdot x$ uses $x$ twice, and gives $\bar x \mathrel{+}= x\,\bar u$ each time.

# %%
x = 3.0
y_bar = 1.0
u_bar = v_bar = y_bar
x_bar = 5.0 * v_bar + x * u_bar + x * u_bar
print("dy/dx at 3 is", x_bar)

# %% [markdown]
# ## 3. The same by `backward`
#
# A `Var` is a tensor that gradients flow to. Each op on it runs at once and leaves a record: the `BackpropOp`, with its
# parents and the values that its derivative will need. `backward` walks these records from the newest to the oldest and
# does what you did above, for all elements at a time.

# %%
x = mg.Var([3.0, 1.0, 4.0])
y = x * x + x * 5.0 + 4.0
picture = mg.viz.graph(y)
grads = y.backward()
print("y     =", y.tolist())
print("dy/dx =", grads[x].tolist(), "= 2x + 5")
print("x.grad is the same, and would be added to by another backward:", x.grad.tolist())

# %% [markdown]
# ## 4. The picture
#
# This is what `backward` walked, upwards from `y`. Yellow are Vars, where gradients end; the dashed pills are
# constants, to which none goes.

# %%
picture

# %% [markdown]
# ## 5. What an op keeps
#
# Look at the boxes: `mul` keeps its operands, `add` keeps nothing. The reason is the derivative. In
# `minigrad/ops/pointwise/arithmetic.py` you find
#
# ```python
# @elementwise(dtype=promote, vjp=(lambda g, b: g * b, lambda g, a: g * a))
# def mul(a, b):
#     return a * b
# ```
#
# One rule an operand; `g` is the incoming gradient. The names of a rule's arguments *are* the list of what is saved:
# `b` for the gradient of `a`, `a` for that of `b`, `y` would be the output. And only for an operand that is asked: 5.0
# is a constant, so `x * 5.0` keeps 5.0 and forgets `x`.

# %%
x = mg.Var([3.0, 1.0, 4.0], name="x")
for result in (x * 5.0, x * x, x.exp(), x + x):
    node = result.op
    kept = [t.tolist() for t in node.saved]
    print(f"{node.name:4} has {len(node.parents)} operands and keeps {kept}")

# %% [markdown]
# Since rules are ordinary tensor code, a gradient can be recorded too, and differentiated again. $y = x^3$ has the
# second derivative $6x$.

# %%
x = mg.Var([1.0, 2.0])
(slope,) = mg.grad((x * x * x).sum(), [x], create_graph=True)
(curvature,) = mg.grad(slope.sum(), [x])
print("3x^2 =", slope.tolist(), "  6x =", curvature.tolist())

# %% [markdown]
# ## 6. The code that ran
#
# `a * b` in the declaration is the body of a real loop. minigrad writes the loop as a Python file, and Numba compiles
# it. Here is the file for one `mul` of dense operands; a transposed operand would get another loop nest around the
# same line.

# %%
(path,) = mg.viz.kernels(x * x)
print(path.read_text())

# %% [markdown]
# ## 7. An op of your own
#
# The same decorator is yours. A Gaussian bump needs a scalar function and a rule; from these come the loops for every
# dtype (the kind of number) and layout, broadcasting, `out=`, and gradients of every order.


# %%
@mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, x, y: g * y * (x * -2.0),))
def bump(x):
    """exp(-x*x).  Gradient: -2*x*y."""
    return math.exp(-x * x)


print(bump(mg.tensor([[-1.0, 0.0], [0.5, 2.0]]).T))

# %% [markdown]
# ## 8. Is the derivative right?
#
# `gradcheck` compares every element of the gradient with a difference quotient, in float64 and with a random incoming
# gradient. Its last line says how far they were apart; notebook 04 explains the others, and builds such a checker.

# %%
point = mg.Var([[-1.0, 0.3], [0.5, 2.0]], dtype=mg.float64)
print(mg.testing.gradcheck(bump, point))

# %% [markdown]
# And if it is wrong? Here the 2 has been forgotten. The error names the argument, the element that is worst, both
# values, and their ratio where it is the same at all elements: that tells you what to look for.


# %%
@mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, x, y: g * y * -x,))
def careless_bump(x):
    """exp(-x*x), with a wrong gradient."""
    return math.exp(-x * x)


try:
    mg.testing.gradcheck(careless_bump, point)
except mg.testing.GradcheckError as error:
    print(error)

# %% [markdown]
# A mistake of another kind: a value that backward needs is overwritten. minigrad counts the writes to each storage, so
# it says so instead of giving a wrong gradient.

# %%
x = mg.Var([1.0, 2.0])
h = x.exp()
y = (h * h).sum()
with mg.no_grad():
    h.zero_()
try:
    y.backward()
except mg.MinigradError as error:
    print(error)

# %% [markdown]
# ## 9. A network that reads digits
#
# 1442 images of 8x8 pixels, written by people, to learn from; 355 more to be tested on.

# %%
from minigrad.data import load_digits

images, labels, test_images, test_labels = (mg.from_numpy(array) for array in load_digits())
print(images.shape, labels.shape, test_images.shape)
for row in images[0].reshape(8, 8).tolist():
    print("".join(" .:-=+*#%@"[round(9 * pixel)] * 2 for pixel in row))
print("label:", labels[0].item())

# %% [markdown]
# Two layers of weights with a `relu` between them. The loss is the cross entropy: minus the logarithm of the
# probability that the network gave to the right digit.

# %%
mg.manual_seed(0)
w1, b1 = mg.Var(mg.randn(64, 64) * 0.2, name="w1"), mg.Var(mg.zeros(64), name="b1")
w2, b2 = mg.Var(mg.randn(64, 10) * 0.2, name="w2"), mg.Var(mg.zeros(10), name="b2")


def logits(pixels):
    """Ten scores for each image; the largest is the guess."""
    return (pixels @ w1 + b1).relu() @ w2 + b2


def loss_of(pixels, truth):
    """The mean cross entropy."""
    return -logits(pixels).log_softmax(1).gather(1, truth.unsqueeze(1)).mean()


mg.viz.graph(loss_of(images[:32], labels[:32]))

# %% [markdown]
# Each step goes against the gradient of the loss on 48 images, and keeps nine tenths of the direction of the steps
# before it. The steps get shorter, so that the end is calm.

# %%
epochs = 8
variables = [w1, b1, w2, b2]
moving = [mg.zeros_like(v) for v in variables]
for epoch in range(epochs):
    rate = 0.08 * (1 - epoch / epochs)
    losses = []
    for batch in mg.randperm(len(images)).split(48):
        loss = loss_of(images[batch], labels[batch])
        grads = loss.backward()
        for v, direction in zip(variables, moving):
            direction.mul_(0.9).add_(grads[v])
            v.set(v - rate * direction)
            v.grad = None
        losses.append(loss.item())
    right = (logits(test_images).argmax(1) == test_labels).float().mean().item()
    print(f"epoch {epoch + 1}: loss {sum(losses) / len(losses):.3f}, {right:.1%} of the test images right")

# %% [markdown]
# ## Where to go from here
#
# * [01_nudging](01_nudging.ipynb) and the chapters after it build all this from nothing, with exercises that grade
#   themselves; [10_kernels](10_kernels.ipynb), [11_own_ops](11_own_ops.ipynb) and [12_cuda](12_cuda.ipynb) go on from
#   sections 6 and 7.
# * [13_training](13_training.ipynb) trains a network with `mg.nn` and `mg.optim`. The next chapter,
#   [14_cnn_and_gpt](14_cnn_and_gpt.ipynb), builds a convolutional network and a small GPT.
# * [A1_precision](A1_precision.ipynb) and [A2_stability](A2_stability.ipynb) are appendices: where digits go, and where
#   whole numbers do.
# * `docs/tour.md` is the reading order of the source: an hour for one call and one backward, then the rest.
# * `docs/add_an_op.md` adds an op to minigrad itself.
# * `examples/` has the same steps as scripts, and `python -m minigrad doctor` says what your machine offers.
#
# Try this: give `bump` a second operand, its width. Write both rules, and let `gradcheck` tell you whether they hold.
