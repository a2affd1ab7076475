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
# # 07 · The tensor engine
#
# Notebook 02 built an engine for single numbers. minigrad's engine computes gradients of tensors by the same method,
# and must solve three more problems: which values to save and for how long, how to detect that a saved value was
# overwritten, and how much memory the saved values need. You rebuild the backward pass on minigrad's own nodes, break
# it, and fix it.
#
# **One idea:** a node saves the values that its rules need in the backward pass. **One bug:** an in-place write that
# changes a saved value, first without an error, then with one. **One check:** version counters.

# %%
import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg

# %% [markdown]
# ## 1. The contents of a node
#
# Each op on a Var records a `BackpropOp`, a *node*. The result's `op` is this node. Here is a short chain of nodes.

# %%
x = mg.Var([0.5, 1.0, 2.0], name="x")
w = mg.Var([2.0, -1.0, 1.0], name="w")
h = (x * w).tanh()
y = h.sum()
mg.viz.graph(y)

# %%
node = h.op
print("name    ", node.name, " id", node.id)
print("parents ", [parent.name for parent in node.parents])
print("saved   ", [t.tolist() for t in node.saved])
print("versions", node.versions)

# %% [markdown]
# *Parents* are the nodes of the operands. For a Var the parent is the Var itself, and for a constant it is None. A node
# has no reference to its results, so Python frees the graph together with its last tensor. *Saved* are the values that
# the rule needs: `tanh` has the derivative $1 - y^2$, so it saved its output. The *id* grows with each node, so an
# operand always has a smaller id than its result. Section 5 shows the purpose of *versions*.
#
# A node has one method for the backward pass: `pull` takes the incoming gradients, runs the rules of the node, and
# returns pairs of a parent and its gradient. (The argument None requests the gradients of all parents. The argument
# False means that the call is not recorded, since no second derivative is needed.)

# %%
for parent, gradient in node.pull((mg.ones(3),), None, False):
    print("gradient of", parent.name, gradient.tolist())

# %% [markdown]
# ## 2. The engine in a dozen lines
#
# Collect the nodes from which `y` was computed. Visit them from the largest id to the smallest: then the gradient of a
# node is complete before the node is visited. This is the topological order of notebook 02, and it needs no search.
# Where two paths meet, add the gradients.


# %%
def nodes_under(y):
    """Return every node that y depends on, the newest first. A Var has no pull: the graph ends there."""
    found, waiting = {}, [y.op]
    while waiting:
        node = waiting.pop()
        if hasattr(node, "pull") and node.id not in found:
            found[node.id] = node
            waiting += [parent for parent in node.parents if parent is not None]
    return [found[k] for k in sorted(found, reverse=True)]


def gradients_of(y):
    """Return the gradient of each Var, by its id."""
    table = {y.op.id: mg.ones_like(y)}
    for node in nodes_under(y):
        arrived = table.pop(node.id)
        for parent, gradient in node.pull((arrived,), None, False):
            table[parent.id] = table[parent.id] + gradient if parent.id in table else gradient
    return table


found, reference = gradients_of(y), y.backward(retain_graph=True)
for v in (x, w):
    print(v.name, found[v.id].tolist(), reference[v].tolist())

# %% [markdown]
# The animation shows these visits for `h = (x * w).tanh()` and `y = (h * h + h).sum()`. Two paths meet at `h`, and a
# node frees its saved values after its visit:
#
# ![the visits of the engine, from the newest node to the oldest](../docs/pictures/07_the_engine.svg)
#
# In [engine.py](../minigrad/autodiff/engine.py), the functions `reachable` and `pull_back` follow these steps. They
# also add in place where no other tensor shares the sum, run hooks, support ops with several results, follow only the
# paths to inputs that require a gradient, and free the saved values after use. You can see the last point. Above,
# `retain_graph=True` prevented it. Without this argument, the backward pass frees the saved values:

# %%
y.backward()
print("saved:", node.saved)
try:
    y.backward()
