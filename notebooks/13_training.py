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
# # 13 · Training a network
#
# In this notebook you train a network that reads handwritten digits. You write one layer and one optimizer by hand.
# Then you replace both by `mg.nn` and `mg.optim`, and see that nothing changes. The notebook takes twenty-five minutes.
#
# **One idea:** training is a loop of four lines. **One bug:** gradients that pile up, because the loop does not clear
# them. **One check:** two tests before any long training. At the start, the loss is about the logarithm of the number
# of classes. And the network must be able to learn *one* batch by heart.

# %%
import importlib.util
import math

import matplotlib.pyplot as plt

import minigrad as mg
from minigrad import nn
from minigrad.data import DataLoader, TensorDataset, load_digits

F = nn.functional

# %% [markdown]
# ## 1. A layer is parameters and a function
#
# The data are 1797 images of 8x8 pixels. You train with 1442 of them. The other 355 are **held out**: they test the
# network, and the network never learns from them. The file [digits.py](../minigrad/data/digits.py) loads the data.

# %%
images, labels, test_images, test_labels = (mg.from_numpy(a) for a in load_digits())
print("images", images.shape, "labels", labels.shape, "held out", test_images.shape)
figure, axes = plt.subplots(2, 8, figsize=(8, 2.2))
for k, ax in enumerate(axes.flat):
    ax.imshow(images[k].reshape(8, 8).numpy(), cmap="gray_r")
    ax.set_title(labels[k].item(), fontsize=9)
    ax.axis("off")
plt.show()

# %% [markdown]
# A **linear layer** multiplies its input by a matrix of **weights** and adds a vector, the **bias**. Both are
# **parameters**: numbers that training changes. In minigrad and in PyTorch a layer is a **module**, a subclass of
# `nn.Module`. A module does two things: it stores parameters as attributes, and its method `forward` computes the
# output.
#
# The parameters start at random values, because two outputs of a layer with equal weights would stay equal for ever.
# The size of the numbers matters. An output is a sum of $n$ products. It neither grows nor vanishes if the weights have
# a size of about $1/\sqrt n$.


# %%
class Linear(nn.Module):
    """A linear layer, written by hand: (n, inputs) to (n, outputs)."""

    def __init__(self, inputs, outputs):
        super().__init__()
        size = inputs**-0.5
        self.weight = nn.Parameter(size * (2 * mg.rand(outputs, inputs) - 1))
        self.bias = nn.Parameter(size * (2 * mg.rand(outputs) - 1))

    def forward(self, x):
        return x @ self.weight.T + self.bias


mg.manual_seed(0)
by_hand = Linear(64, 10)
for name, parameter in by_hand.named_parameters():
    print(name, parameter.shape)

# %% [markdown]
# You did not register the parameters anywhere: assigning them to attributes was enough. `nn.Linear` of
# [linear.py](../minigrad/nn/modules/linear.py) is the same layer. To prove it, copy the parameters. `state_dict()`
# returns all tensors of a module by name, and `load_state_dict` writes them into another module.

# %%
layer = nn.Linear(64, 10)
print(layer.load_state_dict(by_hand.state_dict()))
print("largest difference:", (layer(images) - by_hand(images)).abs().max().item())

# %% [markdown]
# From here on you use `nn.Linear`. The network has two layers, with the function `relu` between them. Such a network is
# called a **multilayer perceptron**, or MLP. It maps 64 pixels to 10 **scores**, one per digit. The largest score is
# the answer. `nn.summary` runs the network once and prints one row per layer:


# %%
def mlp(seed=0):
    """A new network; the same seed returns the same parameters."""
    mg.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


print(nn.summary(mlp(), images[:48]))

# %% [markdown]
# The **softmax** of the scores, $p_i = e^{s_i} / \sum_j e^{s_j}$, is positive and has the sum 1, so its numbers are
# probabilities. The **loss** is the mean of $-\log p$ over all images, where $p$ is the probability of the right digit.
# This loss is called **cross entropy**.
#
# **The first check.** An untrained network should assign the probability 1/10 to each of 10 classes. Its loss is then
# $-\log\frac1{10} = \log 10$. Compute the loss before you train. If the loss is much larger than $\log 10$, the network
# is *sure* of wrong answers, because its weights are too large.

