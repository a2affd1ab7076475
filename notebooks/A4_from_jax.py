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
# You know JAX, and want to know what is the same here, what is not, and why. The transforms are there, under nearly the
# same names; what is around them is another world: tensors can be written to, random numbers have a state, and nothing
# is traced. Where JAX is installed, each cell runs it too; where it is not, you see what version 0.10 said. Twenty-five
# minutes.
#
# **One idea:** in both libraries a transform takes a function and returns a function; but minigrad runs the function
# itself, without compiling it. **One bug:** a value that you kept, and that changed. **One check:** the weights that
# you kept still have the same loss.

# %%
import numpy as np

import minigrad as mg

try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = jnp = None


def told(f, *libraries):
    """What f gives, or what it raises."""
    try:
        return str(f(*libraries))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0].split('. ')[0]}"[:150]


def both(what, f, known):
    """Run f(transforms, arrays) with both; known is what JAX says, for where it is not installed."""
    print(what)
    print("   minigrad ", told(f, mg.func, mg))
    print("   JAX      ", known if jax is None else told(f, jax, jnp))


# %% [markdown]
# ## 1. The transforms
#
# `jax.grad` is `mg.func.grad`, and so on. (`mg.grad` is another thing: the gradient of a *value*, by the graph that it
# left.) The functions below do not care which they are given:


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
# They nest to any depth. `jax.checkpoint` is `mg.checkpoint(f, *args)`, a call instead of a decorator, and
# `jax.custom_vjp` is `mg.custom_vjp`, with the same `defvjp(fwd, bwd)`. Beside it there is `mg.Function`, PyTorch's
# form, which can have a `jvp` and a rule for `vmap` as well.
#
# Small differences: the arguments of `vmap` are called `in_dims` and `out_dims`, and `axis` is `dim` everywhere. A
# point is a tensor, not a Python number. `mg.func.hvp` exists already.
#
# **Pytrees.** Functions take and give nested tuples, named tuples, lists and dicts of tensors. There are no others:
# classes cannot be registered. A leaf that is not a tensor passes through, with None for its gradient. `jax.tree.map`
# is `mg.func.tree_map`, and keys of dicts may be in any order. You find it in [trees.py](../minigrad/func/trees.py).

# %%
params = {"w": mg.tensor([1.0, 2.0]), "b": (mg.tensor(0.5), "a note")}
slopes = mg.func.grad(lambda p: (p["w"] * p["b"][0]).sum())(params)
print(slopes)
print(mg.func.tree_map(lambda p, g: p if g is None else p - 0.1 * g, params, slopes))

# %% [markdown]
# ## 2. Differences, and their reasons
#
# **Nothing is traced.** JAX runs a function once with placeholders, and works on the program that it finds. Here the
# function runs, with numbers, and each op leaves a record. So `if`, loops and `print` just work under `grad`; under
# `vmap`, where there are many values at once, they cannot:


# %%
def absolute(x):
    return x if x > 0 else -x


both("if under grad", lambda t, lib: t.grad(absolute)(-3.0 * lib.ones(())).item(), "-1.0")
both("if under vmap", lambda t, lib: t.vmap(absolute)(point(lib)),
     "TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].")  # fmt: skip

# %% [markdown]
# It has a price. A number that leaves the graph is a constant when it comes back. JAX stops you; here, as in PyTorch,
# you are believed, and the gradient lacks a part:


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
# The derivative of $x^2$ at 3 is 6. A nudge knows that, so `gradcheck` finds it: it is the first thing to try on a
# function that you ported.
#
# **Errors instead of silence**, and dtypes that are what you say:

# %%
both("beyond the end", lambda t, lib: lib.arange(3)[10].item(), "2")
both("the slope of abs at 0", lambda t, lib: t.grad(abs)(0.0 * lib.ones(())).item(), "1.0")
both("the deviation of 1, 2, 3", lambda t, lib: round(lib.linspace(1.0, 3.0, 3).std().item(), 4), "0.8165")

# %% [markdown]
# * An index out of range raises; in JAX it is clamped, since compiled code cannot raise.
# * At the corner of `abs` the slope is 0 here, as in PyTorch, and 1 in JAX. (At ties of `max` and `maximum` both
#   share.)
# * `std` and `var` divide by $n - 1$ unless you say `correction=0`, as in PyTorch; JAX's divide by $n$, as NumPy's.
# * float64 is float64. JAX makes float32 of it unless `jax_enable_x64` is set, as it is in this notebook.
#
# **Random numbers have a state.** `mg.randn(3)` draws from a stream and moves it on; `mg.manual_seed(0)` begins it
# again. So a function that draws is not a function: it gives another value each time, and difference quotients of it
# are nonsense. A `mg.Generator` that the function makes itself has the effect of a key:


# %%
def noisy(x):
    return (x + mg.randn(3, dtype="float64")).sum().item()


def keyed(x, key):
    return (x + mg.randn(3, dtype="float64", generator=mg.Generator(key))).sum().item()


x = mg.zeros(3, dtype="float64")
print("twice the same:", noisy(x) == noisy(x), " with a key:", keyed(x, 7) == keyed(x, 7))
print("another key, other numbers:", keyed(x, 7) != keyed(x, 8))

