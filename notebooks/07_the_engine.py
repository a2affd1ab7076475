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
# Notebook 02 built an engine for single numbers. minigrad's engine does the same with tensors, and has three problems
# that numbers do not have: which values to save and for how long, how to notice that a saved value was overwritten, and
# how much memory all of them take. You rebuild the backward pass on minigrad's own nodes, break it, and fix it.
#
# **One idea:** a node keeps what its rules will need, and the walk back hands it in. **One bug:** a write in place that
# changes a kept value, first in silence, then noticed. **One check:** version numbers.

# %%
import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg

# %% [markdown]
# ## 1. The contents of a node
#
# Each op on a Var leaves a `BackpropOp`; the result's `op` is its node. Here is a short chain of them.

# %%
x = mg.Var([0.5, 1.0, 2.0], name="x")
w = mg.Var([2.0, -1.0, 1.0], name="w")
h = (x * w).tanh()
y = h.sum()
mg.viz.graph(y)

# %%
node = h.op
print("name    ", node.name, " number", node.id)
print("parents ", [parent.name for parent in node.parents])
print("saved   ", [t.tolist() for t in node.saved])
print("versions", node.versions)

# %% [markdown]
# *Parents* are the nodes of the operands; where a Var was an operand, the Var itself; None for a constant. Nothing
# points the other way: when the last tensor of a graph goes, so does the graph. *Saved* is what the rule declared:
# `tanh` has the slope $1 - y^2$, so it saved its output. The *number* grows with each node, so an operand always has a
# smaller number than its result. Section 5 shows the purpose of *versions*.
#
# A node has one method for the backward pass: `pull` takes the incoming gradients, runs the rules of the node, and
# returns pairs of a parent and its gradient. (None means: for all parents. False means: do not record this call, since
# no second derivative is needed.)

# %%
for parent, gradient in node.pull((mg.ones(3),), None, False):
    print(parent.name, "gets", gradient.tolist())

# %% [markdown]
# ## 2. The engine in a dozen lines
#
# Collect the nodes under `y`. Go through them from the largest number to the smallest: then all that a node will ever
# receive has come before its turn. That is the topological order of notebook 02, and it cost nothing. Where two paths
# meet, add.


# %%
def nodes_under(y):
    """Every node that y depends on, the newest first.  A Var has no pull: there the graph ends."""
    found, waiting = {}, [y.op]
    while waiting:
        node = waiting.pop()
        if hasattr(node, "pull") and node.id not in found:
            found[node.id] = node
            waiting += [parent for parent in node.parents if parent is not None]
    return [found[k] for k in sorted(found, reverse=True)]


def gradients_of(y):
    """The gradient of each Var, by its number."""
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
# That is [engine.py](../minigrad/autodiff/engine.py), functions `reachable` and `pull_back`, less what makes it safe
# and fast: it adds in place where nobody else holds the sum, runs hooks, takes ops of several results, follows only the
# paths that lead to an asked input, and frees what it has used. The last of these you can see. Above, `retain_graph`
# held it off; now:

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
# Three ways to stop recording. A *constant* was made from no Var. Under `no_grad` nothing is recorded at all. And
# `detach` gives the same memory without the history: the walk ends there.

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
# ## 4. Hooks: to look, or to change
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
# The gradients at `h` were 0.1, 5 and -7; behind the hook they are 0.1, 1 and -1.
#
# ## 5. The bug: a value is not what it was
#
# You have data in batches. To be thrifty you read each into the same NumPy array, and `mg.from_numpy` makes a tensor of
# it without a copy. The losses of two batches are added, and then comes one backward. The loss of a batch $d$ is
# $\sum_i w_i d_i$, so the gradient of $w$ is the sum of both batches: 11, 22, 33.

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
# The loss is right ($2 - 2 + 3$ is 3, and ten times that 30). The gradient is not; 20, 40, 60 is twice the second
# batch. Do you see why? `mul` saved its operand `data` for the backward pass, and not a copy of it. The second batch
# overwrote the first one, so the saved operand of `mul` became the second batch.
#
# No error! minigrad did not write, NumPy did. Now do the same with minigrad's own writing.

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
# minigrad counts. Each storage has a **version**, and every write by minigrad raises it by one. A node stores the
# versions of the values that it saves, and the backward pass compares them before it begins. The cost is one comparison
# per saved value. Here is the whole check:


# %%
def spoiled(y):
    """Nodes whose saved values were written since."""
    found = []
    for node in nodes_under(y):
        for t, version in zip(node.saved or (), node.versions):
            if t.storage.version != version:
                found.append(f"{node.name} saved version {version}, and there is version {t.storage.version}")
    return found


print("written by minigrad:", spoiled(loss))
print("written by NumPy:   ", spoiled(total_loss(w, into_the_buffer)))

# %% [markdown]
# The first product has been spoiled, the second has not. minigrad cannot see writes that NumPy makes; `gradcheck` can
# find their effect. But which line of yours did it? Under `mg.debug()` the write itself raises an error, at its own
# line, and the message names the op that needs the value:

# %%
with mg.debug():
    try:
        total_loss(w, into_the_tensor)
    except mg.MinigradError as error:
        print(error)

# %% [markdown]
# **Mend it.** A value that somebody has saved must not be written. Give each batch memory of its own: `mg.tensor`
# copies an array, `clone()` a tensor.


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
# A Var is never overwritten by accident. A step of training is a write to one that is meant, so say so; but not between
# a forward and its backward:

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
# A deep net keeps a tensor or so for each layer, from its forward to its backward. `mg.tape` lists it, op by op.

# %%
deep = mg.Var(mg.ones(64, 64) * 0.9, name="deep")
start = mg.Var(mg.ones(64, 64) * 0.5, name="start")


def layers(h, count):
    for _ in range(count):
        h = (h * deep).tanh()
    return h


mg.tape(layers(start, 3).sum())

# %% [markdown]
# 64 by 64 float32 are 16 kB. Each `tanh` saves its output; each product needs its operands, but one is a Var, which is
# there anyway, and the other is what the `tanh` before has saved already. So it is 16 kB a layer. Over time, with 16
# layers:

# %%
plain = layers(start, 16).sum()
mg.viz.memory(plain)

# %% [markdown]
# Each bar is what one op has saved: held from its call on the left to its turn on the way back, on the right. The first
# op's is the longest: last in, first out. In orange, the gradients on their way. The peak is in the middle, where
# everything is still held.
#
# **Checkpoints** sell time for memory. `mg.checkpoint(f, h)` runs `f` and keeps only `h`; on the way back it runs `f`
# again, and has the saved values of this one piece for as long as they are needed. Four pieces of four layers:

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
# Three bars instead of sixteen: the inputs of three pieces. (That of the first is a Var.) On the right you see each
# piece come back and go. The peak has fallen to half, and the gradient is the same, number for number. The price is one
# more run of each layer:

# %%
runs = 0
pieces = in_pieces(4)
print("runs of a layer on the way forward:", runs)
same = mg.grad(pieces, deep).tolist() == mg.grad(plain, deep, retain_graph=True).tolist()
print("and when the gradient is there:    ", runs, "  the same gradient:", same)
for what, y in (("plain", plain), ("in pieces", in_pieces(4))):
    print(f"{what}: at most {mg.viz.memory(y).peak // 1024} kB")

# %% [markdown]
# How large should a piece be? With $n$ layers and pieces of $s$, about $n / s$ inputs are kept, and $s$ values come
# back at a time. $n / s + s$ is least at $s = \sqrt n$: four, here.

# %%
sizes = (1, 2, 4, 8, 16)
peaks = [mg.viz.memory(in_pieces(size)).peak / 1024 for size in sizes]
plt.plot(sizes, peaks, "o-", label="in pieces")
plt.axhline(mg.viz.memory(plain).peak / 1024, color="grey", linestyle="--", label="without checkpoints")
plt.xscale("log", base=2)
plt.ylim(0)
plt.xlabel("layers in a piece")
plt.ylabel("peak in kB")
plt.legend()
plt.show()

# %% [markdown]
# Memory grows with the square root of the depth instead of the depth, for one more forward. This works because each
# node lists the values that it saves. You find the node in [graph.py](../minigrad/runtime/graph.py). The checkpoint is
# in [checkpoint.py](../minigrad/autodiff/checkpoint.py); it replaces each saved value by an empty holder.
#
# ## Exercises
#
# Write, run, and let the cell tell you. `hint("07.1")` gives a hint, and asked again a larger one.

# %%
from minigrad.learning.grading import check, hint


def order(y):
    """The names of the nodes under y, each node once, in the order of the walk back."""
    return ...  # write it here


check("07.1", order)

# %% [markdown]
# **07.2** The gradient of `y` with respect to a Var `x`, by `node.pull` and without `backward` and `mg.grad`. If `y`
# does not depend on `x`, return zeros. The gradient of `y` itself is ones.


# %%
def my_grad(y, x):
    """The gradient of the sum of y with respect to x."""
    return ...  # write it here


check("07.2", my_grad)

# %% [markdown]
# **07.3** Clipping by length. Register a hook on the value `h`, so that a gradient that is longer than `limit` is
# scaled to that length, and a shorter one passes as it is. The length is the root of the sum of squares. Return what
# `register_hook` gives.


# %%
def clip(h, limit):
    """A hook on h that keeps its gradient no longer than limit."""
    return ...  # write it here


check("07.3", clip)

# %% [markdown]
# **07.4** How many bytes does a graph hold? Add up `t.storage.buffer.nbytes` of the values that the nodes have saved.
# Count each storage once, and do not count the storages of Vars.


# %%
def held(y):
    """Bytes that the nodes under y hold for the way back."""
    return ...  # write it here


check("07.4", held)

# %% [markdown]
# **07.5** A net is a list of functions. Run it on `h` in pieces of `size` functions, each piece in a checkpoint; the
# last piece may be shorter.


# %%
def in_checkpoints(functions, h, size):
    """All functions one after the other, each piece of `size` of them in one checkpoint."""
    return ...  # write it here


check("07.5", in_checkpoints)
