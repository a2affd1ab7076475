# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A tour of minigrad
#
# This notebook is for readers who want to learn how automatic differentiation works. The first ten minutes show three
# tools. They answer these questions: What does `backward` do? Why is a gradient wrong? Which values are saved? Then you
# compute one gradient by hand, read the code that the machine ran, and see how a wrong derivative is found. At the end,
# a network learns to read handwritten digits. The notebook takes about half an hour. Change the cells and run them
# again. The first use of an op compiles a kernel, so a cell may take some seconds when it runs for the first time.
#
# This notebook shows many tools and explains each tool only briefly. If you prefer to start with school calculus only,
# open [01_nudging](01_nudging.ipynb) now, and come back later. You can go on without understanding every line.

# %%
import math

import minigrad as mg

# %% [markdown]
# ## 1. The backward pass, step by step
#
# A `Var` is a tensor whose gradient you want. `mg.viz.step` runs the backward pass of $y = x^2 + 5x + 4$ and shows each
# step: the incoming gradient $\bar y$, the derivative rule as a formula, and the outgoing gradients. Click through the
# steps. `x` is used three times, and each use adds a part to its gradient; the sum is $2x + 5$.

# %%
x = mg.Var([3.0, 1.0, 4.0], name="x")
y = x * x + x * 5.0 + 4.0
mg.viz.step(y)

# %% [markdown]
# **Why is this gradient `nan`?** The forward values below are fine: `where` takes the root only of positive numbers.
# Yet the gradient at -1 is `nan`. `explain_grad` names the op that produced the `nan`, the line of your code, and a
# remedy. `explain_grad` can name the line because the block `with mg.debug()` records the lines.

# %%
x = mg.Var([-1.0, 4.0], name="x")
with mg.debug():
    loss = mg.where(x > 0.0, x.sqrt(), 0.0).sum()
x.explain_grad(loss)

# %% [markdown]
# **Which values are saved for the backward pass?** `mg.tape` lists the ops of a graph, with the bytes that each op
# saves. (Tensors of at most six elements are also stored "for pictures", so that graphs can show their values.)

# %%
mg.tape(loss)

# %% [markdown]
# ## 2. One gradient, by hand
#
# Take $y = x^2 + 5x + 4$ at one point, as three steps: $u = x \cdot x$, $v = 5x$, $y = (u + v) + 4$. Write $\bar u$
# for the derivative of $y$ with respect to $u$, which is called the *gradient* of $u$. Start with $\bar y = 1$ and go
# through the steps in reverse order. Each step multiplies its incoming gradient by its own derivative, and passes the
# product to its operands:
#
# * `add` passes its incoming gradient on unchanged: $\bar u = \bar v = \bar y$;
# * $v = 5x$ adds $5\,\bar v$ to $\bar x$;
# * $u = x \cdot x$ uses $x$ twice, and adds $x\,\bar u$ to $\bar x$ each time.

# %%
x = 3.0
y_bar = 1.0
u_bar = v_bar = y_bar
x_bar = 5.0 * v_bar + x * u_bar + x * u_bar
print("dy/dx at 3 is", x_bar)

# %% [markdown]
# ## 3. The same gradient with `backward`
#
# Each op on a `Var` runs at once and records a node: a `BackpropOp`, with its parents and the values that its
# derivative rule needs. `backward` visits these nodes from the newest to the oldest. At each node it computes the
# products and sums that you computed above, for all elements at a time.

# %%
x = mg.Var([3.0, 1.0, 4.0])
y = x * x + x * 5.0 + 4.0
picture = mg.viz.graph(y)
grads = y.backward()
print("y     =", y.tolist())
print("dy/dx =", grads[x].tolist(), "= 2x + 5")
print("x.grad is the same; another backward pass would add to it:", x.grad.tolist())

# %% [markdown]
# ## 4. The graph as a picture
#
# `backward` visited this graph upwards from `y`. Yellow boxes are Vars, where gradients end. Dashed pills are
# constants; they receive no gradient.

# %%
picture