except mg.MinigradError as error:
    print(error)

# %% [markdown]
# ## 3. Where a graph ends
#
# Recording stops in three cases. A *constant* was not computed from a Var. Under `no_grad` no op is recorded. And
# `detach` returns a tensor with the same memory and without a graph: the backward pass ends there.

# %%
constant = mg.ones(3) * 2.0
with mg.no_grad():
    unrecorded = x * w
detached = (x * w).detach()
for name, t in {"constant": constant, "under no_grad": unrecorded, "detached": detached}.items():
    print(f"{name:14} requires_grad={t.requires_grad}  op={t.op}")
h = x * w
print("a detached tensor has the memory of its source:", h.detach().storage is h.storage)

# %% [markdown]
# A graph may also be cut inside: $x \cdot \text{detach}(x)$ has the value $x^2$ and the gradient $x$, not $2x$.

# %%
print((x * x.detach()).tolist(), mg.grad((x * x.detach()).sum(), x).tolist())

# %% [markdown]
# ## 4. Hooks: inspect or change a gradient
#
# A hook is a function that receives the gradient of a value when it is complete. If the hook returns a tensor, that
# tensor replaces the gradient. A hook can therefore limit a gradient in the middle of a graph. `retain_grad` is a
# built-in hook: it stores the gradient of an intermediate value, which backward otherwise discards.

# %%
x.grad = None
h = x * 100.0
h.retain_grad()
handle = h.register_hook(lambda g: g.clamp(-1.0, 1.0))
(h * mg.tensor([0.1, 5.0, -7.0])).sum().backward()
print("at h:", h.grad.tolist(), " at x:", x.grad.tolist())
handle.remove()

# %% [markdown]
# The gradients of `h` were 0.1, 5 and -7. The hook limited them to 0.1, 1 and -1.
#
# ## 5. The bug: a saved value is overwritten
#
# Your data comes in batches. To save memory you read each batch into the same NumPy array, and `mg.from_numpy` makes a
# tensor of the array without a copy. You add the losses of two batches, then call `backward` once. The loss of a batch
# $d$ is $\sum_i w_i d_i$, so the gradient of $w$ is the sum of both batches: 11, 22, 33.

# %%
batches = ([1.0, 2.0, 3.0], [10.0, 20.0, 30.0])
buffer = np.empty(3, dtype=np.float32)


def total_loss(w, load):
    total = mg.zeros(())
    for batch in batches:
        data = load(batch)
        total = total + (w * data).sum()
    return total


def into_the_buffer(batch):
    buffer[:] = batch
    return mg.from_numpy(buffer)


loss = total_loss(w, into_the_buffer)
print("loss", loss.item(), "  gradient", mg.grad(loss, w).tolist())

# %% [markdown]
# The loss is right: $2 - 2 + 3 = 3$ for the first batch, and 30 for the second. The gradient is wrong: 20, 40, 60 is
# twice the second batch. What is the reason? `mul` saved its operand `data` for the backward pass, and not a copy of
# it. The second batch overwrote the first one, so the saved operand of `mul` became the second batch.
#
# There was no error, because NumPy wrote to the memory, not minigrad. Now let minigrad write:

# %%
tensor = mg.zeros(3)


def into_the_tensor(batch):
    return tensor.copy_(mg.tensor(batch))


loss = total_loss(w, into_the_tensor)
try:
    mg.grad(loss, w)
except mg.MinigradError as error:
    print(error)

# %% [markdown]
# Each storage has a **version**, a counter that every write by minigrad increases by one. A node stores the versions of
# the values that it saves, and the backward pass compares them before it begins. The cost is one comparison per saved
# value. Here is the whole check:


# %%
def spoiled(y):
    """Return a line for each saved value that was overwritten later."""
    found = []
    for node in nodes_under(y):
        for t, version in zip(node.saved or (), node.versions):
            if t.storage.version != version:
                found.append(f"{node.name} saved version {version}, now it is version {t.storage.version}")
    return found


