"""Jacobians and Hessians: all rows or all columns are computed at once, as one batch of cotangents or tangents."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from minigrad.autodiff.batches import Batched, BatchTransform
from minigrad.autodiff.forward import Dual, DualTransform
from minigrad.core.roles import Choice, Number
from minigrad.func.inputs import Argnums, Inputs, expect_real, with_aux
from minigrad.func.mapping import RANDOMNESS
from minigrad.func.transforms import Pullback, recorded, split
from minigrad.func.trees import flatten, tree_map, unflatten
from minigrad.ops.creation import eye
from minigrad.ops.shape.joining import cat
from minigrad.ops.shape.views import expand, narrow, permute, reshape
from minigrad.runtime.tensor import Tensor

Function = Callable[..., Any]


def units(xs: Sequence[Tensor], first: int, count: int) -> list[Tensor]:
    """Return `count` rows, from `first` on, of the identity matrix over all elements of `xs`, in the shapes of `xs`."""
    sizes = [prod(x.shape) for x in xs]
    total, start, result = sum(sizes), 0, []
    for x, size in zip(xs, sizes):
        matrix = eye(total, dtype=x.dtype, device=x.device)
        part = narrow(narrow(matrix, dim=0, start=first, length=count), dim=1, start=start, length=size)
        result.append(reshape(part, (count, *x.shape)))
        start += size
    return result


def chunks(total: int, size: int | None) -> list[tuple[int, int]]:
    """Return (first, count) for consecutive parts of at most `size`."""
    step = total if size is None else size
    return [(first, min(step, total - first)) for first in range(0, total, step or 1)] or [(0, 0)]


def jacrev(func: Function, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Function:
    """Return a function that computes the Jacobian of `func` in reverse mode, with one batched backward pass.

    func: Function of tensors, or of nested tuples, lists and dicts of them.
    argnums: Positional arguments to differentiate with respect to.
    chunk_size: Compute at most this many rows at a time, to use less memory.

    Returns: Function with the arguments of `func`. For an output of shape O and an input of shape I, the Jacobian has
    shape (*O, *I). The result is nested like the output of `func`. Each entry of the result contains the Jacobians of
    one output tensor: nested like the argument, or for several argnums as a tuple with one entry per argument.

    Reverse mode is faster than forward mode if there are fewer outputs than inputs.
    """
    Number(1, whole=True, optional=True, advice="pass chunk_size=None").expect("jacrev", chunk_size=chunk_size)

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        called = functools.partial(func, **kwargs) if kwargs else func
        y, aux, pullback = recorded("jacrev", called, args, argnums, has_aux)
        outputs, tree = flatten(y)
        expect_real("jacrev", [*pullback.inputs.floats, *outputs])
        total = sum(prod(x.shape) for x in outputs)
        parts = [rows(pullback, outputs, first, count) for first, count in chunks(total, chunk_size)]
        whole = parts[0] if len(parts) == 1 else [cat(list(some), 0) for some in zip(*parts)]
        start, nested = 0, []
        for x in outputs:
            size = prod(x.shape)
            each = [
                reshape(narrow(part, dim=0, start=start, length=size), (*x.shape, *part.shape[1:])) for part in whole
            ]
            nested.append(pullback.inputs.nested(each))
            start += size
        result = unflatten(tree, nested)
        return (result, aux) if has_aux else result

    return jacobian


def rows(pullback: Pullback, outputs: Sequence[Tensor], first: int, count: int) -> list[Tensor]:
    """Return `count` rows of the Jacobian for each input, starting at row `first`."""
    cotangents = units(outputs, first, count)
    if count == 1:  # a single cotangent needs no batching transform
        gradients = pullback.pull([reshape(g, g.shape[1:]) for g in cotangents])
        return [reshape(g, (1, *g.shape)) for g in gradients]
    with BatchTransform(count) as transform:
        batched = pullback.pull([Batched(g, transform) for g in cotangents])
    return [whole(transform, g) for g in batched]


def whole(transform: BatchTransform, g: Tensor) -> Tensor:
    """Return a batch of results; results that are equal for all samples are expanded."""
    result = transform.whole(g)
    return expand(g, shape=(transform.size, *g.shape)) if result is None else result


def jacfwd(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Function:
    """Return a function that computes the same Jacobian as `jacrev` in forward mode, with one batch of tangents.

    func: Function of tensors, or of nested tuples, lists and dicts of them.
    argnums: Positional arguments to differentiate with respect to.
    randomness ({"error", "same", "different"}): Treatment of random functions, see `vmap`.

    Returns: Function with the arguments of `func`, whose result is nested like that of `jacrev`.

    Forward mode is faster than reverse mode if there are fewer inputs than outputs.
    """
    Choice(*RANDOMNESS, advice="pass randomness='different', for example").expect("jacfwd", randomness=randomness)

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        inputs = Inputs("jacfwd", args, argnums)
        expect_real("jacfwd", inputs.floats)
        total = sum(prod(x.shape) for x in inputs.floats)
        with BatchTransform(total, randomness) as batch:
            tangents = [Batched(t, batch) for t in units(inputs.floats, 0, total)]
            with DualTransform() as transform:
                duals = [Dual(x, t, transform) for x, t in zip(inputs.floats, tangents)]
                y, aux = func(*inputs.replaced(duals), **kwargs), None
                if has_aux:
                    y, aux = with_aux("jacfwd", func, y)
            _, moved = split("jacfwd", transform, func, y, False)
        result = tree_map(lambda t: columns(inputs, whole(batch, t)), moved)
        if not has_aux:
            return result
        return result, tree_map(lambda x: transform.parts(x)[0], aux)

    return jacobian


def columns(inputs: Inputs, moved: Tensor) -> Any:
    """Return the Jacobian (*output, *input) of one output, from its tangents (inputs, *output), one per column."""
    expect_real("jacfwd", [moved])
    last = permute(moved, dims=(*range(1, moved.ndim), 0))
    start, result = 0, []
    for x in inputs.floats:
        size = prod(x.shape)
        part = narrow(last, dim=last.ndim - 1, start=start, length=size)
        result.append(reshape(part, (*part.shape[:-1], *x.shape)))
        start += size
    return inputs.nested(result)


def jacobian(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, mode: str = "reverse") -> Function:
    """Return a function that computes the Jacobian with `jacrev`, or with `jacfwd` for mode="forward"."""
    Choice("reverse", "forward").expect("jacobian", mode=mode)
    return jacrev(func, argnums, has_aux=has_aux) if mode == "reverse" else jacfwd(func, argnums, has_aux)


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """Return a function that computes the second derivatives of `func`: jacfwd of jacrev, with a batch of tangents.

    func: the function of tensors, or of nested tuples, lists and dicts of tensors.
    argnums: the index, or a tuple of the indices, of the positional arguments to differentiate with respect to.
    For an output of shape O and an input of shape I, the result has shape (*O, *I, *I).  The result is nested like the
    output, and then twice like the arguments.
    """
    return jacfwd(jacrev(func, argnums), argnums)
