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
# # 15 · Compiled steps
#
# A small training step spends most of its time in Python, not in its kernels. `mg.jit` records the kernels that a step
# runs, and later runs the list without Python. PyTorch has `torch.compile` and JAX has `jax.jit` for the same purpose.
# In this notebook you measure the cost of Python, read a recorded step, and build a small recorder. The notebook takes
# thirty minutes.
#
# **One idea:** a step is a list of kernels and of memory, and a list can be run again. **One bug:** random numbers that
# become a constant. **One check:** the same bits as without the list.

# %%
import inspect
import time

import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad.data import load_digits
from minigrad.runtime.observers import Observer, attach, detach

F = nn.functional

# %% [markdown]
# ## 1. The cost of Python
#
# Here is a training step for the digits of chapter 13. The network has two linear layers, and the update has a momentum
# of 0.9. `make_step` returns a step with its own parameters, so that you can compare two copies. Section 7 needs the
# argument `dropout`.

# %%
images, labels, _, _ = (mg.from_numpy(a) for a in load_digits())
x, target = images[:32], labels[:32]


def make_step(dropout=None):
    """Return a training step, its parameters and their velocities; all copies start with the same values."""
    mg.manual_seed(0)
    w1, b1 = mg.Var(0.1 * mg.randn(16, 64), name="w1"), mg.Var(mg.zeros(16), name="b1")
    w2, b2 = mg.Var(0.2 * mg.randn(10, 16), name="w2"), mg.Var(mg.zeros(10), name="b2")
    params = [w1, b1, w2, b2]
    velocities = [mg.zeros(p.shape) for p in params]

    def step(x, target, rate):
        for p in params:
            p.grad = None
        h = F.linear(x, w1, b1).tanh()
        if dropout is not None:
            h = dropout(h)
        loss = F.cross_entropy(F.linear(h, w2, b2), target)
        loss.backward()
        with mg.no_grad():
            for p, velocity in zip(params, velocities):
                velocity.mul_(0.9).add_(p.grad)
                p.sub_(rate * velocity)
        return loss

    return step, params, velocities


step, params, velocities = make_step()
for _ in range(3):
    print(f"loss {step(x, target, 0.1).item():.3f}")

# %% [markdown]
# Each op of a step prepares one or more kernels and starts them on the memory of its operands. Such a start is called a
# **launch**. How many launches does this step have? Guess first. An *observer* is an object that minigrad calls at each
# event; this one stores the launches. (The class is in [observers.py](../minigrad/runtime/observers.py).)


# %%
class Launches(Observer):
    """Store every launch while the observer is attached."""

    def __init__(self):
        self.seen = []

    def launching(self, plan, launch, buffers):
        self.seen.append(launch)


watch = Launches()
attach(watch)
step(x, target, 0.1)
detach(watch)
print(len(watch.seen), "launches:")
for k, launch in enumerate(watch.seen[:12]):
    print(f"{k:3} {launch}")

# %% [markdown]
# There are 27 launches. The forward pass has the first four launches: a linear layer, `tanh`, a linear layer, and the
# loss. The backward pass has seven launches. The update has four launches per parameter: `mul_`, `add_`,
# `rate * velocity` and `sub_`. A launch may run several kernels: launch 0 first copies a matrix into another order,
# then it multiplies.
#
# Now measure the time of a step, and divide it by the number of launches:


# %%
def microseconds(function, *args, calls=50, repeat=5):
    """Return the time of one call: the shortest of several means."""
    means = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(calls):
            function(*args)
        means.append((time.perf_counter() - start) / calls * 1e6)
    return min(means)


eager = microseconds(step, x, target, 0.1)
print(f"{eager:.0f} µs per step, {eager / len(watch.seen):.1f} µs per launch")

# %% [markdown]
# Is this the time of the kernels? A vector of 10 floats needs four launches in the update, and no processor needs
# several microseconds for 10 additions. Let us run the same launches without Python. `mg.jit` takes a function and
# returns a function. Its first call runs as before, its second call is recorded, and later calls run the record. The
# argument `fuse=False` keeps the launches as they are:

# %%
recorded = mg.jit(make_step()[0], fuse=False)
for _ in range(3):
    recorded(x, target, 0.1)
print(recorded.report())
print(f"eager {eager:.0f} µs, recorded {microseconds(recorded, x, target, 0.1):.0f} µs")

