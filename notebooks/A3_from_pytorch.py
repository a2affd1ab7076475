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
# # A3 · From PyTorch
#
# You know PyTorch, and want to know what is the same here, what is not, and why. This appendix puts both side by side,
# then ports a training loop, line by line. Where PyTorch is installed, each cell runs it and shows what it says today;
# where it is not, you see what version 2.13 said. Twenty-five minutes.
#
# **One idea:** the names are PyTorch's, so a port is a change of the import; what differs, differs to be seen. **One
# bug:** a line at which PyTorch would have stopped you. **One check:** the same losses, digit by digit.

# %%
import numpy as np

import minigrad as mg

try:
    import torch
except ImportError:
    torch = None


def told(f, lib):
    """What f gives with a library, or what it raises."""
    try:
        return str(f(lib))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).split('. ')[0]}"[:150]


def both(what, f, known):
    """Run f with minigrad and with PyTorch; known is what PyTorch says, for where it is not installed."""
    print(what)
    print("   minigrad ", told(f, mg))
    print("   PyTorch  ", known if torch is None else told(f, torch))


# %% [markdown]
# ## 1. What is the same
#
# Each function below is given the library, and does not care which. Tensors, indexing, broadcasting, promotion of
# dtypes, views that write through, `backward` and `.grad`:


# %%
def squares(lib):
    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    return x.grad.tolist()


def slopes(lib):
    return lib.func.vmap(lib.func.grad(lambda x: x * x * x))(lib.tensor([1.0, 2.0])).tolist()


def cube(lib):
    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3.0 * x * x

    x = lib.tensor(2.0, requires_grad=True)
    Cube.apply(x).backward()
    return x.grad.item()


