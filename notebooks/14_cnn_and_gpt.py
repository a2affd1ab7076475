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
# # 14 · A convolutional network and a small GPT
#
# You build two networks from the modules of `mg.nn`. The first reads digits and uses the fact that neighbouring pixels
# belong together. The second is a small **GPT**, the kind of network behind chat programs: it predicts the next
# character of a text, and so it can write. The notebook takes thirty minutes; less than one minute of this time is
# training. The first run also compiles kernels, so some cells may take ten or twenty seconds longer.
#
# **One idea:** a network is a tree of modules, and the training loop of [chapter 13](13_training.ipynb) stays the same.
# **One bug:** a network that is tested in training mode. **One check:** the gradient shows which inputs an output
# depends on. The scores of an image must depend on that image only. A prediction must not depend on later characters.

# %%
import math
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad.data import Characters, DataLoader, RandomSampler, Subset, TensorDataset, load_digits, topics

F = nn.functional

# %% [markdown]
# ## 1. Convolution: the same weights at every position
#
# The first layer of the MLP in chapter 13 has a separate weight for each pixel. It cannot use the fact that two pixels
# are neighbours: if you apply one permutation to the 64 pixels of every image, the MLP learns equally well.
#
# A **convolution** moves a small window, here 3x3 pixels, over the image. At each position it multiplies the 9 pixels
# by 9 weights and adds the products. The weights are the same at every position; they are called a **kernel**. (Only
# the name is the same as that of the compiled kernels of chapter 10.) You can choose a kernel by hand. These two find
# edges:

# %%
images, labels, test_images, test_labels = (mg.from_numpy(a) for a in load_digits())
images, test_images = images.reshape(-1, 1, 8, 8), test_images.reshape(-1, 1, 8, 8)
print(images.shape, "is (images, channels, rows, columns)")

left_to_right = mg.tensor([[-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]])
kernels = mg.stack([left_to_right, left_to_right.T]).unsqueeze(1)
edges = F.conv2d(images[:1], kernels, padding=1)
print(kernels.shape, "is (output channels, input channels, rows, columns)")

figure, axes = plt.subplots(1, 3, figsize=(7, 2.4))
axes[0].imshow(images[0, 0].numpy(), cmap="gray_r")
for ax, picture in zip(axes[1:], edges[0]):
    ax.imshow(picture.numpy(), cmap="RdBu", vmin=-3, vmax=3)
for ax, name in zip(axes, ["the image", "vertical edges", "horizontal edges"]):
    ax.set_title(name, fontsize=9)
    ax.axis("off")
plt.show()

# %% [markdown]
# Blue marks an edge from light to dark, from left to right or from top to bottom; red marks an edge from dark to light.
# Each output of a convolution is an image again. Such an image is called a **channel**. In a network the kernels are
# parameters: training finds them.
#
# ## 2. A CNN from modules
#
# A **convolutional network**, or CNN, repeats four layers:
#
# * `nn.Conv2d` computes the channels.
# * `nn.BatchNorm2d` shifts and scales each channel, so that its mean over the batch is 0 and its variance is 1. Then
#   deep networks train faster.
# * `nn.ReLU` replaces negative values by 0.
# * `nn.MaxPool2d(2)` returns the largest value of each 2x2 square, which divides rows and columns by 2.
#
# At the end, `nn.Dropout` sets randomly chosen values to 0 during training, so the network cannot rely on a single
# value. A linear layer computes the ten scores. The classes of all these layers are in
# [nn/modules](../minigrad/nn/modules/__init__.py), one short file per family.


# %%
def cnn(seed=0):
    """Return a network from images (n, 1, 8, 8) to scores (n, 10)."""
    mg.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(32 * 2 * 2, 10),
    )  # fmt: skip


print(nn.summary(cnn(), images[:64]))
print(f"loss at the start {F.cross_entropy(cnn()(images), labels).item():.2f}, log(10) is {math.log(10):.2f}")

