"""Short-time Fourier transforms: the transforms of overlapping frames of a signal, and the signal that has them."""

from __future__ import annotations

from typing import Annotated, Any

from minigrad.core.conditions import Complex, Condition, Ndim, NotHalf, Real, Shaped
from minigrad.core.dtype import default_float
from minigrad.core.roles import Flag, Number, Role, role_of
from minigrad.declare.decorators import composed
from minigrad.declare.names import MG
from minigrad.errors import ArgumentError
from minigrad.ops.creation import ones
from minigrad.ops.fourier.lines import hermitian_fourier, over_dims, real_fourier, resized
from minigrad.ops.nn.columns import fold
from minigrad.ops.reduction.sums import amin
from minigrad.ops.shape.padding import pad
from minigrad.ops.shape.parts import view_as_complex, view_as_real
from minigrad.ops.shape.views import expand, narrow, unfold
from minigrad.runtime.tensor import Tensor

Count = Annotated[int, Number(1, whole=True, example=256)]
CountOrNone = Annotated[Any, Number(1, whole=True, example=64, optional=True)]
FLAG: Any = role_of(Flag)
Answer = Annotated[
    Any,
    Role(
        "Flag",
        "True, False or None",
        "bool | None",
        lambda value, *more: None if value is None else FLAG.read(value, *more),
    ),
]
SMALLEST = 1e-11  # a smaller sum of squared windows loses the signal


def window_of(name: str, x: Tensor, n_fft: int, win_length: int | None, window: Tensor | None) -> Tensor:
    """Return the window with zeros on both sides up to n_fft elements; without a window, ones."""
    size = n_fft if win_length is None else win_length
    Number(1, n_fft, whole=True, advice="pass at most n_fft").expect(name, x, win_length=size)
    kind = x.dtype.to_real() if x.dtype.is_inexact else default_float()
    shape = ones(size, dtype=kind, device=x.device) if window is None else window
    Shaped(str(size), advice="pass one element per sample of a frame, win_length").expect(name, window=shape)
    left = (n_fft - size) // 2
    return pad(shape, (left, n_fft - size - left)) if size < n_fft else shape


def hop_of(name: str, x: Tensor, n_fft: int, hop_length: int | None) -> int:
    """Return the distance of two frames, which must be positive: the default is 0 for n_fft below 4."""
    hop = n_fft // 4 if hop_length is None else hop_length
    Number(1, whole=True, example=1).expect(name, x, hop_length=hop)
    return hop


