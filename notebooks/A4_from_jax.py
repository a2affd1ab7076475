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
# # A4 · From JAX
#
# You know JAX. You want to see which parts of minigrad are the same, which parts differ, and why. The transforms exist
# under nearly the same names. Other parts differ: tensors can be written in place, random numbers have a state, and
# transforms trace nothing. If JAX is installed, each cell runs it too. Otherwise the cell shows the stored results of
# JAX 0.10. The appendix takes twenty-five minutes.
#
# **One idea:** in both libraries, a transform takes a function and returns a function; but minigrad runs the function
# itself, without compiling it. **One bug:** a value that you stored, and that changed later. **One check:** the weights
# that you stored still have the same loss.

# %%
import numpy as np

import minigrad as mg

try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = jnp = None


def result(f, *libraries):
    """Return the result of f with these libraries, or its error, as text."""
    try:
        return str(f(*libraries))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0].split('. ')[0]}"[:150]


def both(title, f, known):
    """Run f(transforms, arrays) with both libraries; known is JAX's result, if it is not installed."""
    print(title)
    print("   minigrad ", result(f, mg.func, mg))
    print("   JAX      ", known if jax is None else result(f, jax, jnp))


# %% [markdown]
# ## 1. The transforms
#
# `jax.grad` is `mg.func.grad`, and so on. (`mg.grad` is a different function: it returns the gradient of a *value*,
# from the graph that was recorded.) The functions below work with both libraries:


# %%
def cubes(x):
    return (x * x * x).sum()


def point(lib):
    return lib.ones(2) * 2.0


both("grad", lambda t, lib: t.grad(cubes)(point(lib)).tolist(), "[12.0, 12.0]")
both("value_and_grad", lambda t, lib: t.value_and_grad(cubes)(point(lib))[0].item(), "16.0")
both("jvp", lambda t, lib: t.jvp(cubes, (point(lib),), (point(lib),))[1].item(), "48.0")
both("vjp", lambda t, lib: t.vjp(lambda x: x * x, point(lib))[1](point(lib))[0].tolist(), "[8.0, 8.0]")
both("jacfwd of grad", lambda t, lib: t.jacfwd(t.grad(cubes))(point(lib)).tolist(), "[[12.0, 0.0], [0.0, 12.0]]")
both("jacrev", lambda t, lib: t.jacrev(lambda x: x * x)(point(lib)).tolist(), "[[4.0, 0.0], [0.0, 4.0]]")
both("hessian", lambda t, lib: t.hessian(cubes)(point(lib)).tolist(), "[[12.0, 0.0], [0.0, 12.0]]")
both("linearize", lambda t, lib: t.linearize(cubes, point(lib))[1](point(lib)).item(), "48.0")
both("vmap of grad", lambda t, lib: t.vmap(t.grad(lambda x: x * x))(point(lib)).tolist(), "[4.0, 4.0]")

# %% [markdown]
# You can nest the transforms to any depth. `jax.checkpoint` is `mg.checkpoint(f, *args)`, a call instead of a
# decorator, and `jax.custom_vjp` is `mg.custom_vjp`, with the same `defvjp(fwd, bwd)`. In addition there is
# `mg.Function`, in PyTorch's form, which can have a `jvp` and a batching rule for `vmap` as well.
#
# Small differences: the arguments of `vmap` are named `in_dims` and `out_dims`, and `axis` is `dim` everywhere. A point
# must be a tensor, not a Python number. `mg.func.hvp` computes Hessian-vector products.
#
# **Pytrees.** Functions take and return nested tuples, named tuples, lists and dicts of tensors. Other classes cannot
# be registered. A leaf that is not a tensor is passed through unchanged, and its gradient is None. `jax.tree.map` is
# `mg.func.tree_map`; the keys of dicts may be in any order. The code is in [trees.py](../minigrad/func/trees.py).

# %%
params = {"w": mg.tensor([1.0, 2.0]), "b": (mg.tensor(0.5), "a note")}
gradients = mg.func.grad(lambda p: (p["w"] * p["b"][0]).sum())(params)
print(gradients)
print(mg.func.tree_map(lambda p, g: p if g is None else p - 0.1 * g, params, gradients))