# %%
careless = mlp()
for parameter in careless.parameters():
    nn.init.normal_(parameter)  # of size 1
print(f"log(10)                {math.log(10):.2f}")
print(f"loss at the start      {F.cross_entropy(mlp()(images), labels).item():.2f}")
print(f"with weights of size 1 {F.cross_entropy(careless(images), labels).item():.2f}")

# %% [markdown]
# ## 2. The bug: gradients that pile up
#
# A **batch** is a part of the training images. A `DataLoader` shuffles the images and returns one batch after another.
# One pass over all images is an **epoch**.


# %%
def batches(epochs, size=48):
    """Batches of (images, labels); the order is random, and the same at each call."""
    order = mg.Generator(0)
    loader = DataLoader(TensorDataset(images, labels), size, shuffle=True, drop_last=True, generator=order)
    for _ in range(epochs):
        yield from loader


x, target = next(batches(1))
print("a batch:", x.shape, target.shape, "batches per epoch:", len(list(batches(1))))

# %% [markdown]
# Now write the training loop. It computes the loss, then the gradients, and then it takes a step against the gradients.
# `backward` stores the gradient of the loss with respect to each parameter in `parameter.grad`. The **optimizer** takes
# the step: `SGD` subtracts `lr * parameter.grad` from each parameter. Its name means *stochastic gradient descent*, and
# `lr` is the **learning rate**.


# %%
def descend(model, clear):
    """Train for five epochs; return the losses."""
    optimizer = mg.optim.SGD(model.parameters(), lr=0.2)
    losses = []
    for x, target in batches(5):
        if clear:
            optimizer.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


piled_up = descend(mlp(), clear=False)
mg.viz.curves({"loss": piled_up})

# %% [markdown]
# The loss falls for a few steps, and then it jumps up and down. Your first idea may be a smaller learning rate. But
# first look at one number. How long is the gradient that the optimizer uses, and how long is the gradient of this
# batch?

# %%
model = mlp()
weight = model[2].weight
for step, (x, target) in enumerate(batches(1)):
    if step == 4:
        break
    F.cross_entropy(model(x), target).backward()
    own = mg.grad(F.cross_entropy(model(x), target), weight)
    used, one = weight.grad.norm().item(), own.norm().item()
    print(f"step {step}: .grad has length {used:.3f}, the gradient of this batch {one:.3f}")

# %% [markdown]
# `.grad` stores the *sum* of all gradients so far. This is intended: if a batch does not fit into memory, you process
# it in parts, and the gradients of the parts add up. But then your program must clear `.grad` before the next batch. If
# `.grad` is not cleared, each step goes along the sum of *all* gradients since the start, like a ball that never slows
# down.
#
# The fix is one line, `optimizer.zero_grad()`:

# %%
cleared = descend(mlp(), clear=True)
mg.viz.curves({"piled up": piled_up, "cleared": cleared, "log(10)": [math.log(10)] * len(cleared)})

# %% [markdown]
# These are the four lines of the idea: `zero_grad`, the loss, `backward`, `step`.
#
# ## 3. An optimizer of your own
#
# SGD uses one learning rate for all parameters. *Adam* adapts the step to each parameter. It stores two running means
# per parameter: the mean of the gradient, and the mean of its square. The step is the first mean divided by the square
# root of the second. So the steps of all parameters have about the same size. Both means start at 0, so they are too
# small in the first steps. The divisors $1 - \beta^t$, with $t$ the number of the step, correct this. (Kingma and Ba,
# arXiv 1412.6980.)