# %% [markdown]
# Check one row by hand. The first convolution has 16 kernels of 9 weights and 16 biases, which is 160 parameters. For
# each of 64 images it computes 16 x 8 x 8 values with 9 products each, which is 589,824 multiply-adds. The second
# convolution has most of the work.
#
# ## 3. Train the CNN
#
# The loop has the four lines of chapter 13, and one more: a **schedule** changes the learning rate at each step.
# `OneCycleLR` starts low, rises, and falls to almost 0. `mg.viz.Log` draws the curves while you wait.


# %%
def fit(model, accuracy, epochs=12):
    """Train with the digits; measure the accuracy after each epoch, and return the last one."""
    loader = DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True, drop_last=True)
    optimizer = mg.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.05)
    steps = epochs * len(loader)
    schedule = mg.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=steps, pct_start=0.2)
    with mg.viz.Log(total=steps) as log:
        for _ in range(epochs):
            for x, target in loader:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), target)
                loss.backward()
                optimizer.step()
                schedule.step()
                log(loss=loss)
            share = accuracy(model, test_images, test_labels)
            log(step=log.step, held_out_accuracy=share)
    return share


@mg.no_grad()
def first_try(model, x, target):
    """Return the share of images that the network reads correctly, as in chapter 13."""
    return (model(x).argmax(1) == target).float().mean().item()


model = cnn()
fit(model, first_try)
for _ in range(3):
    print(f"{first_try(model, test_images, test_labels):.1%} of the held-out images are correct")

# %% [markdown]
# **The bug.** Read the last three lines again. The network and the images are the same, but the accuracy differs. Now
# test the images one by one, and not all at once:

# %%
one_by_one = [first_try(model, test_images[k : k + 1], test_labels[k : k + 1]) for k in range(len(test_images))]
print(f"one image at a time: {np.mean(one_by_one):.1%} correct")

# %% [markdown]
# The answer for an image depends on the other images of the batch! The gradient shows it. Take the scores of the first
# image, and compute their gradient with respect to *all* images of a batch. Where the gradient is not 0, the scores
# depend on that image:


# %%
def depends_on(output, inputs):
    """Return the indices along the first dimension at which the gradient of the output is not 0."""
    gradient = mg.grad(output.sum(), inputs)
    return np.flatnonzero(gradient.flatten(1).abs().sum(1).numpy() > 0).tolist()


batch = mg.Var(test_images[:6])
print("the scores of image 0 depend on the images", depends_on(model(batch)[0], batch))

# %% [markdown]
# Two layers cause this dependence. `nn.BatchNorm2d` uses the mean and the variance of the *batch*. `nn.Dropout` sets
# *randomly chosen* values to 0. Both layers are right for training and wrong for a test. So a module has two modes.
# `model.train()` selects **training mode**, which is the mode of a new module. `model.eval()` selects **evaluation
# mode**. Then `nn.Dropout` does nothing, and `nn.BatchNorm2d` uses running means that it stored during training:

# %%
model.eval()
print("in evaluation mode they depend on", depends_on(model(batch)[0], batch))

# %% [markdown]
# There is a second mistake. In training mode, each test also changed these running means, so the network learned a
# little from the held-out images. The fix selects evaluation mode for the test, and training mode after it. Train
# again:


# %%
@mg.no_grad()
def accuracy(model, x, target):
    """Return the share of images that the network reads correctly, in evaluation mode."""
    model.eval()
    share = (model(x).argmax(1) == target).float().mean().item()
    model.train()
    return share


model = cnn()
fit(model, accuracy)
for _ in range(3):
    print(f"{accuracy(model, test_images, test_labels):.1%} of the held-out images are correct")

# %% [markdown]
# The accuracy is now higher, and equal each time. The MLP of chapter 13 read 96 % correctly, with about the same number
# of parameters. Which images does the CNN misread? The next cell shows up to four of them:

