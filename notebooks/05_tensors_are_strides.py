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
# # 05 · Tensors are strides
#
# Memory is one long row of numbers. A matrix is not a row, so somebody has to say where element `[i, j]` lies. In
# minigrad four things say it: a buffer, a shape, strides, an offset. Change the last three, and the same memory is
# another tensor: transposed, flipped, thinned out, repeated. You build that arithmetic here, and see what it costs and
# where it bites.
#
# **One idea:** a tensor is a buffer and a formula from index to place. **One bug:** a write through a view that changes
# more than was meant. **One check:** count the places.

# %%
import time

import matplotlib.pyplot as plt

import minigrad as mg

# %% [markdown]
# ## 1. A buffer and a formula
#
# `mg.viz.layout` draws a tensor over its memory: above the buffer, place by place; below the elements, each with the
# place where it lies, after an @. The colour goes with the place.

# %%
a = mg.arange(0, 120, 10).reshape(3, 4)
mg.viz.layout(a)

# %% [markdown]
# The first line shows the formula: element `[i, j]` is at `4*i + j`. One row down is a step of four places, one column
# to the right is a step of one. These two numbers are the **strides**. In general
#
# $$\text{place}(i_0, i_1, \dots) = \text{offset} + \sum_d i_d \cdot \text{stride}_d .$$
#
# Here it is in Python. It goes through all indices and looks each place up in a list.

# %%
from itertools import product


def places(x):
    """The place of each element, in the order of the indices."""
    found = []
    for index in product(*(range(n) for n in x.shape)):
        found.append(x.offset + sum(i * s for i, s in zip(index, x.strides)))
    return found


memory = list(range(0, 120, 10))
print("shape", a.shape, " strides", a.strides, " offset", a.offset)
print([memory[p] for p in places(a)])

# %% [markdown]
# ## 2. Views move nothing
#
# To transpose a matrix, do you have to move its elements? Swap the strides instead: now a step *down* is one place, and
# a step to the *right* four.

# %%
mg.viz.layout(a.T)

# %% [markdown]
# The memory above is as it was; only the reading below has changed. Printed, the picture is text (it has a third line
# for the memory: how many elements lie at each place). A slice with a step multiplies a stride, and leaves places out:

# %%
print(mg.viz.layout(a[:, ::2]))

# %% [markdown]
# To read backwards, as in `a[:, ::-1]`, start at the last element and go back: the offset grows, and the stride is
# negative.

# %%
mg.viz.layout(a.flip(1))

# %% [markdown]
# All of this is a few lines. Here is a view of your own; it has no elements, only a shape, strides and an offset.
# The loop below compares its places with those of minigrad's views.

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
    assert places(mine) == places(theirs) and theirs.storage is a.storage
    print(mine, places(mine))

# %% [markdown]
# ## 3. Stride 0: one number stands for many
#
# To add a row to each row of a matrix, the row has to be as tall as the matrix. Copy it three times? A stride of 0 does
# it for nothing: a step down goes nowhere.

# %%
row = mg.arange(4)
tall = row.expand(3, 4)
mg.viz.layout(tall)

# %% [markdown]
# Twelve elements, four places. This is what *broadcasting* is: in `a + row` the loop runs over the shape `(3, 4)` for
# both operands, and the strides of `row` are `(0, 1)`. It is why a row can be added to a matrix of any height without
# new memory for the row:

# %%
huge = row.expand(1_000_000, 4)
print("elements:", huge.numel(), " strides:", huge.strides, " the same storage:", huge.storage is row.storage)
print((a + row).tolist())

# %% [markdown]
# A stride need not be 0 for elements to share a place. Windows that slide over a row overlap: a step *down* is one
# place, and so is a step to the *right*.

# %%
windows = mg.arange(6).unfold(0, 3, 1)
print(mg.viz.layout(windows))

# %% [markdown]
# `x2`, `x3`: at these places more than one element lies. Keep this in mind, it comes back in section 6.
#
# ## 4. When a reshape must copy
#
# `a` in another shape is often only another formula. These twelve in a row? Elements that follow each other in `a` lie
# side by side, so strides `(1,)` will do. Such a tensor is called **contiguous**. But in the transposed matrix:

# %%
print("a   in order lies at", places(a))
print("a.T in order lies at", places(a.T))

# %% [markdown]
# 0, 4, 8, 1: no single stride makes this walk. `reshape` then copies, and `view` refuses. Neither is shy about it; but
# with `reshape` you have to ask whether you got a view or a copy.

# %%
print("a.reshape(12) shares memory:  ", a.reshape(12).storage is a.storage)
print("a.T.reshape(12) shares memory:", a.T.reshape(12).storage is a.storage)
try:
    a.T.view(12)
except mg.MinigradError as error:
    print(error)

# %% [markdown]
# The rule: two neighbouring dims can be one if a full run through the right one ends where the next step of the left
# one begins, that is, if `stride[left] == size[right] * stride[right]`. For `a` that is `4 == 4 * 1`, for `a.T`
# it is `1 == 3 * 4`, which fails. It is not only about contiguous tensors: every second column of `a` has gaps, and yet
# they are even.

# %%
every_second = a[:, ::2]
flat = every_second.reshape(6)
print("strides", every_second.strides, "->", flat.strides, " shared:", flat.storage is a.storage)

# %% [markdown]
# ## 5. The cost of a layout
#
# Making a view is free, but *reading* it is not. The processor fetches memory in lines of 64 bytes, which are 16
# float32 numbers. A loop that reads in order uses all 16 numbers. With a step of 16, the processor fetches a whole line
# for one number. Here are seven layouts with the same number of elements. We sum each, and copy each, on one thread.

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
    """The best of several calls, by element; the first one, which may compile, does not count."""
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
plt.xlabel("nanoseconds an element")
plt.legend()
plt.show()

