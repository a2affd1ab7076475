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
# # A3 · From PyTorch
#
# You know PyTorch. You want to see which parts of minigrad are the same, which parts differ, and why. This appendix
# runs both libraries side by side. Then it ports a training script. If PyTorch is installed, each cell runs it.
# Otherwise the cell shows the stored results of PyTorch 2.13. The appendix takes twenty-five minutes.
#
# **One idea:** the names are PyTorch's, so a port changes the import; every difference is visible. **One bug:** a line
# at which PyTorch would have stopped you. **One check:** the same losses, digit by digit.

# %%
import numpy as np

import minigrad as mg

try:
    import torch
except ImportError:
    torch = None


def result(f, lib):
    """The result of f with a library, or its error, as text."""
    try:
        return str(f(lib))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).split('. ')[0]}"[:150]


def both(title, f, known):
    """Run f with minigrad and with PyTorch; known is PyTorch's result, if it is not installed."""
    print(title)
    print("   minigrad ", result(f, mg))
    print("   PyTorch  ", known if torch is None else result(f, torch))


# %% [markdown]
# ## 1. The same in both libraries
#
# Each function below has the library as its parameter, and works with both. Tensors, indexing, broadcasting, dtype
# promotion, views, `backward` and `.grad` are the same:


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
# The following functions and arguments also have equal names and results: `no_grad`, `inference_mode`, `detach`,
# `retain_grad`, `retain_graph`, `create_graph`, `requires_grad_`, `gather`, `scatter_add`, in-place ops with an
# underscore, `nn`, `optim`, `utils.data`, `utils.checkpoint`, `autograd.set_detect_anomaly` and `autograd.gradcheck`.
# `mg.testing.gradcheck` does more than PyTorch's: it also reports which elements are wrong, and by which factor.
#
# Tensors can share memory with PyTorch, in both directions and without a copy: `torch.from_dlpack(ours)` and
# `mg.from_dlpack(theirs)`. NumPy has the same protocol:

# %%
ours = mg.tensor([1.0, 2.0, 3.0])
theirs = np.from_dlpack(ours) if torch is None else torch.from_dlpack(ours)
theirs[0] = 7.0
print("written there, seen here:", ours.tolist())

# %% [markdown]
# ## 2. The differences, and their reasons


# %%
def of_a_vector(lib):
    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    y.backward()
    return x.grad.tolist()


def returned(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    return (x * x).sum().backward()


both("backward of three elements", of_a_vector, "RuntimeError: grad can be implicitly created only for scalar outputs")
both("the result of backward", returned, "None")

# %% [markdown]
# * If a tensor is not a scalar, `backward()` uses an incoming gradient of ones. The result is the gradient of
#   `y.sum()`. At a prompt this is mostly the gradient that you want; section 4 shows a disadvantage. `mg.autograd.grad`
#   and `mg.autograd.backward` are as strict as PyTorch's.
# * `backward` returns a `GradStore`: the gradients of *this* call, by tensor. `.grad` adds up as in PyTorch. If you
#   write `grads = loss.backward()` and then `grads[w]`, you do not need `.grad`. If a gradient is missing, `grads[w]`
#   raises an error with the reason. The last lines of `backward` in [engine.py](../minigrad/autodiff/engine.py) fill
#   this store and add to `.grad`.


# %%
def many(lib):
    return lib.full((1_000_000,), 0.1).sum().item()


def into_a_byte(lib):
    return lib.tensor([300.0, -5.0, float("nan")]).to(lib.uint8).tolist()


both("a million times 0.1, in float32", many, "100000.0078125")
both("numbers that do not fit into a byte", into_a_byte, "[44, 251, 0]")

# %% [markdown]
# * A sum of float32 continues in float64 after a few terms. The order of additions depends only on the shape, the
#   layout and the processor, so the result has the same bits for any number of threads. In PyTorch the result depends
#   on the number of threads.
# * A float is truncated toward zero, on every device: -2.7 becomes -2. A value outside the range of the dtype becomes
#   the nearest limit, and nan becomes 0. In PyTorch the result depends on the processor, so the CPU and the GPU may
#   return different numbers.


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
# * Both libraries report the write. minigrad's error names the op and the operand. Under `mg.debug()` it is raised at
#   the *write*, with both of your lines.
# * minigrad's errors are Python's as well: a `ShapeError` is a `ValueError`, and a `GradientError` is a `RuntimeError`.
#   Code that catches PyTorch's `RuntimeError` for a wrong shape must be changed.
#
# A leaf is a `mg.Var`. `mg.tensor(..., requires_grad=True)` and `nn.Parameter` are Vars too. A Var may have a name,
# which pictures and errors use. `w.set(...)` writes new values: the method accepts NumPy arrays and checks the shape. A
# call of `set` counts as a write, so a graph that saved the old value reports an error. `w.data = ...` works as well.

# %%
w = mg.Var([0.5, -1.0], name="w")
loss = (w * w).sum()
w.set([1.0, 2.0])
try:
    loss.backward()
except mg.MinigradError as error:
    print(error)

# %% [markdown]
# ## 3. Port a script
#
# This script fits a small network to a sine. It has a module, a data loader, an optimizer, a schedule, and an
# evaluation. Only the first two lines name the library:
#
# ```python
# import torch
# from torch import nn
# ```
#
# In the port, these lines are `import minigrad as mg` and `from minigrad import nn`. Here the script is a function of
# the library, so that both can run. Use float64 for a port. In float32, two correct programs differ in the sixth digit,
# and you would have to find out whether this difference is a bug.

# %%
x = np.linspace(-2.0, 2.0, 32)[np.arange(32) * 13 % 32].reshape(32, 1)  # in a mixed order, since nothing shuffles
y = np.sin(2.0 * x)


def script(lib, epochs=20):
    nn, data = lib.nn, lib.utils.data

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(1, 8), nn.BatchNorm1d(8), nn.Tanh())
            self.head = nn.Linear(8, 1)

        def forward(self, x):
            return self.head(self.body(x))

    net = Net().double()
    with lib.no_grad():
        for p in net.parameters():
            p.copy_(lib.linspace(-1.0, 1.0, p.numel(), dtype=lib.float64).reshape(p.shape))
    inputs, targets = lib.tensor(x), lib.tensor(y)
    loader = data.DataLoader(data.TensorDataset(inputs, targets), batch_size=8)
    optimizer = lib.optim.AdamW(net.parameters(), lr=0.05)
    schedule = lib.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.5)
    for _ in range(epochs):
        for batch, target in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(batch), target)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        schedule.step()
    net.eval()
    with lib.no_grad():
        error = nn.functional.mse_loss(net(inputs), targets)
    return f"last loss {loss.item():.7f}, error in evaluation mode {error.item():.7f}"