print("written by minigrad:", spoiled(loss))
print("written by NumPy:   ", spoiled(total_loss(w, into_the_buffer)))

# %% [markdown]
# The operand of the first product was overwritten; the operand of the second product was not. minigrad cannot see
# writes that NumPy makes; `gradcheck` can find their effect. But which line of your program wrote? Under `mg.debug()`
# the write itself raises an error, at its own line, and the message names the op that needs the value:

# %%
with mg.debug():
    try:
        total_loss(w, into_the_tensor)
    except mg.MinigradError as error:
        print(error)

# %% [markdown]
# **The fix.** Do not write to a value that a node has saved. Give each batch its own memory: `mg.tensor` copies an
# array, and `clone()` copies a tensor.


# %%
def into_the_buffer_and_out(batch):
    buffer[:] = batch
    return mg.tensor(buffer)


loss = total_loss(w, into_the_buffer_and_out)
print("spoiled:", spoiled(loss))
print("loss", loss.item(), "  gradient", mg.grad(loss, w).tolist())

# %% [markdown]
# Not every in-place write is wrong; it depends on the saved values. `tanh` and `exp` need their output, `sin` needs its
# operand, and a product with a number needs only the number. So you may overwrite the output of `sin`, but not the
# output of `exp`:

# %%
for name in ("tanh", "exp", "sin", "neg"):
    h = getattr(x * 1.0, name)()
    h.add_(1.0)
    print(f"{name:5} output overwritten:", spoiled(h) or f"fine, gradient {mg.grad(h.sum(), x).tolist()}")

# %% [markdown]
# minigrad refuses to write to a Var, since such a write is often a mistake. A training step does intend to write to its
# Vars, so it runs under `no_grad`. Do not place a training step between a forward pass and its backward pass:

# %%
loss = (w * w).sum()
try:
    w.sub_(0.1)
except mg.MinigradError as error:
    print(error)
with mg.no_grad():
    w.sub_(0.1)
print(spoiled(loss))

# %% [markdown]
# ## 6. The memory of saved values
#
# A deep network saves about one tensor per layer, from the forward pass to the backward pass. `mg.tape` lists the saved
# tensors, op by op.

# %%
deep = mg.Var(mg.ones(64, 64) * 0.9, name="deep")
start = mg.Var(mg.ones(64, 64) * 0.5, name="start")


def layers(h, count):
    for _ in range(count):
        h = (h * deep).tanh()
    return h


mg.tape(layers(start, 3).sum())

# %% [markdown]
# A 64 by 64 matrix of float32 has 16 kB. Each `tanh` saves its output. Each product needs both operands, but neither
# costs memory: one is a Var, which exists anyway, and the other was already saved by the `tanh` before. So each layer
# saves 16 kB. With 16 layers, the memory changes over time as follows:

# %%
plain = layers(start, 16).sum()
mg.viz.memory(plain)

# %% [markdown]
# Each bar is the memory that one op has saved. It begins at the call of the op, on the left, and ends at its turn in
# the backward pass, on the right. The bar of the first op is the longest, because the backward pass visits this op
# last. Gradients are orange. The peak is in the middle, where no value has been freed yet.
#
# **Checkpoints** trade time for memory. `mg.checkpoint(f, h)` runs `f` and saves only `h`. In the backward pass it runs
# `f` again, and stores the saved values of this piece only while they are needed. Here are four pieces of four layers:

# %%
runs = 0


def piece(h, count):
    global runs
    runs += count
    return layers(h, count)


