"""Views: the same storage through another layout; no data moves.

The body of each declaration computes a Layout.  The VJP of a view returns the gradient to the elements of the view.  If
the view contains each element exactly once, this is another view.  Otherwise it is `put_back`, which adds the gradient
into zeros, so that repeated elements are summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Annotated, Any

from minigrad.core import roles
from minigrad.core.conditions import Ndim
from minigrad.core.layout import Layout
from minigrad.core.op import Op, Spec
from minigrad.core.requests import PutBack
from minigrad.core.shape import as_int, as_shape, infer_hole, normalize_dim
from minigrad.declare.decorators import composed, kernel, public, view
from minigrad.declare.forms import handed_on
from minigrad.errors import ArgumentError, GradientError, ShapeError, StorageError
from minigrad.ops.casting import rearrange, same_dtype
from minigrad.runtime.dispatch import apply, run_view
from minigrad.runtime.observers import DIRECT
from minigrad.runtime.planning import with_dtypes
from minigrad.runtime.plans import plan_for
from minigrad.runtime.rebasing import GAPS
from minigrad.runtime.recording import is_grad_enabled
from minigrad.runtime.tensor import Tensor, describe, expect_tensors
from minigrad.runtime.tracers import Tracer

# ---- the adjoint of any view ----------------------------------------------------------------------------------------


def _look(shape: tuple[int, ...], view: Op, params: tuple[tuple[str, Any], ...]) -> Layout:
    """Return the layout of a view of a contiguous tensor of `shape`."""
    return view.prepare(Layout.contiguous(shape), **dict(params))  # type: ignore[misc]


@kernel(
    dtype=same_dtype, shape=lambda op, g, *, shape, view, params: shape,
    vjp=(lambda g, *, view, params: _look_again(g, view, params),), linear=True, namespace=(),
    batch=lambda g, *, shape, view, params, batch: _put_back_batch(g, shape, view, dict(params), batch), complex=True,
)  # fmt: skip
def put_back(backend, out, g, *, shape, view, params):
    """Return zeros of `shape` to which g is added through a view; this is the adjoint of the view.

    Gradient: the same view of the incoming gradient.
    """
    return backend.prepare(PutBack(_look(shape, view, params)), out, g)


def _look_again(g: Tensor, view: Op, params: tuple[tuple[str, Any], ...]) -> Tensor:
    """Return a view of g; `as_strided` counts elements of memory, so g must be contiguous as the operand was."""
    return apply(view, (g.contiguous() if view is _strided() else g,), dict(params))


def _put_back_batch(g: Tensor, shape: tuple[int, ...], view: Op, params: dict[str, Any], size: int) -> Tensor:
    """Return `put_back` for a batch, with the parameters of the view changed for the additional first dim."""
    if view is _strided():
        params |= {"size": (size, *params["size"]), "stride": (prod(shape), *params["stride"])}
    else:
        params = {name: view.roles[name].shift(v, shape, size) if view.roles[name].shift else v
                  for name, v in params.items()}  # fmt: skip
    return put_back(g, shape=(size, *shape), view=view, params=tuple(params.items()))


def _strided() -> Op:
    return as_strided.op  # type: ignore[attr-defined]


PUT_BACK: Op = put_back.op  # type: ignore[attr-defined]


def _adjoint(g: Tensor, view: Any, shape: tuple[int, ...], **params: Any) -> Tensor:
    if has_all_elements(shape, view.op, tuple(params.items())):
        return reshape(g, shape)
    # The view is passed as an op and not by its name, because a user may declare another op with this name.
    return handed_on(PUT_BACK, g, {"shape": shape, "view": view.op, "params": tuple(params.items())})


@lru_cache(maxsize=1024)
def has_all_elements(shape: tuple[int, ...], view: Op, params: tuple[tuple[str, Any], ...]) -> bool:
    """Return whether a view of a tensor of `shape` contains each element once, in row-major order."""
    layout = _look(shape, view, params)
    return layout.numel == prod(shape) and layout.offset == 0 and layout.is_contiguous


def adjoint_of(view: Any, x: Tensor, shape: tuple[int, ...], **params: Any) -> Tensor:
    """Return zeros of a shape to which x is added through a view of a tensor of that shape."""
    # The batch rule shifts the dims among the parameters, so their defaults must be there too.
    return put_back(x, shape=shape, view=view.op, params=tuple((view.op.params | params).items()))


# ---- views that contain each element once: another view is the VJP --------------------------------------------------


@view(vjp=(lambda g, *, dims: permute(g, dims=inverse_permutation(dims)),))
def permute(input: Layout, dims: roles.Order):
    """Return a view with the dims in another order.  Gradient: g, permuted with the inverse order."""
    return input.permute(dims)


PERMUTE: Op = permute.op  # type: ignore[attr-defined]


def full_transpose(x: Tensor) -> Tensor:
    """Return a view with all dims in reverse order."""
    # This is `permute` with a key of its plan that does not need the list of dims.
    if x.__class__ not in DIRECT:
        return permute(x, dims=tuple(range(x.ndim - 1, -1, -1)))
    key = (x.layout, x.dtype, x.device, "reversed")
    plan = PERMUTE.plans.get(key)
    if plan is None:
        plan = plan_for(PERMUTE, (x,), {"dims": tuple(range(x.ndim - 1, -1, -1))}, key)
    return run_view(PERMUTE, plan, x)


def inverse_permutation(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return the inverse of the permutation `dims`."""
    positive = [d % len(dims) for d in dims]
    return tuple(positive.index(d) for d in range(len(dims)))