both("the whole script", script, "last loss 0.1224763, error in evaluation mode 0.1101984")

# %% [markdown]
# The random numbers differ: `torch.manual_seed(0)` and `mg.manual_seed(0)` start different streams. So this script sets
# the initial parameters, and it does not shuffle. In a script of your own, copy the parameters: the keys of
# `state_dict()` are the same in both libraries, for modules and for optimizers. Files in the safetensors format serve
# both: `mg.load` reads a file that `safetensors.torch.save_file` has written.
#
# ## 4. A port by hand, and a bug
#
# If a script has its own layers or its own optimizer, you port it line by line. Then you need a *yardstick* first:
# losses of the original at a few steps, from the same parameters. This is the original:

# %%
k = np.arange(8.0)
START = {
    "0.weight": np.sin(3.0 * k + 1).reshape(8, 1),
    "0.bias": np.cos(5.0 * k),
    "2.weight": np.sin(7.0 * k + 2).reshape(1, 8) / 2,
    "2.bias": np.zeros(1),
}
YARDSTICK = {0: 0.4865884568, 1: 0.4726001620, 2: 0.4658081835, 10: 0.4461711793, 100: 0.2492999752, 199: 0.0494735856}


def losses_of(lib, steps=200):
    """The original."""
    model = lib.nn.Sequential(lib.nn.Linear(1, 8), lib.nn.Tanh(), lib.nn.Linear(8, 1)).double()
    model.load_state_dict({name: lib.tensor(value) for name, value in START.items()})
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
    inputs, targets, losses = lib.tensor(x), lib.tensor(y), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = lib.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def compared(losses):
    """Print the losses of a port next to PyTorch's, at a few steps."""
    right = YARDSTICK if torch is None else dict(enumerate(losses_of(torch)))
    for step in YARDSTICK:
        print(f"step {step:3}: {losses[step]:<16.10g} PyTorch's {right[step]:.10g}")
    apart = max(abs(losses[step] - right[step]) for step in YARDSTICK)
    print("the same to nine digits" if apart < 1e-9 else f"the largest difference is {apart:.3g}")


compared(losses_of(mg))

# %% [markdown]
# **Step one: the model.** Without modules, a network is a function of its weights, and the weights are a dict of Vars.
# `F.linear` has PyTorch's layout, (outputs, inputs), so the arrays fit unchanged.

# %%
F = mg.nn.functional
inputs, targets = mg.from_numpy(x), mg.from_numpy(y)


def weights():
    """New Vars with the values of START."""
    return {name: mg.Var(value, name=name) for name, value in START.items()}


