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
# # 16 · Waves
#
# A complex number describes a wave: its size is the height of the wave, and its angle is the position of the wave. The
# Fourier transform writes a signal as a sum of waves. In this notebook you compute gradients with respect to complex
# numbers and through Fourier transforms. You then use them twice: to find the frequencies of a noisy signal, and to
# train a network that solves a differential equation. You need complex numbers as in school, up to $e^{i\varphi}$. The
# notebook takes thirty-five minutes.
#
# **One idea:** a backward pass multiplies by the derivative, for complex numbers too; only the last step takes a
# conjugate. **One bug:** an imaginary part that runs away. **One check:** $dL = \mathrm{Re}(u\,dz)$ for steps in all
# complex directions.

# %%
import math
import time

import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad import nn

mg.manual_seed(0)


def normal(*shape):
    """Return random complex128 numbers."""
    return mg.randn(*shape, dtype=mg.complex128)


def squares(z):
    """Return |z|^2 = z conj(z) for each element, as real numbers."""
    return (z * z.conj()).real


def apart(a, b):
    """Return the largest |a - b|."""
    return np.abs(a.detach().numpy() - b.detach().numpy()).max()


# %% [markdown]
# ## 1. A complex number is two real numbers
#
# Write $z = x + iy$. A loss must be a *real* number $L$, because "smaller" has no meaning for complex numbers. So $L$
# is a function of the two real numbers $x$ and $y$, and it has two derivatives: $L_x$ and $L_y$. Here the loss is
# $|z^2 - c|^2$. It is 0 where $z$ is a square root of $c$. `mg.grad` returns one complex number. Which one? Perturb
# both parts, as in chapter 01, and compare:

# %%
c = mg.tensor(0.8 + 0.6j, dtype=mg.complex128)


def loss_of(z):
    """Return |z*z - c|^2, a real number."""
    return squares(z * z - c)


z = mg.Var(0.5 - 1.0j, dtype=mg.complex128, name="z")
g = mg.grad(loss_of(z), z)
h = 1e-6
by_x, by_y = (
    (loss_of(z + step).item() - loss_of(z - step).item()) / (2 * h)
    for step in mg.tensor([h, 1j * h], dtype=mg.complex128)
)
print(f"gradient:    {g.item():.6f}")
print(f"differences: {by_x:.6f} and {by_y:.6f}")

# %% [markdown]
# The gradient is $g = L_x + i L_y$: the two real derivatives as the parts of one number. Its dtype and its shape are
# those of `z`. This is PyTorch's convention. As an arrow in the plane, $g$ points in the direction in which the loss
# grows fastest. So gradient descent needs no new formula: `z - rate * g`, with a real rate.

# %%
paths = []
for start in (0.5 - 1.0j, -0.1 - 1.0j, -1.2 + 0.7j):
    point, path = mg.Var(start, dtype=mg.complex128), []
    for _ in range(30):
        path.append(point.item())
        point.set(point - 0.05 * mg.grad(loss_of(point), point))
    paths.append(path)

x, y = np.meshgrid(np.linspace(-1.5, 1.5, 90), np.linspace(-1.3, 1.2, 80))
plt.contour(x, y, np.log(abs((x + 1j * y) ** 2 - c.item()) ** 2 + 0.05), 14, colors="lightgrey")
for path in paths:
    plt.plot(np.real(path), np.imag(path), "o-", markersize=3)
plt.xlabel("real part")
plt.ylabel("imaginary part")
plt.show()
print("the ends of the paths:", *(f"{path[-1]:.3f}" for path in paths))
print("the square root of c: ", f"{np.sqrt(c.item()):.3f}")

