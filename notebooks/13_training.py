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
# # 13 · Training something real
#
# Three networks, one recipe: two layers that read digits, a small convolutional network that knows about neighbours,
# and a transformer that learns to write like Python's manual. No layers as objects, no ready-made optimizer: a network
# is a function of its weights, and the optimizer is ten lines of yours. It takes twenty-five minutes.
#
# **One idea:** training is a loop of four lines; all else is data and shapes. **One bug:** gradients that pile up,
# because nobody cleared them. **One check,** in two parts, before any long training: the loss at the start is the
# logarithm of the number of classes, and the network can learn *one* batch by heart.

# %%
import importlib.util
import math

import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.data import load_digits

F = mg.nn.functional

# %% [markdown]
# ## 1. A network is a function of its weights
#
# 1442 images of 8x8 pixels to learn from, 355 to be tested on, from [digits.py](../minigrad/data/digits.py).

# %%
images, labels, test_images, test_labels = (mg.from_numpy(a) for a in load_digits())
figure, axes = plt.subplots(2, 8, figsize=(8, 2.2))
for k, ax in enumerate(axes.flat):
    ax.imshow(images[k].reshape(8, 8).numpy(), cmap="gray_r")
    ax.set_title(labels[k].item(), fontsize=9)
    ax.axis("off")
plt.show()

# %% [markdown]
# The weights are a dict of `mg.Var`s. They start at random, since hidden units that start alike stay alike, and of a
# size such that sums of $n$ of them times inputs neither grow nor vanish: about $1/\sqrt n$.


# %%
def random_weights(**shapes):
    """A mg.Var for each name; the first dim says how many terms its sums have."""
    return {name: mg.Var(mg.randn(*s) * s[0] ** -0.5, name=name) for name, s in shapes.items()}


def mlp(w, x):
    """Two layers: (n, 64) pixels to (n, 10) scores, of which the largest is the guess."""
    return (x @ w["in"]).relu() @ w["out"]


def loss_of(model, w, x, truth):
    """The mean of -log(probability of the truth); probabilities are the softmax of the scores."""
    return F.cross_entropy(model(w, x), truth)


# %% [markdown]
# **The first check.** A network that knows nothing gives each of 10 classes the probability 1/10, so its loss is
# $-\log\frac1{10} = \log 10$. Compute it before you train. Much more than that means that it is *sure* of what it does
# not know: its weights are too large.

# %%
mg.manual_seed(0)
fresh = random_weights(**{"in": (64, 64), "out": (64, 10)})
careless = {name: mg.Var(mg.randn(*v.shape)) for name, v in fresh.items()}
print(f"log(10)                {math.log(10):.2f}")
print(f"loss at the start      {loss_of(mlp, fresh, images, labels).item():.2f}")
print(f"with weights of size 1 {loss_of(mlp, careless, images, labels).item():.2f}")

# %% [markdown]
# ## 2. The bug: gradients that pile up
#
# Now the loop. Forward, backward, a step against the gradient. `backward` leaves the gradient of each weight in its
# `.grad`:


# %%
def batches(count, size=48):
    """Training images drawn at random, so many at a time; the same at each call."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        chosen = mg.from_numpy(rng.integers(0, len(images), size))
        yield images[chosen], labels[chosen]


def copy_of(w):
    """The same weights again, to start from."""
    return {name: mg.Var(v.detach().clone(), name=name) for name, v in w.items()}


def descend(w, rate, steps=150, clear=False):
    """Steps against the gradient; gives the losses."""
    losses = []
    for x, truth in batches(steps):
        loss = loss_of(mlp, w, x, truth)
        loss.backward()
        for v in w.values():
            v.set(v - rate * v.grad)
            if clear:
                v.grad = None
        losses.append(loss.item())
    return losses


piled = descend(copy_of(fresh), rate=0.1)
plt.plot(piled)
plt.xlabel("step")
plt.ylabel("loss")
plt.show()

# %% [markdown]
# It learns for a few steps, then it is thrown back and forth. A first thought is a smaller rate. But look at one
# number: how large is the gradient that is used, beside the one of this batch?

# %%
w = copy_of(fresh)
for step, (x, truth) in enumerate(batches(4)):
    loss = loss_of(mlp, w, x, truth)
    loss.backward()
    own = mg.grad(loss_of(mlp, w, x, truth), w["out"])
    used, one = (np.linalg.norm(g.numpy()) for g in (w["out"].grad, own))
    print(f"step {step}: .grad has length {used:.3f}, the gradient of this batch {one:.3f}")

# %% [markdown]
# `.grad` holds the *sum* of all gradients so far. That is on purpose: where a batch does not fit into memory, you take
# it in parts, and add up. But then somebody has to clear it, and nobody did. (Each step was taken in the direction of
# all batches since the beginning, like a ball that never slows down.) The mend is `v.grad = None` after the step:

# %%
cleared = descend(copy_of(fresh), rate=0.1, clear=True)
plt.plot(piled, label="piled up")
plt.plot(cleared, label="cleared")
plt.axhline(math.log(10), color="grey", linestyle=":", label="log(10)")
plt.legend()
plt.show()

# %% [markdown]
# Or use `mg.grad`, which returns the gradients and leaves nothing behind. From here on we do.
#
# ## 3. An optimizer of your own
#
# Plain steps treat all weights alike. *Adam* keeps two running means for each weight: of its gradient, and of the
# square of it. A step is the first divided by the root of the second, so it has about the same size for all weights. As
# both means start at 0, they are too small in the beginning; the two powers mend that. (Kingma and Ba, arXiv
# 1412.6980.)


# %%
def adam(w, grads, memory, rate, keep=0.9, keep_squares=0.99):
    """One step; memory holds what is kept from step to step, and starts as {}."""
    k = memory["step"] = memory.get("step", 0) + 1
    for (name, v), g in zip(w.items(), grads):
        mean, square = memory.get(name, (mg.zeros_like(g), mg.zeros_like(g)))
        mean = keep * mean + (1 - keep) * g
        square = keep_squares * square + (1 - keep_squares) * (g * g)
        memory[name] = mean, square
        size = (square * (1 / (1 - keep_squares**k))).sqrt() + 1e-8
        v.set(v - mean * (rate / (1 - keep**k)) / size)


def train(model, w, data, rate):
    """The whole recipe: loss, gradients, step.  Gives the losses."""
    memory, losses = {}, []
    for x, truth in data:
        loss = loss_of(model, w, x, truth)
        adam(w, mg.grad(loss, list(w.values())), memory, rate)
        losses.append(loss.item())
    return losses


# %% [markdown]
# **The second check.** Give the network one batch, again and again. If it cannot learn 48 images by heart, something is
# wrong in the model or in the loop, and no amount of data will help. If it can, both are connected rightly.

# %%
one_batch = next(batches(1))
losses = train(mlp, copy_of(fresh), [one_batch] * 80, rate=0.01)
print(f"loss on one batch: {losses[0]:.2f} at the start, {losses[-1]:.4f} after 80 steps")

# %% [markdown]
# Now all images. What counts is the share that is right among those that it has never seen:


# %%
def right(model, w):
    """The share of the test images whose largest score is at the right digit."""
    guesses = model(w, test_images).detach().numpy().argmax(1)
    return float((guesses == test_labels.numpy()).mean())


w = copy_of(fresh)
print(f"before: {right(mlp, w):.1%} right")
by_adam = train(mlp, w, batches(300), rate=0.005)
print(f"after:  {right(mlp, w):.1%} right")

# %% [markdown]
# ## 4. Step by step beside PyTorch
#
# Is our Adam the one that others mean? If PyTorch is installed, the same network starts there from the same weights,
# sees the same batches, and the losses are compared at each step.


# %%
def beside_pytorch(steps=20):
    """How far the losses are apart over some steps; says so where there is no PyTorch."""
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed here, so this comparison is SKIPPED")
        return
    import torch

    theirs = {name: torch.tensor(v.detach().numpy()) for name, v in fresh.items()}
    for weight in theirs.values():
        weight.requires_grad_()
    optimizer = torch.optim.Adam(theirs.values(), lr=0.005, betas=(0.9, 0.99))
    found = []
    for x, truth in batches(steps):
        scores = torch.relu(torch.from_numpy(x.numpy()) @ theirs["in"]) @ theirs["out"]
        loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(truth.numpy()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    ours = train(mlp, copy_of(fresh), batches(steps), rate=0.005)
    for k in (0, steps // 2, steps - 1):
        print(f"step {k:2}: ours {ours[k]:.6f}, PyTorch's {found[k]:.6f}")
    print("largest difference:", f"{max(abs(a - b) for a, b in zip(ours, found)):.0e}")


beside_pytorch()

# %% [markdown]
# (`optimizer.zero_grad()` is their line against the bug of section 2.)
#
# ## 5. Looking at neighbours: a convolutional network
#
# To the MLP the order of the pixels means nothing: its sums are the same in any order. A *convolution* knows
# neighbours: it looks at 3x3 windows, with the same weights at every place. Two of them, each halving the picture: 8x8,
# 4x4, 2x2. Then one layer reads the answer off.


# %%
def cnn(w, x):
    """(n, 64) pixels to (n, 10) scores."""
    x = F.conv2d(x.reshape(-1, 1, 8, 8), w["first"], stride=2, padding=1).relu()
    x = F.conv2d(x, w["second"], stride=2, padding=1).relu()
    return x.reshape(-1, 32 * 2 * 2) @ w["out"]


mg.manual_seed(1)
shapes = {"first": (16, 1, 3, 3), "second": (32, 16, 3, 3)}
w = random_weights(out=(128, 10))
for name, s in shapes.items():
    w[name] = mg.Var(mg.randn(*s) * (2 / math.prod(s[1:])) ** 0.5, name=name)
for name, each in (("CNN", w), ("MLP", fresh)):
    print(name, "has", sum(v.numel() for v in each.values()), "numbers to learn")
print(f"loss at the start: {loss_of(cnn, w, images, labels).item():.2f}")

# %%
by_cnn = train(cnn, w, batches(300), rate=0.005)
print(f"{right(cnn, w):.1%} right")
smooth = np.ones(20) / 20
plt.semilogy(np.convolve(by_adam, smooth, "valid"), label="MLP")
plt.semilogy(np.convolve(by_cnn, smooth, "valid"), label="CNN")
plt.ylabel("loss, mean of 20 steps")
plt.legend()
plt.show()

# %% [markdown]
# Its loss on what it trains with falls faster. On new images it is about as good as the MLP: pictures of 64 pixels have
# few neighbours. But look at what did *not* change: `train`, the optimizer, the loss. Another network is another
# function.
#
# ## 6. A transformer that writes
#
# A new task with the same loss: given some characters, guess the next. The text is on your disk already: it is what
# `help()` shows, in `pydoc_data.topics`.

# %%
from pydoc_data.topics import topics

text = "".join(topics.values())
letters = sorted(set(text))
codes = np.array([letters.index(c) for c in text])
V, CONTEXT, WIDTH = len(letters), 32, 32
print(len(text), "characters,", V, "different ones:", "".join(letters[1:]))

# %% [markdown]
# How well can it be done by counting? If each character is guessed by how frequent it is, or by which one follows the
# last one how often:

# %%
pairs = np.zeros((V, V))
np.add.at(pairs, (codes[:-1], codes[1:]), 1)
single = np.bincount(codes)
by_frequency = -(single * np.log(single / single.sum())).sum() / single.sum()
by_last = -(pairs * np.log(np.maximum(pairs, 1) / single[:, None])).sum() / pairs.sum()
print(f"log({V}) is {math.log(V):.2f}")
print(f"by frequency {by_frequency:.2f}, by the last character {by_last:.2f}")

# %% [markdown]
# A transformer sees the last 32. Each character becomes a vector: one for which it is, plus one for where it stands.
# *Attention* lets each place look back: it asks with a vector $q$, each place offers a key $k$ and a value $v$, and the
# softmax of $q \cdot k$ says how much of each value it takes. After that, two layers for each place alone. What they
# find is *added* to the vector, so gradients have a straight way back. (Vaswani and others, arXiv 1706.03762; this is
# one block with one head.)

# %%
later = mg.tensor(np.triu(np.ones((CONTEXT, CONTEXT), bool), 1))  # [i, j]: j comes after i


def block(w, x):
    """Attention, then two layers, on vectors (n, CONTEXT, WIDTH)."""
    seen = F.layer_norm(x, (WIDTH,))
    q, k, v = seen @ w["q"], seen @ w["k"], seen @ w["v"]
    fits = (q @ k.transpose(1, 2)) * WIDTH**-0.5
    x = x + fits.masked_fill(later, -1e9).softmax(-1) @ v @ w["mix"]
    return x + (F.layer_norm(x, (WIDTH,)) @ w["up"]).relu() @ w["down"]


def read_off(w, x):
    """Scores for the next character, a row of V for each place of each piece."""
    return (F.layer_norm(x, (WIDTH,)) @ w["out"]).reshape(-1, V)


def writer(w, numbers):
    """Characters (n, CONTEXT) to scores of the next ones, (n * CONTEXT, V)."""
    return read_off(w, block(w, F.embedding(numbers, w["char"]) + w["place"]))


mg.manual_seed(2)
square = (WIDTH, WIDTH)
w = random_weights(q=square, k=square, v=square, mix=square)
w |= random_weights(up=(WIDTH, 128), down=(128, WIDTH), out=(WIDTH, V))
w["out"].set(0.5 * w["out"])  # it is not to be sure of anything yet
for name, count in (("char", V), ("place", CONTEXT)):
    w[name] = mg.Var(0.5 * mg.randn(count, WIDTH), name=name)
print("numbers to learn:", sum(v.numel() for v in w.values()))

# %% [markdown]
# The first check again. And a third one, since a gradient tells what depends on what: may a place look at *later* ones?
# Then it would see the answer, the loss would fall beautifully, and nothing would be learnt. So ask for the gradient of
# the scores at place 10, by the vectors at all places:


# %%
def pieces(count, size=32):
    """Pieces of the text, and the same one character on."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        starts = rng.integers(0, len(codes) - CONTEXT, size)
        found = codes[starts[:, None] + np.arange(CONTEXT + 1)]
        yield mg.from_numpy(found[:, :-1].copy()), mg.from_numpy(found[:, 1:].reshape(-1))


