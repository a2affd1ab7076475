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
# # 07 · Solutions
#
# **07.1** A dict by number meets each node once, however many paths lead to it. Sorted from the largest number down, a
# node comes after everything that was computed from it.

# %%
import minigrad as mg
from minigrad.learning.grading import check


def nodes_under(y):
    found, waiting = {}, [y.op]
    while waiting:
        node = waiting.pop()
        if hasattr(node, "pull") and node.id not in found:
            found[node.id] = node
            waiting += [parent for parent in node.parents if parent is not None]
    return [found[k] for k in sorted(found, reverse=True)]


def order(y):
    return [node.name for node in nodes_under(y)]


check("07.1", order)

# %% [markdown]
# **07.2** When a node's turn comes its gradient is complete, so it can be taken out of the table. What is left at the
# end belongs to Vars.


# %%
def my_grad(y, x):
    table = {y.op.id: mg.ones_like(y)}
    for node in nodes_under(y):
        for parent, gradient in node.pull((table.pop(node.id),), None, False):
            table[parent.id] = table[parent.id] + gradient if parent.id in table else gradient
    return table.get(x.id, mg.zeros_like(x))


check("07.2", my_grad)

# %% [markdown]
# **07.3** With `max` one formula does for both cases, and a gradient of length 0 is not divided by 0.


# %%
def clip(h, limit):
    def scaled(g):
        length = (g * g).sum().item() ** 0.5
        return g * (limit / max(length, limit))

    return h.register_hook(scaled)


check("07.3", clip)

# %% [markdown]
# **07.4** It is storages that take memory, not tensors: a view is free. Those of Vars are known from the parents, so a
# saved `w.T` is found out as well.


# %%
def held(y):
    nodes = nodes_under(y)
    owned = {id(p.storage) for node in nodes for p in node.parents if p is not None and not hasattr(p, "pull")}
    storages = {id(t.storage): t.storage for node in nodes for t in node.saved}
    return sum(storage.buffer.nbytes for key, storage in storages.items() if key not in owned)


check("07.4", held)

# %% [markdown]
# **07.5** The piece is an argument of what runs, and no variable of the loop: when it runs for the second time, the
# loop has long gone on. The last slice is shorter by itself.


# %%
def run(h, piece):
    for f in piece:
        h = f(h)
    return h


def in_checkpoints(functions, h, size):
    for k in range(0, len(functions), size):
        h = mg.checkpoint(run, h, functions[k : k + size])
    return h


check("07.5", in_checkpoints)