# %% [markdown]
# ## 2. Inside a backward pass: one factor
#
# Let $f$ be a function such as $z^2$ or $e^z$. Such functions have a complex derivative $f'(z)$: for every small
# complex step $dz$, the value changes by $dy = f'(z)\,dz$. They are called **holomorphic**. $L$ is not holomorphic,
# because $dL$ must be real for every $dz$. But $dL$ has a form that is nearly as simple. With $u = L_x - i L_y$,
#
# $$dL = L_x\,dx + L_y\,dy = \mathrm{Re}\big((L_x - iL_y)(dx + i\,dy)\big) = \mathrm{Re}(u\,dz) .$$
#
# What happens to $u$ in the backward pass of $y = f(z)$? Put $dy = f'(z)\,dz$ into $dL = \mathrm{Re}(u_y\,dy)$:
#
# $$dL = \mathrm{Re}\big(u_y\,f'(z)\,dz\big), \qquad\text{so}\qquad u_z = u_y\,f'(z) .$$
#
# This is the rule for real numbers. minigrad has one rule per op, and the rule of `exp` is `g * y` for both. Inside a
# backward pass, the incoming gradient `ȳ` is the factor $u$. Read the steps, and find $u_y f'(z)$. (The first two steps
# are `.real`: a complex number as a pair of real numbers, and the first of them.)

# %%
z = mg.Var(0.5 - 1.0j, dtype=mg.complex128, name="z")
mg.viz.step((z * z).exp().real)

# %% [markdown]
# In the step of `exp`, $u$ is multiplied by $y$. In the step of `mul`, it is multiplied by $z$, once per path. The last
# line is the conjugate of the sum of both paths: the gradient that you receive is $g = \bar u = L_x + iL_y$.
#
# Why the conjugate? Compare all steps $dz$ of the same length. $\mathrm{Re}(u\,dz)$ is largest where $u\,dz$ is a
# positive real number. The product of two complex numbers is real and positive if their angles cancel. So $dz$ must
# have the angle of $\bar u$, not of $u$: **the loss grows fastest along the conjugate of $u$.** `mg.grad`, `.grad` and
# hooks return this direction, so that an optimizer can subtract it. (PyTorch does the same. `jax.grad` returns $u$, and
# a JAX program takes the conjugate before its update.)
#
# Some functions are not holomorphic. For $y = \bar z$, $dL = \mathrm{Re}(u\,\overline{dz}) = \mathrm{Re}(\bar u\,dz)$,
# so the rule of `conj` is the conjugate of the incoming $u$. And a *real* operand has real steps $dx$ only:
# $\mathrm{Re}(u\,dx) = \mathrm{Re}(u)\,dx$. It receives the real part:


# %%
def declared(y):
    """Print the VJP rules of the last op of y, as formulas."""
    for share in mg.viz.step(y).frames[0].shares:
        print(f"{share.operand} receives {share.text}")


a, b = mg.Var(normal(3), name="a"), mg.Var(mg.randn(3, dtype=mg.float64), name="b")
declared(a.exp())
declared(a.conj())
declared(a * b)

# %% [markdown]
# In the last line, `b` is real. Its rule is the same, and the engine takes the real part of the result, in the same
# place where it sums over broadcast dims (chapter 06). The conjugates at the borders of a backward pass are in
# [convention.py](../minigrad/autodiff/convention.py), and nowhere else.
#
# ## 3. The check
#
# A gradient can be checked with finite differences in *any* complex direction $d$. The loss must change by
# $\mathrm{Re}(u\,d) = \mathrm{Re}(\bar g\,d)$ per unit of the step. For a tensor, sum over the elements:


# %%
def check_along(loss, z, g, d):
    """Return the change of the loss along d, by differences and by the gradient g."""
    h = 1e-6
    moved = (loss(z + h * d).item() - loss(z - h * d).item()) / (2 * h)
    return f"{moved:11.7f} and {mg.vdot(g, d).item().real:11.7f}"  # vdot is the sum of conj(g) * d


def some_loss(z):
    return squares((z * z).exp() @ weights)


point, weights = normal(2), normal(2)
directions = {"random": normal(2), "real": [1.0, 1.0], "imaginary": [1.0j, 1.0j]}
directions = {name: mg.tensor(d, dtype=mg.complex128) for name, d in directions.items()}
variable = mg.Var(point)
g = mg.grad(some_loss(variable), variable)
for name, d in directions.items():
    print(f"{name:9}", check_along(some_loss, point, g, d))

# %% [markdown]
# ## 4. The bug: an imaginary part that runs away
#
# A signal contains two waves of known frequencies, 3 and 5 turns per second, and noise. Their heights and positions are
# unknown. Both are in one complex number per wave: $a\,e^{2\pi i f t}$ has the height $|a|$, and it is shifted by the
# angle of $a$. The model is the product of a matrix with the vector of both $a$.

