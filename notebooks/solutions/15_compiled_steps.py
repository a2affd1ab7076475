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
# # 15 · Solutions
#
# **15.1** The objects share one list. The number of items determines the next slot. Subtraction is the op for which the
# side matters: Python calls `__rsub__` for `2.5 - x`, and the constant is then the first operand. Without `__bool__`,
# every object counts as true, and the recording would take one branch without a warning.

# %%
from minigrad.learning.grading import check


class Recorded:
    def __init__(self, slot, items, n):
        self.slot, self.items, self.n = slot, items, n

    def add_item(self, op, *operands):
        slot = self.n + len(self.items)
        read = [x.slot if isinstance(x, Recorded) else x for x in operands]
        self.items.append((op, (*read, slot)))
        return Recorded(slot, self.items, self.n)

    def __add__(self, other):
        return self.add_item("add", self, other)

    def __radd__(self, other):
        return self.add_item("add", other, self)

    def __sub__(self, other):
        return self.add_item("sub", self, other)

    def __rsub__(self, other):
        return self.add_item("sub", other, self)

    def __mul__(self, other):
        return self.add_item("mul", self, other)

    def __rmul__(self, other):
        return self.add_item("mul", other, self)

    def __neg__(self):
        return self.add_item("neg", self)

    def __bool__(self):
        raise TypeError("a recorded number has no value")


def record(function, n):
    items = []
    result = function(*[Recorded(k, items, n) for k in range(n)])
    return items, result.slot


check("15.1", record)

# %% [markdown]
# **15.2** The table of values is the memory of the program. Writing to `memory[slots[-1]]` is right for a new slot and
# for a slot that was written before. A solution that appends to a list is right only if each item writes a new slot.
# After 15.3, slots share memory.


# %%
def replay(items, values, result):
    memory = dict(enumerate(values))
    for op, (*read, written) in items:
        a, *rest = [x if isinstance(x, float) else memory[x] for x in read]
        if op == "neg":
            memory[written] = -a
        elif op == "add":
            memory[written] = a + rest[0]
        elif op == "sub":
            memory[written] = a - rest[0]
        else:
            memory[written] = a * rest[0]
    return memory[result]


check("15.2", replay)

# %% [markdown]
# **15.3** The lives are intervals, and they are visited in the order of their beginnings. A new buffer is taken only if
# all existing buffers are in use at that item, so no assignment can use fewer buffers. The comparison is `<`, not `<=`:
# while an item writes, its operands are still live. Test `isinstance(x, int)`: Python's dict treats the constant 1.0
# and the slot 1 as the same key.


# %%
def assign(items, n, result):
    first, last = {}, {}
    for k, (_, slots) in enumerate(items):
        first[slots[-1]] = k
        for slot in slots:
            if isinstance(slot, int):
                last[slot] = k
    last[result] = len(items)
    ends, buffers = [], {}
    for slot, begin in first.items():
        free = [k for k, end in enumerate(ends) if end < begin]
        if free:
            buffers[slot] = free[0]
            ends[free[0]] = last[slot]
        else:
            buffers[slot] = len(ends)
            ends.append(last[slot])
    return buffers


check("15.3", assign)

# %% [markdown]
# **15.4** The shape and the kind decide whether launches *may* share a loop: element $i$ must depend on element $i$
# only. The shared slot decides whether it is *useful*: two maps without a common slot save no memory traffic. minigrad
# uses both conditions, and it also moves a launch to an earlier loop if no launch between them forbids it.


# %%
def fuse(launches, results):
    loops, touched = [], set()
    for k, (kind, shape, reads, writes) in enumerate(launches):
        like = bool(loops) and kind == "map" and launches[loops[-1][0]][:2] == ("map", shape)
        if like and touched & set(reads):
            loops[-1].append(k)
        else:
            loops.append([k])
            touched = set()
        touched |= {*reads, writes}
    found = []
    for loop in loops:
        outside = set(results)
        for k, launch in enumerate(launches):
            if k not in loop:
                outside |= set(launch[2])
        found.append((loop, [launches[k][3] for k in loop if launches[k][3] in outside]))
    return found


check("15.4", fuse)