x, following = next(pieces(1))
loss = loss_of(writer, w, x, following).item()
print(f"loss at the start {loss:.2f}, log({V}) is {math.log(V):.2f}")
vectors = mg.Var(mg.randn(1, CONTEXT, WIDTH))
slopes = mg.grad(read_off(w, block(w, vectors))[10].sum(), vectors)
looked_at = np.abs(slopes[0].numpy()).sum(1)
print("place 10 depends on places", np.flatnonzero(looked_at > 0).tolist())

# %%
losses = train(writer, w, pieces(350), rate=0.01)
plt.plot(np.convolve(losses, smooth, "valid"), label="the transformer")
for name, level in (("by frequency", by_frequency), ("by the last character", by_last)):
    plt.axhline(level, color="grey", linestyle=":")
    plt.text(200, level + 0.03, name)
plt.ylabel("loss, mean of 20 steps")
plt.legend()
plt.show()
print(f"loss at the end {np.mean(losses[-20:]):.2f}, by the last character {by_last:.2f}")

# %% [markdown]
# Below what counting pairs can do. Let it write: draw a character by its probability, append it, go on.


# %%
def written(w, start, count=240):
    """A text that goes on from `start`."""
    rng = np.random.default_rng(3)
    found = [letters.index(c) for c in start.rjust(CONTEXT)]
    with mg.no_grad():
        for _ in range(count):
            scores = writer(w, mg.tensor([found[-CONTEXT:]]))[-1].numpy().astype(float)
            chances = np.exp((scores - scores.max()) / 0.7)  # below 1: rather the likely ones
            found.append(int(rng.choice(V, p=chances / chances.sum())))
    return "".join(letters[k] for k in found).strip()