def hooked(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    h = x * 3.0
    h.register_hook(lambda g: g * 10.0)
    h.sum().backward()
    return x.grad.tolist()


def ties(lib):
    x = lib.tensor([2.0, 2.0], requires_grad=True)
    return [lib.autograd.grad(y, x)[0].tolist() for y in (x.amax(), x.max(0).values, x.relu().sum())]


both("backward and .grad", squares, "[2.0, 4.0, 6.0]")
both("torch.func, as mg.func", slopes, "[3.0, 12.0]")
both("a Function with its own backward", cube, "12.0")
both("a hook on a tensor", hooked, "[30.0, 30.0]")
both("amax shares a tie, max(dim) does not; relu", ties, "[[0.5, 0.5], [1.0, 0.0], [1.0, 1.0]]")

# %% [markdown]
# The same holds for `no_grad`, `inference_mode`, `detach`, `retain_grad`, `retain_graph`, `create_graph`,
# `requires_grad_`, `gather`, `scatter_add`, in-place ops with an underscore, and `nn.functional`. A few have moved:
# `torch.utils.checkpoint.checkpoint` is `mg.checkpoint`, `torch.autograd.set_detect_anomaly` is the block
# `mg.detect_anomaly()`, and `torch.autograd.gradcheck` is `mg.testing.gradcheck`, which says *what* is wrong.
#
# Memory can be shared with PyTorch, in both directions and without a copy: `torch.from_dlpack(ours)` and
# `mg.from_dlpack(theirs)`. NumPy knows the same protocol:

# %%
ours = mg.tensor([1.0, 2.0, 3.0])
theirs = np.from_dlpack(ours) if torch is None else torch.from_dlpack(ours)
theirs[0] = 7.0
print("written there, seen here:", ours.tolist())

# %% [markdown]
# ## 2. What differs, and why


# %%
def of_a_vector(lib):
    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    y.backward()
    return x.grad.tolist()


def returned(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    return (x * x).sum().backward()


both(
    "backward of what is no scalar", of_a_vector, "RuntimeError: grad can be implicitly created only for scalar outputs"
)
both("what backward returns", returned, "None")

# %% [markdown]
# * A tensor that is no scalar begins with a cotangent of ones: its backward is that of its sum. It is what one mostly
#   wants at a prompt, and section 3 shows what it costs. (`mg.autograd.grad` and `mg.autograd.backward` are as strict
#   as PyTorch's.)
# * `backward` gives a `GradStore`: the gradients of *this* call, by tensor. `.grad` adds up as in PyTorch, and you may
#   forget about it: `grads = loss.backward()`, then `grads[w]`. One that is not there raises, with the reason. You find
#   both at the end of `backward` in [engine.py](../minigrad/autodiff/engine.py).


# %%
def many(lib):
    return lib.full((1_000_000,), 0.1).sum().item()


def into_a_byte(lib):
    return lib.tensor([300.0, -5.0, float("nan")]).to(lib.uint8).tolist()


both("a million times 0.1, in float32", many, "100000.0078125")
both("what does not fit into a byte", into_a_byte, "[44, 251, 0]")

# %% [markdown]
# * Sums of float32 go on in float64 after a few terms, in an order that the shape alone decides: the same bits for any
#   number of threads. PyTorch's depend on them.
# * A float becomes the nearest integer that the dtype holds, and nan becomes 0, on every device. PyTorch leaves that to
#   the processor, so the CPU and the GPU give different numbers.


# %%
def stale(lib):
    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    h = x.exp()
    y = (h * h).sum()
    with lib.no_grad():
        h.zero_()
    y.backward()


def wrong_shapes(lib):
    return lib.ones(2, 3) @ lib.ones(2, 3)


both("a saved value is overwritten", stale,
     "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
     "[torch.FloatTensor [3]], which is output 0")  # fmt: skip
both("shapes that do not fit", wrong_shapes, "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)")
try:
    with mg.debug():
        stale(mg)
except mg.MinigradError as error:
    print("under mg.debug():", error)

# %% [markdown]
# * Both notice it. Here the error names the op and the operand; under `mg.debug()` it is raised at the *write*, with
#   both lines of yours.
# * Errors are types of ours that are also Python's: a `ShapeError` is a `ValueError`, a `GradientError` a
#   `RuntimeError`. Code that catches PyTorch's `RuntimeError` for a shape has to be changed.
#
# And a leaf is a `mg.Var`. It is what `mg.tensor(..., requires_grad=True)` gives, it may have a name, which pictures
# and errors use, and `w.set(...)` gives it new values: `w.data = ...` works too, but `set` says what it does, takes
# NumPy arrays, checks the shape, and counts as a write, so that a graph that saved the old value says so.

# %%
w = mg.Var([0.5, -1.0], name="w")
loss = (w * w).sum()
w.set([1.0, 2.0])
try:
    loss.backward()
except mg.MinigradError as error:
    print(error)

# %% [markdown]
# ## 3. Port a training loop
#
# This is a small network in PyTorch, fitted to a sine:
#
# ```python
# model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()
# model.load_state_dict({name: torch.from_numpy(v) for name, v in START.items()})
# optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
# for step in range(200):
#     optimizer.zero_grad()
#     loss = torch.nn.functional.mse_loss(model(x), y)
#     loss.backward()
#     optimizer.step()
# ```
#
# A port needs a *yardstick* first: numbers of the original, at a few steps. And both must begin with the same weights.
# `torch.manual_seed(0)` and `mg.manual_seed(0)` draw different numbers, so the weights are carried over as arrays,
# under the names of PyTorch's `state_dict`. Use float64 for a port: in float32 two right programs differ in the sixth
# digit, and you would have to decide whether that is a bug.

# %%
x = np.linspace(-2.0, 2.0, 32).reshape(32, 1)
y = np.sin(2.0 * x)
k = np.arange(8.0)
START = {
    "0.weight": np.sin(3.0 * k + 1).reshape(8, 1),
    "0.bias": np.cos(5.0 * k),
    "2.weight": np.sin(7.0 * k + 2).reshape(1, 8) / 2,
    "2.bias": np.zeros(1),
}
YARDSTICK = {0: 0.4865884568, 1: 0.4726001620, 2: 0.4658081835, 10: 0.4461711793, 100: 0.2492999752, 199: 0.0494735856}


def losses_of_pytorch(steps=200):
    """The original."""
    model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()
    model.load_state_dict({name: torch.from_numpy(value) for name, value in START.items()})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, targets, found = torch.from_numpy(x), torch.from_numpy(y), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def beside(losses):
    """A port's losses beside those of PyTorch, at a few steps."""
    right = YARDSTICK if torch is None else dict(enumerate(losses_of_pytorch()))
    for step in YARDSTICK:
        print(f"step {step:3}: {losses[step]:<16.10g} PyTorch's {right[step]:.10g}")
    apart = max(abs(losses[step] - right[step]) for step in YARDSTICK)
    print("the same to nine digits" if apart < 1e-9 else f"apart by up to {apart:.3g}")


# %% [markdown]
# **Step one: the model.** There are no layers as objects (yet): a network is a function of its weights, and the weights
# are a dict of Vars. `F.linear` takes PyTorch's layout, (out, in), so the arrays fit as they are.

# %%
F = mg.nn.functional
inputs, targets = mg.from_numpy(x), mg.from_numpy(y)


def weights():
    """Fresh ones, from the arrays."""
    return {name: mg.Var(value, name=name) for name, value in START.items()}


def model(w, x):
    h = F.linear(x, w["0.weight"], w["0.bias"]).tanh()
    return F.linear(h, w["2.weight"], w["2.bias"])


# %% [markdown]
# **Step two: the loop.** `mse_loss` is there; here it is written out. `zero_grad` is `v.grad = None`, and the step of
# plain SGD is a line:


# %%
def train(loss_of, steps=200, rate=0.1):
    """The port; gives the losses."""
    w, found = weights(), []
    for _ in range(steps):
        for v in w.values():
            v.grad = None
        loss = loss_of(w)
        loss.backward()
        with mg.no_grad():
            for v in w.values():
                v.sub_(rate * v.grad)
        found.append(loss.mean().item())
    return found


def first_try(w):
    return (model(w, inputs) - targets) ** 2


beside(train(first_try))

# %% [markdown]
# **The bug.** Step 0 agrees to the last digit, so model, weights and data are right. Step 1 does not: so it is the
# gradient, or the step. Compare one gradient with PyTorch's, of a single number, the last bias, before any step:

# %%
w = weights()
grads = first_try(w).backward()
theirs = -0.14032565934374824
print("ours", grads[w["2.bias"]].item(), " PyTorch's", theirs, " ratio", round(grads[w["2.bias"]].item() / theirs, 6))

# %% [markdown]
# 32 is the number of samples. `first_try` gives a loss *for each sample*, a column of 32; its `backward` is that of the
# sum. In PyTorch this line would have raised, and you would have added `.mean()` without a thought. Here you have to
# think of it. (The losses that were printed came from `loss.mean()`, so they looked right.)


# %%
def mended(w):
    return first_try(w).mean()


beside(train(mended))

# %% [markdown]
# That is the check: a step without an error may be luck, but 200 steps that agree in nine digits are not.
#
# When it is not so clear where a port departs, let the machine look. A function whose first parameter is called `lib`
# runs with both libraries; every variable in it is compared on the way forward, and every gradient on the way back. The
# first that departs is named, with its line.


# %%
def the_same(lib, x, weight, bias):
    h = x @ weight + bias
    h = h * lib.sigmoid(h)
    return h.sum()


arrays = np.sin(np.arange(12.0)).reshape(4, 3), np.cos(np.arange(6.0)).reshape(3, 2), np.array([0.1, -0.2])
try:
    print(mg.testing.compare(the_same, "torch", *arrays))
except mg.ArgumentError as error:
    print(error)

# %% [markdown]
# You find it in [compare.py](../minigrad/testing/compare.py).
#
# ## 4. What is not there
#
# | in PyTorch | here |
# |---|---|
# | `nn.Module` and its layers, `optim` | not yet: functions of weights, and ten lines ([13](13_training.ipynb)) |
# | `torch.compile` | not yet; each op and each derivative rule is one kernel, to be read |
# | complex numbers, sparse tensors, quantised ones | no |
# | data loaders, distributed training | no |
#
# A name that is missing is an `AttributeError`, as always in Python. For names that people from PyTorch are likely to
# try, it goes on with what to write:

# %%
for module, name in ((mg.linalg, "eig"), (mg.nn, "Linear"), (mg, "compile"), (mg, "set_default_dtype")):
    try:
        getattr(module, name)
    except AttributeError as error:
        print(error)

# %% [markdown]
# The full list of differences is `docs/differences.md`.
#
# ## Exercises
#
# **A3.1** Write the `backward` that you are used to. For a tensor with more than one element it raises a `ValueError`;
# else it does what `y.backward()` does, and returns the same.

# %%
from notebooks.grading import check, hint


def strict_backward(y):
    """backward, for scalars only."""
    return ...  # write it here


check("A3.1", strict_backward)

# %% [markdown]
# **A3.2** `load_state_dict`. `w` is a dict of Vars, `state` a dict of arrays from PyTorch. Give each Var its new
# values; it must stay the same Var, since optimizers hold it. A name that is missing or that nobody wants raises a
# `KeyError`, and then nothing has been changed. Names that end in `.weight` and have two dims are (out, in) in `state`,
# while this model computes `x @ w`: turn them. Return `w`.


# %%
def load(w, state):
    """The values of state into the Vars of w."""
    return ...  # write it here


check("A3.2", load)

# %% [markdown]
# **A3.3** Gradients in parts. A batch does not fit into memory, so it comes in `parts`, of which some are larger than
# others. `loss_of(part)` is the *mean* over the samples of a part, `len(part)` their number. Return the gradients of
# the mean over all samples, in a dict by name as `w`. No `.grad` may be changed.


# %%
def in_parts(loss_of, w, parts):
    """The gradients of the whole, one part at a time."""
    return ...  # write it here


check("A3.3", in_parts)