# %% [markdown]
# ## 2. Differences, and their reasons
#
# **Nothing is traced.** JAX runs a function once with placeholders (*tracers*), and transforms the recorded program.
# minigrad runs the function with values, and records each op. So `if`, loops and `print` work under `grad`. Under
# `vmap`, a tensor stands for many values, so an `if` on one of them raises an error:


# %%
def absolute(x):
    return x if x > 0 else -x


both("if under grad", lambda t, lib: t.grad(absolute)(-3.0 * lib.ones(())).item(), "-1.0")
both("if under vmap", lambda t, lib: t.vmap(absolute)(point(lib)),
     "TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].")  # fmt: skip

# %% [markdown]
# This design has a disadvantage. If you convert a tensor to a Python number, the number is a constant. In this case JAX
# raises an error. minigrad, like PyTorch, raises no error, and the gradient lacks a term:


# %%
def by_number(x):
    return float(x) * x


both("float() under grad", lambda t, lib: t.grad(by_number)(3.0 * lib.ones(())).item(),
     "ConcretizationTypeError: Abstract tracer value encountered where concrete value is expected: traced array with "
     "shape float64[]")  # fmt: skip
try:
    mg.testing.gradcheck(by_number, mg.Var(3.0, dtype="float64"), modes="reverse")
except mg.testing.GradcheckError as error:
    print(error)

# %% [markdown]
# The derivative of $x^2$ at 3 is 6, as a finite difference shows. So run `gradcheck` first on every function that you
# port.
#
# **Indices, conventions and dtypes** differ as follows:

# %%
both("beyond the end", lambda t, lib: lib.arange(3)[10].item(), "2")
both("the derivative of abs at 0", lambda t, lib: t.grad(abs)(0.0 * lib.ones(())).item(), "1.0")
both("the standard deviation of 1, 2, 3", lambda t, lib: round(lib.linspace(1.0, 3.0, 3).std().item(), 4), "0.8165")

# %% [markdown]
# * An index out of range raises an error; in JAX it is clamped, since compiled code cannot raise errors.
# * At 0, the gradient of `abs` is 0 here, as in PyTorch, and 1 in JAX. (At ties of `max` and `maximum`, both libraries
#   divide the gradient.)
# * `std` and `var` divide by $n - 1$ unless you pass `correction=0`, as in PyTorch; in JAX and NumPy they divide by
#   $n$.
# * float64 is float64. JAX converts it to float32 unless `jax_enable_x64` is set, as it is in this notebook.
#
# **Random numbers have a state.** `mg.randn(3)` draws from a generator and changes its state; `mg.manual_seed(0)`
# resets it. So a function that draws random numbers returns another value at each call, and finite differences of it
# are meaningless. A `mg.Generator` that the function creates itself has the effect of a key:


# %%
def noisy(x):
    return (x + mg.randn(3, dtype="float64")).sum().item()


def keyed(x, key):
    return (x + mg.randn(3, dtype="float64", generator=mg.Generator(key))).sum().item()


x = mg.zeros(3, dtype="float64")
print("twice the same:", noisy(x) == noisy(x), " with a key:", keyed(x, 7) == keyed(x, 7))
print("another key, other numbers:", keyed(x, 7) != keyed(x, 8))

# %% [markdown]
# The numbers do not depend on the number of threads, nor on the device. Under `vmap`, a random function raises an error
# by default. `randomness="different"` draws new numbers for each sample, and `"same"` uses the same numbers for all. In
# JAX, you choose between new and equal numbers by splitting the key or not.
#
# **jit.** Each op is one compiled kernel, and so are many derivative rules. `mg.jit` records the kernels of a function,
# joins elementwise kernels into loops, and runs all recorded kernels again in later calls. In JAX, a jaxpr shows the
# recorded program:
#
# ```
# { lambda ; a:f64[3]. let
#     b:f64[3] = sin a
#     c:f64[3] = mul b a
#     d:f64[] = reduce_sum[axes=(0,)] c
#   in (d,) }
# ```
#
# Here, `mg.viz.graph` shows the recorded ops of a result. `mg.viz.step` shows the backward pass, as
# `jax.make_jaxpr(jax.grad(f))` does. `mg.explain` prints the memory of a value, and the kernel that computed it.