@view(vjp=(lambda g, *, dim0, dim1: transpose(g, dim0=dim0, dim1=dim1),))
def transpose(input: Layout, dim0: roles.SwappedDim, dim1: roles.SwappedDim):
    """Return a view with two dims swapped.  Gradient: g with the same two dims swapped."""
    return input.transpose(dim0, dim1)


@view(vjp=(lambda g, *, in_shape: reshape(g, in_shape),))
def squeeze(input: Layout, dim: roles.SqueezedDims = None):
    """Return a view without dims of length 1: without all of them, or without those that `dim` names.

    A dim of another length stays.
    """
    return input.squeeze(dim)


@view(vjp=(lambda g, *, in_shape: reshape(g, in_shape),))
def unsqueeze(input: Layout, dim: roles.ViewNewDim):
    """Return a view with a new dim of length 1 at position `dim`."""
    return input.unsqueeze(dim)


@view(
    vjp=(lambda g, *, in_shape: reshape(g, in_shape),),
    jvp=lambda dinput, *, y_shape: reshape(dinput, y_shape),  # a tangent may have other strides, so it is reshaped
    name="view",
    namespace=(),
    batch=lambda input, *, shape, batch: reshape(input, (batch, *Layout.contiguous(input.shape[1:]).view(shape).shape)),
)
def as_view(input: Layout, shape: roles.ViewShape):
    """Return a view with another shape over the same memory.  Raises ShapeError if the strides do not allow it."""
    return input.view(shape)


AS_VIEW = as_view.op  # type: ignore[attr-defined]


@view(vjp=(lambda g, *, dims: flip(g, dims=dims),))
def flip(input: Layout, dims: roles.ManyDims):
    """Return a view with the elements in reverse order along each of `dims`; it has negative strides."""
    return input.flip(dims)


@view(
    vjp=(lambda g, *, in_shape: g.sum_to(in_shape),),
    batch=lambda input, *, shape, batch: _expanded_batch(input, shape, batch),
)
def expand(input: Layout, shape: roles.ViewShape):
    """Return a view of a larger shape, in which dims of length 1 are expanded and leading dims are added.

    Gradient: g, summed over the expanded and added dims.
    """
    return input.expand(shape)


@view(vjp=(lambda g, *, in_shape, dims: g.sum(dims).reshape(in_shape),), namespace=())
def stretch(input: Layout, dims: roles.ViewDims, shape: roles.StretchedShape):
    """Return a reduced tensor expanded to the shape before the reduction, with strides of 0 along `dims`.

    Gradient: g, summed over `dims`.
    """
    if len(input.shape) < len(shape):
        for d in dims:
            input = input.unsqueeze(d)
    return input.expand(shape)


