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
# **07.1** A dict by id contains each node once, even if several paths lead to it. In the order of descending ids, a
# node comes after all nodes that use its result.

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
# **07.2** When the backward pass visits a node, the gradient of the node is complete, so it can be removed from the
# table. The entries that are left at the end belong to Vars.


# %%
def my_grad(y, x):
    table = {y.op.id: mg.ones_like(y)}
    for node in nodes_under(y):
        for parent, gradient in node.pull((table.pop(node.id),), None, False):
            table[parent.id] = table[parent.id] + gradient if parent.id in table else gradient
    return table.get(x.id, mg.zeros_like(x))


check("07.2", my_grad)

# %% [markdown]
# **07.3** With `max`, one formula is right in both cases, and a gradient of norm 0 causes no division by 0.


# %%
def clip(h, limit):
    def scaled(g):
        length = (g * g).sum().item() ** 0.5
        return g * (limit / max(length, limit))

    return h.register_hook(scaled)


check("07.3", clip)

# %% [markdown]
# **07.4** Storages take memory, tensors do not: a view is free. The parents list the Vars, and thus their storages. A
# saved `w.T` shares the storage of `w`, so it is not counted either.


# %%
def held(y):
    nodes = nodes_under(y)
    owned = {id(p.storage) for node in nodes for p in node.parents if p is not None and not hasattr(p, "pull")}
    storages = {id(t.storage): t.storage for node in nodes for t in node.saved}
    return sum(storage.buffer.nbytes for key, storage in storages.items() if key not in owned)


check("07.4", held)

# %% [markdown]
# **07.5** The piece must be an argument of `run`. A variable of the loop would be wrong: the second run comes in the
# backward pass, when the loop has ended and the variable has another value. The last slice is shorter if `size` does
# not divide the number of functions.


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