# %%
n = 64
times = np.arange(n) / n
waves = mg.tensor(np.exp(2j * math.pi * np.outer(times, [3, 5])))
true = mg.tensor([1.5 + 1.0j, -0.5 - 0.8j], dtype=mg.complex128)
signal = waves @ true + 0.1 * normal(n)


def misfit(a):
    """Return the mean of |r|^2, where r is the difference between the model and the signal."""
    return squares(waves @ a - signal).mean()


# %% [markdown]
# A colleague has the backward pass in a program of her own. She derives it with the rules of section 2. Each term is
# $|r|^2 = r\bar r$, so $dL = \frac1n\sum \mathrm{Re}(2\bar r\,dr)$: the factor of $r$ is $2\bar r/n$. The model is
# linear, so the factor of $a$ is the transposed matrix times the factor of $r$. Then she descends:


# %%
def by_hand(a):
    """Return the gradient of misfit, derived with the rules of a backward pass."""
    r = waves @ a - signal
    return waves.T @ (2 / n * r.conj())


a = mg.zeros(2, dtype=mg.complex128)
for step in range(31):
    if step % 10 == 0:
        shown = ", ".join(f"{value:.2f}" for value in a.tolist())
        print(f"step {step:2}: loss {misfit(a).item():9.2f}, a = {shown}")
    a = a - 0.1 * by_hand(a)

# %% [markdown]
# Look at the real parts first: they approach 1.5 and -0.5, which are right. The imaginary parts explode! Do you see
# why? The check finds it. Which direction shows the bug?

# %%
for name, d in directions.items():
    print(f"{name:9}", check_along(misfit, point, by_hand(point), d))

# %% [markdown]
# Along a real direction, both numbers agree. A check with real steps would accept this gradient. Along the imaginary
# direction, the sign is wrong, so the update climbs where it should descend. (A random direction has an imaginary part,
# so it shows the bug too.) `by_hand` returns $u$, and the loss grows fastest along $\bar u$. The rules are right, but
# the last step is missing.
#
# **The fix:** take the conjugate once, where the gradient leaves the backward pass:

# %%
a = mg.zeros(2, dtype=mg.complex128)
for _ in range(31):
    a = a - 0.1 * by_hand(a).conj()
print(f"loss {misfit(a).item():.3f}, a =", ", ".join(f"{value:.2f}" for value in a.tolist()))
variable = mg.Var(point)
g = mg.grad(misfit(variable), variable)
print(f"mg.grad and the conjugate of by_hand differ by {apart(g, by_hand(point).conj()):.0e}")

# %% [markdown]
# The noise has the variance 0.01, and no choice of $a$ can predict it. So the loss stays near 0.01.
#
# `mg.testing.gradcheck` perturbs both parts of each complex number too. But it checks the gradients that minigrad
# computes, and this mistake is in a gradient that was computed by hand.
#
# ## 5. The Fourier transform is a matrix
#
# In section 4 the frequencies were known. The **discrete Fourier transform** (DFT) compares a signal of $n$ values with
# $n$ waves. Wave $k$ has $k$ turns over the whole signal:
#
# $$y_k = \sum_{j=0}^{n-1} F_{kj}\,x_j \qquad\text{with}\qquad F_{kj} = e^{-2\pi i\,kj/n} .$$
#
# Every element of $F$ has the size 1, and its angle turns by $-2\pi k/n$ from one column to the next. The picture shows
# the angle as a hue:

# %%
n = 16


def dft_matrix(n):
    """Return the matrix F of the DFT of length n."""
    return mg.tensor(np.exp(-2j * math.pi / n * np.outer(np.arange(n), np.arange(n))))


F = dft_matrix(n)
mg.viz.tensor(F)

# %%
x = normal(n)
print(f"the matrix and mg.fft.fft differ by {apart(F @ x, mg.fft.fft(x)):.0e}")