@composed(namespace=MG, method=True, out=False)
def stft(
    input: Annotated[Tensor, Ndim(1, 2), NotHalf], n_fft: Count, hop_length: CountOrNone = None,
    win_length: CountOrNone = None, window: Tensor | None = None, center: Flag = True, pad_mode: str = "reflect",
    normalized: Flag = False, onesided: Answer = None, return_complex: Answer = None,
    align_to_window: Answer = None,
) -> Tensor:  # fmt: skip
    """Return the Fourier transforms of the frames of a signal, of shape (..., terms, frames).

    A frame has n_fft samples, which are multiplied by the window; the next frame begins hop_length samples later.
    Raises ArgumentError unless return_complex is given for a real signal, as in PyTorch.
    """
    x, shape = input, window_of("stft", input, n_fft, win_length, window)
    real = not (x.dtype.is_complex or shape.dtype.is_complex)
    if real:
        FLAG.read(return_complex, "stft", "return_complex", (x,))
    half = real if onesided is None else onesided
    if half:
        Real.expect("stft", input=x, window=shape)
    Condition(
        ArgumentError, "not be centered with align_to_window", "pass center=False",
        lambda *_: not center or align_to_window is None,
    ).expect("stft", input=x)  # fmt: skip
    if center:
        x = pad(x.reshape(1, -1, x.shape[-1]), (n_fft // 2, n_fft // 2), pad_mode).reshape(*x.shape[:-1], -1)
    elif align_to_window and win_length is not None:
        x = pad(x, ((n_fft - win_length) // 2, n_fft - win_length - (n_fft - win_length) // 2))
    Number(n_fft, whole=True, advice="pass a smaller n_fft").expect("stft", x, **{"the length": x.shape[-1]})
    frames = unfold(x, -1, n_fft, hop_of("stft", x, n_fft, hop_length)) * shape
    norm = "ortho" if normalized else None
    if half:
        terms = real_fourier(frames, inverse=False, scale=n_fft**-0.5 if normalized else 1.0)
    else:
        complex_frames = frames if frames.dtype.is_complex else frames.to(frames.dtype.to_complex())
        terms = over_dims(complex_frames, [frames.ndim - 1], [n_fft], False, norm)
    result = terms.transpose(-1, -2)
    return view_as_real(result.contiguous()) if return_complex is False else result


def overlap_added(frames: Tensor, hop: int) -> Tensor:
    """Return the sums of overlapping frames (..., frames, n), each `hop` elements after the one before it."""
    if frames.dtype.is_complex:
        return view_as_complex(overlap_added(view_as_real(frames).movedim(-1, 0), hop).movedim(0, -1).contiguous())
    *batch, count, n = frames.shape
    columns = frames.reshape(-1, count, n).transpose(1, 2)
    return fold(columns, (1, n + hop * (count - 1)), (1, n), stride=(1, hop)).reshape(*batch, -1)


@composed(namespace=MG, method=True, out=False)
def istft(
    input: Annotated[Tensor, Ndim(2, 3), Complex], n_fft: Count, hop_length: CountOrNone = None,
    win_length: CountOrNone = None, window: Tensor | None = None, center: Flag = True, normalized: Flag = False,
    onesided: Answer = None, length: CountOrNone = None, return_complex: Flag = False,
) -> Tensor:  # fmt: skip
    """Return the signal whose `stft` is nearest to the input: the sum of its frames, divided by that of their windows.

    Every frame is multiplied by the window again, so the divisor is the sum of the squared windows.
    A real result is computed from the first n_fft//2 + 1 terms, also if there are n_fft, as in PyTorch.
    Raises ArgumentError if this sum is close to 0 at a sample, and DTypeError for a complex window and a real result.
    """
    shape, hop = window_of("istft", input, n_fft, win_length, window), hop_of("istft", input, n_fft, hop_length)
    half = input.shape[-2] != n_fft if onesided is None else onesided
    Condition(
        ArgumentError, "have all n_fft terms for return_complex=True", "pass the result of stft with onesided=False",
        lambda x, _: not (half and return_complex),
    ).expect("istft", input=input)  # fmt: skip
    if not return_complex:
        Real.but(advice="pass return_complex=True").expect("istft", window=shape)
    terms = n_fft // 2 + 1 if half else n_fft
    Shaped(f"..., {terms}, frames", advice="pass the n_fft of stft").expect("istft", input=input)
    norm, spectra = "ortho" if normalized else None, input.transpose(-1, -2)
    if not return_complex:
        spectra = narrow(spectra, -1, 0, n_fft // 2 + 1)
        frames = hermitian_fourier(spectra, n=n_fft, inverse=True, scale=n_fft**-0.5 if normalized else 1 / n_fft)
    else:
        frames = over_dims(spectra, [input.ndim - 1], [n_fft], True, norm)
    squares = expand((shape * shape).reshape(1, n_fft), shape=(input.shape[-1], n_fft))
    signal, weights = overlap_added(frames * shape, hop), overlap_added(squares, hop)
    start, end = (n_fft // 2, signal.shape[-1] - n_fft // 2) if center else (0, signal.shape[-1])
    end = end if length is None else min(start + length, signal.shape[-1])
    signal, weights = narrow(signal, -1, start, end - start), narrow(weights, 0, start, end - start)
    Number(above=SMALLEST, advice="choose a window and a hop_length whose frames overlap").expect(
        "istft", input, **{"the smallest sum of squared windows": amin(weights.abs()).item()}
    )
    return resized("istft", signal / weights, signal.ndim - 1, length or end - start)
