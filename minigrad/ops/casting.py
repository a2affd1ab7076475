"""Casts, copies and rearrangements, which all run the same copy kernel.

A copy of a permuted or expanded view in another shape is one op with one launch, `rearranged`.  Reshapes that need a
copy, pixel shuffles and repetitions use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.backends.host import without_waiting
from minigrad.core.device import Device, as_device
from minigrad.core.dtype import DType, as_dtype, bool_, expect_no_loss
from minigrad.core.formats import CHANNELS_LAST, format_of, layout_in
from minigrad.core.op import Op, Spec
from minigrad.core.requests import Copy
from minigrad.core.roles import Format, Target, read_flag
from minigrad.declare.decorators import composed, elementwise, kernel, public
from minigrad.declare.forms import handed_on, in_format
from minigrad.declare.rules import Pair, joint, same_format
from minigrad.errors import ArgumentError, DeviceError, DTypeError
from minigrad.runtime.tensor import Tensor, describe

# ---- casts and copies ------------------------------------------------------------------------------------------------


def same_dtype(op: Op, specs: tuple[Spec, ...], **params: Any) -> DType:
    """Return the dtype of the first operand."""
    return specs[0].dtype


@kernel(
    dtype=lambda op, specs, *, dtype: lossless(op, specs[0], as_dtype(dtype)), shape=same_format, complex=True,
    vjp=(lambda g, *, input_dtype: cast_to(g, input_dtype),), linear=True, batch="elementwise",
)  # fmt: skip
def cast(backend, out, input: Tensor, dtype):
    """Return a copy of the values in another dtype.

    DTypes: a cast from float to integer truncates toward zero, saturates at the ends of the range, and converts nan to
    0. A cast between integers wraps. A cast to bool is `!= 0`. A cast to a narrower float rounds to nearest even.
    Gradient: g, cast to the dtype of the input, of which a real input receives the real part; no gradient flows through
    an integer dtype.
    Raises DTypeError for a cast from a complex to a real dtype, which would lose the imaginary parts.
    """
    return backend.prepare(Copy(), out, input)


def lossless(op: Op, spec: Spec, dtype: DType) -> DType:
    """Return the dtype of a cast.  Raise DTypeError if the cast would lose imaginary parts."""
    expect_no_loss(spec.dtype, dtype)  # `dtypes_of` adds the name of the op and the operands to the message
    return dtype


def cast_to(x: Tensor, dtype: DType) -> Tensor:
    """Return a copy in another dtype; for a real dtype other than bool, that of the real parts of a complex tensor.

    Only conversions that a user requests and gradients of real operands lose imaginary parts.
    """
    if x.dtype.is_complex and not dtype.is_complex and dtype is not bool_:
        parts: Tensor = real_part(x)
        return parts if parts.dtype is dtype else cast(parts, dtype=dtype)
    return cast(x, dtype=dtype)


def dtype_of_part(op: Op, specs: Sequence[Spec]) -> Pair:
    """Compute in a complex dtype, and return the dtype of its parts."""
    return specs[0].dtype.compute, specs[0].dtype.to_real()


@elementwise(dtype=dtype_of_part, vjp=(lambda g: g,), linear=True, namespace=(), method=False, label="to")
def real_part(x):
    """Return the real parts of complex numbers as a new tensor.  Gradient: g."""
    return x.real


@kernel(
    dtype=same_dtype, shape=same_format, vjp=(lambda g: g,), linear=True, batch="elementwise", method=True, out=False,
    complex=True,
)  # fmt: skip
def clone(backend, out, input: Tensor, *, memory_format: Format = None):
    """Return a copy in a separate storage, in the memory format of the input by default.  Gradient: g."""
    return backend.prepare(Copy(), out, input)


@composed(out=False)
def contiguous(input: Tensor, memory_format: Format = None) -> Tensor:
    """Return a row-major copy without gaps, or one in another memory format; the tensor itself if it has this order.

    Gradient: g, in the memory format of the input.
    """
    layout_in("contiguous", input.layout.shape, memory_format)  # raises an error for other formats and dims
    if input.is_contiguous(memory_format=memory_format):
        return input
    rank, last = input.ndim, format_of(input.layout) is not None
    if last is (memory_format in CHANNELS_LAST):
        return clone(input)
    to_last, to_row = (0, *range(2, rank), 1), (0, rank - 1, *range(1, rank - 1))
    if last:  # the rule of `rearrange` copies the gradient into the order of its operand
        input = input.permute(to_last)
        return rearrange(input, input.shape, to_row, tuple([input.shape[d] for d in to_row]))
    return rearrange(input, input.shape, to_last, tuple([input.shape[d] for d in to_last])).permute(to_row)


@public(namespace=(), method=True)
def to(
    x: Tensor, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False, non_blocking: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return x in another dtype, on another device, or both.

    The arguments are dtypes, devices or tensors: `x.to(mg.float64)`, `x.to("reference")`, `x.to(other)`.  The result is
    x itself if neither the dtype nor the device changes, unless copy=True.
    non_blocking: whether a copy from pinned memory may still run when the call returns. Later work on the device waits
    for the copy, but x must not be written before it has finished.
    A real dtype takes the real parts of a complex tensor.
    Raises DTypeError for an argument that is not a dtype, a device or a tensor, ArgumentError for two different
    dtypes or devices.
    """
    if (
        len(args) == 1
        and args[0].__class__ is DType
        and dtype is None
        and device is None
        and copy is False
        and non_blocking is False
        and memory_format is None
    ):
        return x if x.dtype is args[0] else cast_to(x, args[0])
    read_flag(copy, "to", "copy")
    read_flag(non_blocking, "to", "non_blocking")
    count = next((k for k in range(3) if not isinstance(args[len(args) - k - 1] if k < len(args) else None, bool)), 0)
    if memory_format is not None or count:  # PyTorch also accepts the two flags by position
        flags: Any = (*args[len(args) - count :], *(non_blocking, copy)[count:])
        non_blocking, copy = flags
        args = args[: len(args) - count]
        return in_format("to", to(x, *args, dtype=dtype, device=device, copy=copy, non_blocking=non_blocking),
                         memory_format)  # fmt: skip
    for arg in args:
        new_dtype, new_device = _target(arg)
        if (dtype is not None and new_dtype is not None) or (device is not None and new_device is not None):
            raise ArgumentError(
                f"to: at most one dtype and one device are allowed for {describe(x)}, got {args}; pass the dtype and "
                "the device once each"
            )
        dtype, device = new_dtype or dtype, new_device or device
    wanted = x.dtype if dtype is None else as_dtype(dtype)
    where = x.device if device is None else as_device(device)
    if where is not x.device:
        x = without_waiting(transfer, x, device=where) if non_blocking else transfer(x, device=where)
        copy = False
    if wanted is not x.dtype:
        return cast_to(x, wanted)
    return clone(x) if copy else x