# %% [markdown]
# Row 0 adds up the values. Row 1 turns once, row 2 twice. Row 15 turns fifteen times, and its numbers are those of one
# turn in the other direction. So the terms above $n/2$ belong to *negative* frequencies.
#
# What is the gradient of a DFT? It is a linear map, so by chapter 06 the factor $u$ is multiplied by the transposed
# matrix. But $F_{kj} = F_{jk}$, so $F^\top = F$. **The gradient of an FFT is an FFT**, of the incoming gradient:

# %%
declared(mg.fft.fft(mg.Var(x, name="x")))

# %% [markdown]
# The check of chapter 06 holds without a conjugate: $\sum_k u_k (Fv)_k = \sum_j (Fu)_j v_j$. As a user, you receive the
# conjugate of the factor, and you pass the conjugate of an incoming factor. So `mg.func.vjp` multiplies by
# $\overline{F\,\bar g} = \bar F g$. The matrix $\bar F$ turns in the other direction, and it is $n$ times the inverse
# of $F$: in $\bar F F$, each entry off the diagonal is a sum of $n$ numbers that are spread evenly over a circle, which
# is 0.

# %%
u, v = normal(n), normal(n)
print(f"<u, Fv> = {(u @ mg.fft.fft(v)).item():.6f}")
print(f"<Fu, v> = {(mg.fft.fft(u) @ v).item():.6f}")
_, back = mg.func.vjp(mg.fft.fft, x)
print(f"vjp and n times the inverse FFT differ by {apart(back(u)[0], n * mg.fft.ifft(u)):.0e}")

# %% [markdown]
# Why not use the matrix? It needs $n^2$ multiplications. The **fast Fourier transform** (FFT) splits a DFT of an even
# length $n$ into two of length $n/2$ and about $n$ further multiplications. If $n$ is a power of two, this is repeated
# $\log_2 n$ times. The result is the same:


# %%
def microseconds(function, *args, calls=20, repeat=5):
    """Return the time of one call: the shortest of several means."""
    means = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(calls):
            function(*args)
        means.append((time.perf_counter() - start) / calls * 1e6)
    return min(means)


large, matrix = normal(1024), dft_matrix(1024)
print(f"matrix {microseconds(matrix.matmul, large):.0f} µs, FFT {microseconds(mg.fft.fft, large):.0f} µs")

# %% [markdown]
# ## 6. Real signals: half of the terms
#
# For a real signal, row $n - k$ of $F$ is the conjugate of row $k$, so $y_{n-k} = \bar y_k$. The second half has no new
# information, and `mg.fft.rfft` returns the terms $0$ to $n/2$ only. (The functions are composed of three ops in
# [lines.py](../minigrad/ops/fourier/lines.py).)

# %%
x = mg.Var(mg.randn(8, dtype=mg.float64), name="x")
print(" fft:", " ".join(f"{value:.2f}" for value in mg.fft.fft(x).tolist()))
print("rfft:", " ".join(f"{value:.2f}" for value in mg.fft.rfft(x).tolist()))
declared(mg.fft.rfft(x))

# %% [markdown]
# The rule is $\mathrm{Re}(F^\top u)$, because the operand is real (section 2), and $u$ has no terms above $n/2$.
# minigrad computes this real part with another op, which reads half of the terms and returns real numbers. That op
# counts each term between $0$ and $n/2$ twice: once for itself, and once for its conjugate. The weights, here
# `float64(5,)`, are 1/2 for these terms. In exercise 16.3 you write this rule.
#
# ## 7. Find the frequencies of a signal
#
# A bell was recorded for two seconds: two damped tones, and noise. A damped tone is a wave with a *complex* frequency.
# With $\lambda = -d + 2\pi i f$, the function $e^{\lambda t}$ turns $f$ times per second, and shrinks like $e^{-dt}$. A
# microphone records its real part. Four complex numbers describe this signal:

# %%
n, seconds = 200, 2.0
times = np.arange(n) * (seconds / n)
t = mg.tensor(times, dtype=mg.complex128).unsqueeze(1)


def tones(a, rates):
    """Return the real part of the sum over k of a_k exp(rates_k t), at all times t."""
    return ((t @ rates.unsqueeze(0)).exp() @ a).real  # the product of a column and a row is a table