# %% [markdown]
# The report counts a few more kernels than launches, because a product may run two kernels. On the machine where this
# page was written, a step took 208 µs in Python, and 21 µs as a record, with the same kernels. Nine tenths of the time
# were Python. Running a function directly, op by op, is called **eager mode**. The record is called a **program**.
#
# For large tensors, the kernels take most of the time, so running them without Python saves little.
#
# ## 2. A recording has no values
#
# A program is a list. Each entry has a launch, and numbers for the pieces of memory that the launch uses. Such a number
# is called a **slot**:

# %%
number = {}
for item in recorded.last.program.items[:6]:
    slots = [number.setdefault(slot, len(number)) for slot in item.slots]
    print(f"slots {slots!s:14}", item.launch)

# %% [markdown]
# Read the list from the top. The first launch computes the linear layer: it reads three slots (`x`, `w1`, `b1`) and
# writes slot 3. `tanh` reads slot 3 and writes slot 4, which the next layer reads. There is no Python object in this
# list, no `for` loop over parameters, and no graph: the backward pass has become launches too. (A step of `mg.optim`
# stays a call of Python, between two parts of the list.)
#
# How does minigrad find the launches? It runs your function once, on tensors without memory. The next function prints
# the class of the memory of `y`. How many lines do four calls print?


# %%
@mg.jit
def peek(x):
    y = x * 2.0
    print("  the memory of y is a", type(y.storage.buffer).__name__, "for", y.dtype, y.shape)
    return y


for k in range(1, 5):
    print("call", k)
    peek(x)

# %% [markdown]
# The calls print two lines. The first call is eager, so `y` has a NumPy array. In the second call the memory is a
# `Slot`: it has a number, a dtype and a size, but no elements. Later calls do not run your function at all, so they
# print nothing. The class is in [program.py](../minigrad/jitting/program.py).
#
# During a recording no value can be read. And a program would not repeat an effect on a Python list. In both cases, the
# second call raises an error:

# %%
history = []


def reads_a_value(x):
    return (x * x).sum().item()


def branches(x):
    loss = (x * x).sum()
    if loss > 1:
        loss = loss.sqrt()
    return loss


def appends(x):
    loss = (x * x).sum()
    history.append(loss)
    return loss


for function in (reads_a_value, branches, appends):
    jitted = mg.jit(function)
    first = jitted(x)
    try:
        jitted(x)
    except mg.RecordingError as error:
        print(f"{function.__name__}: the first call returns {float(first):.1f}, the second one raises\n{error}\n")

# %% [markdown]
# Without these errors, a program would return the value of the *second* call for ever, or always take the same branch.
# If the function reads a value or changes a list, return the tensor, and read its value outside. For a branch on
# values, compute both results and select one of them with `mg.where`.
#
# **The check.** A program must return exactly the same bits as eager mode; results that are only close are not enough.
# Two copies of the step start from equal parameters. Compare every loss, and all parameters at the end:

# %%
eager_step, eager_params, _ = make_step()
function, params, velocities = make_step()
step = mg.jit(function)
same = [mg.equal(eager_step(x, target, 0.1), step(x, target, 0.1)) for _ in range(30)]
print("the 30 losses are equal:   ", all(same))
print("all parameters are equal:  ", all(mg.equal(p, q) for p, q in zip(eager_params, params)))

# %% [markdown]
# ## 3. Memory: one arena for all temporaries
#
# In eager mode each result takes new memory, and Python returns it when the last tensor that uses it is gone. A program
# has no tensors, but the whole list of launches is known. For each slot you can read from the list which launch writes
# it first, and which launch reads it last. Between these two launches the slot is **live**. Two slots that are never
# live at the same time can use the same memory. `memory()` draws this, with one line per slot: where it begins, its
# bytes, and a bar for the launches during which it is live.

# %%
print(recorded.memory())

# %% [markdown]
# The first line compares the size of the memory with the size of all temporaries together. On the machine of this page,
# 12 temporaries of 25,856 bytes lie in a piece of 10,240 bytes, which is called an **arena**. Compare the offsets:
# several slots begin at 0, one after the other. The first line of the list is the copy of a matrix that a product
# needs; it is live for one launch. The last four lines are the products `rate * velocity`. Each product is live for two
# launches, and then its memory is free for the next product. In exercise 15.3 you write this assignment of memory;
# minigrad's version is `arena_of` in [placing.py](../minigrad/jitting/placing.py).
#
# The parameters, the gradients and the loss do not appear in the list. They exist after the call, so they cannot be in
# the arena.
#
# ## 4. Fusion: one loop instead of ten
#
# For a million elements, Python's part of the time is small. Memory is now the problem. The next cell has ten ops. Each
# of them reads 4 MB or more, and writes 4 MB. The processor can compute faster than it can read memory.


