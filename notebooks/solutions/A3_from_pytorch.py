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
# # A3 · Solutions
#
# **A3.1** Ask first, walk then. `numel()` counts elements, so `(1, 1)` is a scalar too, as it is to PyTorch, and a
# tensor without elements is none.

# %%
import numpy as np

import minigrad as mg
from notebooks.grading import check


def strict_backward(y):
    if y.numel() != 1:
        raise ValueError(f"backward needs one number, and this has {y.numel()}")
    return y.backward()


check("A3.1", strict_backward)

# %% [markdown]
# **A3.2** All names are compared before the first value is set, so a state that does not fit changes nothing. `set`
# writes into the Var that is there; `w[name] = mg.Var(...)` would leave an optimizer with the old one. A square matrix
# must be turned as well: its shape does not tell.


# %%
def load(w, state):
    if set(w) != set(state):
        raise KeyError(f"only in one of both: {sorted(set(w) ^ set(state))}")
    for name, v in w.items():
        value = np.asarray(state[name])
        v.set(value.T if name.endswith(".weight") and value.ndim == 2 else value)
    return w


check("A3.2", load)

# %% [markdown]
# **A3.3** The mean over all is the sum over the parts of (samples of the part / all samples) times the mean of the
# part. Dividing by the number of parts, as one often sees, is right only where all are equal.


# %%
def in_parts(loss_of, w, parts):
    count = sum(len(part) for part in parts)
    total = {name: mg.zeros_like(v) for name, v in w.items()}
    for part in parts:
        gradients = mg.grad(loss_of(part), list(w.values()))
        for name, g in zip(w, gradients):
            total[name] = total[name] + g * (len(part) / count)
    return total


check("A3.3", in_parts)