true_f, true_d = np.array([5.3, 8.9]), np.array([0.6, 1.1])
true_a = mg.tensor([1.0 + 0.5j, -0.4 + 0.7j], dtype=mg.complex128)
record = tones(true_a, mg.tensor(2j * math.pi * true_f - true_d)) + 0.2 * mg.randn(n, dtype=mg.float64)

# %% [markdown]
# Predict first: if you start at 4.3 turns per second, does gradient descent find the tone at 5.3? Draw the loss for one
# tone without noise, where only the frequency is wrong:


# %%
def tone(f):
    """Return one damped tone at all times."""
    return np.exp((2j * math.pi * f - true_d[0]) * times).real


candidates = np.linspace(2.0, 9.0, 281)
plt.plot(candidates, [((tone(f) - tone(5.3)) ** 2).mean() for f in candidates])
plt.axvline(4.3, color="grey", linestyle=":")
plt.xlabel("frequency of the model, 1/s")
plt.ylabel("mean squared error")
plt.show()

# %% [markdown]
# No: at 4.3 the loss falls to the *left*. The valley around 5.3 is only about $1/T = 0.5$ wide on each side, where $T$
# is the length of the record in seconds. Over two seconds, a tone at 4.3 makes two turns less than a tone at 5.3, so it
# agrees with the record for some of the time, and has the wrong sign for the rest. A small change of the frequency does
# not help. Far from the valley, the gradient does not lead to the tone.
#
# The FFT helps, because it compares the record with *all* frequencies $0, 1/T, 2/T, \dots$ at once. One of them is
# within $1/(2T) = 0.25$ of each tone, inside the valley. So the FFT finds the start, and the gradient finds the digits:

# %%
terms = mg.fft.rfft(record)
size = terms.abs().numpy()
peaks = [k for k in range(1, n // 2) if size[k] > max(size[k - 1], size[k + 1])]
peaks = sorted(sorted(peaks, key=lambda k: size[k])[-2:])
print("peaks at", [k / seconds for k in peaks])

a = mg.Var([2 / n * terms[k].item() for k in peaks], dtype=mg.complex128, name="a")
rates = mg.Var([complex(-1.0, 2 * math.pi * k / seconds) for k in peaks], dtype=mg.complex128, name="rates")
for step in range(401):
    loss = ((tones(a, rates) - record) ** 2).mean()
    for parameter, g in zip((a, rates), mg.grad(loss, [a, rates])):
        parameter.set(parameter - 1.0 * g)
    if step % 100 == 0:
        found = ", ".join(f"{rate.imag / (2 * math.pi):.3f}" for rate in rates.tolist())
        print(f"step {step:3}: loss {loss.item():.4f}, frequencies {found}")
print("dampings:", ", ".join(f"{-rate.real:.2f}" for rate in rates.tolist()), " true:", true_d.tolist())

# %%
plt.plot(times, record.numpy(), ".", color="grey", label="record")
plt.plot(times, tones(a, rates).detach().numpy(), label="model")
plt.xlabel("seconds")
plt.legend()
plt.show()


# %% [markdown]
# The noise has the standard deviation 0.2, and each frequency is right within about 0.02: much less than the distance
# $1/T = 0.5$ between two frequencies of the FFT. Both parameters are complex, and the update `z - rate * g` is the
# update of real parameters. The script [spectral_fit.py](../examples/spectral_fit.py) fits three tones, and compares
# spectra instead of signals.
#
# ## 8. The heat equation: one weight per wave
#
# The temperature $v$ on a ring of wire obeys $v_t = v_{ss}$, where $s$ runs from 0 to $2\pi$. For one wave $e^{iks}$,
# two derivatives multiply by $(ik)^2 = -k^2$. So each wave shrinks by itself: after the time $t$ it is multiplied by
# $e^{-k^2 t}$. The **solution operator**, which maps the temperature at the start to the temperature at the time $t$,
# is thus simple in terms of waves: transform, multiply term $k$ by its own number, transform back. Such a map is called
# a **Fourier layer** if the numbers are trainable. Can it learn the heat equation from examples?


# %%
class FourierLayer(nn.Module):
    """From (curves, channels, points) to the same shape: one complex matrix for each of the first waves."""

    def __init__(self, channels, modes):
        super().__init__()
        self.weight = nn.Parameter(normal(modes, channels, channels) / channels)

    def forward(self, x):
        terms = mg.fft.rfft(x)[:, :, : len(self.weight)]
        mixed = terms.permute(2, 0, 1) @ self.weight  # (waves, curves, channels)
        return mg.fft.irfft(mixed.permute(1, 2, 0), x.shape[2])  # the missing terms are 0


POINTS, MODES = 64, 12
factors = np.exp(-0.1 * np.arange(9) ** 2)
examples = normal(64, 1, 9).numpy()
v0, v1 = (mg.tensor(np.fft.irfft(terms, POINTS, norm="forward")) for terms in (examples, examples * factors))
layer = FourierLayer(1, MODES)
mg.viz.graph(layer(mg.Var(v0, name="v0")))

# %% [markdown]
# The graph shows the layer: complex numbers between `real_fourier` and `hermitian_fourier`, real numbers before and
# after them. `index` takes the first 12 terms, and `put` puts the products back between zeros. Now train the layer:

# %%
w = layer.weight
before = w.flatten().tolist()
for step in range(201):
    loss = ((layer(v0) - v1) ** 2).sum(2).mean()
    w.set(w - 0.002 * mg.grad(loss, w))
    if step % 50 == 0:
        print(f"step {step:3}: loss {loss.item():.1e}")
after = w.flatten().tolist()
for k in range(MODES):
    print(f"wave {k:2}: weight {after[k]:.4f}", f"heat equation {factors[k]:.4f}" if k < 9 else "")

# %% [markdown]
# The layer has found $e^{-k^2t}$ for $t = 0.1$ from pairs of curves. Two details are worth a look. The examples contain
# no waves above $k = 8$, so the weights 9 to 11 still have their random values: a network learns nothing about waves
# that it never sees. And the imaginary part of weight 0 is random too. Term 0 belongs to the mean of the curve, which
# is real. `irfft` ignores the imaginary part of this term, so its gradient is 0:

# %%
print("weights 9 to 11 have changed by", [abs(x - y) for x, y in zip(after[9:], before[9:])])
print("the imaginary part of weight 0 has changed by", (after[0] - before[0]).imag)

# %% [markdown]
# ## 9. A Fourier neural operator
#
# Burgers' equation $v_t + v v_s = 0.1\,v_{ss}$ is a simple model of a flow. Its term $v v_s$ moves high points faster
# than low points, so the front of each wave becomes steep. The product mixes the waves, so no single Fourier layer can
# solve this equation. The data come from a solver in NumPy, which follows the terms in 200 small time steps
# (Runge-Kutta).


# %%
def burgers(v, duration=1.0, steps=200):
    """Return the solution of Burgers' equation after a time, for curves v of shape (curves, points)."""
    points, step = v.shape[1], duration / steps
    k = np.fft.rfftfreq(points, 1 / points)
    decay = np.exp(-0.1 * k * k * step / 2)  # the exact effect of 0.1 v_ss in half a step

    def push(terms):
        """Return -v v_s = -(v*v)_s / 2, without the highest third of the terms, which a product falsifies."""
        return -0.5j * k * (k < points / 3) * np.fft.rfft(np.fft.irfft(terms, points) ** 2)

    terms = np.fft.rfft(v)
    for _ in range(steps):
        a = push(terms)
        b = push(decay * (terms + step / 2 * a))
        c = push(decay * terms + step / 2 * b)
        d = push(decay * (decay * terms + step * c))
        terms = decay * decay * (terms + step / 6 * a) + step / 6 * (2 * decay * (b + c) + d)
    return np.fft.irfft(terms, points)


rng = np.random.default_rng(0)


def curves(count, points=POINTS, first=1):
    """Return random curves on the ring: sums of four waves, of which the first has `first` turns."""
    terms = np.zeros((count, points // 2 + 1), complex)
    terms[:, first : first + 4] = (rng.standard_normal((count, 4)) + 1j * rng.standard_normal((count, 4))) / np.arange(
        1, 5
    )
    return points / 2 * np.fft.irfft(terms, points)


starts = curves(576)
ends = burgers(starts)
v0, v1, test0, test1 = mg.tensor(starts[:512]), mg.tensor(ends[:512]), starts[512:], ends[512:]
ring = np.arange(POINTS) / POINTS * 2 * math.pi
plt.plot(ring, test0[0], "--", color="grey", label="start")
plt.plot(ring, test1[0], label="one second later")
plt.legend()
plt.show()

# %% [markdown]
# A **Fourier neural operator** (Li and others, arXiv 2010.08895) combines Fourier layers with functions of single
# points. Each point of the ring has a vector of 16 channels. A block adds a Fourier layer, whose weights are one matrix
# per wave, and a linear layer at each point; then `tanh` mixes the waves. The Fourier layer carries information around
# the whole ring in one step.


# %%
class Block(nn.Module):
    """From (curves, channels, points) to the same shape: a Fourier layer, a linear layer at each point, and tanh."""

    def __init__(self, channels, modes):
        super().__init__()
        self.waves = FourierLayer(channels, modes)
        self.matrix = nn.Parameter(mg.randn(channels, channels, dtype=mg.float64) / channels)
        self.bias = nn.Parameter(mg.zeros(channels, 1, dtype=mg.float64))

    def forward(self, x):
        return (self.waves(x) + self.matrix @ x + self.bias).tanh()


class Operator(nn.Module):
    """From curves at the start, (curves, points), to the curves one second later."""

    def __init__(self, channels=16, modes=MODES, blocks=3):
        super().__init__()
        self.first = nn.Parameter(mg.randn(channels, 1, dtype=mg.float64))
        self.blocks = nn.Sequential(*[Block(channels, modes) for _ in range(blocks)])
        self.last = nn.Parameter(mg.randn(1, channels, dtype=mg.float64) / math.sqrt(channels))

    def forward(self, v):
        x = self.first @ v.unsqueeze(1)
        return (self.last @ self.blocks(x)).squeeze(1)


mg.manual_seed(0)
model = Operator()
print(nn.summary(model, v0[:64]))

# %% [markdown]
# As in chapter 14, make a check before the training. The ring has no first point. So if you turn the start by some
# points, the result must turn by the same number of points, with random weights too. If it does not, the network uses
# the position of a point, and the equation does not:


# %%
def error(predicted, v1):
    """Return the mean over the curves of |predicted - v1| / |v1|, with lengths of vectors."""
    return (np.linalg.norm(predicted - v1, axis=1) / np.linalg.norm(v1, axis=1)).mean()


def predicted_by(model, v0):
    """Return the results of a model as an array."""
    with mg.no_grad():
        return model(mg.tensor(v0)).numpy()


turned = predicted_by(model, np.roll(test0, 5, 1)) - np.roll(predicted_by(model, test0), 5, 1)
print(f"turned before or after the model: the results differ by {np.abs(turned).max():.0e}")

# %% [markdown]
# The training loop is the loop of chapter 14. The weights are real and complex; Adam treats the two parts of a complex
# weight as two real weights, as in PyTorch.

# %%
steps = 400
optimizer = mg.optim.Adam(model.parameters(), lr=0.02)
schedule = mg.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.02, total_steps=steps)
began = time.perf_counter()
for step in range(steps + 1):
    if step % 100 == 0:
        print(f"step {step:3}: error on held-out curves {error(predicted_by(model, test0), test1):.1%}")
    if step < steps:
        batch = mg.randperm(len(v0))[:32]
        optimizer.zero_grad()
        ((model(v0[batch]) - v1[batch]) ** 2).sum(1).mean().backward()
        optimizer.step()
        schedule.step()
print(f"{time.perf_counter() - began:.1f} seconds")

# %%
for line, true_line in zip(predicted_by(model, test0[:3]), test1):
    plt.plot(ring, true_line, color="lightgrey", linewidth=6)
    plt.plot(ring, line)
plt.title("grey: the solver, coloured: the network")
plt.show()

# %% [markdown]
# Is an error of a few percent good? Compare it with the best *linear* map, which least squares find for the same 512
# examples, and with the error of the solver itself, which a grid of 128 points shows. Then try a grid that the network
# has never seen: its weights belong to waves and channels, not to points. So the same network runs on 128 points:

# %%
table = np.linalg.lstsq(starts[:512], ends[:512], rcond=None)[0]
finer = burgers(2 * np.fft.irfft(np.fft.rfft(test0), 128))[:, ::2]  # the same curves, solved on twice as many points
print(f"linear map, 64 points: {error(test0 @ table, test1):.1%}")
print(f"solver, 64 points:     {error(test1, finer):.1%}")
print(f"network, 64 points:    {error(predicted_by(model, test0), test1):.1%}")
fine = curves(64, 128)
print(f"network, 128 points:   {error(predicted_by(model, fine), burgers(fine)):.1%}")

# %% [markdown]
# The network has learned a map between curves, not a table of grid values. But it has learned this map only for curves
# like the examples: sums of the waves 1 to 4, of a certain height. What happens outside, with curves that are twice as
# high, or with the waves 5 to 8?

# %%
high, short = 2 * curves(64), curves(64, first=5)
print(f"twice as high: {error(predicted_by(model, high), burgers(high)):.0%}")
print(f"waves 5 to 8:  {error(predicted_by(model, short), burgers(short)):.0%}")

# %% [markdown]
# An error of 100% is the error of an answer that is 0 everywhere. As in section 8, the network has learned nothing
# about waves that it has never seen, and nothing warns you.
#
# ## Exercises
#
# Write your answer, then run the cell: `check` reports the result. `hint("16.1")` prints a hint, and a larger one at
# each further call. Complex tensors are complex128, real tensors float64.
#
# **16.1** Compute the gradient of `f` at `z` with central differences and a step of $10^{-6}$. `f` maps a Python
# complex number to a Python float, and `z` is a Python complex number. Return one complex number, in the convention of
# `mg.grad`. The absolute and the relative tolerance are $10^{-6}$.

# %%
from minigrad.learning.grading import check, hint


def gradient_of(f, z):
    """Return the gradient of f at z."""
    return ...  # write it here


check("16.1", gradient_of)

# %% [markdown]
# **16.2** Write the rule of $y = a\bar b$, element by element. `u`, `a` and `b` are complex tensors of shape (n,); `u`
# is the factor in $dL = \mathrm{Re}\sum u\,dy$. Return a tuple: the factor of `a`, and the factor of `b`, each of shape
# (n,). These are factors as in a rule, without the conjugate that a user sees. The absolute and the relative tolerance
# are $10^{-9}$. Do not use `mg.grad` or `mg.func.vjp` or `backward`.


# %%
def conj_product_rule(u, a, b):
    """Return (factor of a, factor of b)."""
    return ...  # write it here


check("16.2", conj_product_rule)

# %% [markdown]
# **16.3** Write the rule of `y = mg.fft.rfft(x)`. `x` has `n` real elements, and `n` may be even or odd. `u` is a
# complex tensor of shape (n // 2 + 1,), the factor of `y`. Return the gradient of `x`, a real tensor of shape (n,). The
# absolute and the relative tolerance are $10^{-9}$. Do not use `mg.grad` or `mg.func.vjp` or `backward`.


# %%
def rfft_rule(u, n):
    """Return the gradient of x."""
    return ...  # write it here


check("16.3", rfft_rule)

# %% [markdown]
# **16.4** Differentiate a function on a ring. `x` is a real tensor of shape (n,): the values of a function $p(s)$ with
# $p(s + \ell) = p(s)$ at the points $s = 0, \ell/n, 2\ell/n, \dots$ The float `length` is $\ell$. The function is a sum
# of waves with fewer than $n/2$ turns. Return $p'(s)$ at the same points, a real tensor of shape (n,), through which
# gradients flow. The absolute and the relative tolerance are $10^{-9}$.


# %%
def slope(x, length):
    """Return the derivative at each point."""
    return ...  # write it here


check("16.4", slope)

# %% [markdown]
# **16.5** Find the frequency of a noisy wave. `s` is a complex tensor of shape (n,), with $n \ge 30$. Return the
# $\omega$ in $[0, 2\pi)$ for which $\big|\sum_t s_t\,e^{-i\omega t}\big|$ is largest, as a float; $t$ counts from 0.
# The absolute and the relative tolerance are $10^{-6}$.


# %%
def frequency(s):
    """Return the frequency, in radians per element."""
    return ...  # write it here


check("16.5", frequency)