# %%
model.eval()
with mg.no_grad():
    answers = model(test_images).argmax(1)
wrong = np.flatnonzero((answers != test_labels).numpy())
figure, axes = plt.subplots(1, 4, figsize=(5, 1.6))
for ax, k in zip(axes, wrong):
    ax.imshow(test_images[int(k), 0].numpy(), cmap="gray_r")
    ax.set_title(f"{test_labels[int(k)].item()}, read as {answers[int(k)].item()}", fontsize=7)
for ax in axes:
    ax.axis("off")
plt.show()
print(len(wrong), "of", len(test_images), "images are misread")

# %% [markdown]
# Perhaps you cannot read these digits either. [digits_cnn.py](../examples/digits_cnn.py) has more channels, and it
# shifts and rotates the images at random. If each fifth of the data is held out in turn, this network reads 1790 of all
# 1797 images correctly, which is 99.6 %.
#
# ## 4. Text as a sequence of ids
#
# The second network reads text. The text is already on your disk: it is the text that `help()` prints for Python's
# statements and operators. Each character becomes an **id**, its index in the list of all characters, the
# **vocabulary**. The last tenth of the text is held out.

# %%
CONTEXT = 32

text = topics()
cut = len(text) * 9 // 10
vocabulary = "".join(sorted(set(text)))
windows, test_windows = (Characters(part, CONTEXT, vocabulary) for part in (text[:cut], text[cut:]))
x, target = windows[1000]
print(len(text), "characters,", len(vocabulary), "different characters")
print("input ", repr(windows.decode(x)))
print("target", repr(windows.decode(target)))

# %% [markdown]
# The target is the input, shifted by one character. So each window contains 32 tasks: predict the character after the
# first character, after the first two, and so on.
#
# How well can you predict by counting? A table counts which character follows the last 1, 2, 3, 4 or 5 characters. The
# unit of the loss is **bits per character**: the mean of $-\log_2$ of the probability of the next character. Fewer bits
# are better. A uniform guess among $n$ characters costs $\log_2 n$ bits.


# %%
def counted(order):
    """Return the bits per character on the held-out text, for a table that uses the last `order` characters."""
    follows, single, bits = defaultdict(Counter), Counter(text[:cut]), 0.0
    for k in range(order, cut):
        follows[text[k - order : k]][text[k]] += 1
    for k in range(cut + order, len(text)):
        row, guess = follows[text[k - order : k]], (single[text[k]] + 1) / (cut + len(vocabulary))
        bits -= math.log2((row[text[k]] + 2 * guess) / (row.total() + 2))
    return bits / (len(text) - cut - order)


by_counting = {order: counted(order) for order in range(1, 6)}
print(f"log2({len(vocabulary)}) = {math.log2(len(vocabulary)):.2f}")
for order, bits in by_counting.items():
    print(f"counting with the last {order}: {bits:.2f} bits per character")
best_table = min(by_counting.values())

# %% [markdown]
# With 5 characters the result is worse than with 4: many groups of five characters in the held-out text are rare in the
# other text, or they never appear there. A better model must use many earlier characters without a table.
#
# ## 5. Attention: each position reads earlier positions
#
# A GPT represents each position of the text by a vector. **Attention** lets a position read the vectors of other
# positions. From each vector, linear layers compute three vectors: a **query** $q$, a **key** $k$ and a **value** $v$,
# each of length $d$. The **attention weights** of position $i$ are the softmax of $q_i \cdot k_j / \sqrt d$ over all
# positions $j$. The result at position $i$ is the mean of the values $v_j$ with these weights.
#
# Position $i$ must predict the next character, so it must not read later positions. The **causal mask** sets their
# weights to 0. Several **heads** do this with separate queries, keys and values, and a linear layer joins their
# results. (Vaswani and others, "Attention is all you need", arXiv 1706.03762.)