def model(w, x):
    h = F.linear(x, w["0.weight"], w["0.bias"]).tanh()
    return F.linear(h, w["2.weight"], w["2.bias"])


# %% [markdown]
# **Step two: the loop.** The loss is written out, `zero_grad` becomes `v.grad = None`, and the step of SGD is one line:


# %%
def train(loss_of, steps=200, rate=0.1):
    """The port; returns the losses."""
    w, losses = weights(), []
    for _ in range(steps):
        for v in w.values():
            v.grad = None
        loss = loss_of(w)
        loss.backward()
        with mg.no_grad():
            for v in w.values():
                v.sub_(rate * v.grad)
        losses.append(loss.mean().item())
    return losses


def first_try(w):
    return (model(w, inputs) - targets) ** 2


compared(train(first_try))

# %% [markdown]
# **The bug.** Step 0 agrees in every digit, so the model, the weights and the data are right. Step 1 does not agree. So
# the gradient is wrong, or the step is wrong. Compare one gradient with PyTorch's, before any step: the gradient of the
# last bias, a single number.

# %%
w = weights()
grads = first_try(w).backward()
theirs = -0.14032565934374824
print("ours", grads[w["2.bias"]].item(), " PyTorch's", theirs, " ratio", round(grads[w["2.bias"]].item() / theirs, 6))

# %% [markdown]
# The ratio 32 is the number of samples. `first_try` returns one loss *per sample*, and its `backward` computes the
# gradient of their sum. PyTorch would have raised an error at this line, and you would have added `.mean()`. Here you
# must remember it yourself. (The printed losses come from `loss.mean()`, so they looked right.)


# %%
def fixed(w):
    return first_try(w).mean()


compared(train(fixed))

# %% [markdown]
# The check is this comparison: one step that agrees may be luck; 200 steps that agree in nine digits are not.
#
# In a longer port it is harder to find the first wrong line. `mg.testing.compare` finds it. It runs a function whose
# first parameter is named `lib` with both libraries. It compares every variable of the function, and then every
# gradient. It names the first variable or gradient that differs, with its line.


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
# The source of `mg.testing.compare` is [compare.py](../minigrad/testing/compare.py).
#
# ## 5. Missing parts
#
# | in PyTorch | here |
# |---|---|
# | `torch.compile` | `mg.jit` repeats recorded kernels, and fuses elementwise ones ([how to](../docs/howto/jit.md)) |
# | complex numbers | yes, but there is no view that marks them as conjugated |
# | sparse tensors, quantized tensors | no |
# | `torch.load` of a pickle | no: save with `safetensors`, and read with `mg.load` |
# | `torch.distributed` with NCCL or Gloo | processes on MPI: `mg.dist` ([how to](../docs/howto/processes.md)) |
#
# A missing name raises an `AttributeError`, as always in Python. For names that PyTorch users are likely to try, the
# error adds the code to write instead:

# %%
for module, name in ((mg, "Linear"), (mg, "compile"), (mg, "sparse_coo_tensor")):
    try:
        getattr(module, name)
    except AttributeError as error:
        print(error)

# %% [markdown]
# The full list of differences is [differences.md](../docs/differences.md).
#
# ## Exercises
#
# **A3.1** Write PyTorch's `backward`. `y` is a tensor of any shape. If the number of its elements is not 1, raise a
# `ValueError` and change no `.grad`. Otherwise call `y.backward()` and return its result.

# %%
from minigrad.learning.grading import check, hint


def strict_backward(y):
    """backward, for scalars only."""
    return ...  # write it here


check("A3.1", strict_backward)

# %% [markdown]
# **A3.2** Write `load_state_dict`. `w` is a dict of Vars, and `state` is a dict of NumPy arrays from PyTorch. Write
# each array into the Var of the same name. The Vars must stay the same objects, because optimizers refer to them. If a
# name is in only one of the dicts, raise a `KeyError` and change nothing. An array with two dimensions whose name ends
# in `.weight` has the layout (outputs, inputs); this model computes `x @ w`, so transpose it. Return `w`.


# %%
def load(w, state):
    """Write the values of state into the Vars of w; return w."""
    return ...  # write it here


check("A3.2", load)

# %% [markdown]
# **A3.3** Compute gradients in parts. A batch does not fit into memory, so it comes as a list of tensors, `parts`. The
# parts have different lengths. `w` is a dict of Vars. `loss_of(part)` returns the *mean* over the `len(part)` samples
# of a part. Return the gradients of the mean over all samples, as a dict with the names of `w`. The absolute and the
# relative tolerance are $10^{-6}$. Change no `.grad`.


# %%
def in_parts(loss_of, w, parts):
    """The gradients of the whole, one part at a time."""
    return ...  # write it here


check("A3.3", in_parts)
