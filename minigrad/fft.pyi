"""The names of minigrad.fft.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.core.dtype import DType
from minigrad.runtime.tensor import Tensor
__version__: str


def fft(input: Tensor, n: builtins.int | None = ..., dim: builtins.int = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the discrete Fourier transform, along one dim."""

def fft2(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `fftn` along two dims."""

def fftfreq(n: builtins.int, d: builtins.float = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return the frequencies of the terms of `fft`, k/(n*d): first those that are not negative, then the negative ones."""

def fftn(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `fft` along each dim."""

def fftshift(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
    """Return the terms of a transform in ascending order of frequency: term 0 moves to the middle of each dim."""

def hfft(input: Tensor, n: builtins.int | None = ..., dim: builtins.int = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the real transform, along one dim, of numbers with x[n - k] = conj(x[k]), from the terms 0 to n//2."""

def hfft2(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `hfftn` along two dims; see `fft2`."""

def hfftn(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `fft` along all dims but the last, and then `hfft` along the last; see `fftn`."""

def ifft(input: Tensor, n: builtins.int | None = ..., dim: builtins.int = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse discrete Fourier transform, along one dim."""

def ifft2(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `ifftn` along two dims; see `fft2`."""

def ifftn(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `ifft` along each dim; see `fftn`."""

def ifftshift(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ...) -> Tensor:
    """Return the terms of a transform in their own order: the inverse of `fftshift`."""

def ihfft(input: Tensor, n: builtins.int | None = ..., dim: builtins.int = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the terms 0 to n//2 of the inverse discrete Fourier transform of real numbers, along one dim."""

def ihfft2(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `ihfftn` along two dims; see `fft2`."""

def ihfftn(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `ihfft` along the last dim, and then `ifft` along the others; see `fftn`."""

def irfft(input: Tensor, n: builtins.int | None = ..., dim: builtins.int = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the real numbers whose transform has the given terms 0 to n//2, along one dim."""

def irfft2(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `irfftn` along two dims; see `fft2`."""

def irfftn(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `ifft` along all dims but the last, and then `irfft` along the last; see `fftn`."""

def rfft(input: Tensor, n: builtins.int | None = ..., dim: builtins.int = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return the terms 0 to n//2 of the discrete Fourier transform of real numbers, along one dim."""

def rfft2(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `rfftn` along two dims; see `fft2`."""

def rfftfreq(n: builtins.int, d: builtins.float = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ..., out: Tensor | None = ...) -> Tensor:
    """Return the frequencies of the terms of `rfft`, k/(n*d) for k from 0 to n//2."""

def rfftn(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = ..., dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `rfft` along the last dim, and then `fft` along the others; see `fftn`."""