# %%
a = mg.Var([0.5, 1.0, 2.0], dtype="float64", name="a")
d = (a.sin() * a).sum()
print(mg.viz.step(d))
mg.viz.graph(d)

# %% [markdown]
# ## 3. Port a training loop
#
# In JAX:
#
# ```python
# @jax.jit
# def update(params, velocity):
#     value, g = jax.value_and_grad(loss_of)(params)
#     velocity = jax.tree.map(lambda v, g: 0.5 * v + g, velocity, g)
#     return value, jax.tree.map(lambda p, v: p - 0.4 * v, params, velocity), velocity
# ```
#
# The function is pure, and it can remain pure: replace `jax` by `mg.func` and `jax.jit` by `mg.jit`, and the text is
# the same. `mg.jit` is optional: with it, each step takes less time and returns the same bits. To compare the two
# libraries, you need the losses of the original at a few steps (`YARDSTICK`), and the same initial weights as arrays,
# because the random numbers of the libraries differ.

# %%
xs = np.linspace(-2.0, 2.0, 32).reshape(32, 1)
ys = np.sin(2.0 * xs)
k = np.arange(8.0)
START = {
    "in": {"w": np.sin(3.0 * k + 1).reshape(1, 8), "b": np.cos(5.0 * k)},
    "out": {"w": np.sin(7.0 * k + 2).reshape(8, 1) / 2, "b": np.zeros(1)},
}
YARDSTICK = {0: 0.4865884568, 1: 0.4655282248, 10: 0.3641586153, 30: 0.0334016813, 43: 0.0145938377}


def losses_with(transforms, tree_map, tanh, array):
    """Run the loop with the functions of one library; return the losses."""
    inputs, targets = array(xs), array(ys)

    def loss_of(p):
        h = tanh(inputs @ p["in"]["w"] + p["in"]["b"])
        return ((h @ p["out"]["w"] + p["out"]["b"] - targets) ** 2).mean()

    def update(params, velocity):
        value, g = transforms.value_and_grad(loss_of)(params)
        velocity = tree_map(lambda v, g: 0.5 * v + g, velocity, g)
        return value, tree_map(lambda p, v: p - 0.4 * v, params, velocity), velocity

    params, losses = tree_map(array, START), []
    velocity = tree_map(lambda p: 0.0 * p, params)
    for _ in range(60):
        value, params, velocity = update(params, velocity)
        losses.append(value.item())
    return losses


losses = losses_with(mg.func, mg.func.tree_map, mg.tanh, mg.tensor)
right = YARDSTICK if jax is None else losses_with(jax, jax.tree.map, jnp.tanh, jnp.asarray)
for step in YARDSTICK:
    print(f"step {step:2}: {losses[step]:.10f}, JAX's {right[step]:.10f}")
difference = max(abs(losses[step] - right[step]) for step in YARDSTICK)
print("largest difference:", "below 1e-8" if difference < 1e-8 else difference)
print(f"smallest loss {min(losses):.4f} at step {int(np.argmin(losses))}, and {losses[-1]:.1f} at the end")

# %% [markdown]
# The port is done. But the learning rate is a little too large: the weights of step 43 were the best, and the last loss
# is larger than the first. A good loop stores the best weights.
#
# ## 4. The bug: stored weights that change
#
# Tensors can be written in place, which saves copies. So you convert the weights to Vars, and the step to
# `v.sub_(...)`. Storing the best weights is one line, as you would write it in JAX:


# %%
def loss_of(w):
    h = (mg.from_numpy(xs) @ w["w1"] + w["b1"]).tanh()
    return ((h @ w["w2"] + w["b2"] - mg.from_numpy(ys)) ** 2).mean()


def train(keep):
    """Train in place; return the smallest loss, and the result of keep(w) at that step."""
    flat = {"w1": START["in"]["w"], "b1": START["in"]["b"], "w2": START["out"]["w"], "b2": START["out"]["b"]}
    w = {name: mg.Var(value, name=name) for name, value in flat.items()}
    velocity = {name: mg.zeros_like(v) for name, v in w.items()}
    least, best = float("inf"), None
    for _ in range(60):
        loss = loss_of(w)
        if loss.item() < least:
            least, best = loss.item(), keep(w)
        grads = mg.grad(loss, list(w.values()))
        with mg.no_grad():
            for (name, v), g in zip(w.items(), grads):
                v.sub_(0.4 * velocity[name].mul_(0.5).add_(g))
    return least, best