# %% [markdown]
# Your bars depend on your machine; look for these patterns. The expanded row is always cheap: it is one row, and it
# stays in the cache. The layouts with a step are expensive. Compare the two bars of *transposed* and of *columns
# flipped*: copying them is more expensive than copying dense elements, but summing them is not. A sum may add its
# elements in any order, so the kernel reads the memory forwards, whatever the formula is. A copy must write in the
# order of the indices.
#
# So if you read a strided view many times, one `contiguous()` pays: it copies once, and afterwards all is dense.
#
# ## 6. The bug: more has changed than was meant
#
# You train, and after each step you note the weights, to plot their way later. What do you expect to see?

# %%
weights = mg.zeros(2, 3)
first_row = []
for _ in range(3):
    weights.add_(1.0)
    first_row.append(weights[0])
print([x.tolist() for x in first_row])

# %% [markdown]
# Not 1, 2, 3. `weights[0]` is a view; it holds no numbers but the place where they are. All three entries of the list
# are the same three places, and show what lies there *now*. A read came too late. The same the other way round, a write
# that goes too far: we want to set the head of a row apart, and spoil the matrix.

# %%
table = mg.zeros(2, 3)
head = table.reshape(6)[:2]
head.fill_(7.0)
print(table.tolist())

# %% [markdown]
# To minigrad both are in order: writing through a view *is* how you write to a part, `weights[0] = 1.0` does nothing
# else. It cannot know what you meant. But one kind of write can never be meant, and it refuses that:

# %%
noise = mg.zeros(4).expand(3, 4)
try:
    noise[0, 0] = 1.0
except mg.MinigradError as error:
    print(error)

# %% [markdown]
# Element `[0, 0]` lies where `[1, 0]` and `[2, 0]` lie. To write one is to write three; and with `add_`, would 1 be
# added once or three times? NumPy lets you, if you make such a view by hand: one number is written, three change.

# %%
import numpy as np

numbers = np.zeros(4)
trap = np.lib.stride_tricks.as_strided(numbers, (3, 4), (0, 8))
trap[0, 0] = 1.0
print(trap.tolist())

# %% [markdown]
# **Mend it.** What you want to keep, or to change alone, needs memory of its own: `clone()` (or `contiguous()`, which
# copies only where the layout is not dense yet, so not for `weights[0]`).

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
# **The check.** Two questions tell whether a write does what you mean, and both count places. *Do elements of this
# tensor share a place?* Then there are fewer places than elements. *Does this tensor share places with another?* Then
# they have one storage, and places in common.


# %%
def overlaps_itself(x):
    """Whether two elements lie at one place."""
    return len(set(places(x))) < x.numel()


def touches(x, y):
    """Whether a write to x can change y."""
    return x.storage is y.storage and not set(places(x)).isdisjoint(places(y))


print("noise as it was:", overlaps_itself(mg.zeros(4).expand(3, 4)), " now:", overlaps_itself(noise))
print("windows:", overlaps_itself(windows), " a.T:", overlaps_itself(a.T))
print("a row and its matrix:", touches(weights[0], weights), " its clone:", touches(first_row[-1], weights))
print("row 0 and row 1:", touches(a[0], a[1]), " even and odd columns:", touches(a[:, ::2], a[:, 1::2]))

# %% [markdown]
# ## 7. Where minigrad does it
#
# All views are arithmetic on a `Layout`: a shape, strides, an offset. You find it in
# [layout.py](../minigrad/core/layout.py): `permute`, `slice`, `flip`, `diagonal` are a few lines each, `reshape` gives
# None where only a copy will do, and `may_overlap_itself` is your check without the counting, which would be slow for a
# million elements. It looks at strides alone, and where these leave a doubt, it says True. Put these questions to a
# layout without any memory:

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
# Write, run, and let the cell tell you. `hint("05.1")` gives a hint, and asked again a larger one. In all of them
# `shape` and `strides` are tuples.

# %%
from minigrad.learning.grading import check, hint


def place(strides, offset, index):
    """Where the element at `index`, a tuple, lies."""
    return ...  # write it here


check("05.1", place)

# %% [markdown]
# **05.2** Flip one dim. What are the strides and the offset then? (No dim is empty.)


# %%
def flipped(shape, strides, offset, dim):
    """(strides, offset) with `dim` read backwards."""
    return ...  # write it here


check("05.2", flipped)

# %% [markdown]
# **05.3** Broadcast. Shapes are aligned at their *right* ends; a dim of size 1 may become any size, and dims that are
# missing on the left are new. Which strides does a tensor of `shape` and `strides` have, seen as `target`?


# %%
def broadcast_strides(shape, strides, target):
    """One stride for each dim of `target`."""
    return ...  # write it here


check("05.3", broadcast_strides)

# %% [markdown]
# **05.4** Can a tensor be seen as one row without a copy? Dims of size 1 do not count, whatever their stride. (No dim
# is empty.)


# %%
def flattens(shape, strides):
    """True where one stride walks all elements in order."""
    return ...  # write it here


check("05.4", flattens)

# %% [markdown]
# **05.5** Sliding windows over a dense row of `n` numbers: windows of `size`, a new one every `step`, only whole ones.
# Return the shape and the strides of the view.


# %%
def sliding(n, size, step):
    """(shape, strides) of the windows."""
    return ...  # write it here


check("05.5", sliding)