# %%
class Adam:
    """Adam, written by hand."""

    def __init__(self, parameters, lr, beta1=0.9, beta2=0.999):
        self.parameters, self.lr, self.beta1, self.beta2 = list(parameters), lr, beta1, beta2
        self.means = [mg.zeros_like(p) for p in self.parameters]
        self.squares = [mg.zeros_like(p) for p in self.parameters]
        self.count = 0

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None

    @mg.no_grad()
    def step(self):
        self.count += 1
        for p, mean, square in zip(self.parameters, self.means, self.squares):
            mean.mul_(self.beta1).add_((1 - self.beta1) * p.grad)
            square.mul_(self.beta2).add_((1 - self.beta2) * p.grad**2)
            corrected = mean / (1 - self.beta1**self.count)
            size = (square / (1 - self.beta2**self.count)).sqrt() + 1e-8
            p.sub_(self.lr * corrected / size)


def train(model, optimizer, data):
    """The whole loop; returns the losses."""
    losses = []
    for x, target in data:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% [markdown]
# `mg.no_grad()` switches the recording off: a step is not a part of the network. `mul_` and `add_` write into the
# tensor itself.
#
# **The second check.** Train with one batch, again and again. If the network cannot learn 48 images by heart, the model
# or the loop has a bug, and more data will not help. If the network can learn this batch, the gradient reaches the
# weights. This check is necessary, but it is not sufficient: the wrong bias gradient of chapter 06 also passes this
# check.

# %%
model = mlp()
losses = train(model, Adam(model.parameters(), lr=0.01), [(x, target)] * 80)
print(f"loss on one batch: {losses[0]:.2f} at the start, {losses[-1]:.4f} after 80 steps")

# %% [markdown]
# Is your `Adam` the same as `mg.optim.Adam`? Train the same network with both, on the same batches:

# %%
ours, library = mlp(), mlp()
by_ours = train(ours, Adam(ours.parameters(), lr=0.005), batches(10))
by_library = train(library, mg.optim.Adam(library.parameters(), lr=0.005), batches(10))
print(f"loss of the last batch: {by_ours[-1]:.5f} and {by_library[-1]:.5f}")
print(f"largest difference in {len(by_ours)} steps: {max(abs(a - b) for a, b in zip(by_ours, by_library)):.0e}")

# %% [markdown]
# The remaining differences are rounding errors. [rules.py](../minigrad/optim/rules.py) declares the formula of each
# optimizer in a few lines. minigrad compiles this formula to one kernel, and one call of the kernel updates all
# parameters of a group. So `mg.optim.Adam` is faster than your loop.
#
# The result that matters is the **accuracy** on the held-out images: the share of images that the network reads
# correctly.


# %%
@mg.no_grad()
def accuracy(model):
    """The share of the held-out images whose largest score is at the right digit."""
    return (model(test_images).argmax(1) == test_labels).float().mean().item()


print(f"before: {accuracy(mlp()):.1%} correct")
print(f"after:  {accuracy(library):.1%} correct")

# %% [markdown]
# ## 4. Compare every step with PyTorch
#
# The names of `mg.nn` and `mg.optim` are PyTorch's. If PyTorch is installed, the same function trains the same network
# with both libraries, from the same parameters and on the same batches.


# %%
def losses_with(lib, start, data):
    """Train with minigrad or with PyTorch, from the arrays of a state; return the losses."""
    model = lib.nn.Sequential(lib.nn.Linear(64, 64), lib.nn.ReLU(), lib.nn.Linear(64, 10))
    model.load_state_dict({name: lib.tensor(array) for name, array in start.items()})
    optimizer = lib.optim.Adam(model.parameters(), lr=0.005)
    losses = []
    for x, target in data:
        optimizer.zero_grad()
        loss = lib.nn.functional.cross_entropy(model(lib.tensor(x)), lib.tensor(target))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if importlib.util.find_spec("torch") is None:
    print("PyTorch is not installed here, so this comparison is SKIPPED")
else:
    import torch

    start = {name: value.numpy() for name, value in mlp().state_dict().items()}
    data = [(x.numpy(), target.numpy()) for x, target in batches(1)]
    ours, theirs = losses_with(mg, start, data), losses_with(torch, start, data)
    for k in (0, 15, 29):
        print(f"step {k:2}: minigrad {ours[k]:.6f}, PyTorch {theirs[k]:.6f}")
    print(f"largest difference: {max(abs(a - b) for a, b in zip(ours, theirs)):.0e}")