def _expanded_batch(x: Tensor, shape: Any, size: int) -> Tensor:
    """Return `expand` of each sample of a batch, with the new dims after the batch dim."""
    each = Layout.contiguous(x.shape[1:]).expand(shape).shape
    new = (1,) * (len(each) + 1 - x.ndim)
    return expand(reshape(x, (size, *new, *x.shape[1:])), shape=(size, *each))


# ---- parts and windows: the VJP adds into zeros ---------------------------------------------------------------------


@view(vjp=(lambda g, *, in_shape, **params: _adjoint(g, narrow, in_shape, **params),))
def narrow(input: Layout, dim: roles.ViewDim, start: roles.Along, length: roles.Along):
    """Return a view of `length` elements along `dim`, from `start`.  Gradient: g at these elements, and 0 elsewhere."""
    return input.narrow(dim, start, length)


@view(vjp=(lambda g, *, in_shape, **params: _adjoint(g, select, in_shape, **params),))
def select(input: Layout, dim: roles.ViewDim, index: roles.Along):
    """Return a view of one position along `dim`, without this dim.  Gradient: g at this position, and 0 elsewhere."""
    return input.select(dim, index)


@view(name="index", vjp=(lambda g, *, in_shape, index: _adjoint(g, basic_index, in_shape, index=index),), namespace=())
def basic_index(input: Layout, index: roles.Index):
    """Return the view of an index of ints, slices and None, such as `x[1, :, None, ::2]`.

    Gradient: g at the elements of the view, and 0 elsewhere.
    """
    dim = 0
    for item in index:
        if item.__class__ is int:
            input = input.select(dim, item)
            continue
        if item is None:
            input = input.unsqueeze(dim)
        elif item != roles.WHOLE:
            start, stop, step = item
            input = input.slice(dim, start, stop, 1 if step is None else step)
        dim += 1
    return input


@view(vjp=(lambda g, *, in_shape, **params: _adjoint(g, diagonal, in_shape, **params),))
def diagonal(input: Layout, offset: roles.Along = 0, dim1: roles.ViewDim = 0, dim2: roles.ViewDim = 1):
    """Return a view of the diagonal of two dims, as the last dim.  Gradient: g on the diagonal, and 0 elsewhere."""
    return input.diagonal(offset, dim1, dim2)


@view(
    vjp=(lambda g, *, in_shape, **params: _adjoint(g, unfold, in_shape, **params),),
    batch=lambda input, *, dimension, size, step, batch: _unfolded_batch(input, dimension, size, step),
)
def unfold(input: Layout, dimension: roles.ViewDim, size: roles.Along, step: roles.Along):
    """Return a view of the windows of `size` elements along a dim, which begin every `step` elements.

    The windows are the last dim of the result.
    Gradient: for each element, the sum of g over all windows that contain the element.
    """
    return input.unfold(dimension, size, step)