# %%
def ten(x):
    y = x
    for _ in range(2):
        y = mg.maximum(y * 1.01 + x - 0.5, x) * 0.5
    return y


def ready(function, *args):
    """Call a jitted function until its fused kernels are compiled, for a minute at most."""
    end = time.perf_counter() + 60
    function(*args)
    function(*args)
    while "not compiled" in function.report() and time.perf_counter() < end:
        time.sleep(0.05)
        function(*args)
    return function


large = mg.linspace(-2.0, 2.0, 1_000_000)
unfused, fused = ready(mg.jit(ten, fuse=False), large), ready(mg.jit(ten), large)
print(unfused.report())
print(fused.report())
for name, function in (("eager", ten), ("recorded", unfused), ("fused", fused)):
    print(f"{name:9} {microseconds(function, large, calls=3):6.0f} µs")
print("the same bits:", mg.equal(ten(large), fused(large)))

# %% [markdown]
# All ten launches became a single loop, and no temporary is left. On the machine of this page the times were 9.5, 4.6
# and 0.7 ms. Why? Element $i$ of each result depends on element $i$ of the operands only. So one loop can compute all
# ten ops for element 0, then for element 1, and so on. The intermediate values stay in a register of the processor. The
# loop reads `x` once and writes the result once. Joining launches in this way is called **fusion**.
#
# The bits are the same because each element is computed with the same ten operations in the same order. For a sum,
# another order of the additions has another rounding error (chapter 10). Therefore a loop before a sum computes a piece
# of the elements into a small buffer in the cache, and the kernel of eager mode adds up the buffer: the order of the
# additions does not change. A loop before a `softmax` computes one row at a time into such a buffer. A matrix product
# applies the operations after it to each block of its result while the block is in the cache.
#
# A fused loop is a new kernel, so it must be compiled. A helper process does this while your program runs the unfused
# list. `ready` waits for this compilation, so that the times above are times of the fused kernel.
#
# ## 5. The program as text
#
# A list without values can be printed. `source()` writes the program as Python, with plain loops over NumPy arrays:

# %%
print(fused.source())

# %% [markdown]
# The last lines are the loop. It computes ten operations for one element, and only `x` and `result` are arrays. The
# text of the whole training step is longer. It contains the forward pass, the backward pass and the update, and above
# each loop your line:

# %%
step = ready(step, x, target, 0.1)
text = step.source()
lines = text.splitlines()
backward = next(k for k, line in enumerate(lines) if "loss.backward()" in line)
update = next(k for k, line in enumerate(lines) if "velocity.mul_" in line)
print(len(lines), "lines, for example\n")
print("\n".join([*lines[backward + 1 : backward + 20], "    ...", *lines[update : update + 6]]))

# %% [markdown]
# The first part is the beginning of the backward pass: the gradient of the loss, and the two products of a linear layer
# that you derived in chapter 06. The last part is the update of `w1`: its four launches share one loop. You can run the
# text without minigrad. Give it copies of the arrays, then compare its results with a call of the program:

# %%
module = {}
exec(text, module)
print("run", inspect.signature(module["run"]))

arrays = {"x": x.numpy(), "target": target.numpy(), "rate": 0.1, "result": np.empty((), np.float32)}
for k, (p, velocity) in enumerate(zip(params, velocities)):
    arrays[p.name] = p.detach().numpy().copy()
    arrays[f"{p.name}_grad"] = np.empty(p.shape, np.float32)
    arrays[f"velocities_{k}"] = velocity.numpy().copy()
module["run"](**arrays)
loss = step(x, target, 0.1)
print(f"loss by the text {arrays['result']:.6f}, by the program {loss.item():.6f}")
for p in params:
    print(p.name, "differs by at most", np.abs(arrays[p.name] - p.detach().numpy()).max())

# %% [markdown]
# The results differ in the last digits of float32. The bits are not equal, because the text adds the terms of a sum one
# by one, and the kernels add several at once.
#
# The next cell draws the same program: a box is a launch, and an arrow is memory.

# %%
step.graph()