# %%
WIDTH, HEADS, LAYERS = 64, 4, 2


class Attention(nn.Module):
    """From vectors (n, length, WIDTH) to vectors of the same shape; with is_causal, positions read no later ones."""

    def __init__(self, is_causal=True):
        super().__init__()
        self.is_causal = is_causal
        self.queries_keys_values = nn.Linear(WIDTH, 3 * WIDTH)
        self.joined = nn.Linear(WIDTH, WIDTH)

    def heads(self, x):
        """Return queries, keys and values, each of shape (n, HEADS, length, WIDTH // HEADS)."""
        n, length, _ = x.shape
        parts = self.queries_keys_values(x).reshape(n, length, 3, HEADS, WIDTH // HEADS)
        return parts.permute(2, 0, 3, 1, 4).unbind(0)

    def forward(self, x):
        q, k, v = self.heads(x)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal)
        return self.joined(y.transpose(1, 2).flatten(2))


# %% [markdown]
# ## 6. A small GPT
#
# A **block** is attention, then two linear layers at each position. The result of each part is *added* to its input, so
# gradients have a direct path through all blocks. `nn.LayerNorm` shifts and scales each vector separately, so that its
# elements have the mean 0 and the variance 1. It does not use the other vectors of the batch.
#
# The input of the first block is the sum of two vectors: one for the character and one for the position. `nn.Embedding`
# is a table with one learned vector per id.


# %%
class Block(nn.Module):
    """Attention and two linear layers, each added to its input."""

    def __init__(self, is_causal):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(WIDTH), Attention(is_causal)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.layers = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.layers(self.norm2(x))


class GPT(nn.Module):
    """From ids (n, length) to the scores of each next character, (n, length, characters)."""

    def __init__(self, characters, is_causal=True):
        super().__init__()
        self.characters, self.positions = nn.Embedding(characters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*[Block(is_causal) for _ in range(LAYERS)])
        self.norm, self.scores = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters)
        for table in (self.characters, self.positions):
            nn.init.normal_(table.weight, std=0.1)

    def vectors(self, ids):
        """Return the input of the first block."""
        return self.characters(ids) + self.positions(mg.arange(ids.shape[1]))

    def forward(self, ids):
        return self.scores(self.norm(self.blocks(self.vectors(ids))))


mg.manual_seed(0)
gpt = GPT(len(vocabulary))
x, target = next(iter(DataLoader(windows, batch_size=32, sampler=RandomSampler(windows))))
print(nn.summary(gpt, x))

# %% [markdown]
# Make two checks before the training. The loss at the start should be about the logarithm of the number of characters.
# And the scores at position 10 should depend on the vectors of positions 0 to 10. The network without the mask shows
# how the check looks if it fails:


# %%
def positions_read(model):
    """Return the positions whose vectors influence the scores at position 10."""
    vectors = mg.Var(mg.randn(CONTEXT, WIDTH))
    scores = model.scores(model.norm(model.blocks(vectors.unsqueeze(0))))
    return depends_on(scores[0, 10], vectors)


print(f"loss at the start {F.cross_entropy(gpt(x).flatten(0, 1), target.flatten()).item():.2f}, "
      f"log({len(vocabulary)}) is {math.log(len(vocabulary)):.2f}")  # fmt: skip
print("with the mask, position 10 depends on", positions_read(gpt))
print("without the mask, it depends on", positions_read(GPT(len(vocabulary), is_causal=False)))

# %% [markdown]
# Without the mask, position 10 reads position 11, and the character at position 11 is the answer. Such a network only
# learns to copy. After 400 steps of training it reaches 0.11 bits per character, on the held-out text too, but it
# cannot write. The loss looks excellent, but the gradient shows the bug.
#
# ## 7. Train the GPT, and generate text
#
# The training loop is the loop of chapter 13. If the total length of all gradients is larger than 1, one
# factor scales it to 1 (exercise 13.3), because a single unusual batch could otherwise change the parameters too much.