# %% [markdown]
# ## 5. The values that an op saves
#
# Look at the boxes: `mul` saves its operands, `add` saves nothing. The derivative rules explain the difference. In
# `minigrad/ops/pointwise/arithmetic.py` you find
#
# ```python
# @elementwise(dtype=promote, vjp=(lambda g, other: g * other, lambda g, input: g * input), ...)
# def mul(input, other):
#     return input * other
# ```
#
# There is one rule per operand, and `g` is the incoming gradient. The names of a rule's arguments specify the saved
# values: `other` for the gradient of `input`, and `input` for the gradient of `other`. The name `y` stands for the
# output.
# minigrad saves a value only if a requested gradient needs it. In `x * 5.0` only `x` requires a gradient. Its rule
# needs 5.0, so minigrad saves 5.0 and not `x`.

# %%
x = mg.Var([3.0, 1.0, 4.0], name="x")
for result in (x * 5.0, x * x, x.exp(), x + x):
    node = result.op
    saved = [t.tolist() for t in node.saved]
    print(f"{node.name:4} operands: {', '.join(node.op.operands):14} saved: {saved}")

# %% [markdown]
# Since rules are ordinary tensor code, a gradient can be recorded too, and differentiated again. $y = x^3$ has the
# second derivative $6x$.

# %%
x = mg.Var([1.0, 2.0])
(slope,) = mg.grad((x * x * x).sum(), [x], create_graph=True)
(curvature,) = mg.grad(slope.sum(), [x])
print("3x^2 =", slope.tolist(), "  6x =", curvature.tolist())

# %% [markdown]
# ## 6. A tensor is a view of memory
#
# A tensor is an array of numbers, as in NumPy: a flat storage and a *layout*. The layout has a shape, an offset, and a
# stride for each dimension (*dim*). Element `[i, j]` is at `offset + i * strides[0] + j * strides[1]`.

# %%
a = mg.arange(6).reshape(2, 3)
print(a)
mg.viz.layout(a.T)

# %% [markdown]
# Transposing, slicing and flipping change the layout and do not move any element. A stride can be negative. If one row
# is repeated, the stride along the repeats is 0. The four views below share one storage, so a write to one element
# changes every view that contains this element. All four views contain the element at $(0, 0)$.

# %%
views = {"a.T": a.T, "a[:, ::2]": a[:, ::2], "a.flip(1)": a.flip(1), "a[0].expand(4, 3)": a[0].expand(4, 3)}
for name, view in views.items():
    print(f"{name:18} shape {view.shape}  strides {view.strides!s:8}  offset {view.offset}")
assert all(view.storage is a.storage for view in views.values())

a.T[0, 0] = 100
print(a)

# %% [markdown]
# ## 7. The code that ran
#
# The expression `input * other` is the body of a real loop. minigrad writes the loop as a Python file, and Numba
# compiles it. Here is the file for one `mul` of contiguous operands; for a transposed operand, minigrad writes other
# loops around the same line.

# %%
(path,) = mg.viz.kernels(x * x)
print(path.read_text())

# %% [markdown]
# ## 8. An op of your own
#
# You can use the decorator `elementwise` for your own op. A Gaussian bump needs a scalar function and a derivative
# rule. From these two functions, minigrad derives the loops for every dtype (the type of the elements) and layout,
# broadcasting, `out=`, and gradients of every order.


# %%
@mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, x, y: g * y * (x * -2.0),))
def bump(x):
    """exp(-x*x).  Gradient: -2*x*y."""
    return math.exp(-x * x)


print(bump(mg.tensor([[-1.0, 0.0], [0.5, 2.0]]).T))

# %% [markdown]
# ## 9. Is the derivative right?
#
# `gradcheck` compares every element of the gradient with a finite difference, in float64 and with a random incoming
# gradient. Its last line reports the largest difference; notebook 04 explains the other lines, and builds such a
# checker.

# %%
point = mg.Var([[-1.0, 0.3], [0.5, 2.0]], dtype=mg.float64)
print(mg.testing.gradcheck(bump, point))