# %% [markdown]
# **Loops of Python.** The next function follows a signal: in each of 1,000 rounds, four ops move the state `h` towards
# the next element. `mg.func.scan(f, h, signal)` is a loop of Python that calls `f` with the state and one element, as
# `jax.lax.scan` does. How long will the text of 4,000 launches be?

# %%
signal = mg.randn(1000, 8)
follow = mg.jit(lambda signal: mg.func.scan(lambda h, s: ((h * 0.9 + s * 0.1).tanh(), None), mg.zeros(8), signal)[0],
                fuse=False)  # fmt: skip
for _ in range(2):
    follow(signal)
print(follow.report())
print("\n".join(follow.source().splitlines()[-13:]))

# %% [markdown]
# The recorder has seen 4,001 launches. But after one round the list of launches repeats, with other memory. minigrad
# searches for such a **repeat**, compiles one round, and stores the addresses of all rounds. So 1,000 rounds need as
# much time in the compiler as one. The text shows the loop again: round `t` reads `s0[t]`, the state that the round
# before wrote.

# %% [markdown]
# ## 6. Guards: tests before each call of a program
#
# A program was recorded for one situation. Before each call, minigrad tests whether the situation is still the same.
# These tests are called **guards**. Which change will need a new program: another rate? A shorter batch? Another value
# of the variable `scale`, which is outside of the function? Predict the number of programs after each line.

# %%
scale = 2.0


@mg.jit(fuse=False)
def scaled(x, rate):
    return x * scale - rate


for rate in (0.1, 0.2, 0.3, 0.4):
    scaled(x, rate)
print("four rates:          ", scaled)
for _ in range(2):
    scaled(images[32:64], 0.1)
print("32 other images:     ", scaled)
for _ in range(2):
    scaled(images[:8], 0.1)
print("a batch of 8:        ", scaled)
scale = 3.0
scaled(x, 0.1)
print("another scale:       ", scaled)
print(scaled.report())

# %% [markdown]
# A float argument is read in each call, so a learning rate that changes costs nothing. Other images of the same shape
# and layout fit as well. Another *shape* is another kind of arguments, with its own program. The value of `scale` is a
# part of the program, so the guards compare it, and `report()` names it as the cause of the new recording.
#
# Some details follow. An integer, a string or a boolean argument is compared by value: each value is a separate kind. A
# float is compared by value too if your function needs its value, as in `if rate > 0.5:`. The first call of each kind
# runs eagerly.
#
# Guards have a limit: they can compare only values that minigrad can find. This limit causes the bug of this chapter.
#
# ## 7. The bug: random numbers that become a constant
#
# `dropout` sets random units of the hidden layer to 0 during training (chapter 14). A colleague wrote it with NumPy:

# %%
rng = np.random.default_rng(0)


def numpy_dropout(h):
    kept = rng.random(16) < 0.5
    return h * mg.tensor(2.0 * kept, dtype="float32")


def trained_units(step, w1, steps=20):
    """Return how many of the 16 hidden units have a gradient in some of the steps; the first two are not counted."""
    trained = np.zeros(16, bool)
    for k in range(steps + 2):
        loss = step(x, target, 0.1)
        if k >= 2:
            trained |= w1.grad.abs().sum(1).numpy() > 0
    return f"{trained.sum():2} of 16 units are trained, loss {loss.item():.2f}"


function, params, _ = make_step(numpy_dropout)
print("eager:   ", trained_units(function, params[0]))
function, params, _ = make_step(numpy_dropout)
print("program: ", trained_units(mg.jit(function, fuse=False), params[0]))

# %% [markdown]
# There is no error and no warning, and the loss is even smaller. But six of the 16 hidden units learn nothing. Do you
# see why? `rng` drew its numbers while the function was recorded. The mask became a constant of the program, and it is
# the same in each step. A clock, an element of a NumPy array, the content of a file: everything that does not pass
# through a minigrad op is read once.
#
# minigrad cannot see this in the list, but it can compare. With `verify=5`, the first run of a program and every fifth
# run after it also run your function eagerly, from the same state. All bits must agree: results, parameters and
# gradients.

# %%
function, params, _ = make_step(numpy_dropout)
try:
    trained_units(mg.jit(function, fuse=False, verify=5), params[0])
except mg.RecordingError as error:
    print(error)

# %% [markdown]
# **The fix.** Let minigrad draw the numbers. Its random ops are launches, and a program continues the stream of random
# numbers. Eager mode and the program then draw the same masks:

# %%
for wrap in (lambda function: function, lambda function: mg.jit(function, fuse=False, verify=5)):
    function, params, _ = make_step(lambda h: F.dropout(h, 0.5))
    print(trained_units(wrap(function), params[0]))

# %% [markdown]
# Use `verify` for the first run of a new step, and remove it when all is well: a verified call takes longer than an
# eager one. Numbers that must come from outside, such as a mask that you read from a file, are arguments: pass them as
# tensors.
#
# ## 8. Gradients through a program
#
# The step above calls `backward` inside. You can also jit only the model, and call `backward` outside. Then the program
# has two lists, one for each direction, and the result has one node for both:

# %%
w = mg.Var(0.1 * mg.randn(16, 64), name="w")


def score(x):
    return F.linear(x, w).tanh().sum()


jitted = mg.jit(score, fuse=False)
for _ in range(3):
    y = jitted(x)
print("the same gradient:", mg.equal(mg.grad(y, w), mg.grad(score(x), w)))
print(jitted.report())
print(mg.viz.graph(jitted(x)))

# %% [markdown]
# The tools of chapter 03 show this one node, named after the function, because the ops inside have left no graph. If
# you want to see each op, run the function eagerly: under `mg.debug()`, a jitted function runs as the plain function,
# so the stepper and `explain_grad` work as before. The bits are the same, so the explanation is valid for the program
# too:

# %%
with mg.debug():
    explained = mg.viz.step(jitted(x))
explained

# %% [markdown]
# ## Exercises
#
# You build the mechanism for single numbers. A program is a list of items `(op, slots)`. `op` is a string: `"add"`,
# `"sub"`, `"mul"` or `"neg"`. `slots` is a tuple: first the operands, last the slot that the item writes. A slot is an
# int, and an operand may also be a constant, which is a Python float. For example, `("sub", (0, 2.0, 3))` writes slot 0
# minus 2.0 into slot 3.
#
# **15.1** Record a function of `n` numbers. Call `function` once with `n` objects that have no values: argument $k$ is
# slot $k$. The function uses `+`, binary `-`, `*` and unary `-`, with floats on either side. Each operation appends one
# item and writes a new slot: $n$, then $n + 1$, and so on. Return a pair: the list of items, and the slot of the
# function's result. `bool(x)` of such an object `x`, which Python calls for `if x:`, must raise an error.

# %%
from minigrad.learning.grading import check, hint


def record(function, n):
    """Return (items, slot of the result)."""
    return ...  # write it here


check("15.1", record)

# %% [markdown]
# **15.2** Run a program. `items` is a list as in 15.1, `values` is a list with the floats of slots 0, 1, ..., and
# `result` is a slot. Return the float in the slot `result` after all items; the absolute and the relative tolerance are
# $10^{-12}$. A slot may be written several times: the items may also write into the slots of arguments. Do not change
# the list `values`.


# %%
def replay(items, values, result):
    """Return the value of a slot after all items."""
    return ...  # write it here


check("15.2", replay)

# %% [markdown]
# **15.3** Assign memory. `items` is a list as in 15.1, in which each item writes a new slot; slots 0 to `n - 1` are
# arguments. Every other slot needs a buffer. A slot is live from the item that writes it to the last item that reads
# it, both included; the slot `result` is live until the end. Two slots may share a buffer if no item finds both live.
# Return a dict from each slot that an item writes to the number of its buffer: 0, 1, and so on. Use as few buffers as
# possible.


# %%
def assign(items, n, result):
    """Return {slot: buffer}."""
    return ...  # write it here


check("15.3", assign)

# %% [markdown]
# **15.4** Fuse. `launches` is a list of `(kind, shape, reads, writes)`: `kind` is `"map"` (elementwise) or `"sum"`,
# `shape` is the tuple of ints over which it loops, `reads` is a tuple of slots, and `writes` is one slot, which no
# other launch writes. Go through the launches in order. A launch joins the current loop if it and all launches of the
# loop are maps of the same shape, and if it reads a slot that a launch of the loop reads or writes. Otherwise it begins
# a new loop. A slot needs memory if a launch of another loop reads it, or if it is in the set `results`. Return a list
# with one pair per loop: the list of the indices of its launches, and the list of the slots with memory that it writes,
# in the order of its launches.


# %%
def fuse(launches, results):
    """Return [(indices, slots with memory), ...]."""
    return ...  # write it here


check("15.4", fuse)
