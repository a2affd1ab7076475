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
# # 05 · Tensors are strides
#
# Memory is one long row of numbers. A matrix has two dimensions, so a formula must define where element `[i, j]` is. A
# minigrad tensor consists of a buffer, a shape, strides and an offset. If you change the shape, the strides or the
# offset, the same memory represents another tensor: transposed, flipped, with gaps, or with repeated rows. In this
# notebook you write this arithmetic, measure its cost, and see a bug that it makes possible.
#
# **One idea:** a tensor is a buffer and a formula from an index to a position. **One bug:** a write through a view that
# changes more elements than you intended. **One check:** count the positions.

# %%
import time

import matplotlib.pyplot as plt

import minigrad as mg

# %% [markdown]
# ## 1. A buffer and a formula
#
# `mg.viz.layout` draws a tensor and its memory. The upper part is the buffer, position by position. The lower part
# shows the elements; the number after the @ is the position of the element. Equal positions have equal colours.

# %%
a = mg.arange(0, 120, 10).reshape(3, 4)
mg.viz.layout(a)

# %% [markdown]
# The first line shows the formula: element `[i, j]` is at `4*i + j`. One row down is a step of four positions, one
# column to the right is a step of one. These two numbers are the **strides**. In general
#
# $$\text{position}(i_0, i_1, \dots) = \text{offset} + \sum_d i_d \cdot \text{stride}_d .$$
#
# Here is the formula in Python. The function computes the position of every index; the last line reads these positions
# from a list.

# %%
from itertools import product


def positions(x):
    """Return the position of each element, in the order of the indices."""
    found = []
    for index in product(*(range(n) for n in x.shape)):
        found.append(x.offset + sum(i * s for i, s in zip(index, x.strides)))
    return found


memory = list(range(0, 120, 10))
print("shape", a.shape, " strides", a.strides, " offset", a.offset)
print([memory[p] for p in positions(a)])

# %% [markdown]
# ## 2. Views move nothing
#
# To transpose a matrix, do you have to move its elements? Swap the strides instead: now a step *down* is one position,
# and a step to the *right* is four.

# %%
mg.viz.layout(a.T)

# %% [markdown]
# The memory in the upper part is unchanged; only the elements below are read in another order. `print` shows the
# picture as text, with one more line: how many elements use each position. A slice with a step multiplies a stride, and
# skips positions:

# %%
print(mg.viz.layout(a[:, ::2]))

# %% [markdown]
# To read backwards, as in `a[:, ::-1]`, start at the last element and go back: the offset grows, and the stride is
# negative.

# %%
mg.viz.layout(a.flip(1))

# %% [markdown]
# These views need only a few lines of code. Here is a class of views; a view has no elements, only a shape, strides and
# an offset. The loop below compares its positions with those of minigrad's views.

# %%
from dataclasses import dataclass


@dataclass
class View:
    shape: tuple
    strides: tuple
    offset: int

    def transposed(self):
        return View(self.shape[::-1], self.strides[::-1], self.offset)

    def row(self, i):
        return View(self.shape[1:], self.strides[1:], self.offset + i * self.strides[0])

    def rows(self, start, step):
        count = len(range(start, self.shape[0], step))
        strides = (self.strides[0] * step, *self.strides[1:])
        return View((count, *self.shape[1:]), strides, self.offset + start * self.strides[0])


ours = View((3, 4), (4, 1), 0)
for mine, theirs in (
    (ours.transposed(), a.T),
    (ours.row(2), a[2]),
    (ours.rows(1, 2), a[1::2]),
    (ours.transposed().rows(1, 2).row(1), a.T[1::2][1]),
):
    assert positions(mine) == positions(theirs) and theirs.storage is a.storage
    print(mine, positions(mine))

# %% [markdown]
# ## 3. Stride 0: one row read many times
#
# To add a row to each row of a matrix, the row must have as many rows as the matrix. Do you have to copy it three
# times? A stride of 0 needs no copy: a step down stays at the same position.

# %%
row = mg.arange(4)
tall = row.expand(3, 4)
mg.viz.layout(tall)

# %% [markdown]
# The twelve elements use four positions. This is *broadcasting*: in `a + row` the loop runs over the shape `(3, 4)` for
# both operands, and the strides of `row` are `(0, 1)`. So a row can be added to a matrix of any height, and needs no
# new memory:

# %%
huge = row.expand(1_000_000, 4)
print("elements:", huge.numel(), " strides:", huge.strides, " the same storage:", huge.storage is row.storage)
print((a + row).tolist())

# %% [markdown]
# Elements can also share a position when no stride is 0. Windows that slide over a row overlap: a step *down* is one
# position, and so is a step to the *right*.

# %%
windows = mg.arange(6).unfold(0, 3, 1)
print(mg.viz.layout(windows))

# %% [markdown]
# `x2` and `x3` mark positions that two or three elements share. Section 6 uses such shared positions.
#
# ## 4. When a reshape must copy
#
# To give `a` another shape, another formula is often enough. Take all twelve elements as one row: elements that follow
# each other in `a` are neighbours in memory, so the strides `(1,)` are right. Such a tensor is called **contiguous**.
# The transposed matrix is different:

# %%
print("positions of a:  ", positions(a))
print("positions of a.T:", positions(a.T))

# %% [markdown]
# The positions of `a.T` begin with 0, 4, 8, 1. No single stride produces this sequence. For such a tensor, `reshape`
# copies, and `view` raises an error. After a `reshape`, compare the storages if you need to know whether you have a
# view or a copy.

# %%
print("a.reshape(12) shares memory:  ", a.reshape(12).storage is a.storage)
print("a.T.reshape(12) shares memory:", a.T.reshape(12).storage is a.storage)
try:
    a.T.view(12)
except mg.MinigradError as error:
    print(error)

# %% [markdown]
# The rule: two neighbouring dimensions can be merged if a full run through the right one ends where the next step of
# the left one begins, that is, if `stride[left] == size[right] * stride[right]`. For `a` this condition is
# `4 == 4 * 1`, which is true. For `a.T` the condition is `1 == 3 * 4`, which is false. A tensor that is not contiguous
# can satisfy the condition too. Every second column of `a` leaves gaps, but all gaps have the same size, so one stride
# is enough.

# %%
every_second = a[:, ::2]
flat = every_second.reshape(6)
print("strides", every_second.strides, "->", flat.strides, " shared:", flat.storage is a.storage)

# %% [markdown]
# ## 5. The cost of a layout
#
# Making a view is free, but *reading* it is not. The processor fetches memory in lines of 64 bytes, which are 16
# float32 numbers. A loop that reads in order uses all 16 numbers. With a step of 16, the processor fetches a whole line
# for one number. The next cell has seven layouts with the same number of elements. It sums and copies each of them, on
# one thread.

# %%
n = 512
wide = mg.zeros(n, 16 * n)
dense = mg.zeros(n, n)
layouts = {
    "dense": dense,
    "expanded row": dense[0].expand(n, n),
    "rows flipped": dense.flip(0),
    "columns flipped": dense.flip(1),
    "transposed": dense.T,
    "step 4": wide[:, : 4 * n : 4],
    "step 16": wide[:, ::16],
}


def nanoseconds(call):
    """Return the shortest time of several calls, in ns per element; the first call, which may compile, is not timed."""
    call()
    times = []
    for _ in range(7):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e9 / (n * n)


threads = mg.get_num_threads()
mg.set_num_threads(1)
sums = {name: nanoseconds(x.sum) for name, x in layouts.items()}
copies = {name: nanoseconds(x.clone) for name, x in layouts.items()}
mg.set_num_threads(threads)

# %%
for shift, (name, costs) in zip((-0.2, 0.2), (("sum", sums), ("copy", copies))):
    plt.barh([k + shift for k in range(len(costs))], list(costs.values()), height=0.4, label=name)
plt.yticks(range(len(layouts)), list(layouts))
plt.gca().invert_yaxis()
plt.xlabel("nanoseconds per element")
plt.legend()
plt.show()

# %% [markdown]
# Your bars depend on your machine; look for these patterns. The expanded row is always cheap: it is one row, and it
# stays in the cache. The layouts with a step are expensive. Compare the two bars of *transposed* and of *columns
# flipped*: copying them is more expensive than copying dense elements, but summing them is not. A sum may add its
# elements in any order, so the kernel reads the memory forwards, whatever the formula is. A copy must write in the
# order of the indices.
#
# So if you read a strided view many times, call `contiguous()` once. It copies the elements, and every later read is a
# read of dense memory.
#
# ## 6. The bug: a write that changes too much
#
# You train, and after each step you store the first row of the weights, to plot it later. What do you expect to see?

# %%
weights = mg.zeros(2, 3)
first_row = []
for _ in range(3):
    weights.add_(1.0)
    first_row.append(weights[0])
print([x.tolist() for x in first_row])

# %% [markdown]
# You did not get 1, 2, 3. `weights[0]` is a view: it contains positions, not values. All three entries of the list
# refer to the same three positions, and show the values that are there *now*. The values were read too late. Another
# mistake is a write that changes too many elements. Here we want to change only a copy of the first two elements, but
# we change the matrix:

# %%
table = mg.zeros(2, 3)
head = table.reshape(6)[:2]
head.fill_(7.0)
print(table.tolist())

# %% [markdown]
# Both programs are valid. To write to a part of a tensor, you write through a view: `weights[0] = 1.0` does exactly
# this. minigrad cannot detect your intention. But one kind of write is never intended, and it raises an error:

# %%
noise = mg.zeros(4).expand(3, 4)
try:
    noise.add_(1.0)
except mg.MinigradError as error:
    print(error)

# %% [markdown]
# Elements `[0, 0]`, `[1, 0]` and `[2, 0]` share one position, so it is not clear whether `add_` should add 1 once or
# three times. `noise[0, 0] = 1.0` is clear, so it is allowed, but all three elements change. The same happens in NumPy
# if you build such a view by hand. You write one number, and three elements change:

# %%
import numpy as np

numbers = np.zeros(4)
trap = np.lib.stride_tricks.as_strided(numbers, (3, 4), (0, 8))
trap[0, 0] = 1.0
print(trap.tolist())

# %% [markdown]
# **The fix.** Values that you want to keep, or to change alone, need their own memory. `clone()` always copies.
# `contiguous()` is not enough here: it copies only if the layout is not contiguous, but the layout of `weights[0]` is
# contiguous.

# %%
weights = mg.zeros(2, 3)
first_row = []
for _ in range(3):
    weights.add_(1.0)
    first_row.append(weights[0].clone())
print([x.tolist() for x in first_row])

noise = mg.zeros(4).expand(3, 4).clone()
noise[0, 0] = 1.0
print(noise.tolist())

# %% [markdown]
# **The check.** Before a write, answer two questions by counting positions. *Do elements of this tensor share a
# position?* If they do, there are fewer positions than elements. *Does this tensor share positions with another
# tensor?* If it does, both tensors have the same storage, and some positions belong to both tensors.


# %%
def overlaps_itself(x):
    """Return whether two elements share a position."""
    return len(set(positions(x))) < x.numel()


def touches(x, y):
    """Return whether a write to x can change y."""
    return x.storage is y.storage and not set(positions(x)).isdisjoint(positions(y))


print("the expanded noise:", overlaps_itself(mg.zeros(4).expand(3, 4)), " its clone:", overlaps_itself(noise))
print("windows:", overlaps_itself(windows), " a.T:", overlaps_itself(a.T))
print("a row and its matrix:", touches(weights[0], weights), " its clone:", touches(first_row[-1], weights))
print("row 0 and row 1:", touches(a[0], a[1]), " even and odd columns:", touches(a[:, ::2], a[:, 1::2]))

# %% [markdown]
# ## 7. The layout in minigrad's source
#
# All views are arithmetic on a `Layout`: a shape, strides and an offset. The class is in
# [layout.py](../minigrad/core/layout.py). `permute`, `slice`, `flip` and `diagonal` are a few lines each. `reshape`
# returns None if a copy is needed. `may_overlap_itself` replaces your check, because counting is slow for a million
# elements. This method reads only the shape and the strides, and returns True if they do not decide the question. A
# layout needs no memory, so you can try all of this on the layout alone:

# %%
layout = a.layout
print(layout)
print("transposed:", layout.transpose(0, 1))
print("in one row:", layout.reshape((12,)), " after transposing:", layout.transpose(0, 1).reshape((12,)))
print("diagonal:  ", layout.diagonal(), "of", a.diagonal().tolist())
print("overlap:   ", layout.may_overlap_itself(), windows.layout.may_overlap_itself())

# %% [markdown]
# ## Exercises
#
# Write your answer, then run the cell: `check` reports the result. `hint("05.1")` prints a hint, and a larger one at
# each further call. In all exercises `shape` and `strides` are tuples of integers.
#
# **05.1** Compute the position of the element at `index` in the buffer. `index` and `strides` are tuples of integers,
# and `offset` is an integer. Return an integer. A tensor without dimensions has the index `()`.

# %%
from minigrad.learning.grading import check, hint


def position(strides, offset, index):
    """Return the position of the element at `index`, a tuple."""
    return ...  # write it here


check("05.1", position)

# %% [markdown]
# **05.2** Flip dimension `dim` of a tensor with `shape`, `strides` and `offset`. Return the new strides, as a tuple,
# and the new offset. (No dimension is empty.)


# %%
def flipped(shape, strides, offset, dim):
    """Return (strides, offset) of the view that reads `dim` backwards."""
    return ...  # write it here


check("05.2", flipped)

# %% [markdown]
# **05.3** Broadcast a tensor of `shape` and `strides` to the shape `target`. The shapes are aligned at their *right*
# ends. A dimension of size 1 may become any size, and dimensions that are missing on the left are new. Return the
# strides of the result, as a tuple.


# %%
def broadcast_strides(shape, strides, target):
    """Return a tuple with one stride for each dimension of `target`."""
    return ...  # write it here


check("05.3", broadcast_strides)

# %% [markdown]
# **05.4** Can a tensor with `shape` and `strides` be reshaped to one row without a copy? Return True or False. Ignore
# dimensions of size 1: the stride of such a dimension is never used. (No dimension is empty.)


# %%
def flattens(shape, strides):
    """Return whether one stride reaches all elements in order."""
    return ...  # write it here


check("05.4", flattens)

# %% [markdown]
# **05.5** Put sliding windows over a contiguous row of `n` elements. Each window has `size` elements, and the next
# window starts `step` elements later. Leave out windows that do not fit. Return the shape and the strides of the view,
# both as tuples; the shape is (number of windows, `size`).


# %%
def sliding(n, size, step):
    """Return (shape, strides) of the view."""
    return ...  # write it here


check("05.5", sliding)