# %% [markdown]
# The numbers do not depend on the number of threads, nor on the device. Under `vmap` you say what you mean: by default
# a random function is refused, `randomness="different"` draws for each, `"same"` once for all. JAX asks for the same
# decision by whether you split the key.
#
# **No jit, no jaxpr.** Each op is one compiled kernel, and each derivative rule is one; a program is not compiled as a
# whole (yet). To see *what was recorded*, which a jaxpr tells you in JAX,
#
# ```
# { lambda ; a:f64[3]. let
#     b:f64[3] = sin a
#     c:f64[3] = mul b a
#     d:f64[] = reduce_sum[axes=(0,)] c
#   in (d,) }
# ```
#
# look at the graph of a result; what `jax.make_jaxpr(jax.grad(f))` tells, the way back, is `mg.viz.step`. And
# `mg.explain` leads from a value to its memory and to the source of the kernel that made it.

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
# It is pure, and can stay so: without `jit`, and with `mg.func` for `jax`, it is the same text. A yardstick first, and
# the same weights to begin with, as arrays; keys do not carry over.

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
    """The loop, whichever library it is given."""
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
print("farthest apart:", "below 1e-8" if max(abs(losses[s] - right[s]) for s in YARDSTICK) < 1e-8 else "far")
print("least at step", int(np.argmin(losses)), f"with {min(losses):.4f}, and {losses[-1]:.1f} at the end")

# %% [markdown]
# The port is done. But the rate is a bit too large: the best weights were those of step 43, and the end is worse than
# the beginning. A good loop keeps the best ones that it has seen.
#
# ## 4. The bug: what was kept has changed
#
# Now you learn that tensors can be written in place, which saves the copies. The weights become Vars, and the step
# `v.sub_(...)`. Keeping the best is one line, as you would write it in JAX:


# %%
def loss_of(w):
    h = (mg.from_numpy(xs) @ w["w1"] + w["b1"]).tanh()
    return ((h @ w["w2"] + w["b2"] - mg.from_numpy(ys)) ** 2).mean()


def train(keep):
    """In place; gives the least loss, and the weights that `keep` kept when it was reached."""
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
print(f"the least loss was {least:.6f}; what was kept has {loss_of(best).item():.6f}")

# %% [markdown]
# The dict is a new one, but its tensors are those that went on being written to: `best` is the *last*. In JAX an array
# never changes, so keeping one is keeping its value. Here a name is a tensor, and a tensor is a place in memory. To
# keep a value, copy it:


# %%
least, best = train(keep=lambda w: mg.func.tree_map(lambda v: v.detach().clone(), w))
print(f"the least loss was {least:.6f}; what was kept has {loss_of(best).item():.6f}")

# %% [markdown]
# That is the check, and a good one for every loop: measure what you kept. Two rules keep you safe. *Pure by default:*
# without an underscore at its end, an op gives a new tensor, as in JAX. *Loud in graphs:* if something writes over a
# value that a recorded graph needs, the backward pass raises an error instead of returning a wrong gradient. No library
# can know which of your names were meant as values.
#
# | JAX | here |
# |---|---|
# | `x.at[i].set(v)` | `y = x.clone(); y[i] = v`, or `x[i] = v` if x may change |
# | `jax.lax.stop_gradient(x)` | `x.detach()` |
# | `jax.lax.scan`, `cond`, `fori_loop` | loops and `if` of Python |
# | `jax.jit`, `pmap`, `shard_map` | not there |
# | `jax.random.key(7)`, `split` | `mg.Generator(7)`, one for each purpose |
# | `jax.debug.print` | `print` |
# | `jax.make_jaxpr(f)(x)` | `mg.viz.graph(f(x))` |
# | `jax.test_util.check_grads` | `mg.testing.gradcheck`, `mg.testing.gradgradcheck` |
#
# For a name that is missing, the error tells you what to write instead: try `mg.func.jit`, or `mg.lax`.
#
# ## Exercises
#
# **A4.1** `x.at[index].set(value)`: a tensor like `x` with another value at an index. `x` stays as it was, and
# gradients flow to `x` and to `value`.

# %%
from minigrad.learning.grading import check, hint


def at_set(x, index, value):
    """A new tensor."""
    return ...  # write it here


check("A4.1", at_set)

# %% [markdown]
# **A4.2** Dropout with a key. Each element of `x` is kept with probability `keep` and divided by `keep`, or becomes 0.
# The same key gives the same elements, another key others; and the stream that `mg.rand` draws from without a generator
# is not moved.


# %%
def dropout(x, keep, key):
    """x with some elements gone; key is an int."""
    return ...  # write it here


check("A4.2", dropout)

# %% [markdown]
# **A4.3** `jax.flatten_util.ravel_pytree`. For nested dicts, lists and tuples of tensors return a pair: all elements in
# one tensor of one dim, and a function that makes the nested thing of such a tensor again. Gradients flow through both.


# %%
def ravel(tree):
    """(flat, unravel)."""
    return ...  # write it here


check("A4.3", ravel)
