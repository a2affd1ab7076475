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
# **A3.1** Check first, then call `backward`. `numel()` counts elements, so a tensor of shape `(1, 1)` is a scalar too,
# as in PyTorch. A tensor without elements is not a scalar.

# %%
import numpy as np

import minigrad as mg
from minigrad.learning.grading import check


def strict_backward(y):
    if y.numel() != 1:
        raise ValueError(f"backward requires one element, got {y.numel()}")
    return y.backward()


check("A3.1", strict_backward)

# %% [markdown]
# **A3.2** All names are compared before the first value is set, so a state that does not fit changes nothing. `set`
# writes into the existing Var. With `w[name] = mg.Var(...)` an optimizer would still refer to the old Var. A square
# matrix must be transposed as well, although its shape does not show it.


# %%
def load(w, state):
    if set(w) != set(state):
        raise KeyError(f"names that are in one dict only: {sorted(set(w) ^ set(state))}")
    for name, v in w.items():
        value = np.asarray(state[name])
        v.set(value.T if name.endswith(".weight") and value.ndim == 2 else value)
    return w


check("A3.2", load)

# %% [markdown]
# **A3.3** The mean over all samples is a sum over the parts: the mean of each part times (samples of the part / all
# samples). Many programs divide by the number of parts instead. This division is right only if all parts have equal
# lengths.


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