# %%
def train(model, steps=600, rate=6e-3):
    """Train with random windows; return the log."""
    optimizer = mg.optim.AdamW(model.parameters(), lr=rate)
    schedule = mg.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=steps, pct_start=0.1)
    sampler = RandomSampler(windows, replacement=True, num_samples=32 * steps)
    with mg.viz.Log(total=steps) as log:
        for x, target in DataLoader(windows, batch_size=32, sampler=sampler):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x).flatten(0, 1), target.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            log(bits=loss.item() / math.log(2), best_table=best_table)
    return log


@mg.no_grad()
def bits_per_character(model, windows):
    """Return the mean loss over windows that do not overlap, in bits."""
    total = count = 0
    for x, target in DataLoader(Subset(windows, range(0, len(windows), CONTEXT)), batch_size=64):
        total += F.cross_entropy(model(x).flatten(0, 1), target.flatten(), reduction="sum").item()
        count += target.numel()
    return total / count / math.log(2)


print(f"before: {bits_per_character(gpt, test_windows):.2f} bits per character on the held-out text")
log = train(gpt)
print(f"after:  {bits_per_character(gpt, test_windows):.2f} bits; the best table: {best_table:.2f}")

# %% [markdown]
# After 600 steps, the network is better than the table with two characters, although it reads only 1 or 2 characters at
# the beginning of each window. It is not better than the best table yet, but the curve still falls. The script
# [char_transformer.py](../examples/char_transformer.py) trains a larger network for 2500 steps and reaches 1.79 bits.
#
# To write, draw the next character from the predicted probabilities, append it, and predict again. The scores are
# divided by a **temperature** first. A low temperature prefers the most probable characters.


# %%
@mg.no_grad()
def written(model, start, count, temperature):
    """Return the start, continued by `count` characters."""
    ids = mg.tensor([vocabulary.index(c) for c in start])
    for _ in range(count):
        scores = model(ids[-CONTEXT:].unsqueeze(0))[0, -1]
        ids = mg.cat([ids, mg.multinomial((scores / temperature).softmax(-1), 1)])
    return windows.decode(ids)


mg.manual_seed(1)
for temperature in (0.3, 0.8):
    print(f"temperature {temperature}:")
    print(written(gpt, "The class ", 300, temperature), end="\n\n")

# %% [markdown]
# The network writes words, quotes and line breaks of about the right length. The sentences have no meaning, because the
# network was trained with only 600 batches of 32 short windows.
#
# ## 8. A look at attention
#
# Which earlier characters does a position read? Compute the attention weights of the last block for one piece of text.
# Row $i$ shows the weights with which position $i$ reads the columns $j \le i$; each row has the sum 1.