# %% [markdown]
# ## 5. A small loss is not the goal
#
# Suppose you have 100 images only. Train with them for a long time, and measure the loss on the held-out images as
# well. `mg.viz.Log` stores both losses and draws their curves while the training runs.

# %%
few = DataLoader(TensorDataset(images[:100], labels[:100]), batch_size=50, shuffle=True, generator=mg.Generator(0))
model = mlp()
optimizer = mg.optim.Adam(model.parameters(), lr=0.005)
with mg.viz.Log(total=400, log=True) as log:
    for _ in range(200):
        for x, target in few:
            loss = train(model, optimizer, [(x, target)])[0]
            with mg.no_grad():
                held_out = F.cross_entropy(model(test_images), test_labels)
            log(training=loss, held_out=held_out)
curve = log.values["held_out"][1]
print(f"training loss {loss:.4f}, held-out loss {curve[-1]:.2f}; its minimum was {min(curve):.2f} "
      f"at step {curve.index(min(curve)) + 1}; {accuracy(model):.1%} correct")  # fmt: skip

# %% [markdown]
# The training loss falls towards 0. The held-out loss stops falling early, and then it rises: the network learns the
# 100 images by heart. This is called **overfitting**. So judge a network by data that it has never seen. The best
# remedy is more data: with 1442 images, the same network read 96 % of the held-out images correctly.
#
# [Chapter 14](14_cnn_and_gpt.ipynb) keeps this loop and changes the network: to one that uses neighbouring pixels, and
# to one that writes text. If your loss becomes `nan`, [A2](A2_stability.ipynb) explains the reasons.
#
# ## Exercises
#
# **13.1** Write the cross entropy by hand. `scores` has shape (n, classes), `truth` has shape (n,) and stores the right
# class of each row as int64. Return the mean of $-\log$ of the probability of the right class, as a scalar tensor that
# gradients flow through. Scores may be as large as 1000, so be careful with exponentials. The absolute and the relative
# tolerance are $10^{-4}$, for the value and for the gradient. Do not call `F.cross_entropy`.

# %%
from minigrad.learning.grading import check, hint


def cross_entropy(scores, truth):
    """The mean of -log(probability of the right class)."""
    return ...  # write it here


check("13.1", cross_entropy)

# %% [markdown]
# **13.2** Write one step of SGD with momentum. `weight`, `gradient` and `speed` are tensors of the same shape. The new
# speed is 0.9 times the old speed plus the gradient. The new weight is `weight` minus `rate` times the new speed.
# Return the pair (new weight, new speed). The absolute and the relative tolerance are $10^{-4}$.


# %%
def momentum(weight, gradient, speed, rate):
    """(new weight, new speed)."""
    return ...  # write it here


check("13.2", momentum)

# %% [markdown]
# **13.3** Clip gradients: now and then a batch has a huge gradient. `gradients` is a list of float64 tensors, and
# `limit` is a positive float. The total length is the square root of the sum of all squares, over all tensors of
# `gradients`. If the total length is larger than `limit`, multiply all tensors by one factor, such that the total
# length becomes `limit`. Otherwise leave the tensors unchanged. Return a list of tensors. The absolute and the relative
# tolerance are $10^{-4}$.


# %%
def clipped(gradients, limit):
    """A list of tensors."""
    return ...  # write it here


check("13.3", clipped)

# %% [markdown]
# **13.4** Write your own module. `RMSNorm(size, eps)` divides each row of its input by the root of the mean of the
# squares of that row, $\sqrt{\mathrm{mean}(x^2) + \mathrm{eps}}$. Then it multiplies each column by a parameter. The
# parameter is named `weight`, has shape (size,), and starts as ones. The input and the output have shape (..., size);
# the mean is over the last dimension. The absolute and the relative tolerance are $10^{-4}$ for the output and
# $10^{-3}$ for the gradient of `weight`. Do not call `nn.RMSNorm` or `F.rms_norm`.


# %%
class RMSNorm(nn.Module):
    """(..., size) to (..., size)."""

    def __init__(self, size, eps=1e-6):
        super().__init__()

    def forward(self, x):
        return ...  # write it here


check("13.4", RMSNorm)