# %% [markdown]
# If the rule is wrong, `gradcheck` raises an error. Here the factor 2 is missing. The error names the argument, the
# worst element and both values. If the ratio of the two values is equal at all elements, the error reports this ratio,
# which is a hint at the mistake.


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
# Another kind of mistake is a program that overwrites a value that the backward pass needs. minigrad counts the writes
# to each storage, so it raises an error instead of returning a wrong gradient.

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
# **Where are digits lost?** `mg.viz.precision` runs a function in float32, float16 and bfloat16, and compares each
# value with float64. For a small $x$, $1 - \cos x$ loses its digits in the subtraction.

# %%
mg.viz.precision(lambda x: 1.0 - x.cos(), 0.001)

# %% [markdown]
# **Does another library agree?** `mg.testing.compare` runs one function with two libraries. With NumPy it compares the
# values; with `"torch"` or `"jax"`, if you have one of them, it compares the gradients too.

# %%
mg.testing.compare(lambda lib, x: lib.exp(x) / lib.sqrt(x * x + 1.0), "numpy", [0.5, 1.0, 2.0])

# %% [markdown]
# ## 10. A network that reads digits
#
# The training set has 1442 images of handwritten digits, with 8x8 pixels each; the test set has 355 more.

# %%
from minigrad.data import load_digits

images, labels, test_images, test_labels = (mg.from_numpy(array) for array in load_digits())
print(images.shape, labels.shape, test_images.shape)
for row in images[0].reshape(8, 8).tolist():
    print("".join(" .:-=+*#%@"[round(9 * pixel)] * 2 for pixel in row))
print("label:", labels[0].item())

# %% [markdown]
# The network has two layers of weights with a `relu` between them. The loss is the *cross entropy*: minus the logarithm
# of the probability that the network assigns to the right digit.

# %%
mg.manual_seed(0)
w1, b1 = mg.Var(mg.randn(64, 64) * 0.2, name="w1"), mg.Var(mg.zeros(64), name="b1")
w2, b2 = mg.Var(mg.randn(64, 10) * 0.2, name="w2"), mg.Var(mg.zeros(10), name="b2")


def logits(pixels):
    """Return ten scores for each image; the largest is the prediction."""
    return (pixels @ w1 + b1).relu() @ w2 + b2


def loss_of(pixels, truth):
    """Return the mean cross entropy."""
    return -logits(pixels).log_softmax(1).gather(1, truth.unsqueeze(1)).mean()


mg.viz.graph(loss_of(images[:32], labels[:32]))

# %% [markdown]
# Each step moves the weights against the gradient of the loss on 48 images. The direction also contains nine tenths of
# the previous direction (*momentum*). The steps become shorter, so that the weights hardly change at the end.

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
# * [01_nudging](01_nudging.ipynb) and the following chapters build these tools step by step, with exercises that are
#   graded in the notebook; [10_kernels](10_kernels.ipynb), [11_own_ops](11_own_ops.ipynb) and [12_cuda](12_cuda.ipynb)
#   continue sections 7 and 8.
# * [13_training](13_training.ipynb) trains a network with `mg.nn` and `mg.optim`. The next chapter,
#   [14_cnn_and_gpt](14_cnn_and_gpt.ipynb), builds a convolutional network and a small GPT. Then
#   [15_compiled_steps](15_compiled_steps.ipynb) runs a training step without Python, and the last chapter,
#   [16_waves](16_waves.ipynb), differentiates complex numbers and Fourier transforms.
# * [A1_precision](A1_precision.ipynb) and [A2_stability](A2_stability.ipynb) are appendices: where digits are
#   lost, and where numbers become `inf` or `nan`.
# * [add_an_op.md](../docs/add_an_op.md) adds an op to minigrad itself.
# * The checkout has two more things. `docs/tour.md` guides you through the source: one hour for one call and one
#   backward pass, then the other parts. `examples/` contains short scripts with the same steps.
# * `python -m minigrad doctor` reports the features of your machine.
#
# Try this: give `bump` a second operand, its width. Write both rules, and check them with `gradcheck`.