print(written(w, "The class "))

# %% [markdown]
# Pieces of words, of about the right length, and nothing means anything. It has seen a few hundred batches, for a few
# seconds. Give it more steps, more width and a second block, and watch the loss.
#
# Here the path ends. Two appendices go on where numbers do not do what formulas say: [A1](A1_precision.ipynb), where
# digits are lost, and [A2](A2_stability.ipynb), where a loss becomes `nan`.
#
# ## Exercises
#
# **13.1** The loss, by hand: `scores` (n, classes) and `truth` (n,) to the mean of $-\log$ of the probability of the
# truth, as a tensor that gradients flow through. Scores may be as large as 1000, so watch your exponentials.

# %%
from notebooks.grading import check, hint


def cross_entropy(scores, truth):
    """Without F.cross_entropy, please."""
    return ...  # write it here


check("13.1", cross_entropy)

# %% [markdown]
# **13.2** Momentum: the ball that does slow down. `speed` and `gradient` are tensors; return the new speed, nine tenths
# of the old one plus the gradient, and the new weight, which is `weight` minus `rate` times the new speed.


# %%
def momentum(weight, gradient, speed, rate):
    """(new weight, new speed)."""
    return ...  # write it here


check("13.2", momentum)

# %% [markdown]
# **13.3** Clipping. Now and then a batch has a huge gradient. Return all gradients multiplied by one number, such that
# their total length, over all of them, is at most `limit`; shorter ones stay as they are.


# %%
def clipped(gradients, limit):
    """A list of tensors."""
    return ...  # write it here


check("13.3", clipped)

# %% [markdown]
# **13.4** Attention with one head that looks back only: `q`, `k`, `v` have shape (places, width). Place i takes from
# places 0 to i, and what fits is multiplied by `width ** -0.5` before the softmax.


# %%
def attention(q, k, v):
    """(places, width)."""
    return ...  # write it here


check("13.4", attention)