# %%
@mg.no_grad()
def attention_weights(model, ids):
    """Return the weights of the last block, (HEADS, length, length)."""
    *earlier, last = model.blocks
    x = model.vectors(ids.unsqueeze(0))
    for block in earlier:
        x = block(x)
    q, k, _ = last.attention.heads(last.norm1(x))
    later = mg.ones(len(ids), len(ids), dtype=mg.bool).triu(1)
    return (q @ k.mT * (WIDTH // HEADS) ** -0.5).masked_fill(later, -math.inf).softmax(-1)[0]


piece = "the value of the variable"
weights = attention_weights(gpt, mg.tensor([vocabulary.index(c) for c in piece]))
figure, axes = plt.subplots(1, HEADS, figsize=(12, 3.4))
for head, ax in enumerate(axes):
    ax.imshow(weights[head].numpy(), cmap="Blues")
    ax.set_xticks(range(len(piece)), piece, fontsize=6)
    ax.set_yticks(range(len(piece)), piece, fontsize=6)
    ax.set_title(f"head {head}", fontsize=9)
plt.show()
print("sums of rows:", weights.sum(-1).min().item(), "to", weights.sum(-1).max().item())

# %% [markdown]
# The upper right half is empty because of the causal mask. The heads differ. If one square of a row is dark, this
# position reads mostly one earlier character. If a row is pale, its position reads many characters.
#
# ## 9. Save the network
#
# The result of training is the values of the parameters. `mg.save` writes them to a file, in the safetensors format,
# which PyTorch programs can read as well. `mg.load` reads the file, and `load_state_dict` copies the values into a new
# network:

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "gpt.safetensors"
    mg.save(gpt.state_dict(), path)
    print(path.stat().st_size, "bytes for", sum(p.numel() for p in gpt.parameters()), "parameters")
    again = GPT(len(vocabulary))
    print(again.load_state_dict(mg.load(path)))
print("the same scores:", mg.equal(again(x), gpt(x)))

# %% [markdown]
# The next chapter, [15](15_compiled_steps.ipynb), makes a training step faster and does not change its results.
# [A1](A1_precision.ipynb) and [A2](A2_stability.ipynb) explain where floating-point numbers behave differently from
# real numbers; [A3](A3_from_pytorch.ipynb) ports a PyTorch script. Then train something of your own.
#
# ## Exercises
#
# **14.1** Compute the cost of a convolution. A layer `nn.Conv2d(inputs, outputs, kernel, stride, padding)` has a bias
# and receives one image of `side` x `side` pixels with `inputs` channels. Return three ints: the number of parameters,
# the side of the output image, and the number of multiply-adds (without the bias). All arguments are ints. Do not build
# the layer.

# %%
from minigrad.learning.grading import check, hint


def conv_cost(inputs, outputs, kernel, stride, padding, side):
    """Return (parameters, side of the output, multiply-adds)."""
    return ...  # write it here


check("14.1", conv_cost)

# %% [markdown]
# **14.2** Write causal attention with one head. `q`, `k` and `v` are float32 tensors of shape (length, d). Return a
# tensor of shape (length, d): row $i$ is the mean of the rows $j \le i$ of `v`, with the weights of section 5. The
# absolute and the relative tolerance are $10^{-3}$. Do not call `F.scaled_dot_product_attention`.


# %%
def attention(q, k, v):
    """Return a tensor of shape (length, d)."""
    return ...  # write it here


check("14.2", attention)

# %% [markdown]
# **14.3** Draw the next character. `scores` is a float64 NumPy array of shape (n,), `temperature` is a positive float,
# `k` is an int from 1 to n, and `u` is a random number in [0, 1). Only the `k` largest scores may be drawn. Their
# probabilities are the softmax of score / temperature among these `k`; all others are 0. Return the smallest index $i$
# for which the sum of the probabilities 0 to $i$ is greater than `u`. Scores may be as large as 1000.


# %%
def draw(scores, temperature, k, u):
    """Return an index into scores."""
    return ...  # write it here


check("14.3", draw)

# %% [markdown]
# **14.4** Write batch normalization as a module, for inputs of shape (n, size) with n > 1. It has the parameters
# `weight` (ones) and `bias` (zeros) and the buffers `running_mean` (zeros) and `running_var` (ones), all of shape
# (size,). In training mode it returns `(x - mean) / sqrt(var + eps) * weight + bias`, with the mean and the variance of
# each column (the variance divides by n). In training mode it also replaces each running value by
# `(1 - momentum) * old + momentum * new`, where the new variance divides by n - 1. In evaluation mode it uses the
# running values and does not change them. The absolute and the relative tolerance are $10^{-4}$ for outputs and
# buffers, and 0.002 for gradients. Do not use `nn.BatchNorm1d` or `F.batch_norm`.


# %%
class BatchNorm(nn.Module):
    """Batch normalization from (n, size) to (n, size)."""

    def __init__(self, size, eps=1e-5, momentum=0.1):
        super().__init__()

    def forward(self, x):
        return ...  # write it here


check("14.4", BatchNorm)
