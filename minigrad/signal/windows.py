"""Windows of `torch.signal.windows`: weights that taper a piece of a signal before its Fourier transform.

`mg.hann_window` and its siblings are the older functions, which return one period of a periodic window by default; the
functions here return a symmetric window.  Formulas: Harris, "On the use of windows for harmonic analysis with the
discrete Fourier transform", Proc. IEEE 66 (1978); the coefficients of `nuttall` are from Nuttall, "Some windows with
very good sidelobe behavior", IEEE Trans. ASSP 29 (1981), figure 12.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.api import memory
from minigrad.core.dtype import as_dtype, default_float
from minigrad.core.roles import read_flag
from minigrad.declare.advice import present
from minigrad.errors import ArgumentError, DTypeError
from minigrad.ops import creation
from minigrad.runtime.tensor import Tensor

TEXT = """{}

M: Number of elements.
{}sym: Whether the window is symmetric, for filters; otherwise it is one period of a periodic window, for spectra.
dtype: A floating dtype; the default float if None.
layout: Has no effect, because all tensors are dense.
device: Device of the result; the default device if None.
requires_grad: Whether the result is a leaf that requires a gradient.

Returns: A vector of M elements, the largest of which is about 1; for M = 1, its element is 1.
"""


def window(**texts: str) -> Callable[[Callable[..., Any]], Callable[..., Tensor]]:
    """Declare a window by a function of the positions, the last position and the parameters in `texts`.

    The docstring of the function is the first line of that of the window.
    """

    def declare(shape: Callable[..., Any]) -> Callable[..., Tensor]:
        own = list(inspect.signature(shape).parameters.values())[2:]
        name = shape.__name__

        def make(
            M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
            requires_grad: bool = False, **named: Any,
        ) -> Tensor:  # fmt: skip
            read_flag(sym, name, "sym")
            kind = default_float() if dtype is None else as_dtype(dtype)
            if M < 0 or not kind.is_float:
                wrong = ArgumentError if M < 0 else DTypeError
                raise wrong(f"{name}: expected M >= 0 and a floating dtype, got {M} and {kind}; pass dtype=mg.float32")
            last = max(M - 1, 1) if sym else M
            values = np.ones(1) if M == 1 else shape(np.arange(M), last, **named)
            return creation.leaf(creation.tensor(values, dtype=kind, device=device), requires_grad)

        described = "".join(f"{p.name}: {text}\n" for p, text in zip(own, texts.values(), strict=True))
        make.__name__ = make.__qualname__ = name
        make.__doc__ = TEXT.format(shape.__doc__, described)
        m, *rest = list(inspect.signature(make).parameters.values())[:-1]
        make.__signature__ = inspect.Signature([m, *own, *rest], return_annotation="Tensor")  # type: ignore[attr-defined]
        return make

    return declare


def cosines(k: Any, last: int, a: Sequence[float]) -> Any:
    """Return the sum of cosines with alternating signs and the coefficients a."""
    return np.sum([(-1) ** j * factor * np.cos(2 * np.pi * j * k / last) for j, factor in enumerate(a)], axis=0)


def width(name: str, value: float) -> float:
    """Return a width.  Raises ArgumentError unless it is above 0."""
    if not value > 0:
        raise ArgumentError(f"{name} must be above 0, got {value}; pass 1.0, for example")
    return value


@window()
def bartlett(k: Any, last: int) -> Any:
    """Return the Bartlett window, a triangle."""
    return memory.bartlett(2 * k / last - 1)


@window()
def blackman(k: Any, last: int) -> Any:
    """Return the Blackman window, a sum of three cosines."""
    return memory.blackman(2 * k / last - 1)


@window()
def cosine(k: Any, last: int) -> Any:
    """Return a half period of a sine."""
    return np.sin(np.pi * (k + 0.5) / (last + 1))


@window(
    center="Position of the maximum, for a periodic window; the middle if None.",
    tau="Decay length.",
)
def exponential(k: Any, last: int, *, center: float | None = None, tau: float = 1.0) -> Any:
    """Return exp(-|k - center| / tau) at the positions k."""
    return np.exp(-np.abs(k - (last / 2 if center is None else center)) / width("exponential: tau", tau))


@window(std="Standard deviation.")
def gaussian(k: Any, last: int, *, std: float = 1.0) -> Any:
    """Return a Gaussian bell."""
    return np.exp(-0.5 * ((k - last / 2) / width("gaussian: std", std)) ** 2)


@window(a="Coefficients, from that of the constant.")
def general_cosine(k: Any, last: int, *, a: Sequence[float]) -> Any:
    """Return a sum of cosines with alternating signs."""
    if not isinstance(a, Sequence) or not a:
        raise ArgumentError(f"general_cosine: a must be a list with at least one coefficient, got {a!r}; pass [1.0]")
    return cosines(k, last, a)


@window(alpha="Coefficient of the constant.")
def general_hamming(k: Any, last: int, *, alpha: float = 0.54) -> Any:
    """Return alpha - (1 - alpha) * cos(2*pi*k/(M - 1))."""
    return cosines(k, last, [alpha, 1 - alpha])


@window()
def hamming(k: Any, last: int) -> Any:
    """Return the Hamming window, 0.54 - 0.46 * cos(2*pi*k/(M - 1))."""
    return cosines(k, last, [0.54, 0.46])


@window()
def hann(k: Any, last: int) -> Any:
    """Return the Hann window, a raised cosine."""
    return cosines(k, last, [0.5, 0.5])


@window(beta="Shape.")
def kaiser(k: Any, last: int, *, beta: float = 12.0) -> Any:
    """Return the Kaiser window, i0(beta * sqrt(1 - t**2)) / i0(beta) for t from -1 to 1."""
    return memory.kaiser(2 * k / last - 1, beta)


@window()
def nuttall(k: Any, last: int) -> Any:
    """Return Nuttall's window, a sum of four cosines with low sidelobes."""
    return cosines(k, last, [0.3635819, 0.4891775, 0.1365995, 0.0106411])


present(globals(), {each.__name__: each for each in (
    bartlett, blackman, cosine, exponential, gaussian, general_cosine, general_hamming, hamming, hann, kaiser, nuttall,
)})  # fmt: skip