def _unfolded_batch(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return `unfold` of each sample of a batch; a sample without dims has one window."""
    Layout.contiguous(x.shape[1:]).unfold(dimension, size, step)  # raises the errors of one sample
    if x.ndim == 1:
        return unsqueeze(x, dim=1).narrow(1, 0, size)
    return unfold(x, dimension=dimension % (x.ndim - 1) + 1, size=size, step=step)


@view(
    beyond=True,
    namespace=(),
    vjp=(lambda g, *, in_shape, **params: _adjoint(g, as_strided, in_shape, **params),),
    jvp=lambda dinput, *, size, stride, storage_offset: _look_again(
        dinput, _strided(), (("size", size), ("stride", stride), ("storage_offset", storage_offset))
    ),
    # The strides are those of one sample, which counts as contiguous, as for the gradient.
    batch=lambda input, *, size, stride, storage_offset, batch: _look_again(
        input,
        _strided(),
        (("size", (batch, *size)), ("stride", (prod(input.shape[1:]), *stride)), ("storage_offset", storage_offset)),
    ),
)
def as_strided(input: Layout, size, stride, storage_offset=0):
    """Return a view with any shape and strides over the storage; storage_offset counts from the first element.

    Gradient: g, added into zeros through the same strides.
    """
    return input.as_strided(size, stride, input.offset + storage_offset)


def averaged(x: Tensor, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int) -> Tensor:
    """Return memory divided by the number of times that a layout shows each element; unchanged if that is at most 1."""
    if not Layout.make(size, stride, storage_offset).may_overlap_itself():
        return x
    position = {"size": size, "stride": stride, "storage_offset": storage_offset}
    return x / adjoint_of(as_strided, x.new_ones(size), x.shape, **position).clamp(min=1)


@view(
    namespace=(),
    vjp=(lambda g, **position: _look_again(averaged(g, **position), _strided(), tuple(position.items())),),
    jvp=lambda dinput, *, y_shape, **position: averaged(
        adjoint_of(as_strided, dinput, y_shape, **position), **position
    ),
)  # fmt: skip
def spanned(input: Layout, size, stride, storage_offset):
    """Return the memory from the first to the last element, in one dim; the parameters are the operand's place there.

    Gradient: the elements of g at that place.  The elements that show the same memory receive equal shares.
    """
    first, end = input.span()
    return input.as_strided((end - first,), (1,), first)


# ---- reshape: a view if possible, otherwise a copy ------------------------------------------------------------------


def reshape(input: Tensor, *sizes: int | Sequence[int], shape: Sequence[int] | None = None) -> Tensor:
    """Return a tensor of another shape with the same elements: a view if the strides allow it, otherwise a copy.

    One of the sizes may be -1; it is computed from the number of elements.
    shape: the sizes as one sequence, as a keyword argument.
    """
    x = input
    expect_tensors("reshape", x)
    lengths: Any = sizes if shape is None else named_shape("reshape", sizes, "shape", shape)
    if len(lengths) == 1 and isinstance(lengths[0], tuple):
        lengths = lengths[0]
    result = seen(x, lengths)
    if result is not None:
        return x if result.layout is x.layout else result  # a `view` with another layout is a separate tensor
    ints = {int}.issuperset(map(type, lengths))  # 2.0 would be the same key as 2
    wanted = lengths if ints else as_shape(lengths, "reshape", hole=True)
    try:
        shape, layout = reshaped(x.layout, wanted)
    except ShapeError as error:
        raise with_dtypes(error, (Spec(x.layout, x.dtype),)) from None
    if layout is x.layout:
        return x
    if layout is None:
        return rearrange(x, x.layout.shape, tuple(range(x.layout.ndim)), shape)
    return remembered(x, lengths, shape)


@lru_cache(maxsize=4096)
def reshaped(layout: Layout, sizes: tuple[Any, ...]) -> tuple[tuple[int, ...], Layout | None]:
    """Return the shape of `reshape`, and the layout of a view with this shape, or None if a copy is necessary."""
    wanted = infer_hole(as_shape(sizes, "reshape", hole=True), layout.numel, "reshape", layout.shape)
    return wanted, layout.reshape(wanted)


# `public` is called instead of used as a decorator, so that type checkers see the type of `reshape` in the rules above.
public(method=True)(reshape)


def named_shape(name: str, sizes: tuple[Any, ...], keyword: str, value: Any) -> tuple[int, ...]:
    """Return the shape from a keyword argument.

    Raises ArgumentError if there are positional sizes as well, or if the value is not a tuple or list.
    """
    if sizes or not isinstance(value, (tuple, list)):
        raise ArgumentError(
            f"{name}: expected sizes, or {keyword}= with a tuple of them, got {(*sizes, value)}; write "
            f"{keyword}=(2, 3), for example"
        )
    return tuple(value)


def seen(x: Tensor, shape: tuple[Any, ...]) -> Tensor | None:
    """Return the view of x in a shape if the plan of this exact request is cached, otherwise None.

    Sizes that are not ints are refused, because 2.0 would be the same key as 2.
    """
    if x.__class__ not in DIRECT:
        return None
    for n in shape:
        if n.__class__ is not int:
            return None
    plan = AS_VIEW.plans.get((x.layout, x.dtype, x.device, shape))
    return None if plan is None else run_view(AS_VIEW, plan, x)


def remembered(x: Tensor, shape: tuple[Any, ...], wanted: tuple[int, ...]) -> Tensor:
    """Return the view of x in the shape `wanted`, and cache its plan for `seen` under the shape of the request.

    Raises the same errors as `as_view`.
    """
    if x.__class__ not in DIRECT or any(n.__class__ is not int for n in shape):
        return as_view(x, shape=wanted)
    return run_view(AS_VIEW, plan_for(AS_VIEW, (x,), {"shape": wanted}, (x.layout, x.dtype, x.device, shape)), x)


@composed(out=False)
def flatten(input: Tensor, start_dim: roles.Along = 0, end_dim: roles.Along = -1) -> Tensor:
    """Return the tensor with the dims from start_dim to end_dim, which is included, merged into one dim.

    A tensor of shape () becomes (1,).  The result is a view if the strides allow it, otherwise a copy.
    """
    x = input
    whole = start_dim.__class__ is end_dim.__class__ is int and start_dim == 0 and end_dim == -1
    if whole and x.numel():
        return reshape(x, -1)
    ndim = x.ndim or 1  # a scalar counts as a tensor of one dim
    first = normalize_dim(start_dim, ndim, "flatten", x)
    last = normalize_dim(end_dim, ndim, "flatten", x)
    if first > last:
        raise ShapeError(
            f"flatten: start_dim must not be greater than end_dim, got {start_dim} and {end_dim} for {describe(x)}; "
            "swap the two"
        )
    return reshape(x, *x.shape[:first], -1 if x.numel() else prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


@composed(out=False)
def t(input: Annotated[Tensor, Ndim(most=2, advice="use .mT or transpose")]) -> Tensor:
    """Return a view of the transpose of a matrix; a tensor with fewer dims is returned with its shape."""
    return full_transpose(input)


def strided_view(
    x: Tensor, size: int | Sequence[int], stride: int | Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """Return a view with any shape and strides over the storage, after a check of the storage's bounds.

    x: the tensor whose storage the view shows.
    A gradient flows to the elements of x among those of the view, as in PyTorch.
    Raises StorageError for strides that leave the storage, GradientError if x requires a gradient and they leave the
    memory between its first and its last element.
    """
    expect_tensors("as_strided", x)
    sizes = as_shape((size,), "as_strided")
    strides = stride if isinstance(stride, (list, tuple)) else (stride,)
    steps = tuple(as_int(s, "a stride", "as_strided") for s in strides)
    offset = x.offset if storage_offset is None else as_int(storage_offset, "the offset", "as_strided")
    # The wrapped value may be in a larger storage, but users of the transform cannot see this.
    traced, operand = isinstance(x, Tracer), x
    if not traced and not x.layout.as_strided(sizes, steps, offset).fits(x.storage.numel):
        raise StorageError(
            f"as_strided: size and stride must stay inside the storage of {describe(x)}, which has {x.storage.numel} "
            f"elements, got size {sizes}, stride {steps} and storage_offset {offset}; reduce the size"
        )
    if traced or (x.requires_grad and is_grad_enabled()):
        order = x.layout.memory_order()
        if x.layout.permute(order).is_contiguous:
            x = x if x.is_contiguous() else x.permute(order)
        elif traced:
            raise GradientError(
                "as_strided: inside a transform, the operand must have no gaps and no repeated elements, got "
                f"{describe(x)} with strides {x.strides}; pass x.clone()"
            )
        else:
            first, _ = x.layout.span()
            x = spanned(x, size=x.shape, stride=x.strides, storage_offset=x.offset - first)
            x.base = GAPS
        # The storage may continue on both sides of x; a gradient there would belong to no tensor.
        if not x.layout.as_strided(sizes, steps, offset - x.offset).fits(x.numel()):
            raise GradientError(
                f"as_strided: size {sizes} with stride {steps} from offset {offset} selects elements outside "
                f"{describe(operand)} in the same storage, to which no gradient can flow; pass x.detach() if none is "
                "needed"
            )
    return as_strided(x, size=sizes, stride=steps, storage_offset=offset - x.offset)