least, best = train(keep=dict)
print(f"the smallest loss was {least:.6f}; the stored weights have {loss_of(best).item():.6f}")

# %% [markdown]
# `dict(w)` is a new dict, but it contains the same tensors, and the loop went on writing to them: `best` contains the
# *last* weights. In JAX an array never changes, so a reference to the array is enough. In minigrad, a tensor refers to
# memory that can be written. To store the value of a tensor, copy the tensor:

# %%
least, best = train(keep=lambda w: mg.func.tree_map(lambda v: v.detach().clone(), w))
print(f"the smallest loss was {least:.6f}; the stored weights have {loss_of(best).item():.6f}")

# %% [markdown]
# To check any such loop, compute the loss of the stored weights again. Two rules of minigrad limit such bugs. An op
# whose name does not end in an underscore returns a new tensor or a view. It does not write to its operands, except for
# `out=` and the running statistics of `batch_norm`. If a program overwrites a value that a recorded graph needs, the
# backward pass raises an error instead of returning a wrong gradient. But no library can detect that you expected
# `best` to be a copy.
#
# | JAX | here |
# |---|---|
# | `x.at[i].set(v)` | `y = x.clone(); y[i] = v`, or `x[i] = v` if x may change |
# | `jax.lax.stop_gradient(x)` | `x.detach()` |
# | `jax.lax.scan`, `while_loop`, `cond` | Python loops and `if`, or `mg.func.scan`, `while_loop`, `cond` |
# | `jax.lax.map`, `associative_scan` | `mg.func.map`, `mg.func.associative_scan` |
# | `jax.lax.fori_loop` | a loop of Python; `mg.jit` compiles one of its rounds |
# | `jax.jit` | `mg.jit`, which also records writes, backward passes and optimizers |
# | `pmap`, `shard_map` | processes on MPI: `mg.dist` |
# | `jax.random.key(7)`, `split` | `mg.Generator(7)`, one for each purpose |
# | `jax.debug.print` | `print` |
# | `jax.make_jaxpr(f)(x)` | `mg.viz.graph(f(x))` |
# | `jax.test_util.check_grads` | `mg.testing.gradcheck`, `mg.testing.gradgradcheck` |
#
# If a name is missing, the error suggests a replacement: try `mg.func.jit`, or `mg.lax`.
#
# ## Exercises
#
# **A4.1** Write JAX's `x.at[index].set(value)`. `x` is a float tensor of any shape, `index` is an integer, a slice or a
# tuple of integers, and `value` is a tensor with the shape of `x[index]`. Return a tensor with the elements of `x`,
# except that the elements at `index` are `value`. `x` must not change. The result must be differentiable with respect
# to `x` and `value`. The absolute and the relative tolerance are $10^{-6}$.

# %%
from minigrad.learning.grading import check, hint


def at_set(x, index, value):
    """Return a new tensor."""
    return ...  # write it here


check("A4.1", at_set)

# %% [markdown]
# **A4.2** Write dropout with a key. `x` is a float tensor of any shape, `keep` a probability, and `key` an integer.
# Return a tensor of the same shape: each element of `x` is divided by `keep` with probability `keep`, and is 0
# otherwise. Two calls with equal keys must choose the same elements, and two calls with different keys must choose
# different elements. The result must be differentiable with respect to `x`. The relative tolerance is $10^{-5}$ for the
# values and $10^{-6}$ for the gradient. Do not change the state of the default generator, from which `mg.rand` draws.


# %%
def dropout(x, keep, key):
    """Return x with random elements set to 0."""
    return ...  # write it here


check("A4.2", dropout)

# %% [markdown]
# **A4.3** Write `jax.flatten_util.ravel_pytree`. `tree` is a nested structure of dicts, lists and tuples of tensors.
# Return a pair: a tensor of one dim with all elements, and a function that converts such a tensor back to the
# structure. Both functions must be differentiable. The absolute and the relative tolerance are $10^{-6}$.


# %%
def ravel(tree):
    """Return (flat, unravel)."""
    return ...  # write it here


check("A4.3", ravel)