def in_pieces(size):
    h = start
    for _ in range(16 // size):
        h = mg.checkpoint(piece, h, size)
    return h.sum()


pieces = in_pieces(4)
mg.viz.memory(pieces)

# %% [markdown]
# There are three bars instead of sixteen: the inputs of three pieces. (The input of the first piece is a Var.) On the
# right you see the saved values of each piece, which are computed again and then freed. The peak is half as high, and
# the gradient has exactly the same values. The price is a second run of each layer:

# %%
runs = 0
pieces = in_pieces(4)
print("layers run in the forward pass: ", runs)
same = mg.grad(pieces, deep).tolist() == mg.grad(plain, deep, retain_graph=True).tolist()
print("and after the backward pass:    ", runs, "  the same gradient:", same)
for what, y in (("plain", plain), ("in pieces", in_pieces(4))):
    print(f"{what}: at most {mg.viz.memory(y).peak // 1024} kB")

# %% [markdown]
# How large should a piece be? With $n$ layers and pieces of $s$ layers, about $n / s$ inputs are saved, and $s$ values
# are computed again at a time. The sum $n / s + s$ has its minimum at $s = \sqrt n$, which is four here.

# %%
sizes = (1, 2, 4, 8, 16)
peaks = [mg.viz.memory(in_pieces(size)).peak / 1024 for size in sizes]
plt.plot(sizes, peaks, "o-", label="in pieces")
plt.axhline(mg.viz.memory(plain).peak / 1024, color="grey", linestyle="--", label="without checkpoints")
plt.xscale("log", base=2)
plt.ylim(0)
plt.xlabel("layers per piece")
plt.ylabel("peak in kB")
plt.legend()
plt.show()

# %% [markdown]
# The memory grows with the square root of the depth instead of the depth, at the cost of one more forward pass. This
# works because each node lists the values that it saves. The class of the node is in
# [graph.py](../minigrad/runtime/graph.py). The checkpoint is in [checkpoint.py](../minigrad/autodiff/checkpoint.py); it
# replaces each saved value with an empty placeholder.
#
# ## Exercises
#
# Write your answer, then run the cell: `check` reports the result. `hint("07.1")` prints a hint, and a larger one at
# each further call.
#
# **07.1** Return the names of the nodes from which `y` was computed, a list of strings, in the order in which the
# backward pass visits them. Each node appears once.

# %%
from minigrad.learning.grading import check, hint


def order(y):
    """Return the names of the nodes under y in the order of the backward pass."""
    return ...  # write it here


check("07.1", order)

# %% [markdown]
# **07.2** Compute the gradient of the sum of `y` with respect to a Var `x`. Use `node.pull`; do not use `backward` or
# `mg.grad`. Begin with a gradient of ones for `y`. Return a tensor with the shape of `x`: zeros if `y` does not depend
# on `x`. The absolute and the relative tolerance are $10^{-5}$.


# %%
def my_grad(y, x):
    """Return the gradient of the sum of y with respect to x."""
    return ...  # write it here


check("07.2", my_grad)

# %% [markdown]
# **07.3** Clip a gradient by its norm. Register a hook on the tensor `h`. If the norm of the gradient (the root of the
# sum of its squares) is larger than `limit`, a positive number, the hook scales the gradient to the norm `limit`.
# Otherwise the gradient stays unchanged. Return the result of `register_hook`. The absolute and the relative tolerance
# are $10^{-5}$.


# %%
def clip(h, limit):
    """Register a hook on h that limits the norm of its gradient; return the handle."""
    return ...  # write it here


check("07.3", clip)

# %% [markdown]
# **07.4** How many bytes does a graph save? Sum `t.storage.buffer.nbytes` over the saved values of all nodes. Count
# each storage once, and do not count the storages of Vars. Return an integer.


# %%
def held(y):
    """Return the bytes that the nodes under y save for the backward pass."""
    return ...  # write it here


check("07.4", held)

# %% [markdown]
# **07.5** A network is a list of functions; each takes a tensor and returns a tensor. Run the network on the tensor `h`
# in pieces of `size` functions, each piece in one checkpoint. The last piece may be shorter. Return the result of the
# last function. A call runs each function once, and the backward pass runs each function once more. The absolute and
# the relative tolerance are $10^{-5}$.


# %%
def in_checkpoints(functions, h, size):
    """Return the result of all functions in turn, with one checkpoint per `size` functions."""
    return ...  # write it here


check("07.5", in_checkpoints)
