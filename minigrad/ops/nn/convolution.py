"""Convolution over 1, 2 and 3 dims, and transposed convolution.

Three ops belong to the same trilinear form, the sum of all products y * x * w whose positions match for a given stride,
padding and dilation.  `conv` computes y from x and w, `conv_input` computes x from y and w, and `conv_weight` computes
w from y and x.  The derivatives of each op are the other two ops, so derivatives of every order exist.  A transposed
convolution is `conv_input`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.core.conditions import Filled, Ndim, Numeric, expect_shape
from minigrad.core.dtype import DType, promote
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Convolve
from minigrad.core.shape import Window
from minigrad.declare.decorators import composed, kernel
from minigrad.declare.names import FUNCTIONAL, MG
from minigrad.declare.rules import each
from minigrad.declare.rules import number as numbers
from minigrad.declare.variants import family
from minigrad.errors import ArgumentError, ArgumentTypeError, ShapeError
from minigrad.ops.batch_rules import Flags, batched_conv
from minigrad.ops.pointwise.arithmetic import mul
from minigrad.ops.pointwise.complexes import complex as complex_of
from minigrad.ops.reduction.sums import sum
from minigrad.ops.shape.joining import stack
from minigrad.ops.shape.parts import imag, real
from minigrad.ops.shape.views import reshape, select
from minigrad.runtime.dispatch import number
from minigrad.runtime.tensor import Tensor, describe

Ints = tuple[int, ...]
IntOrInts = int | Sequence[int]
CHANNELS = "one element per output channel of the weight"

# ---- rules ----------------------------------------------------------------------------------------------------------


def _dtype(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    return numbers(op, specs)[1]


def _request(part: str, window: Window) -> Convolve:
    return Convolve(part, window.stride, window.padding, window.dilation, window.groups)


# ---- the three ops --------------------------------------------------------------------------------------------------


def _conv_batch(x, weight, bias, *, window, batch, flags):
    """Return `conv` for each sample of a vmap batch; a bias that differs between samples is added separately."""
    common_bias: Any = bias if not flags[2] and not flags[1] else zero(x)

    def with_common_bias(x: Tensor, weight: Tensor, *, groups: int) -> Tensor:
        return conv(x, weight, common_bias, window.to(window.size, groups))

    if flags[0] or flags[1]:
        y = batched_conv(with_common_bias, "xwy", (x, weight), flags, batch, window.groups)
    else:
        y = with_common_bias(x, weight, groups=window.groups)
    if common_bias is bias:
        return y
    row = (1, -1, *(1,) * (x.ndim - flags[0] - 2)) if bias.ndim > flags[2] else (1,) * (x.ndim - flags[0])
    return y + reshape(bias, (*bias.shape[: flags[2]], *row))


@kernel(
    dtype=_dtype,
    shape=lambda op, x, weight, bias, *, window: (x.shape[0], weight.shape[0], *window.size),
    vjp=(
        lambda g, weight, *, x_shape, window: conv_input(g, weight, window.to(x_shape[2:])),
        lambda g, x, *, weight_shape, window: conv_weight(g, x, window.to(weight_shape[2:])),
        lambda g: sum(g, (0, *range(2, g.ndim))),
    ),
    linear=each(("x", "bias"), ("weight", "bias")),
    batch=_conv_batch,
    namespace=(),
)
def conv(backend, out, x: Tensor, weight: Tensor, bias: Tensor, window):
    """Return the convolution of images x with a weight, plus a bias.

    window: the stride, the padding before each dim, the dilation, the groups and the size of the output.
    Gradient: `conv_input` for x, and `conv_weight` for weight; for bias, g summed over all dims except the channels.
    """
    row = Spec(bias.layout.expand((weight.shape[0],)), bias.dtype)
    return backend.prepare(_request("output", window), out, x, weight, row)


@kernel(
    dtype=_dtype,
    shape=lambda op, y, weight, *, window: (y.shape[0], weight.shape[1] * window.groups, *window.size),
    vjp=(
        lambda g, weight, *, output_shape, window: conv(g, weight, zero(g), window.to(output_shape[2:])),
        lambda g, output, *, weight_shape, window: conv_weight(output, g, window.to(weight_shape[2:])),
    ),
    linear=each("output", "weight"),
    batch=lambda output, weight, *, window, batch, flags: _adjoint_batch(
        conv_input, "ywx", (output, weight), batch, flags, window
    ),
    namespace=(),
)
def conv_input(backend, out, output: Tensor, weight: Tensor, window):
    """Return images from outputs and a weight; this is the transposed convolution.

    Gradient: `conv` for output, and `conv_weight` for weight.
    """
    return backend.prepare(_request("input", window), out, output, weight)


@kernel(
    dtype=_dtype,
    shape=lambda op, y, x, *, window: (y.shape[1], x.shape[1] // window.groups, *window.size),
    vjp=(
        lambda g, x, *, output_shape, window: conv(x, g, zero(g), window.to(output_shape[2:])),
        lambda g, output, *, x_shape, window: conv_input(output, g, window.to(x_shape[2:])),
    ),
    linear=each("output", "x"),
    batch=lambda output, x, *, window, batch, flags: _adjoint_batch(
        conv_weight, "yxw", (output, x), batch, flags, window
    ),
    namespace=(),
)
def conv_weight(backend, out, output: Tensor, x: Tensor, window):
    """Return a weight from outputs and images: for each tap, the sum of y * x over all positions that it connects.

    Gradient: `conv` for output, and `conv_input` for x.
    """
    return backend.prepare(_request("weight", window), out, output, x)


def _adjoint_batch(adjoint: Any, names: str, xs: tuple[Tensor, ...], many: int, flags: Flags, window: Window) -> Tensor:
    """Return an adjoint of `conv` for each sample of a vmap batch; names: see `batched_conv`."""

    def grouped(*operands: Tensor, groups: int) -> Tensor:
        return adjoint(*operands, window.to(window.size, groups))

    return batched_conv(grouped, names, xs, flags, many, window.groups)


def zero(like: Tensor) -> Tensor:
    """Return the scalar 0, as the bias of a convolution without a bias."""
    return number(0, like.dtype, like.device)


def with_parts(x: Tensor, dim: int) -> Tensor:
    """Return complex numbers as pairs of parts along a new dim; `mg.jit` does not record a view of pairs."""
    return stack([real(x), imag(x)], dim)


def by_parts(x: Tensor, weight: Tensor, window: Window, adjoint: bool) -> Tensor:
    """Return `conv`, or with `adjoint` `conv_input`, of complex numbers, as one real convolution of their parts.

    Each part is a channel, and a weight a + ib becomes the matrix of a, -b, b and a: the parts of the weight, and those
    of i times the weight.  The parts of a channel are neighbours, so groups of channels remain groups.
    """
    dtype = promote(x.dtype, weight.dtype)
    x, weight = x.to(dtype), weight.to(dtype)
    both = stack([weight, mul(weight, 1j)], 1 if adjoint else 2)
    rows, columns, *taps = weight.shape
    matrix = reshape(with_parts(both, 3 if adjoint else 1), (2 * rows, 2 * columns, *taps))
    image = reshape(with_parts(x, 2), (x.shape[0], 2 * x.shape[1], *x.shape[2:]))
    y = conv_input(image, matrix, window) if adjoint else conv(image, matrix, zero(matrix), window)
    y = reshape(y, (y.shape[0], y.shape[1] // 2, 2, *y.shape[2:]))
    return complex_of(select(y, 2, 0), select(y, 2, 1))


# ---- the public functions, with PyTorch's names ---------------------------------------------------------------------


@family(
    composed(namespace=(MG, FUNCTIONAL), channels_last=True),
    conv1d="Return the convolution along one dim of signals (N, C, W) with a weight (out, C / groups, kW)",
    conv3d="Convolve volumes (N, C, D, H, W) along three dims with a weight (out, C / groups, kD, kH, kW)",
)
def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: IntOrInts = 1, padding: IntOrInts | str = 0,
    dilation: IntOrInts = 1, groups: int = 1, *, name: str, dims: int,
) -> Tensor:  # fmt: skip
    """Return the convolution of images (N, C, H, W), or of one (C, H, W), with a weight (out, C / groups, kH, kW).

    For groups=1, out[n, m, i, j] = bias[m] + the sum over c, a and b of weight[m, c, a, b] * input[n, c, y, x] with
    y = i * stride + a * dilation - padding and x = j * stride + b * dilation - padding.  Elements outside the image
    count as 0.

    On a CPU, Winograd's algorithm convolves images of float32 and 16-bit floats, of 12 or more channels, with 3x3 taps.
    Its rounding error is typically 3 to 5 times that of the plain sum, and an output is nan if the 6x6 elements of its
    tile contain an infinity.  With `mg.settings.winograd = False`, the plain sum is computed.

    A complex convolution is one real convolution with twice as many channels, the parts.

    padding: the number of zeros on both sides, one int for all dims or for each; "valid" for no padding; or "same",
    with stride 1, for an output of the size of the input. If "same" needs an odd number of zeros, the additional zero
    is at the end.
    Gradient: for input, the transposed convolution of g with the weight; for weight, the convolution of input with g;
    for bias, g summed over all dims except the channels.
    Raises ShapeError if the channels do not match the weight or the kernel is larger than the padded image,
    ArgumentError for invalid strides, paddings and groups.
    """
    steps, spread = per_dim(name, "stride", stride, dims, 1), per_dim(name, "dilation", dilation, dims, 1)
    (groups,) = per_dim(name, "groups", groups, 1, 1)
    _check_dims(name, dims, input, weight)
    channels, sizes, taps = input.shape[-dims - 1], input.shape[-dims:], weight.shape[2:]
    if weight.shape[1] * groups != channels or weight.shape[0] % groups:
        raise ShapeError(
            f"{name}: with groups={groups}, input must have {weight.shape[1] * groups} channels for the weight "
            f"{describe(weight)}, and the number of its rows must be a multiple of groups, got input {describe(input)} "
            f"with {channels} channels; change groups or the weight", lhs=input.shape, rhs=weight.shape,
        )  # fmt: skip
    expect_shape(name, weight.shape[:1], CHANNELS, weight, bias=bias)
    before, total = _padding(name, padding, dims, steps, spread, taps)
    reach = tuple(d * (k - 1) + 1 for d, k in zip(spread, taps, strict=True))
    if any(n + p < r for n, p, r in zip(sizes, total, reach, strict=True)):
        raise ShapeError(
            f"{name}: the weight {describe(weight)} with dilation {spread} covers {reach} elements, but the padded "
            f"input {describe(input)} has only {tuple(n + p for n, p in zip(sizes, total, strict=True))}; increase "
            "padding or use a smaller kernel", lhs=input.shape, rhs=weight.shape,
        )  # fmt: skip
    size = tuple((n + p - r) // s + 1 for n, p, r, s in zip(sizes, total, reach, steps, strict=True))
    image = input if input.ndim == dims + 2 else input.unsqueeze(0)
    window = Window(size, (), steps, before, spread, groups)
    if input.dtype.is_complex or weight.dtype.is_complex:
        y = by_parts(image, weight, window, False)
        y = y if bias is None else y + bias.reshape(-1, *(1,) * dims)
    else:
        y = conv(image, weight, zero(weight) if bias is None else bias, window)
    return y if input.ndim == dims + 2 else y.squeeze(0)


@family(
    composed(namespace=(MG, FUNCTIONAL), channels_last=True),
    conv_transpose1d="Return the transposed convolution along one dim",
    conv_transpose3d="Return the transposed convolution along three dims",
)
def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: IntOrInts = 1, padding: IntOrInts = 0,
    output_padding: IntOrInts = 0, groups: int = 1, dilation: IntOrInts = 1, *, name: str, dims: int,
) -> Tensor:  # fmt: skip
    """Return the transposed convolution of images (N, C, H, W) with a weight (C, out / groups, kH, kW).

    The transposed convolution computes the gradient of `conv2d` with respect to its input.  For an image with n
    elements along a dim, the result has (n - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1
    elements.
    Gradient: for input, `conv2d` of g with the weight; for weight, the convolution of g with input; for bias, g summed
    over all dims except the channels.
    Raises ShapeError if the channels do not match the weight, ArgumentError for invalid strides, paddings and groups,
    and if output_padding is neither less than stride nor less than dilation.
    """
    steps, spread = per_dim(name, "stride", stride, dims, 1), per_dim(name, "dilation", dilation, dims, 1)
    before, more = per_dim(name, "padding", padding, dims, 0), per_dim(name, "output_padding", output_padding, dims, 0)
    (groups,) = per_dim(name, "groups", groups, 1, 1)
    _check_dims(name, dims, input, weight)
    if any(m >= max(s, d) for m, s, d in zip(more, steps, spread, strict=True)):
        raise ArgumentError(
            f"{name}: output_padding must be less than stride or dilation along each dim, got output_padding={more}, "
            f"stride={steps} and dilation={spread}; reduce output_padding"
        )
    if input.shape[-dims - 1] != weight.shape[0] or weight.shape[0] % groups:
        raise ShapeError(
            f"{name}: the first dim of the weight {describe(weight)} must be {input.shape[-dims - 1]}, the number of "
            f"channels of the input {describe(input)}, and a multiple of groups={groups}; pass a weight of shape "
            "(in_channels, out_channels / groups, *kernel)", lhs=input.shape, rhs=weight.shape,
        )  # fmt: skip
    expect_shape(name, (weight.shape[1] * groups,), CHANNELS, weight, bias=bias)
    parts = zip(input.shape[-dims:], weight.shape[2:], steps, before, more, spread, strict=True)
    size = tuple((n - 1) * s - 2 * p + d * (k - 1) + m + 1 for n, k, s, p, m, d in parts)
    if any(n < 1 for n in size):
        raise ShapeError(
            f"{name}: the result must have a spatial size of at least 1, got size {size} for {describe(input)}, a "
            f"weight {describe(weight)} and padding {before}; reduce padding", lhs=input.shape, rhs=weight.shape,
        )  # fmt: skip
    output = input if input.ndim == dims + 2 else input.unsqueeze(0)
    window, complex = Window(size, (), steps, before, spread, groups), input.dtype.is_complex or weight.dtype.is_complex
    y = by_parts(output, weight, window, True) if complex else conv_input(output, weight, window)
    if bias is not None:
        y = y + bias.reshape(-1, *(1,) * dims)
    return y if input.ndim == dims + 2 else y.squeeze(0)


# ---- arguments ------------------------------------------------------------------------------------------------------


def per_dim(name: str, what: str, value: Any, dims: int, least: int, repeated: bool = True) -> Ints:
    """Return an int or one int per dim as a tuple.

    Raises ArgumentError for values below `least`, and ArgumentTypeError for other values.
    repeated: whether a sequence of one int is also accepted, for all dims.
    """
    if type(value) is int and value >= least:
        return (value,) * dims
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    values = values * dims if len(values) == 1 and (repeated or values[0] is value) else values
    whole = all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in values)
    if len(values) != dims or not whole or any(int(v) < least for v in values):
        raise (ArgumentError if whole else ArgumentTypeError)(
            f"{name}: {what} must be an int of at least {least}, or {dims} such ints, got {describe(value)}; pass "
            f"{what}={least}, for example"
        )
    return tuple(int(v) for v in values)


def _check_dims(name: str, dims: int, x: Tensor, weight: Tensor) -> None:
    if x.dtype.kind == weight.dtype.kind:
        Numeric.expect(name, x, weight, input=x)
    Ndim(dims + 1, dims + 2).expect(name, x, weight, input=x)
    Ndim(dims + 2).expect(name, x, weight, weight=weight)
    Filled(dims, "spatial dim").expect(name, input=x)
    Filled().expect(name, weight=weight)


def _padding(name: str, padding: Any, dims: int, stride: Ints, dilation: Ints, taps: Ints) -> tuple[Ints, Ints]:
    """Return the number of zeros before each dim, and the total number before and after it."""
    if padding == "valid":
        return (0,) * dims, (0,) * dims
    if padding == "same":
        if any(s != 1 for s in stride):
            raise ArgumentError(
                f"{name}: padding='same' requires stride=1, got stride={stride}; pass stride=1 or an int for padding"
            )
        total = tuple(d * (k - 1) for d, k in zip(dilation, taps, strict=True))
        return tuple(t // 2 for t in total), total
    if isinstance(padding, str):
        raise ArgumentError(
            f"{name}: padding must be ints, 'valid' or 'same', got {padding!r}; pass padding=0, for example"
        )
    before = per_dim(name, "padding", padding, dims, 0)
    return before, tuple(2 * p for p in before)
