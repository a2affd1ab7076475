"""Views of complex numbers as pairs of real numbers, and back: the same memory with another dtype.

A view of parts is O(1).  It shares the memory and the count of writes with the complex tensor: see `Storage.seen_as`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from minigrad.backends.registry import backend_of
from minigrad.core.conditions import Complex, Condition, Wide
from minigrad.core.dtype import DType
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.declare.decorators import composed, elementwise, view
from minigrad.errors import ShapeError, check
from minigrad.ops.casting import clone, dtype_of_part
from minigrad.ops.shape.views import select
from minigrad.runtime.rebasing import Ops
from minigrad.runtime.tensor import Tensor, describe


def dtype_of_parts(op: Op, specs: Sequence[Spec]) -> DType:
    """Return the dtype of the parts of complex numbers."""
    return specs[0].dtype.to_real()


def dtype_of_pairs(op: Op, specs: Sequence[Spec]) -> DType:
    """Return the dtype of complex numbers with parts of this dtype."""
    return specs[0].dtype.to_complex()


@view(
    vjp=(lambda g: paired(g).conj_physical(),), beyond=True, namespace=(), method=False, dtype=dtype_of_parts,
    batch=lambda input, *, batch: as_real(input),
)  # fmt: skip
def as_real(input: Layout):
    """Return a view with a last dim of 2: the parts.  Gradient: g[..., 0] + i*g[..., 1]."""
    strides = (*[2 * step for step in input.strides], 1)
    return Layout.make((*input.shape, 2), strides, 2 * input.offset)


@view(
    vjp=(lambda g: as_real(g.conj_physical()),), beyond=True, namespace=(), method=False, dtype=dtype_of_pairs,
    jvp=lambda dinput: paired(dinput), batch=lambda input, *, batch: paired(input),
)  # fmt: skip
def as_complex(input: Layout):
    """Return a view of pairs as complex numbers.  Gradient: the parts of g."""
    return Layout.make(input.shape[:-1], tuple([step // 2 for step in input.strides[:-1]]), input.offset // 2)


Ops.parts, Ops.pairs = as_real.op, as_complex.op  # type: ignore[attr-defined]


@elementwise(dtype=dtype_of_part, vjp=(lambda g: g,), linear=True, namespace=(), method=False, label="real")
def real_copy(x):
    """Return the real parts as a new tensor, in a program of `mg.jit`, which checks that a view would be equal."""
    return x.real


@elementwise(dtype=dtype_of_part, vjp=(lambda g: g * -1j,), linear=True, namespace=(), method=False, label="imag")
def imag_copy(x):
    """Return the imaginary parts as a new tensor, like `real_copy`.  Gradient: -i*g, the factor of d Im(x)."""
    return x.imag


def are_pairs(layout: Layout) -> bool:
    """Return whether the last dim contains pairs of neighbours that begin at even positions."""
    *others, last = zip(layout.shape, layout.strides, strict=True)
    even = all(step % 2 == 0 for n, step in others if n > 1) and layout.offset % 2 == 0
    return last == (2, 1) and even


def paired(x: Tensor) -> Tensor:
    """Return pairs as complex numbers: a view if the memory allows it, otherwise a copy."""
    return as_complex(x if are_pairs(x.layout) else x.clone().contiguous())


@composed(out=False)
def view_as_real(input: Annotated[Tensor, Complex]) -> Tensor:
    """Return a view of complex numbers with a last dim of 2: the real and the imaginary parts.

    Gradient: g[..., 0] + i*g[..., 1].  Raises DTypeError for a real tensor.
    """
    return as_real(input)


Pairs = Condition(
    ShapeError, "have a last dim of length 2 and stride 1, and even other strides and offset",
    "pass input.contiguous()", lambda x, _: bool(x.shape) and are_pairs(x.layout),
)  # fmt: skip


@composed(out=False)
def view_as_complex(input: Annotated[Tensor, Wide, Pairs]) -> Tensor:
    """Return a view of pairs of real numbers, the last dim, as complex numbers.

    Gradient: the parts of g.  Raises DTypeError unless the dtype is float32 or float64, and ShapeError unless the last
    dim has length 2 and stride 1, and all other strides and the offset are even.
    """
    return as_complex(input)


@composed(method=False)
def view_as_real_copy(input: Annotated[Tensor, Complex]) -> Tensor:
    """Return a copy of the result of `view_as_real`, in separate memory.

    input: complex numbers.
    """
    return clone(as_real(input))


@composed(method=False)
def view_as_complex_copy(input: Annotated[Tensor, Wide, Pairs]) -> Tensor:
    """Return a copy of the result of `view_as_complex`, in separate memory.

    input: pairs of real numbers in the last dim.
    """
    return clone(as_complex(input))


def with_bits(x: Tensor, dtype: DType) -> Tensor:
    """Return the bits of x as elements of another dtype: a view over the same memory, without a gradient.

    If the elements are smaller or larger, the last dim is longer or shorter.  Raises ShapeError if it has gaps then, or
    if a larger element would not begin at a multiple of its size.
    """
    layout, old, new = x.layout, x.dtype.itemsize, dtype.itemsize
    if old != new:
        *outer, last = layout.strides or (0,)
        counts = (*outer, layout.offset, *layout.shape[-1:], x.storage.numel)
        whole = last == 1 and not any(n * old % new for n in counts)
        check(
            whole,
            ShapeError,
            "view: x must have a last dim without gaps, and only lengths and strides of whole elements of ",
            dtype,
            ", got ",
            describe(x),
            "; pass x.clone().contiguous(), or another dtype",
        )
        shape = (*layout.shape[:-1], layout.shape[-1] * old // new)
        layout = Layout.make(shape, (*[n * old // new for n in outer], 1), layout.offset * old // new)
    return Tensor(x.detach().storage.seen_as(dtype), layout)


@composed(out=False, method=False)
def real(input: Tensor) -> Tensor:
    """Return a view of the real parts; a real tensor is returned itself.  Gradient: g."""
    if not input.dtype.is_complex:
        return input
    return real_copy(input) if backend_of(input.device).records else select(as_real(input), -1, 0)


@composed(out=False, method=False)
def imag(input: Annotated[Tensor, Complex]) -> Tensor:
    """Return a view of the imaginary parts.  Gradient: i*g.  Raises DTypeError for a real tensor."""
    return imag_copy(input) if backend_of(input.device).records else select(as_real(input), -1, 1)


@composed(out=False)
def conj(input: Tensor) -> Tensor:
    """Return the conjugate: a new tensor for a complex dtype, and a real tensor itself.  Gradient: the conjugate of g.

    PyTorch returns a view that marks the numbers as conjugated; here the numbers are computed, so `is_conj` is False.
    """
    return input.conj_physical() if input.dtype.is_complex else input


@composed(out=False)
def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor itself, because `conj` computes its numbers."""
    return input