def _target(arg: Any) -> tuple[DType | None, Device | None]:
    """Return the dtype and the device that an argument of `to` specifies; a tensor specifies both."""
    if isinstance(arg, Tensor):
        return arg.dtype, arg.device
    if isinstance(arg, str) and ":" in arg:
        return None, as_device(arg)
    for read in (as_dtype, as_device):
        try:
            target: Any = read(arg)
        except (DTypeError, DeviceError):
            continue
        return (target, None) if read is as_dtype else (None, target)
    raise DTypeError(
        f"to: expected a dtype such as mg.float64, a device such as 'cpu', or a tensor, got {describe(arg)}; pass "
        "dtype=mg.float64, for example"
    )


@kernel(
    dtype=same_dtype, shape=same_format, vjp=(lambda g, *, input_device: transfer(g, device=input_device),),
    linear=True, batch="elementwise", namespace=(), out=False, complex=True,
)  # fmt: skip
def transfer(backend, out, input: Tensor, device: Target):
    """Return a copy on another device.  Gradient: g, copied to the device of the input."""
    return backend.prepare(Copy(), out, input)


# ---- elements in another order and shape -----------------------------------------------------------------------------


Ints = tuple[int, ...]


def rearrange(x: Tensor, sizes: Ints, order: Ints, shape: Ints, spread: Ints = ()) -> Tensor:
    """Return a copy of x, seen with `sizes`, with its dims in another order, in a shape.

    spread: dims of `sizes` along which x is repeated; x has the size 1 there.
    """
    return handed_on(REARRANGED, x, {"sizes": sizes, "order": order, "shape": shape, "spread": spread})


def _arranged_back(g: Tensor, to: Ints, sizes: Ints, order: Ints, spread: Ints) -> Tensor:
    """Return the gradient of `rearrange` for an operand of shape `to`."""
    inverse = tuple([order.index(d) for d in range(len(order))])
    seen = tuple([sizes[d] for d in order])
    if not spread:
        return rearrange(g, seen, inverse, to)
    return g.reshape(seen).permute(inverse).sum(spread).reshape(to)


@kernel(
    dtype=same_dtype, shape=lambda op, input, *, sizes, order, shape, spread: shape, linear=joint("input"),
    vjp=(lambda g, *, in_shape, sizes, order, shape, spread: _arranged_back(g, in_shape, sizes, order, spread),),
    namespace=(), label="reshape", complex=True,
    batch=lambda input, *, sizes, order, shape, spread, batch: rearrange(
        input, (batch, *sizes), (0, *[d + 1 for d in order]), (batch, *shape), tuple([d + 1 for d in spread])
    ),
)  # fmt: skip
def rearranged(steps, out, input: Tensor, *, sizes, order, shape, spread):
    """Return a copy of the input, seen with `sizes`, expanded along `spread`, with permuted dims, in another shape.

    Gradient: g, with its elements in the old order, and summed over the dims in `spread`.
    """
    (source,) = steps.operands
    narrow = tuple([1 if d in spread else n for d, n in enumerate(sizes)])
    seen = source.layout.reshape(narrow)
    if seen is None:
        source = steps.dense(source)
        seen = source.layout.view(narrow)
    moved = source.seen(seen.expand(sizes).permute(order))
    steps.copy(out.seen(out.layout.view(moved.shape)), moved)


REARRANGED = rearranged.op  # type: ignore[attr-defined]


def sign_of(x: Any) -> Any:
    """Return sign(x); for a complex tensor, the conjugate of x/|x|, and 0 at 0."""
    return x.sgn().conj_physical() if isinstance(x, Tensor) and x.dtype.is_complex else x.sign()
