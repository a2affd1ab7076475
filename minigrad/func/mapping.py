"""`vmap`: a function of one sample is called with a whole batch at once, without a loop."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from minigrad.autodiff.batches import Batched, BatchTransform, moved
from minigrad.core.roles import Choice, Number
from minigrad.errors import ArgumentError, IndexOutOfRange, ShapeError
from minigrad.func.inputs import called, outputs_of
from minigrad.func.trees import Tree, flatten, spread, unflatten
from minigrad.ops.generators import Streams
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import expand, narrow
from minigrad.runtime.tensor import Tensor, describe

RANDOMNESS = ("error", "same", "different")


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Return a function that applies `func` to all samples of a batch at once.

    func: Function of one sample. It returns a tensor, or nested tuples, lists and dicts of tensors; an output with None
    in `out_dims` may be any object.
    in_dims (int or nested structure of int and None): Batch dim of each argument, nested like the arguments; an int
    applies to all arguments. None marks an argument that is the same for all samples. Keyword arguments are always the
    same for all samples.
    out_dims (int or nested structure of int and None): Batch dim of each output, in the same form. None marks an output
    that is the same for all samples.
    randomness ({"error", "same", "different"}): Whether random functions raise an error, draw once for all samples, or
    draw for each sample.
    chunk_size: Compute at most this many samples at a time, to use less memory.

    Returns: Function with the arguments of `func`, in which each batched tensor has one more dim.

    Raises ArgumentError if `in_dims` is not nested like the arguments, or `out_dims` is not nested like the output.
    Raises IndexOutOfRange if an argument or an output does not have the dim that `in_dims` or `out_dims` specifies.
    Raises ShapeError if the arguments have different batch sizes.

    The batch may be empty.  Code that depends on values, such as `if x > 0`, `item()` or a mask as an index, cannot run
    on a batch and raises an error; use `mg.where`.
    `mg.func.vmap(mg.func.grad(loss), in_dims=(None, 0))(weights, samples)` computes one gradient per sample.
    """
    Choice(*RANDOMNESS, advice="pass randomness='different', for example").expect("vmap", randomness=randomness)
    Number(1, whole=True, optional=True, advice="pass chunk_size=None").expect("vmap", chunk_size=chunk_size)

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten(args)
        dims = batch_dims(func, leaves, tree, args, in_dims)
        size = batch_size(func, leaves, dims)
        if chunk_size is None or size <= chunk_size:
            return once(func, leaves, dims, tree, kwargs, size, out_dims, randomness)
        parts, streams = [], Streams()
        for start in range(0, size, chunk_size):
            length = min(chunk_size, size - start)
            some = [x if d is None else narrow(x, dim=d, start=start, length=length) for x, d in zip(leaves, dims)]
            drawing = nullcontext() if randomness != "same" else streams.repeated() if start else streams.recorded()
            with drawing:
                parts.append(flatten(once(func, some, dims, tree, kwargs, length, out_dims, randomness)))
        return joined(parts, out_dims)

    return mapped


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """Return the function of `vmap` that computes a batch in a number of chunks, as the package `functorch` does.

    func: Function of one sample.
    in_dims, out_dims and randomness: Arguments of `vmap`.
    chunks: Number of chunks, which have equal sizes, except that the last chunk may be smaller.  `chunk_size` of `vmap`
    limits the size instead.

    Returns: Function with the arguments of `func`, in which each batched tensor has one more dim.
    """
    Number(1, whole=True, advice="pass chunks=2").expect("chunk_vmap", chunks=chunks)

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten(args)
        size = batch_size(func, leaves, batch_dims(func, leaves, tree, args, in_dims))
        whole = vmap(func, in_dims, out_dims, randomness, chunk_size=max(1, -(-size // chunks)))
        return whole(*args, **kwargs)

    return mapped


def batch_dims(
    func: Callable[..., Any], leaves: list[Any], tree: Tree, args: tuple[Any, ...], in_dims: Any
) -> list[int | None]:
    """Return the batch dim of each leaf, counted from the front; None without one."""
    if not args:
        raise ArgumentError(
            f"vmap: {called(func)} must be called with at least one argument, which is the batch, got none; pass the "
            "batch by position"
        )
    if isinstance(in_dims, list):
        in_dims = tuple(in_dims)
    if isinstance(in_dims, tuple) and len(in_dims) != len(args):
        raise ArgumentError(
            f"vmap: in_dims must have one entry for each of the {len(args)} arguments of {called(func)}, got "
            f"in_dims={in_dims}; pass {len(args)} entries"
        )
    if not isinstance(in_dims, (int, tuple)):
        raise ArgumentError(
            f"vmap: in_dims must be an int or a tuple, one entry per argument, got {in_dims!r}; pass in_dims=0, for "
            "example"
        )
    if isinstance(in_dims, int):  # the same dim applies to all tensors among the arguments
        dims: list[Any] = [in_dims if isinstance(x, Tensor) else None for x in leaves]
    else:
        dims = spread(in_dims, tree, "vmap: in_dims", "the arguments")
    if all(d is None for d in dims):
        raise ArgumentError(
            f"vmap: in_dims must mark at least one argument of {called(func)} as a batch, got {in_dims}; pass "
            "in_dims=0, for example"
        )
    return [None if d is None else front(x, d) for x, d in zip(leaves, dims)]


def front(x: Any, dim: Any) -> int:
    """Return a batch dim of an argument, counted from the front, after checking it."""
    if not isinstance(x, Tensor):
        raise ArgumentError(
            f"vmap: in_dims must be None for an argument that is not a tensor, got {dim} for {describe(x)}; write "
            "None for this argument"
        )
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise ArgumentError(
            f"vmap: an entry of in_dims must be an int or None, got {dim!r}; pass None for an argument without a batch"
        )
    if not -x.ndim <= dim < x.ndim:
        raise IndexOutOfRange(
            f"vmap: an entry of in_dims must be a dim of {describe(x)}, which has {x.ndim} dims, got {dim}; pass 0, "
            "for example"
        )
    return dim % x.ndim


def batch_size(func: Callable[..., Any], leaves: list[Any], dims: Sequence[int | None]) -> int:
    """Return the size of the batch; raise ShapeError if the arguments have different sizes."""
    known = [(x, d, x.shape[d]) for x, d in zip(leaves, dims) if d is not None]
    first = known[0]
    for x, d, size in known:
        if size != first[2]:
            raise ShapeError(
                f"vmap: the arguments of {called(func)} must have one batch size, and {describe(first[0])} has "
                f"{first[2]} along dim {first[1]}, {describe(x)} {size} along dim {d}; pass None in in_dims for an "
                "argument without a batch"
            )
    return int(first[2])


def once(
    func: Callable[..., Any], leaves: list[Any], dims: Sequence[int | None], tree: Tree, kwargs: dict[str, Any],
    size: int, out_dims: Any, randomness: str,
) -> Any:  # fmt: skip
    """Run the function on a whole batch."""
    with BatchTransform(size, randomness) as transform:
        args = [x if d is None else Batched(moved(x, d, 0), transform) for x, d in zip(leaves, dims)]
        for x, source, d in zip(args, leaves, dims):
            if d is not None:
                transform.received(x, source, d)
        returned = func(*unflatten(tree, args), **kwargs)
    outputs, nested = flatten(returned)
    if isinstance(returned, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        (out_dims,) = out_dims
    positions = spread(out_dims, nested, "vmap: out_dims", "the output")
    if not outputs or any(d is not None and not isinstance(y, Tensor) for y, d in zip(outputs, positions)):
        outputs_of("vmap", func, returned)  # raises an error
    return unflatten(nested, [positioned(transform, y, position) for y, position in zip(outputs, positions)])


def positioned(transform: BatchTransform, y: Tensor, position: Any) -> Tensor:
    """Return an output whose batch dim is at `position`."""
    whole = transform.whole(y)
    if position is None:
        if whole is not None:
            raise ArgumentError(
                "vmap: out_dims must be an int for an output that differs over the batch, got None for "
                f"{describe(y)}; pass out_dims=0, for example"
            )
        return y
    if isinstance(position, bool) or not isinstance(position, int) or not -y.ndim - 1 <= position <= y.ndim:
        raise IndexOutOfRange(
            f"vmap: out_dims must be an index from {-y.ndim - 1} to {y.ndim} for {describe(y)}, got {position!r}; pass "
            "out_dims=0, for example"
        )
    full = expand(y, shape=(transform.size, *y.shape)) if whole is None else whole
    return moved(full, 0, position % full.ndim)


def joined(parts: list[tuple[list[Any], Tree]], out_dims: Any) -> Any:
    """Concatenate the outputs of chunks to the outputs of the whole batch."""
    tree = parts[0][1]
    positions = spread(out_dims, tree, "vmap: out_dims", "the output")
    columns = zip(*[leaves for leaves, _ in parts])
    return unflatten(tree, [some[0] if p is None else cat(list(some), p) for some, p in zip(columns, positions)])
